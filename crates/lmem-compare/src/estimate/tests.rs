//! The estimate of the measured pairs.

use std::collections::HashMap;

use super::*;

/// A measured pair: its ratio, and the estimate.
struct Pair {
    name: &'static str,
    family: &'static str,
    measured: f64,
    versions: [(Counts, Usage); 2],
    estimate: Estimate,
}

impl Pair {
    fn ratio(&self, weights: &Weights) -> f64 {
        let [before, after] =
            self.versions.map(|(counts, usage)| cycles(&counts, usage, Arch::new(90), weights).unwrap());
        before / after
    }

    fn cautious_ratio(&self, weights: &Weights) -> f64 {
        let [(before, old), (after, new)] = self.versions;
        cautious_ratio(&Executed { before, after }, old, new, Arch::new(90), weights).unwrap()
    }
}

/// The pairs that the weights are fitted to.
fn pairs() -> Vec<Pair> {
    let mut all = read(include_str!("measured.tsv"));
    all.extend(read(include_str!("programs.tsv")));
    all
}

/// Pairs of [`pairs`] as the estimate sees them: their counts are of the launches that the comparison makes.
fn compared() -> Vec<Pair> {
    read(include_str!("programs_compared.tsv"))
}

/// Pairs that no weight was fitted to.
fn unseen() -> Vec<Pair> {
    read(include_str!("unseen.tsv"))
}

/// Pairs of whole programs that no weight was fitted to, in the programs' own launches. Of the edits made by hand, none is
/// judged.
fn launched(set: &str) -> Vec<Pair> {
    read(include_str!("launched.tsv")).into_iter().filter(|pair| pair.family == set).collect()
}

fn read(table: &'static str) -> Vec<Pair> {
    table.lines().filter(|line| !line.starts_with('#')).map(pair).collect()
}

fn pair(line: &'static str) -> Pair {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, family, before, after, versions @ ..] = fields.as_slice() else { panic!("{line}") };
    let (one, other) = versions.split_at(versions.len() / 2);
    // Dynamic shared memory leaves only the smallest L1 cache to these pairs.
    let shared = if name.ends_with("_low") { 228 << 10 } else { 0 };
    let ((old, old_usage), (new, new_usage)) = (version(one, shared), version(other, shared));
    let time = |text: &str| text.parse::<f64>().unwrap();
    let executed = Executed { before: old, after: new };
    Pair {
        name,
        family,
        measured: time(before) / time(after),
        versions: [(old, old_usage), (new, new_usage)],
        estimate: estimate(&executed, old_usage, new_usage, Arch::new(90)).unwrap(),
    }
}

fn version(fields: &[&str], shared: u64) -> (Counts, Usage) {
    let numbers: Vec<u64> = fields.iter().map(|field| field.parse().unwrap()).collect();
    match numbers.len() {
        15 => short_version(&numbers, shared),
        31 => launched_version(&numbers),
        _ => full_version(&numbers),
    }
}

/// A version of the older tables, which lack some counts.
fn short_version(numbers: &[u64], shared: u64) -> (Counts, Usage) {
    let &[
        warps,
        stack_frame,
        spilled,
        issued,
        integer,
        code,
        chain,
        calls,
        local_accesses,
        local_lines,
        stored_lines,
        global_accesses,
        missed_lines,
        shared_passes,
        constant_words,
    ] = numbers
    else {
        panic!("{numbers:?}")
    };
    let counts = Counts {
        warps: 10,
        issued,
        integer,
        code,
        chain,
        calls,
        local_accesses,
        local_lines,
        stored_lines,
        global_accesses,
        missed_lines,
        shared_passes,
        constant_words,
        ..Counts::default()
    };
    (counts, Usage { warps: u32::try_from(warps).unwrap(), stack_frame, spilled, shared, code: 0 })
}

