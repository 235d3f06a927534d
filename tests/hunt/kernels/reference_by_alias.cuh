#pragma once
using Ref = int&;
