//! The estimate of the measured pairs.

use super::*;

/// A measured pair: its ratio, and the estimate.
struct Pair {
    name: &'static str,
    measured: f64,
    estimated: f64,
    speedup: Speedup,
}

fn pairs() -> Vec<Pair> {
    let lines = include_str!("measured.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(pair).collect()
}

fn pair(line: &'static str) -> Pair {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, _, before, after, versions @ ..] = fields.as_slice() else { panic!("{line}") };
    let (one, other) = versions.split_at(versions.len() / 2);
    let ((old, old_usage), (new, new_usage)) = (version(one), version(other));
    let time = |text: &str| text.parse::<f64>().unwrap();
    let arch = Arch::new(90);
    let executed = Executed { before: old, after: new };
    Pair {
        name,
        measured: time(before) / time(after),
        estimated: cycles(&old, old_usage, arch).unwrap() / cycles(&new, new_usage, arch).unwrap(),
        speedup: estimate(&executed, old_usage, new_usage, arch).unwrap(),
    }
}

fn version(fields: &[&str]) -> (Counts, Usage) {
    let numbers: Vec<u64> = fields.iter().map(|field| field.parse().unwrap()).collect();
    let [
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
        global_accesses,
        missed_lines,
        shared_passes,
        constant_words,
    ] = numbers[..]
    else {
        panic!("{fields:?}")
    };
    let counts = Counts {
        warps: 10,
        issued,
        integer,
        float: 0,
        code,
        chain,
        calls,
        local_accesses,
        local_lines,
        global_accesses,
        missed_lines,
        shared_passes,
        constant_words,
    };
    (counts, Usage { warps: u32::try_from(warps).unwrap(), stack_frame, spilled })
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

#[test]
fn measured_pairs_are_ordered_by_the_estimate() {
    let pairs = pairs();
    assert_eq!(pairs.len(), 170);
    let measured: Vec<f64> = pairs.iter().map(|pair| pair.measured).collect();
    let estimated: Vec<f64> = pairs.iter().map(|pair| pair.estimated).collect();
    let spearman = correlation(&ranks(&measured), &ranks(&estimated));
    assert!(spearman >= 0.86, "{spearman}");
}

#[test]
fn slower_edits_are_told_from_faster_ones() {
    let pairs = pairs();
    let slower = || pairs.iter().filter(|pair| pair.measured < 0.97);
    let found = slower().filter(|pair| pair.speedup.is_slower()).count();
    assert!(slower().count() == 21 && found >= 13, "{found}");
    let wrong = pairs.iter().filter(|pair| pair.measured > 1.03 && pair.speedup.is_slower());
    assert_eq!(wrong.map(|pair| pair.name).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_band_has_four_of_five_pairs() {
    let pairs = pairs();
    let is_within = |pair: &&Pair| {
        let percent = pair.measured * 100.0;
        (f64::from(pair.speedup.low_percent)..=f64::from(pair.speedup.high_percent)).contains(&percent)
    };
    let within = pairs.iter().filter(is_within).count();
    assert!(within * 5 >= pairs.len() * 4, "{within}");
}

#[test]
fn local_memory_without_a_frame_is_none() {
    let counts =
        Counts { warps: 2, issued: 1000, code: 100, local_accesses: 50, local_lines: 400, ..Counts::default() };
    let executed = Executed { before: counts, after: counts };
    let usage = |stack_frame| Usage { warps: 64, stack_frame, spilled: 0 };
    let faster = estimate(&executed, usage(64), usage(0), Arch::new(80)).unwrap();
    assert!(faster.percent > 300 && !faster.is_slower(), "{faster:?}");
    assert_eq!(estimate(&executed, usage(0), usage(0), Arch::new(80)).map(|same| same.percent), Some(100));
    let nothing = Executed { before: Counts::default(), after: counts };
    assert_eq!(estimate(&nothing, usage(0), usage(0), Arch::new(80)), None);
}