fn launched_version(numbers: &[u64]) -> (Counts, Usage) {
    let (known, launch) = numbers.split_at(23);
    let &[grid, is_launched, block_warps, slowest_chain, slowest_loads, slowest_local, touched_lines, lone_lines] =
        launch
    else {
        panic!("{numbers:?}")
    };
    let (counts, usage) = full_version(known);
    let is_launched = is_launched > 0;
    let launch = Counts { grid, is_launched, block_warps, touched_lines, ..counts };
    (Counts { slowest_chain, slowest_loads, slowest_local, lone_lines, ..launch }, usage)
}

fn full_version(numbers: &[u64]) -> (Counts, Usage) {
    let &[
        resident,
        stack_frame,
        spilled,
        shared,
        warps,
        issued,
        integer,
        float,
        code,
        chain,
        calls,
        local_accesses,
        local_lines,
        stored_lines,
        global_accesses,
        missed_lines,
        shared_passes,
        constant_words,
        multiplied,
        special,
        doubles,
        load_depth,
        local_depth,
    ] = numbers
    else {
        panic!("{numbers:?}")
    };
    let counts = Counts {
        warps,
        issued,
        integer,
        float,
        code,
        chain,
        calls,
        local_accesses,
        local_lines,
        stored_lines,
        global_accesses,
        missed_lines,
        shared_passes,
        constant_words,
        multiplied,
        special,
        doubles,
        load_depth,
        local_depth,
        ..Counts::default()
    };
    (counts, Usage { warps: u32::try_from(resident).unwrap(), stack_frame, spilled, shared, code: 0 })
}

/// By family, the weights that were fitted without it.
fn left_out() -> HashMap<&'static str, Weights> {
    let lines = include_str!("left_out.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(weights).collect()
}

fn weights(line: &'static str) -> (&'static str, Weights) {
    let (family, numbers) = line.split_once('\t').unwrap();
    let numbers: Vec<f64> = numbers.split('\t').map(|number| number.parse().unwrap()).collect();
    let [
        issue,
        special,
        local_access,
        loaded_line,
        stored_line,
        missed_sector,
        global_access,
        constant_word,
        spill,
        call,
        chain,
        missed_load,
        missed_local,
        global_latency,
    ] = numbers[..]
    else {
        panic!("{line}")
    };
    let weights = Weights {
        issue,
        special,
        local_access,
        loaded_line,
        stored_line,
        lone: WEIGHTS.lone,
        missed_sector,
        global_access,
        shared_pass: WEIGHTS.shared_pass,
        constant_word,
        spill,
        call,
        chain,
        missed_load,
        missed_local,
        global_latency,
    };
    (family, weights)
}

/// Ranks from 0; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal - 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (a, b) = (mean(one), mean(other));
    let sum = |first: &[f64], a: f64, second: &[f64], b: f64| -> f64 {
        first.iter().zip(second).map(|(x, y)| (x - a) * (y - b)).sum()
    };
    sum(one, a, other, b) / (sum(one, a, one, a) * sum(other, b, other, b)).sqrt()
}

/// Spearman's rank correlation of the measured ratios with others.
fn spearman(pairs: &[Pair], estimated: impl Fn(&Pair) -> f64) -> f64 {
    let measured: Vec<f64> = pairs.iter().map(|pair| pair.measured).collect();
    let estimated: Vec<f64> = pairs.iter().map(estimated).collect();
    correlation(&ranks(&measured), &ranks(&estimated))
}

#[test]
fn measured_pairs_are_ordered_by_the_estimate() {
    let pairs = pairs();
    assert_eq!(pairs.len(), 277);
    let all = spearman(&pairs, |pair| pair.ratio(&WEIGHTS));
    assert!(all >= 0.93, "{all}");
    let weights = left_out();
    let unseen = spearman(&pairs, |pair| pair.ratio(&weights[pair.family]));
    assert!(unseen >= 0.90, "{unseen}");
}

