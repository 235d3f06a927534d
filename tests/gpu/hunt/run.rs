//! Runs all pairs of a folder, each in a process of its own, and adds up the verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use super::collection::Form;
use super::pair::PAIR;

/// Results that differ by no more are the same but for their last digits.
pub const LAST_DIGITS: f32 = 1e-4;
/// A pair that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(60);
/// An edit may cost so much.
const SLOWER: f32 = 1.03;

/// The first line of `judged.txt`.
const HEAD: &str = "# Form, file and hash of each edited text that a GPU found to compute the same: `equal`, or `digits` where last digits differ.\n";

/// Prints a line for each pair, and writes `judged.txt` with those that compute the same. The test fails where one does not; last
/// digits may differ after edits that a programmer must ask for.
pub fn run(folder: &Path) -> Result<(), Failed> {
    let mut names = BTreeSet::new();
    for entry in fs_err::read_dir(folder)? {
        names.extend(entry?.file_name().to_string_lossy().strip_suffix(".launch").map(str::to_string));
    }
    let (mut problems, mut digits, mut slower) = (Vec::new(), Vec::new(), Vec::new());
    let mut totals: BTreeMap<(Form, String), usize> = BTreeMap::new();
    let mut judged: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in &names {
        for form in Form::ALL {
            let stem = folder.join(name);
            let Ok(lines) = fs_err::read_to_string(format!("{}.{}.judged", stem.display(), form.name())) else {
                continue;
            };
            let found = in_a_process(&format!("{} {}", stem.display(), form.name()))?;
            let line = format!("{name:32} {:7} {found}", form.name());
            println!("{line}");
            let verdict = found.split(' ').next().unwrap_or_default().to_string();
            for line in lines.lines() {
                judged.entry(line.to_string()).or_default().insert(verdict.clone());
            }
            let ratio = found.rsplit_once(" | ").and_then(|(_, times)| times.split(' ').next()?.parse::<f32>().ok());
            if ratio.is_some_and(|ratio| ratio > SLOWER) {
                slower.push(line.clone());
            }
            match (verdict.as_str(), form) {
                ("equal", _) => {}
                ("digits", Form::Unsafe) => digits.push(line),
                _ => problems.push(line),
            }
            *totals.entry((form, verdict)).or_default() += 1;
        }
    }
    let verdicts: String = judged
        .iter()
        .filter(|(_, verdicts)| verdicts.iter().all(|verdict| verdict == "equal" || verdict == "digits"))
        .map(|(line, verdicts)| format!("{line} {}\n", if verdicts.contains("digits") { "digits" } else { "equal" }))
        .collect();
    fs_err::write(folder.join("judged.txt"), HEAD.to_string() + &verdicts)?;
    println!("\nother last digits, {}:\n{}", digits.len(), digits.join("\n"));
    println!("\nslower, {}:\n{}", slower.len(), slower.join("\n"));
    println!("\nnot the same, {}:\n{}\n", problems.len(), problems.join("\n"));
    for ((form, verdict), count) in totals {
        println!("{:7} {verdict:8} {count}", form.name());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

/// The line that the process of a pair prints, or how it ended.
fn in_a_process(pair: &str) -> Result<String, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.env(PAIR, pair).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let start = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if start.elapsed() > LONGEST => break None,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if status.is_none() {
        child.kill()?;
        child.wait()?;
        return Ok(format!("fails: not at its end after {} seconds", LONGEST.as_secs()));
    }
    let mut said = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut said)?;
    let line = said.lines().next().map(str::to_string);
    Ok(line.unwrap_or_else(|| format!("fails: {}", status.map_or_else(String::new, |status| status.to_string()))))
}
