#pragma once
#define TAPS 12
