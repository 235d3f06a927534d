#!/usr/bin/env python3
"""Writes kernels that grow in one direction. An analysis that is linear takes twice as long for twice as many of what it is that
grows: sections (each a loop that indexes two private arrays and runs 96 unrolled multiply-adds), branches that change one
variable, spilled values, kernels of one file, levels of inlining, functions that are called, or lines that use one array.

    benches/sections.py 5 10 20 40 80 --into DIRECTORY
    CUDA_HOME=… benches/sections.py --measure target/release/cargo-lmem
    CUDA_HOME=… benches/sections.py 100 200 400 --shape branches --measure target/release/cargo-lmem
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
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


def branches(count: int) -> str:
    """One variable that each of many branches may change, and an array that each may index."""
    body = "".join(
        f"    if (in[{n}] > t) {{ at += in[at + {n}]; kept[at & 15] += {n}; }}\n" for n in range(count)
    )
    return f"""extern "C" __global__ void branches(const int *in, int *out) {{
    int t = threadIdx.x, at = t, kept[16];
    for (int i = 0; i < 16; i++) kept[i] = in[i * t];
{body}    out[t] = kept[at & 15];
}}
"""


def spills(count: int) -> str:
    """More values than registers, which are all needed again."""
    statements = "".join(f"    float v{n} = in[t * {n + 1}];\n" for n in range(count))
    uses = "".join(f"        v{n} = v{n} * in[i + {n}] + v{(n * 7 + 1) % count};\n" for n in range(count))
    total = " + ".join(f"v{n}" for n in range(count))
    return f"""extern "C" __global__ void __launch_bounds__(1024) spills(const float *in, float *out, int n) {{
    int t = threadIdx.x;
{statements}    for (int i = 0; i < n; i++) {{
{uses}    }}
    out[t] = {total};
}}
"""


def kernels(count: int) -> str:
    """A file of many kernels, as instances of a template are."""
    one = """extern "C" __global__ void kernel_{n}(const int *in, int *out) {{
    int kept[{size}];
    for (int i = 0; i < {size}; i++) kept[i] = in[i * {n}];
    for (int i = 0; i < in[{n}]; i++) out[i] += kept[in[i] % {size}];
}}
"""
    # Of a small array that is read once, the compiler makes a chain of selects.
    return "".join(one.format(n=n, size=24 + n % 8) for n in range(count))


def inlined(count: int) -> str:
    """Functions that are inlined into each other."""
    levels = "".join(
        f"__device__ __forceinline__ int level_{n}(int *kept, int at) {{ kept[at & 15] += {n}; return level_{n - 1}(kept, kept[at & 7]); }}\n"
        for n in range(1, count)
    )
    return f"""__device__ __forceinline__ int level_0(int *kept, int at) {{ return kept[at & 15]; }}
{levels}extern "C" __global__ void inlined(const int *in, int *out) {{
    int kept[16];
    for (int i = 0; i < 16; i++) kept[i] = in[i];
    out[threadIdx.x] = level_{count - 1}(kept, in[threadIdx.x]);
}}
"""


def calls(count: int) -> str:
    """Functions that are called with the address of an array."""
    functions = "".join(
        f"__device__ __noinline__ int called_{n}(int *kept, int at) {{ kept[at & 15] += {n}; return kept[at & 7]; }}\n"
        for n in range(count)
    )
    body = "".join(f"    at = called_{n}(kept, at);\n" for n in range(count))
    return f"""{functions}extern "C" __global__ void calls(const int *in, int *out) {{
    int kept[16], at = in[threadIdx.x];
    for (int i = 0; i < 16; i++) kept[i] = in[i];
{body}    out[threadIdx.x] = at;
}}
"""


def lines(count: int) -> str:
    """Straight code of many lines that use one array."""
    body = "".join(f"    kept[in[t + {n}] & 31] += kept[in[t * {n}] & 31];\n" for n in range(count))
    return f"""extern "C" __global__ void lines(const int *in, int *out) {{
    int kept[32], t = threadIdx.x;
    for (int i = 0; i < 32; i++) kept[i] = in[i];
{body}    out[t] = kept[in[t] & 31];
}}
"""


SHAPES = {
    "sections": (kernel, [5, 10, 20, 40, 80]),
    "branches": (branches, [100, 200, 400, 800]),
    "spills": (spills, [100, 200, 400, 800]),
    "kernels": (kernels, [50, 100, 200, 400]),
    "inlined": (inlined, [25, 50, 100, 200]),
    "calls": (calls, [50, 100, 200, 400]),
    "lines": (lines, [100, 200, 400, 800]),
}


MANIFEST = """[package]
name = "sections"
version = "0.1.0"
edition = "2024"

[lib]
path = "lib.rs"
"""


def used(command: list[str], folder: Path, cache: Path) -> tuple[float, float]:
    """What a command and all that it starts take of all processors together, as machines are shared; and the most memory that one of
    them had, in MiB."""
    environment = os.environ | {"CARGO_LMEM_CACHE_DIR": str(cache)}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(program: Path, shape: str, counts: list[int]) -> None:
    """CPU time of the compilers alone, of a run with all results in the cache, and of one that has those of the compilers alone: the
    analysis, and reading the program once. That is the run of a program with other bytes."""
    print(f"{shape:>8}  nvcc  warm  analysis  share  MiB")
    compiler = Path(os.environ["CUDA_HOME"]) / "bin" / "nvcc"
    options = ["lmem", "--arch", "sm_90", "--offline", "--no-verify"]
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            root, cache, other = Path(folder, "workspace"), Path(folder, "cache"), Path(folder, "other")
            root.mkdir()
            (root / "Cargo.toml").write_text(MANIFEST)
            (root / "lib.rs").write_text("")
            (root / "sections.cu").write_text(SHAPES[shape][0](count))
            nvcc = [str(compiler), "-arch=sm_90", "-lineinfo", "-cubin", "-o", "/dev/null", "sections.cu"]
            compiled, _ = used(nvcc, root, cache)
            command = [str(program.resolve()), *options]
            used(command, root, cache)
            # What is just written is not believed.
            time.sleep(2.2)
            used(command, root, cache)
            warm = min(used(command, root, cache)[0] for _ in range(3))
            runs = []
            for number in range(3):
                shutil.copy(program, other)
                # A program is known by its build ID and its length.
                with other.open("ab") as file:
                    file.write(bytes(number + 1))
                runs.append(used([str(other), *options], root, cache))
            analysis, memory = min(runs)
            share = analysis / compiled
            print(f"{count:8}  {compiled:4.1f}  {warm:4.2f}  {analysis:8.2f}  {share:5.1%}  {memory:3.0f}", flush=True)


def main() -> None:
    """Writes a file for each number of sections, or measures them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", type=int, nargs="*")
    parser.add_argument("--shape", choices=SHAPES, default="sections")
    parser.add_argument("--into", type=Path, default=Path("."))
    parser.add_argument("--measure", type=Path, metavar="PROGRAM")
    arguments = parser.parse_args()
    write, usual = SHAPES[arguments.shape]
    counts = arguments.counts or usual
    if arguments.measure:
        return measure(arguments.measure, arguments.shape, counts)
    arguments.into.mkdir(parents=True, exist_ok=True)
    for count in counts:
        (arguments.into / f"{arguments.shape}_{count}.cu").write_text(write(count))


if __name__ == "__main__":
    main()
