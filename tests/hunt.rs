//! What `--fix` makes of the hostile kernels, with a real toolkit: `LMEM_LIVE=1 cargo test --test hunt`. An edit that is not recorded
//! fails until it was judged on a GPU: `tests/hunt/README.md`.
//!
//! `LMEM_RECORD=1` writes the edits down anew.

#[path = "hunt/collection.rs"]
mod collection;

use std::collections::BTreeSet;
use std::path::PathBuf;

use collection::{Edited, Form, folder};
use libtest_mimic::{Arguments, Failed, Trial};

/// Edits depend on what the compiler makes of them. The lists are of this one, and of the GPU that judged.
const ARCHITECTURE: &str = "sm_90";

fn main() {
    let arguments = Arguments::from_args();
    let is_live = std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty());
    let trials = vec![
        Trial::test("edits_are_those_on_record", edits_are_those_on_record).with_ignored_flag(!is_live),
        Trial::test("edits_on_record_were_judged", edits_on_record_were_judged),
        Trial::test("kernels_say_how_they_are_launched", kernels_say_how_they_are_launched),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

/// What a form writes, as patches of one file after another.
fn record(form: Form) -> PathBuf {
    folder().join(format!("{}.diff", form.name()))
}

fn edits_are_those_on_record() -> Result<(), Failed> {
    let edited = collection::edit(ARCHITECTURE)?;
    let mut problems = Vec::new();
    for form in Form::ALL {
        let of_form = edited.iter().filter(|edited| edited.form == form);
        let found: String = of_form.map(Edited::diff).collect();
        if std::env::var_os("LMEM_RECORD").is_some() {
            fs_err::write(record(form), &found)?;
        } else {
            let recorded = fs_err::read_to_string(record(form))?;
            problems.extend(differing(&recorded, &found).map(|path| format!("{} {path}", form.name())));
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "edits that are not those on record; a GPU must judge them: tests/hunt/README.md\n{}",
            problems.join("\n")
        )
        .into()),
    }
}

/// The files whose patches are not the same, with the patches.
fn differing(recorded: &str, found: &str) -> impl Iterator<Item = String> {
    let (recorded, found) = (patches(recorded), patches(found));
    let differing: Vec<String> = recorded.symmetric_difference(&found).map(ToString::to_string).collect();
    differing.into_iter()
}

/// The patches of a record, one for each file.
fn patches(record: &str) -> BTreeSet<&str> {
    let starts = record.match_indices("--- a/").map(|(start, _)| start);
    let starts: Vec<usize> = starts.filter(|start| *start == 0 || record.as_bytes()[start - 1] == b'\n').collect();
    let ends = starts.iter().skip(1).copied().chain([record.len()]);
    starts.iter().zip(ends).map(|(start, end)| &record[*start..end]).collect()
}

fn edits_on_record_were_judged() -> Result<(), Failed> {
    let judged = fs_err::read_to_string(folder().join("judged.txt"))?;
    let judged: BTreeSet<&str> = judged.lines().filter(|line| !line.starts_with('#')).collect();
    let mut left: BTreeSet<&str> = judged.clone();
    let mut problems = Vec::new();
    for form in Form::ALL {
        let record = fs_err::read_to_string(record(form))?;
        for patch in patches(&record) {
            let edited = applied(patch, form)?;
            let name = edited.judged_name();
            let (equal, digits) = (format!("{name} equal"), format!("{name} digits"));
            let warned = format!("{name} warned");
            let is_judged = left.remove(equal.as_str())
                || form == Form::Unsafe && (left.remove(digits.as_str()) || left.remove(warned.as_str()));
            if !is_judged {
                problems.push(format!("not judged equal on a GPU: {name}"));
            }
        }
    }
    problems.extend(left.iter().map(|line| format!("judged, and no edit any more: {line}")));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

/// The edit that a patch describes, made in the collection's file; fails where that file is another by now.
fn applied(patch: &str, form: Form) -> Result<Edited, Failed> {
    let path = patch.strip_prefix("--- a/").and_then(|rest| rest.lines().next()).ok_or("a patch without a name")?;
    let before = fs_err::read_to_string(folder().join(path))?;
    let mut old = before.split_inclusive('\n');
    let (mut after, mut at) = (String::new(), 1);
    for line in patch.split_inclusive('\n').skip(2) {
        if let Some(hunk) = line.strip_prefix("@@ -") {
            let start: usize = hunk.split([',', ' ']).next().unwrap_or_default().parse()?;
            while at < start {
                after.push_str(old.next().ok_or_else(|| format!("{path} is shorter than its patch says"))?);
                at += 1;
            }
            continue;
        }
        let (sign, text) = line.split_at(1);
        if sign != "+" {
            if old.next() != Some(text) {
                return Err(format!("{path}:{at} is not what the patch on record starts from").into());
            }
            at += 1;
        }
        if sign != "-" {
            after.push_str(text);
        }
    }
    after.extend(old);
    Ok(Edited { path: path.to_string(), form, before, after })
}

fn kernels_say_how_they_are_launched() -> Result<(), Failed> {
    let mut problems = Vec::new();
    for path in collection::files()?.iter().filter(|path| path.ends_with(".cu") || path.ends_with(".rs")) {
        let text = fs_err::read_to_string(folder().join(path))?;
        let line = text.lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
        let is_list = |list: &str, name: &str| {
            list.trim()
                .strip_prefix(name)
                .is_some_and(|values| values.split(',').all(|one| one.trim().parse::<i64>().is_ok()))
        };
        let lists = line.strip_prefix("// launch: ").and_then(|lists| lists.split_once(';'));
        if !lists.is_some_and(|(n, m)| is_list(n, "n = ") && is_list(m, "m = ")) {
            problems.push(format!("{path}: {line}"));
        }
        let classes = fs_err::read_to_string(folder().join("classes.tsv"))?;
        let name = path.rsplit('/').next().unwrap_or_default();
        if !classes.lines().any(|line| line.split('\t').next() == Some(name)) {
            problems.push(format!("{path}: no class in classes.tsv"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}