#[test]
fn pairs_are_ordered_by_the_launches_that_the_comparison_makes() {
    let (pairs, weights) = (compared(), left_out());
    assert_eq!(pairs.len(), 107);
    let found = spearman(&pairs, |pair| pair.ratio(&weights[pair.family]));
    assert!(found >= 0.80, "{found}");
}

#[test]
fn unseen_pairs_are_ordered_by_the_estimate() {
    let pairs = unseen();
    assert_eq!(pairs.len(), 67);
    let found = spearman(&pairs, |pair| pair.ratio(&WEIGHTS));
    assert!(found >= 0.83, "{found}");
}

#[test]
fn programs_are_ordered_in_their_own_launches() {
    for (set, count, least) in [("hard", 85, 0.78), ("real", 109, 0.65), ("mixed", 69, 0.81), ("plain", 41, 0.84)] {
        let pairs = launched(set);
        assert_eq!(pairs.len(), count);
        let found = spearman(&pairs, |pair| pair.ratio(&WEIGHTS));
        assert!(found >= least, "{set} {found}");
    }
}

/// One that is slower is shown, `pic_deposit` (0.84).
#[test]
fn slower_programs_are_refused_in_their_own_launches() {
    let slower = |set| {
        let mut pairs = launched(set);
        pairs.retain(|pair| !pair.name.contains("_expert"));
        let [missed, lost] = mistakes(&pairs, |pair| pair.estimate.is_slower() || pair.estimate.is_doubtful());
        (pairs.iter().filter(|pair| pair.measured < 0.97).count(), missed, lost.len())
    };
    assert_eq!(slower("hard"), (7, vec![], 6));
    assert_eq!(slower("real"), (3, vec![], 17));
    assert_eq!(slower("mixed"), (7, vec!["pic_deposit_all"], 0));
    assert_eq!(slower("plain"), (0, vec![], 0));
}

#[test]
fn unseen_kernels_are_ordered_by_the_share_of_their_local_memory() {
    let cost = |pair: &Pair| {
        let [(counts, usage), _] = pair.versions;
        f64::from(share(&counts, usage, Arch::new(90)).unwrap())
    };
    let found = spearman(&unseen(), cost);
    assert!(found >= 0.69, "{found}");
}

#[test]
fn what_has_no_local_memory_has_no_share() {
    let counts = Counts { warps: 2, issued: 1000, code: 100, local_accesses: 50, ..Counts::default() };
    let usage = Usage { warps: 64, stack_frame: 0, spilled: 0, shared: 0, code: 0 };
    assert_eq!(share(&counts, usage, Arch::new(90)), Some(0));
    assert!(share(&counts, Usage { spilled: 64, ..usage }, Arch::new(90)) > Some(500));
    assert_eq!(share(&Counts::default(), usage, Arch::new(90)), None);
}

/// Holds refusals against the measurements: the slower pairs that are not refused, and the faster ones that are.
fn mistakes(pairs: &[Pair], is_refused: impl Fn(&Pair) -> bool) -> [Vec<&'static str>; 2] {
    let slower = pairs.iter().filter(|pair| pair.measured < 0.97);
    let faster = pairs.iter().filter(|pair| pair.measured > 1.03);
    let missed = slower.filter(|pair| !is_refused(pair)).map(|pair| pair.name);
    let lost = faster.filter(|pair| is_refused(pair)).map(|pair| pair.name);
    [missed.collect(), lost.collect()]
}

/// Frames of the first three exceed the L1 cache that dynamic shared memory leaves, and of the next three the L2 cache; the
/// others gain 3 to 48 %, `digits` 96 %.
const LOST: [&str; 16] = [
    "static_table_32_div_com_low",
    "static_table_32_div_mem_low",
    "static_table_32_div_lat_low",
    "chase_2_n64_marg64",
    "table_2_n64_marg16_div1_work0_mem1",
    "table_2_n64_marg64_div1_work32_mem0",
    "select_write_16_uni_mem_low",
    "select_write_32_uni_com_low",
    "select_write_32_uni_lat_low",
    "shared_column_16_uni_mem_low",
    "shared_column_32_uni_mem_low",
    "static_table_16_uni_mem_low",
    "static_table_32_uni_mem_low",
    "walk_2_n24_narg24_marg32",
    "digits_1_n12_marg16",
    "chase_1_n32_marg128_g132x32",
];

