#pragma once
#ifndef TAPS
#error "TAPS says how many there are"
#endif
