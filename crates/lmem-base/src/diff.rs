//! Differences of two texts, by line or by word.

use std::fmt::Write;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// Number of equal lines that a patch shows around a difference.
const CONTEXT: usize = 3;

/// A part of the first text, and what the second has in its place; one of the two may be empty.
pub type Hunk = (Range<usize>, Range<usize>);

/// The differences with the fewest words removed and added.
pub fn shortest(before: &[&str], after: &[&str]) -> Vec<Hunk> {
    hunks(Algorithm::MyersMinimal, before, after)
}

/// The runs of equal words around those that are rare: what a person would align. Each is its start in both texts, and
/// its length.
pub fn equal_runs(before: &[&str], after: &[&str]) -> Vec<(usize, usize, usize)> {
    let (mut runs, mut old, mut new) = (Vec::new(), 0, 0);
    let end = (before.len()..before.len(), after.len()..after.len());
    for (removed, added) in hunks(Algorithm::Histogram, before, after).into_iter().chain([end]) {
        let length = removed.start - old;
        if length > 0 {
            runs.push((old, new, length));
        }
        (old, new) = (removed.end, added.end);
    }
    runs
}

fn hunks(algorithm: Algorithm, before: &[&str], after: &[&str]) -> Vec<Hunk> {
    let mut input = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    let mut diff = Diff::compute(algorithm, &input);
    diff.postprocess_no_heuristic(&input);
    let range = |range: &Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| (range(&hunk.before), range(&hunk.after))).collect()
}

/// A patch of one file that `git apply` and `patch -p1` accept; empty if both texts are equal. The name may have any bytes.
pub fn patch(name: &[u8], before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let mut groups: Vec<Vec<Hunk>> = Vec::new();
    for hunk in shortest(&old, &new) {
        let is_near =
            |group: &&mut Vec<Hunk>| group.last().is_some_and(|last| hunk.0.start - last.0.end <= 2 * CONTEXT);
        match groups.last_mut().filter(is_near) {
            Some(group) => group.push(hunk),
            None => groups.push(vec![hunk]),
        }
    }
    let mut text = String::new();
    if !groups.is_empty() {
        // Writing to a string does not fail.
        let _ = write!(text, "--- {}\n+++ {}\n", quoted("a/", name), quoted("b/", name));
    }
    for group in &groups {
        write_group(&mut text, group, &old, &new);
    }
    text
}

