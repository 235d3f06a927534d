#!/usr/bin/env python3
"""Writes kernels that grow in one direction: so many sections, each a loop that indexes two private arrays and runs 96 unrolled
multiply-adds. An analysis that is linear takes twice as long for twice as many.

    benches/sections.py 5 10 20 40 80 --into DIRECTORY
"""

import argparse
from pathlib import Path

SECTION = """
    {{
        float a[{a}], b[{b}];
        for (int i = 0; i < {a}; i++) a[i] = in[(t + i * {step}) % n];
        for (int i = 0; i < {b}; i++) b[i] = in[(t * {step} + i) % n];
        for (int i = 0; i < n; i++) {{
            int at = index[i * {sections} + {number}];
            float x = a[at % {a}], y = b[(at + i) % {b}];
#pragma unroll
            for (int j = 0; j < 96; j++) x = fmaf(x, y, (float)(j + {number}));
            a[(at + 1) % {a}] = x;
            b[(at + 2) % {b}] = y + x;
            sum += x * y;
        }}
    }}"""


def kernel(sections: int) -> str:
    """A kernel of so many sections; no two are equal, or the compiler would share their code."""
    body = "".join(
        SECTION.format(a=8 + number % 7, b=9 + number % 5, step=number + 1, number=number, sections=sections)
        for number in range(sections)
    )
    return f"""extern "C" __global__ void sections_{sections}(const float *in, const int *index, float *out, int n) {{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;{body}
    out[t] = sum;
}}
"""


def main() -> None:
    """Writes a file for each number of sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", type=int, nargs="*", default=[5, 10, 20, 40, 80])
    parser.add_argument("--into", type=Path, default=Path("."))
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    for sections in arguments.sections:
        (arguments.into / f"sections_{sections}.cu").write_text(kernel(sections))


if __name__ == "__main__":
    main()
