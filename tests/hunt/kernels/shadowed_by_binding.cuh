#pragma once
struct Two { int a, b; };