/// A name as git writes it: in quotes, with escapes, where it has more than printable ASCII. Behind a blank, the name ends
/// with a tab.
fn quoted(side: &str, name: &[u8]) -> String {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if name.iter().all(is_plain) {
        let end = if name.contains(&b' ') { "\t" } else { "" };
        return format!("{side}{}{end}", String::from_utf8_lossy(name));
    }
    let mut text = format!("\"{side}");
    for byte in name {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            byte if is_plain(byte) => text.push(char::from(*byte)),
            // Writing to a string does not fail.
            byte => drop(write!(text, "\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}

/// Adjacent differences with the lines around them.
fn write_group(text: &mut String, group: &[Hunk], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let lead = first.0.start.min(CONTEXT);
    let rest = (old.len() - last.0.end).min(CONTEXT);
    let part = |start: usize, end: usize| match end - start {
        // An empty part stands behind the line before it.
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    };
    let (removed, added) =
        (part(first.0.start - lead, last.0.end + rest), part(first.1.start - lead, last.1.end + rest));
    let _ = writeln!(text, "@@ -{removed} +{added} @@");
    let mut write = |sign: char, lines: &[&str]| {
        for line in lines {
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let _ = write!(text, "{sign}{line}{end}");
        }
    };
    let mut at = first.0.start - lead;
    for (removed, added) in group {
        write(' ', &old[at..removed.start]);
        write('-', &old[removed.clone()]);
        write('+', &new[added.clone()]);
        at = removed.end;
    }
    write(' ', &old[at..last.0.end + rest]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split(' ').collect()
    }

    #[test]
    fn runs_and_hunks_are_each_other_s_rest() {
        let (before, after) = (words("a b c d e"), words("a x c d e f"));
        assert_eq!(shortest(&before, &after), [(1..2, 1..2), (5..5, 5..6)]);
        assert_eq!(equal_runs(&before, &after), [(0, 0, 1), (2, 2, 3)]);
        assert_eq!(equal_runs(&before, &before), [(0, 0, 5)]);
        assert!(shortest(&before, &before).is_empty() && equal_runs(&words("a"), &words("b")).is_empty());
    }

    #[test]
    fn patches_are_those_of_diff() {
        let before = (1..=20).map(|line| format!("{line}\n")).collect::<String>();
        let after = before.replacen("4\n", "four\n", 1).replacen("18\n", "", 1);
        let expected = "--- a/k.cu\n+++ b/k.cu\n@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n\
                        @@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n";
        assert_eq!(patch(b"k.cu", &before, &after), expected);
        assert_eq!(patch(b"k.cu", &before, &before), "");
        assert_eq!(patch(b"a", "", "x\n"), "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x\n");
        let no_end = "\n\\ No newline at end of file\n";
        assert_eq!(patch(b"a", "x", "x\n"), format!("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x{no_end}+x\n"));
    }

    #[test]
    fn names_are_those_that_git_reads() {
        let header = |name: &[u8]| patch(name, "", "x\n").lines().next().unwrap().to_string();
        assert_eq!(header(b"k/a.cu"), "--- a/k/a.cu");
        assert_eq!(header(b"a b.cu"), "--- a/a b.cu\t");
        assert_eq!(header("\u{e4}\n\"\\.cu".as_bytes()), r#"--- "a/\303\244\012\"\\.cu""#);
        assert_eq!(header(b"\xff .cu"), r#"--- "a/\377 .cu""#);
    }

    #[test]
    fn git_applies_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            let output = std::process::Command::new("git").current_dir(folder.path()).args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        git(&["init", "-q"]);
        let names: [&[u8]; 6] = [
            b"plain.cu",
            b"with blanks .cu",
            "\u{e4}\u{202e}.cu".as_bytes(),
            b"a\n\t\x01.cu",
            b"q\"\\'.cu",
            b"\xff.cu",
        ];
        let texts = [("a\r\nb\r\n", "a\r\nnew\r\nb\r\n"), ("a\nb", "new\nb"), ("a\n\x0c\u{85}b\n", "a\n\x0c\u{85}c")];
        for name in names {
            let path = folder.path().join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name));
            for (before, after) in texts {
                fs_err::write(&path, before).unwrap();
                fs_err::write(folder.path().join("patch"), patch(name, before, after)).unwrap();
                git(&["apply", "patch"]);
                assert_eq!(fs_err::read(&path).unwrap(), after.as_bytes(), "{name:?}");
            }
        }
    }

    /// What `patch` makes of the text, where each line of context and each removed line must be the text's own.
    fn applied(before: &str, patch: &str) -> String {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let (mut text, mut at) = (String::new(), 0);
        for line in patch.split_inclusive('\n').skip(2) {
            if let Some(hunk) = line.strip_prefix("@@ -") {
                let (start, length) =
                    hunk.split(' ').next().unwrap().split_once(',').unwrap_or((hunk.split(' ').next().unwrap(), "1"));
                let start = start.parse::<usize>().unwrap() - usize::from(length != "0");
                text.extend(old[at..start].iter().copied());
                at = start;
            } else if line.starts_with('\\') {
                assert_eq!(text.pop(), Some('\n'));
            } else {
                let (sign, line) = line.split_at(1);
                if sign != "+" {
                    assert_eq!(old[at].trim_end_matches('\n'), line.trim_end_matches('\n'));
                    at += 1;
                }
                if sign != "-" {
                    text.push_str(line);
                }
            }
        }
        text.extend(old[at..].iter().copied());
        text
    }

    #[test]
    fn a_patch_leads_from_one_text_to_the_other() {
        let mut state = 88_172_645_463_325_252u64;
        let mut below = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        for _ in 0..2000 {
            let before: Vec<u64> = (0..below(40)).map(|_| below(9)).collect();
            let mut after = before.clone();
            for _ in 0..below(5) {
                let at = below(after.len() as u64 + 1) as usize;
                match below(2) {
                    0 => after.insert(at, below(9)),
                    _ => drop((at < after.len()).then(|| after.remove(at))),
                }
            }
            let text = |lines: &[u64]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (before, after) = (text(&before), text(&after));
            assert_eq!(applied(&before, &patch(b"a", &before, &after)), after, "{before}---\n{after}");
        }
    }
}
