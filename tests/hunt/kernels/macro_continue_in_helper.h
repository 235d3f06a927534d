#pragma once
#define require_or_next(c) { if (!(c)) continue; }
