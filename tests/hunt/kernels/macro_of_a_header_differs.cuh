#pragma once
#ifndef MOST_TAPS
#define MOST_TAPS 8
#endif
