#pragma once
using Ref = int&;
struct Held { Ref n; };
