#pragma once
typedef float Value, &SlotOfRow;
