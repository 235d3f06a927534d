//! Compares our occupancy with that of CUDA's own calculator, `cuda_occupancy.h`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use cargo_lmem::verify::occupancy;
use lmem_base::gpu::{Gpu, MAX_BLOCK_THREADS, WARP};

use super::{Problem, all, crates, record};

/// The samples of the table next to `occupancy.rs`, in the same order.
const SAMPLED_REGISTERS: [u32; 16] = [1, 16, 24, 32, 33, 40, 46, 48, 56, 64, 72, 96, 128, 168, 200, 255];
const SAMPLED_THREADS: [u32; 8] = [32, 96, 128, 256, 288, 416, 512, 1024];
const SAMPLED_SHARED: [u64; 4] = [0, 4000, 16 << 10, 49 << 10];

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/verify/occupancy.txt");

/// The header does not know the numbers of warps, registers and shared memory of an architecture. Ours are used; they
/// are compared with ptxas in [`compare_with_ptxas`].
const PROGRAM: &str = r#"
#include <cstdio>
#include <cuda_occupancy.h>

int main() {
    cudaOccDeviceProp device;
    cudaOccFuncAttributes function;
    cudaOccDeviceState state;
    long number, threads, registers, shared;
    while (scanf("%ld %d %d %d %zu %zu %zu %ld %ld %ld", &number, &device.maxThreadsPerMultiprocessor,
                 &device.regsPerBlock, &device.regsPerMultiprocessor, &device.sharedMemPerMultiprocessor,
                 &device.sharedMemPerBlockOptin, &device.reservedSharedMemPerBlock, &threads, &registers,
                 &shared) == 10) {
        device.computeMajor = (int)number / 10;
        device.computeMinor = (int)number % 10;
        device.maxThreadsPerBlock = 1024;
        device.warpSize = 32;
        device.sharedMemPerBlock = 48 << 10;
        device.numSms = 1;
        function.maxThreadsPerBlock = 1024;
        function.numRegs = (int)registers;
        function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        function.maxDynamicSharedSizeBytes = (size_t)shared;
        function.numBlockBarriers = 1;
        cudaOccResult result;
        const int status = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, (int)threads,
                                                                   (size_t)shared);
        printf("%d\n", status == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1);
    }
}
"#;

#[derive(Clone, Copy)]
struct Point {
    gpu: &'static Gpu,
    threads: u32,
    shared: u64,
    registers: u32,
}

/// Compares every point of a grid. With `LMEM_RECORD_OCCUPANCY`, also writes the table that other tests use.
pub fn compare_with_cuda() -> Result<(), Problem> {
    let points = grid();
    let theirs = ask(&points)?;
    let mut problems = Vec::new();
    for (point, expected) in points.iter().zip(&theirs) {
        let Point { gpu, threads, shared, registers } = *point;
        let ours = occupancy(gpu, registers, shared, Some(threads)).and_then(|it| it.blocks).map(i64::from);
        if ours != Some(*expected) {
            let number = gpu.number;
            problems.push(format!(
                "sm_{number}, {threads} threads, {registers} registers, {shared} bytes: {ours:?}, and {expected} in CUDA"
            ));
        }
    }
    eprintln!("{} points compared with cuda_occupancy.h, {} differ", points.len(), problems.len());
    if problems.is_empty() && std::env::var_os("LMEM_RECORD_OCCUPANCY").is_some() {
        write_table()?;
    }
    problems.truncate(20);
    all(problems)
}

fn grid() -> Vec<Point> {
    let mut points = Vec::new();
    for gpu in Gpu::all() {
        for threads in (16..=MAX_BLOCK_THREADS + 64).step_by(16) {
            for registers in (1..=255).step_by(6).chain([16, 32, 40, 46, 48, 64, 80, 96, 128, 168, 255]) {
                for shared in [0, 1, 1023, 4000, 10_000, 16 << 10, 40_000, 48 << 10, 49 << 10, 63 << 10, 64 << 10] {
                    points.push(Point { gpu, threads, shared, registers });
                }
            }
            for shared in (0..=330).step_by(3) {
                points.push(Point { gpu, threads, shared: shared << 10, registers: 24 });
            }
        }
    }
    points
}

fn write_table() -> Result<(), Problem> {
    let mut text = String::from(
        "# Blocks of a multiprocessor as cuda_occupancy.h (13.5) has them: architecture, threads, bytes of shared memory,\n\
         # then a number for each of 1 16 24 32 33 40 46 48 56 64 72 96 128 168 200 255 registers.\n",
    );
    for gpu in Gpu::all() {
        let number = gpu.number;
        for threads in SAMPLED_THREADS {
            for shared in SAMPLED_SHARED {
                let points = SAMPLED_REGISTERS.map(|registers| Point { gpu, threads, shared, registers });
                let blocks: Vec<String> = ask(&points)?.iter().map(ToString::to_string).collect();
                writeln!(text, "{number} {threads} {shared} {}", blocks.join(" "))
                    .map_err(|error| error.to_string())?;
            }
        }
    }
    std::fs::write(TABLE, text).map_err(|error| error.to_string())
}

