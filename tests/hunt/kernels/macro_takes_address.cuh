#pragma once
#define ADDRESS(x) (&(x))
