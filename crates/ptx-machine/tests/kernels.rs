//! Kernels compiled by nvcc (`data/kernels.cu`, `nvcc -ptx -arch=sm_90 -fmad=false`), compared with results computed
//! here.

use ptx_machine::{End, Generated, Launch, Memory, Origin, Outcome, Program};
use ptx_syntax::Module;

fn program(name: &str) -> Program {
    let module = Module::parse(include_str!("data/kernels.ptx")).unwrap();
    Program::new(&module, name).unwrap()
}

fn bytes<T: Copy, const N: usize>(values: &[T], to_bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|value| to_bytes(*value)).collect()
}

fn ints(values: &[i32]) -> Vec<u8> {
    bytes(values, i32::to_le_bytes)
}

fn floats(values: &[f32]) -> Vec<u8> {
    bytes(values, f32::to_le_bytes)
}

/// Runs a kernel whose first parameters are pointers to these buffers, and whose last are integers.
fn run(name: &str, mut launch: Launch, buffers: &[Vec<u8>], numbers: &[i32]) -> (Outcome, Memory) {
    let mut memory = Memory::default();
    for (number, buffer) in (0..).zip(buffers) {
        let region = memory.parameter(number);
        memory.fill(region, 0, buffer).unwrap();
        launch = launch.parameter(region.address().to_le_bytes());
    }
    for number in numbers {
        launch = launch.parameter(number.to_le_bytes());
    }
    let outcome = program(name).run(&launch, &mut memory);
    (outcome, memory)
}