/// The number of blocks that the header computes.
fn ask(points: &[Point]) -> Result<Vec<i64>, Problem> {
    use std::sync::OnceLock;
    static PROGRAM_FILE: OnceLock<Result<(tempfile::TempDir, std::path::PathBuf), Problem>> = OnceLock::new();
    let (folder, program) = PROGRAM_FILE.get_or_init(build).as_ref().map_err(Clone::clone)?;
    let mut input = String::new();
    for Point { gpu, threads, shared, registers } in points {
        let Gpu { number, block_registers, registers: of_sm, shared: shared_of_sm, block_shared, .. } = gpu;
        let (of_block, reserved) = (block_shared, gpu.reserved_shared);
        writeln!(
            input,
            "{number} {} {block_registers} {of_sm} {shared_of_sm} {of_block} {reserved} {threads} {registers} {shared}",
            gpu.warps * WARP
        )
        .map_err(|error| error.to_string())?;
    }
    let file = folder.path().join("points");
    std::fs::write(&file, input).map_err(|error| error.to_string())?;
    let input = std::fs::File::open(&file).map_err(|error| error.to_string())?;
    let output = Command::new(program).stdin(input).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let blocks: Vec<i64> = text.lines().map_while(|line| line.parse().ok()).collect();
    match blocks.len() == points.len() {
        true => Ok(blocks),
        false => Err(format!("{} answers for {} points", blocks.len(), points.len())),
    }
}

fn build() -> Result<(tempfile::TempDir, std::path::PathBuf), Problem> {
    let toolkit = record::real_toolkit(crates::VERSION, &AtomicBool::new(false))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, program) = (folder.path().join("grid.cpp"), folder.path().join("grid"));
    std::fs::write(&source, PROGRAM).map_err(|error| error.to_string())?;
    let mut command = Command::new("g++");
    command.args(["-O1", "-w", "-o"]).arg(&program).arg(&source).arg("-I").arg(toolkit.root.join("include"));
    said_well(&mut command)?;
    Ok((folder, program))
}

fn said_well(command: &mut Command) -> Result<String, Problem> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(said) } else { Err(said) }
}

/// Compares the registers that ptxas uses under launch bounds, and the bounds that it ignores.
pub fn compare_with_ptxas() -> Result<(), Problem> {
    let toolkit = record::real_toolkit(crates::VERSION, &AtomicBool::new(false))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut problems = Vec::new();
    let compiled = said_well(Command::new(toolkit.root.join("bin/nvcc")).arg("--list-gpu-code"))?;
    let known =
        Gpu::all().iter().filter(|gpu| compiled.lines().any(|name| name.trim() == format!("sm_{}", gpu.number)));
    for gpu in known {
        let number = gpu.number;
        let bounds = bounds(gpu);
        let said = said_well(
            Command::new(&toolkit.ptxas)
                .args(["-v", &format!("-arch=sm_{number}"), "-o"])
                .arg(folder.path().join("bounds.cubin"))
                .arg(write_ptx(folder.path(), number, &bounds)?),
        )?;
        for (index, (threads, blocks)) in bounds.into_iter().enumerate() {
            let is_ignored = said.lines().any(|line| {
                line.contains(&format!("for entry k{index} is out of range"))
                    && line.contains("minnctapersm will be ignored")
            });
            let used = registers_of(&said, index);
            let expected = gpu.registers_for(threads, if gpu.holds(threads, blocks) { blocks } else { 1 });
            if is_ignored == gpu.holds(threads, blocks) || used != Some(expected) {
                let ignored = if is_ignored { "ignored" } else { "heeded" };
                problems
                    .push(format!("sm_{number} ({threads}, {blocks}): {ignored}, {used:?} registers, not {expected}"));
            }
        }
    }
    all(problems)
}

/// Numbers of threads and blocks around the limits of an SM.
fn bounds(gpu: &Gpu) -> Vec<(u32, u32)> {
    let all =
        [(32, 9), (32, gpu.blocks), (32, gpu.blocks + 1), (96, 5), (160, 3), (224, 7), (288, 1), (416, 1), (544, 1)];
    let around = [(256, gpu.threads() / 256), (256, gpu.threads() / 256 + 1), (1024, 1), (1024, 2)];
    all.into_iter().chain(around).collect()
}

/// Kernels that need as many registers as they can get.
fn write_ptx(folder: &Path, number: u32, bounds: &[(u32, u32)]) -> Result<std::path::PathBuf, Problem> {
    let mut text = format!(".version 9.4\n.target sm_{number}\n.address_size 64\n");
    for (index, (threads, blocks)) in bounds.iter().enumerate() {
        text += &format!(
            ".visible .entry k{index}(.param .u64 p) .maxntid {threads} .minnctapersm {blocks}\n{{\n\
             .reg .f32 %f<280>;\n.reg .u64 %a;\nld.param.u64 %a, [p];\n"
        );
        for line in ["ld.volatile.global.f32 %f#, [%a+@];\n", "st.volatile.global.f32 [%a+@], %f#;\n"] {
            let values = 0..280;
            text.extend(values.map(|at| line.replace('#', &at.to_string()).replace('@', &(4 * at).to_string())));
        }
        text += "ret;\n}\n";
    }
    let file = folder.join("bounds.ptx");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    Ok(file)
}

fn registers_of(said: &str, index: usize) -> Option<u32> {
    let own = said.split(&format!("Compiling entry function 'k{index}'")).nth(1)?;
    own.split("Used ").nth(1)?.split(' ').next()?.parse().ok()
}