/// A loop over an array of 64 that ran 16 times, unrolled with a guard: 0.92×.
const MISSED: [&str; 1] = ["attention_1_n64_narg16_marg16"];

#[test]
fn slower_edits_are_refused_and_few_faster_ones() {
    let pairs = pairs();
    let [missed, lost] = mistakes(&pairs, |pair| pair.estimate.is_slower() || pair.estimate.is_doubtful());
    assert_eq!((missed, sorted(lost)), (MISSED.to_vec(), sorted(LOST.to_vec())));
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

#[test]
fn families_are_judged_by_the_others() {
    let (pairs, weights) = (pairs(), left_out());
    let is_refused = |pair: &Pair| {
        let cautious = cautious(weights[pair.family]);
        let estimate = Estimate { cautious_percent: percent(pair.cautious_ratio(&cautious)), ..pair.estimate };
        estimate.is_slower() || estimate.is_doubtful()
    };
    let [missed, lost] = mistakes(&pairs, is_refused);
    let more = ["unroll_guard_32_uni_mem_high", "unroll_guard_32_uni_com_high", "static_table_32_uni_lat_high"];
    let expected = [&LOST[..], &more].concat();
    assert_eq!((missed, sorted(lost)), (MISSED.to_vec(), sorted(expected)));
}

/// In the launches that the comparison makes, whose numbers are others than those that were measured.
#[test]
fn slower_programs_are_refused_in_compared_launches() {
    let (pairs, weights) = (compared(), left_out());
    let is_refused = |pair: &Pair| {
        let cautious = cautious(weights[pair.family]);
        let estimate = Estimate { cautious_percent: percent(pair.cautious_ratio(&cautious)), ..pair.estimate };
        estimate.is_slower() || estimate.is_doubtful()
    };
    let [missed, lost] = mistakes(&pairs, is_refused);
    assert_eq!(pairs.iter().filter(|pair| pair.measured < 0.97).count(), 17);
    assert!(missed.is_empty() && lost.len() <= 17, "{missed:?} {} {lost:?}", lost.len());
}

#[test]
fn few_unseen_edits_are_misjudged() {
    let pairs = unseen();
    let [missed, lost] = mistakes(&pairs, |pair| pair.estimate.is_slower() || pair.estimate.is_doubtful());
    assert!(missed.is_empty(), "{missed:?}");
    let expected = [
        "blocked_load_tail",
        "csv_format_ints",
        "fft_mixed_radix",
        "householder_ls",
        "queue_bfs_grid",
        "queue_bfs_grid_2",
        "virtual_shapes",
    ];
    assert_eq!(sorted(lost), expected);
}

#[test]
fn what_adds_nothing_was_never_slower() {
    let of_programs = ["hard", "real", "mixed", "plain"].into_iter().flat_map(launched);
    let mut pairs: Vec<Pair> = pairs().into_iter().chain(unseen()).chain(of_programs).collect();
    pairs.retain(|pair| !pair.estimate.adds && !pair.name.contains("_expert"));
    assert_eq!(pairs.len(), 175);
    for Pair { name, measured, estimate, .. } in pairs {
        let is_refused = estimate.is_slower() || estimate.is_doubtful() && estimate.promoted.is_none();
        assert!(measured >= 0.97 && !is_refused, "{name} {measured} {estimate:?}");
    }
}

/// `loop_sentinel` of an adversary, 0.67× on an H100: its array moved to shared memory, which took the L1 cache from the
/// rows that threads read one by one.
#[test]
fn a_small_gain_for_more_work_is_doubtful() {
    let before = Counts {
        warps: 4,
        issued: 18_331,
        integer: 11_461,
        code: 2_111,
        chain: 129_800,
        local_accesses: 140,
        local_lines: 188,
        stored_lines: 40,
        global_accesses: 151,
        missed_lines: 60,
        ..Counts::default()
    };
    let after = Counts { issued: 20_259, integer: 13_301, code: 2_359, chain: 125_420, shared_passes: 140, ..before };
    let after = Counts { local_accesses: 0, local_lines: 0, stored_lines: 0, ..after };
    let usage = |stack_frame| Usage { warps: 64, stack_frame, spilled: 0, shared: 0, code: 0 };
    let found = estimate(&Executed { before, after }, usage(64), usage(0), Arch::new(90)).unwrap();
    assert!(found.is_doubtful() && !found.is_slower(), "{found:?}");
}

/// A Runge-Kutta step whose table became `static`: PTX indexes the stages as before, and `ptxas` selects among registers, with 2.5 times
/// the machine code (0.54× on an H100).
#[test]
fn what_ptxas_selects_among_must_gain_much() {
    let before = Counts {
        warps: 8,
        issued: 1_224_104,
        integer: 522_376,
        float: 281_760,
        code: 3552,
        chain: 5_190_120,
        local_accesses: 20_200,
        local_lines: 23_200,
        stored_lines: 4000,
        global_accesses: 32,
        missed_lines: 32,
        ..Counts::default()
    };
    let after = Counts { local_accesses: 14_408, local_lines: 17_312, global_accesses: 5792, ..before };
    let usage = |stack_frame, code| Usage { warps: 64, stack_frame, spilled: 0, shared: 0, code };
    let of = |code| {
        let executed = Executed { before, after };
        estimate(&executed, usage(128, 15_872), usage(0, code), Arch::new(90)).unwrap()
    };
    assert!(of(39_168).is_doubtful() && of(39_168).speedup.percent > 110, "{:?}", of(39_168));
    let static_index = Counts { local_accesses: 0, ..after };
    let found = Executed { before, after: static_index };
    assert_eq!(estimate(&found, usage(128, 15_872), usage(0, 39_168), Arch::new(90)).unwrap().promoted, None);
}

#[test]
fn an_edit_that_adds_nothing_is_not_refused() {
    for Pair { name, versions: [(counts, usage), _], .. } in pairs() {
        let without = Counts { local_accesses: 0, local_lines: 0, stored_lines: 0, ..counts };
        let executed = Executed { before: counts, after: without };
        let found = estimate(&executed, usage, Usage { stack_frame: 0, ..usage }, Arch::new(90)).unwrap();
        assert!(!found.adds && !found.is_slower() && !found.is_doubtful(), "{name} {found:?}");
    }
}

#[test]
fn the_band_has_four_of_five_pairs() {
    let pairs = pairs();
    let is_within = |pair: &&Pair| {
        let percent = pair.measured * 100.0;
        (f64::from(pair.estimate.speedup.low_percent)..=f64::from(pair.estimate.speedup.high_percent))
            .contains(&percent)
    };
    let within = pairs.iter().filter(is_within).count();
    assert!(within * 5 >= pairs.len() * 4, "{within}");
}

#[test]
fn local_memory_without_a_frame_is_none() {
    let counts =
        Counts { warps: 2, issued: 1000, code: 100, local_accesses: 50, local_lines: 400, ..Counts::default() };
    let executed = Executed { before: counts, after: counts };
    let usage = |stack_frame| Usage { warps: 64, stack_frame, spilled: 0, shared: 0, code: 0 };
    let faster = estimate(&executed, usage(64), usage(0), Arch::new(80)).unwrap();
    assert!(faster.speedup.percent > 300 && !faster.is_slower(), "{faster:?}");
    assert_eq!(estimate(&executed, usage(0), usage(0), Arch::new(80)).map(|same| same.speedup.percent), Some(100));
    let nothing = Executed { before: Counts::default(), after: counts };
    assert_eq!(estimate(&nothing, usage(0), usage(0), Arch::new(80)), None);
}