fn ints_at(memory: &mut Memory, parameter: u32, count: usize) -> Vec<i32> {
    let region = memory.parameter(parameter);
    let bytes = memory.bytes(region, 0, count * 4).unwrap();
    bytes.chunks(4).map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn floats_at(memory: &mut Memory, parameter: u32, count: usize) -> Vec<f32> {
    ints_at(memory, parameter, count).into_iter().map(|bits| f32::from_bits(bits.cast_unsigned())).collect()
}

#[test]
fn reduction_with_shuffles() {
    let input: Vec<f32> = (0..1000).map(|i| (i % 17) as f32 * 0.5).collect();
    let (outcome, mut memory) = run("reduce", Launch::new(2, 96), &[floats(&input), vec![]], &[1000]);
    assert_eq!(outcome.end, End::Completed);
    let sums = floats_at(&mut memory, 1, 2);
    assert_eq!(sums[0] + sums[1], input.iter().sum::<f32>());
    let written = memory.written();
    assert_eq!(written.len(), 1);
    assert_eq!((&written[0].origin, written[0].offset, written[0].bytes.len()), (&Origin::Parameter(1), 0, 8));
}

#[test]
fn scan_with_early_return_before_barriers() {
    let input: Vec<i32> = (0..100).map(|i| i * 7 % 13).collect();
    let mut launch = Launch::new(1, 128);
    launch.dynamic_shared = 512;
    let (outcome, mut memory) = run("scan", launch, &[ints(&input), vec![]], &[100]);
    assert_eq!(outcome.end, End::Completed);
    let expected: Vec<i32> = input
        .iter()
        .scan(0, |sum, value| {
            *sum += value;
            Some(*sum)
        })
        .collect();
    assert_eq!(ints_at(&mut memory, 1, 100), expected);
    assert_eq!(outcome.events, ptx_machine::Events::default());
}

#[test]
fn histogram_with_atomics_in_shared_and_global_memory() {
    let input: Vec<u8> = (0..777u32).map(|i| (i * i % 251) as u8).collect();
    let mut expected = vec![0; 16];
    input.iter().for_each(|value| expected[usize::from(value & 15)] += 3);
    let (outcome, mut memory) = run("histogram", Launch::new(3, 64), &[input, vec![0; 64]], &[777]);
    assert_eq!(outcome.end, End::Completed);
    assert_eq!(ints_at(&mut memory, 1, 16), expected);
}

#[test]
fn product_of_matrices() {
    let n = 16;
    let value = |seed: usize| move |i: usize| ((i * seed) % 11) as f32 - 5.0;
    let (a, b): (Vec<f32>, Vec<f32>) = ((0..n * n).map(value(7)).collect(), (0..n * n).map(value(3)).collect());
    let mut launch = Launch::new(1, 1);
    (launch.grid, launch.block) = ([2, 2, 1], [8, 8, 1]);
    launch.limits.count_accesses = true;
    let (outcome, mut memory) = run("multiply", launch, &[floats(&a), floats(&b), vec![]], &[n as i32]);
    assert_eq!(outcome.end, End::Completed);
    let expected: Vec<f32> =
        (0..n * n).map(|at| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum::<f32>()).collect();
    assert_eq!(floats_at(&mut memory, 2, n * n), expected);
    assert!(outcome.accesses[0].iter().any(|access| access.sectors > 0));
    let blocks: Vec<u32> = outcome.warps.iter().map(|(block, _)| *block).collect();
    assert_eq!(blocks, [0, 0, 1, 1, 2, 2, 3, 3]);
    let entered = |executed: &Vec<Vec<u32>>| u64::from(executed[0][0]);
    assert_eq!(outcome.warps.iter().map(|(_, executed)| entered(executed)).sum::<u64>(), outcome.blocks[0][0].warps);
}

#[test]
fn some_blocks_of_a_grid() {
    let mut launch = Launch::new(3, 64);
    launch.limits.blocks = 2;
    let (outcome, mut memory) = run("histogram", launch, &[vec![0; 777], vec![0; 64]], &[777]);
    assert_eq!(outcome.end, End::Completed);
    assert_eq!(ints_at(&mut memory, 1, 1), [2 * 777]);
}

#[test]
fn local_arrays_with_computed_indices() {
    let input: Vec<i32> = (0..40).map(|i| i * i % 19).collect();
    let mut launch = Launch::new(1, 32);
    launch.limits.count_accesses = true;
    let (outcome, mut memory) = run("ring", launch, &[ints(&input), vec![]], &[40, 3]);
    assert_eq!((outcome.end, outcome.events), (End::Completed, ptx_machine::Events::default()));
    // All of its 8 words.
    assert_eq!(outcome.local_lines, 8);
    let expected = (0..32).map(|thread| (0..40).filter(|i| (input[*i as usize] + thread) & 7 == 3).sum::<i32>());
    assert_eq!(ints_at(&mut memory, 1, 32), expected.collect::<Vec<_>>());
    let (outcome, _) = run("ring", Launch::new(1, 32), &[ints(&input), vec![]], &[40, 9]);
    assert_eq!(outcome.events.local_out_of_bounds.count, 32);
}

#[test]
fn recursion_of_diverged_threads() {
    let (outcome, mut memory) = run("recursion", Launch::new(1, 32), &[vec![]], &[]);
    assert_eq!(outcome.end, End::Completed);
    let expected = (0..32).map(|t| if t & 1 == 1 { t % 5 + 2 } else { 2 * (t % 5) + 3 });
    assert_eq!(ints_at(&mut memory, 0, 32), expected.collect::<Vec<i32>>());
}

#[test]
fn functions_through_a_table() {
    let (outcome, mut memory) = run("pointers", Launch::new(1, 32), &[vec![]], &[]);
    assert_eq!(outcome.end, End::Completed);
    let expected = (0..32).map(|t| [2 * t, t * t, -t][t as usize % 3]);
    assert_eq!(ints_at(&mut memory, 0, 32), expected.collect::<Vec<i32>>());
}

#[test]
fn printing() {
    let (outcome, _) = run("print", Launch::new(1, 32), &[], &[7]);
    assert_eq!((outcome.end, outcome.printed.as_str()), (End::Completed, "7 of  3.50 ok|ff\n"));
}

#[test]
fn half_precision() {
    // 1 and 2 in each pair: 4 × (1 × 1 + 2 × 2) = 20.
    let pairs: Vec<u8> = std::iter::repeat_n([0x00u8, 0x3c, 0x00, 0x40], 128).flatten().collect();
    let (outcome, mut memory) = run("halves", Launch::new(1, 32), &[pairs, vec![]], &[]);
    assert_eq!(outcome.end, End::Completed);
    let region = memory.parameter(1);
    assert_eq!(memory.bytes(region, 0, 2).unwrap(), 0x4d00u16.to_le_bytes());
}

#[test]
fn loops_left_at_different_times_meet_at_a_ballot() {
    let input = [5, -1, 3, 40, 7, 31, -2, 0];
    let (outcome, mut memory) = run("search", Launch::new(1, 32), &[ints(&input), vec![]], &[8]);
    assert_eq!(outcome.end, End::Completed);
    let find = |thread: i32| {
        let mut found = -1;
        for (i, value) in (0..).zip(input) {
            if value == thread {
                return i;
            }
            found -= i32::from(value >= 0);
        }
        found
    };
    let all = (0..32).filter(|thread| find(*thread) >= 0).count() as i32;
    assert_eq!(ints_at(&mut memory, 1, 32), (0..32).map(|t| find(t) * 100 + all).collect::<Vec<_>>());
}

#[test]
fn locks_make_progress() {
    for name in ["locked", "spin"] {
        let (outcome, mut memory) = run(name, Launch::new(2, 32), &[vec![0; 4], vec![0; 4]], &[]);
        assert_eq!(outcome.end, End::Completed, "{name}");
        assert_eq!(ints_at(&mut memory, 1, 1), [64], "{name}");
    }
}

#[test]
fn a_barrier_that_not_all_reach_is_a_deadlock() {
    let (outcome, _) = run("partial", Launch::new(1, 64), &[vec![0; 256]], &[]);
    // Exited threads count as arrived, so this kernel completes; the shuffle has all lanes of its mask.
    assert_eq!(outcome.end, End::Completed);
    let text = ".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<2>; .reg .pred %p; mov.u32 %r1, %tid.x; \
                setp.lt.u32 %p, %r1, 40; @%p bra A; bar.sync 0; bra B; A: bar.sync 1; B: ret; }";
    let module = Module::parse(text).unwrap();
    let outcome = Program::new(&module, "k").unwrap().run(&Launch::new(1, 64), &mut Memory::default());
    assert!(matches!(outcome.end, End::Deadlock(_)), "{}", outcome.end);
}

#[test]
fn what_has_no_meaning_is_told() {
    let (outcome, _) = run("wrong", Launch::new(1, 1), &[ints(&[1, 2, 3, 4, 5, 6, 0]), vec![]], &[4]);
    assert_eq!(outcome.end, End::Completed);
    assert_eq!((outcome.events.division_by_zero.count, outcome.events.local_out_of_bounds.count), (1, 1));
    let (outcome, _) = run("unwritten", Launch::new(1, 1), &[vec![]], &[4]);
    assert_eq!(outcome.events.uninitialized_local.count, 1);
}

#[test]
fn memory_comes_into_being_the_same_each_time() {
    let program = program("reduce");
    let once = |seed| {
        let mut memory = Memory::new(Generated::new(seed));
        let (input, output) = (memory.parameter(0), memory.parameter(1));
        let launch = Launch::new(2, 64)
            .parameter(input.address().to_le_bytes())
            .parameter(output.address().to_le_bytes())
            .parameter(300i32.to_le_bytes());
        let outcome = program.run(&launch, &mut memory);
        assert_eq!(outcome.end, End::Completed);
        memory.written()
    };
    assert_eq!(once(1), once(1));
    assert_ne!(once(1), once(2));
}

#[test]
fn unknown_instructions_and_endless_loops_end_the_run() {
    let run = |body: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.entry k() {{ .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<5>; {body} }}"
        );
        let module = Module::parse(&text).unwrap();
        let mut launch = Launch::new(1, 32);
        launch.limits.warp_instructions = 200_000;
        Program::new(&module, "k").unwrap().run(&launch, &mut Memory::default()).end
    };
    let texture = "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];";
    assert_eq!(run(texture), End::NotSupported("tex.2d.v4.f32.f32".into()));
    assert_eq!(run("frobnicate.b32 %r1;"), End::NotSupported("frobnicate.b32".into()));
    assert_eq!(run("L: bra L;"), End::Limit);
    assert!(matches!(run("ld.global.u32 %r1, [%rd1];"), End::Fault(ptx_machine::Fault::NoMemory { .. }, Some(_))));
    assert!(matches!(
        run("mov.u64 %rd1, 4; ld.shared.u32 %r1, [%rd1+2];"),
        End::Fault(ptx_machine::Fault::Misaligned { .. }, _)
    ));
    assert!(matches!(run("trap;"), End::Fault(ptx_machine::Fault::Trap, _)));
}
