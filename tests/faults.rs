//! Faults of the system at each place of a small run: a file that cannot be opened, a full disk, a program that cannot be
//! started, a kill. No file is half written, nothing stays behind, the error is a sentence, and the next run is right.
//!
//! `tests/faults/inject.c` runs the program and lets the n-th call of a family fail. Where there is no C compiler, or no
//! tracing is allowed, nothing is tried. Some calls of each family are tried; `LMEM_FAULTS=all` tries each.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// Calls of a family that are tried, spread evenly over the run.
const TRIED: usize = 4;
/// The injector's exit code where tracing is not allowed.
const CANNOT_TRACE: i32 = 75;
/// A panic's exit code.
const PANIC: i32 = 101;
/// Exit codes from here on are signals.
const SIGNAL: i32 = 128;
const KILLED: i32 = SIGNAL + 9;
const OLD: &str = "what was there before\n";

/// Families of calls, and the errors that they give in turn: EMFILE, EIO, ENOSPC, EACCES, EAGAIN, ECHILD.
const FAMILIES: &[(&str, &[&str])] = &[
    ("open", &["24", "5"]),
    ("read", &["5"]),
    ("write", &["28", "5"]),
    ("rename", &["28", "13"]),
    ("spawn", &["11"]),
    ("wait", &["10"]),
];

/// A tree with machine code, so that no compiler is needed, and where everything else goes.
struct Place {
    folder: tempfile::TempDir,
}

/// A kernel that `--fix` edits, and what it makes of it.
const KERNEL: &str = "__global__ void walk(const float *in, float *out, int n)\n{\n    float part[16];\n    for (int t = 0; t < n; ++t) {\n        \
    part[t] = in[t];\n    }\n    float sum = 0;\n    for (int t = 0; t < n; ++t) {\n        sum += part[t];\n    }\n    out[0] = sum;\n}\n";

/// Calls of a family that are tried where each run compiles.
const TRIED_LIVE: usize = 2;

/// How a run ended.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
    calls: usize,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        for name in ["tree/src", "tmp", "cache", "out"] {
            fs_err::create_dir_all(place.path(name)).unwrap();
        }
        let image = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates/machine_code/images/lines.cubin");
        fs_err::copy(image, place.path("tree/kernels.cubin")).unwrap();
        let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
        fs_err::write(place.path("tree/Cargo.toml"), manifest).unwrap();
        fs_err::write(place.path("tree/src/lib.rs"), "").unwrap();
        fs_err::write(place.path("out/report.json"), OLD).unwrap();
        place
    }

    /// A tree with a kernel, which takes a toolkit; with `cache`, all that compiling it gives is known.
    fn with_kernel(cache: Option<&Path>) -> Self {
        let place = Self::new();
        fs_err::remove_file(place.path("tree/kernels.cubin")).unwrap();
        fs_err::write(place.path("tree/walk.cu"), KERNEL).unwrap();
        if let Some(cache) = cache {
            let copied = Command::new("cp").arg("-a").arg(cache.join(".")).arg(place.path("cache")).status();
            assert!(copied.unwrap().success());
        }
        place
    }

    fn kernel(&self) -> String {
        fs_err::read_to_string(self.path("tree/walk.cu")).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Names of all files and folders below one.
    fn names(&self, below: &str) -> Vec<PathBuf> {
        let walk = walkdir::WalkDir::new(self.path(below)).sort_by_file_name().into_iter();
        walk.filter_map(Result::ok).map(walkdir::DirEntry::into_path).collect()
    }

    /// Runs the program; the `n`-th call of a family gives an error, or is where it is killed.
    fn run(&self, arguments: &[&str], family: &str, n: usize, what: &str) -> Option<Ended> {
        let calls = self.path("calls");
        let mut command = Command::new(injector()?);
        command.arg(&calls).args([family, &n.to_string(), what, env!("CARGO_BIN_EXE_cargo-lmem"), "lmem"]);
        command.args(arguments).current_dir(self.path("tree")).stdin(Stdio::null());
        command.env("TMPDIR", self.path("tmp")).env("CARGO_LMEM_CACHE_DIR", self.path("cache"));
        command.env_remove("RUST_BACKTRACE");
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(Ended {
            code: output.status.code()?,
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            calls: fs_err::read_to_string(&calls).ok()?.trim().parse().ok()?,
        })
    }
}

/// The injector, compiled once.
fn injector() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/inject.c");
        let (program, calls) = (Path::new(env!("CARGO_TARGET_TMPDIR")).join("inject"), "/dev/null");
        let compiled = Command::new("cc").arg("-O1").arg("-o").arg(&program).arg(source).output().ok()?;
        let works = || Command::new(&program).args([calls, "open", "0", "5", "/bin/true"]).status().ok()?.code();
        match compiled.status.success() && works() == Some(0) {
            true => Some(program),
            false => {
                eprintln!("no faults are tried: there is no C compiler, or no tracing ({CANNOT_TRACE})");
                None
            }
        }
    };
    BUILT.get_or_init(build).as_deref()
}

/// The calls to try.
fn chosen(count: usize, tried: usize) -> Vec<usize> {
    let is_all = std::env::var_os("LMEM_FAULTS").is_some_and(|value| value == "all");
    let step = if is_all { 1 } else { count.div_ceil(tried).max(1) };
    (1..=count).step_by(step).collect()
}

/// Lets every chosen call of every family fail, and asks what is said of the end and of the files.
fn each_fault(arguments: &[&str], holds: impl Fn(&Place, &Ended, &str) -> Result<(), String>) {
    let is_same = |_: &Place, next: &Ended, clean: &Ended| next.code == clean.code && next.stdout == clean.stdout;
    each_fault_in(&Place::new, TRIED, arguments, holds, is_same);
}

/// The same in other places; `is_right` judges the run that follows.
fn each_fault_in(
    new: &dyn Fn() -> Place,
    tried: usize,
    arguments: &[&str],
    holds: impl Fn(&Place, &Ended, &str) -> Result<(), String>,
    is_right: impl Fn(&Place, &Ended, &Ended) -> bool,
) {
    let mut problems = Vec::new();
    let place = new();
    for (family, errors) in FAMILIES {
        let Some(clean) = new().run(arguments, family, 0, "0") else { return };
        for (at, n) in chosen(clean.calls, tried).into_iter().enumerate() {
            let what = errors[at % errors.len()];
            let place = new();
            let Some(ended) = place.run(arguments, family, n, what) else { return };
            let mut check = |problem: Result<(), String>| {
                let said = || format!("{}\n{}", ended.stdout, ended.stderr);
                problems.extend(problem.err().map(|problem| format!("{family} {n} ({what}): {problem}\n{}", said())));
            };
            let is_kept = !(ended.code == PANIC || ended.code >= SIGNAL || ended.stderr.contains("panicked"));
            check(is_kept.then_some(()).ok_or(format!("it ends with {}", ended.code)));
            let report = fs_err::read_to_string(place.path("out/report.json")).unwrap_or_default();
            let says_error = [&ended.stderr, &ended.stdout, &report].iter().any(|text| text.contains("error"));
            check(
                (ended.code == 0 || ended.code == clean.code || says_error)
                    .then_some(())
                    .ok_or(format!("it ends with {} and without an error", ended.code)),
            );
            check(holds(&place, &ended, &clean.stdout));
            let left: Vec<PathBuf> = place.names("tmp").into_iter().skip(1).collect();
            check(left.is_empty().then_some(()).ok_or(format!("left: {left:?}")));
            let Some(next) = place.run(arguments, family, 0, "0") else { return };
            let wrong = || format!("the next run ends with {}:\n{}{}", next.code, next.stdout, next.stderr);
            check(is_right(&place, &next, &clean).then_some(()).ok_or_else(wrong));
        }
    }
    drop(place);
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n---\n"));
}

/// Each line, and there is an end to the last.
fn is_json_lines(text: &str) -> bool {
    let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    text.ends_with('\n') && text.lines().all(is_json)
}

fn is_whole_report(place: &Place, ended: &Ended) -> Result<(), String> {
    let text = fs_err::read_to_string(place.path("out/report.json")).map_err(|error| error.to_string())?;
    match (text == OLD, is_json_lines(&text)) {
        (true, _) if ended.code == 0 => Err("it ends well and wrote nothing".to_string()),
        (true, _) | (_, true) => Ok(()),
        _ => Err(format!("half a report: {text}")),
    }
}

fn has_no_left_over(place: &Place, below: &str) -> Result<(), String> {
    let is_left_over =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".cargo-lmem-"));
    let names = place.names(below);
    names.iter().find(is_left_over).map_or(Ok(()), |path| Err(format!("`{}` is left", path.display())))
}

#[test]
fn reports_are_whole_or_as_they_were() {
    let arguments = ["--offline", "--message-format", "json", "--output", "../out/report.json", "kernels.cubin"];
    each_fault(&arguments, |place, ended, _| {
        is_whole_report(place, ended)?;
        has_no_left_over(place, "out")
    });
}

#[test]
fn findings_are_shown_or_an_error_says_why_not() {
    each_fault(&["--offline", "--message-format", "short", "kernels.cubin"], |_, ended, clean| {
        // Without an error, all findings are there: a fault must not make a check green.
        match ended.code == 0 && ended.stdout != clean && !ended.stderr.contains("error") {
            true => Err("findings are missing, and nothing is said".to_string()),
            false => Ok(()),
        }
    });
}

#[test]
fn baselines_are_whole_or_not_there() {
    each_fault(&["--offline", "--write-baseline", "kernels.cubin"], |place, ended, _| {
        has_no_left_over(place, "tree")?;
        match fs_err::read_to_string(place.path("tree/lmem-baseline.json")) {
            Ok(text) if is_json_lines(&text) => Ok(()),
            Ok(text) => Err(format!("half a baseline: {text}")),
            Err(_) if ended.code == 0 => Err("it ends well and wrote nothing".to_string()),
            Err(_) => Ok(()),
        }
    });
}

#[test]
fn files_for_ci_are_whole_or_not_there() {
    each_fault(&["init", "--github"], |place, ended, _| {
        has_no_left_over(place, "tree")?;
        let written = place.path("tree/.github/workflows/lmem.yml");
        match fs_err::read_to_string(&written) {
            Ok(text) if text.trim_end().is_empty() => Err("an empty file".to_string()),
            Err(_) if ended.code == 0 && place.names("tree").len() < 6 => {
                Err("it ends well and wrote nothing".to_string())
            }
            _ => Ok(()),
        }
    });
}

/// The toolkit that a check would use, in the live tier: places have cache folders of their own.
fn toolkit() -> Option<String> {
    std::env::var_os("LMEM_LIVE").filter(|value| !value.is_empty())?;
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-lmem")).args(["lmem", "toolkit", "which"]).output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap().trim().to_string()).filter(|path| Path::new(path).is_dir())
}

/// Compilers that cannot be started, and files of theirs that cannot be read: the kernel is checked, or named as one that was not.
#[test]
fn a_run_that_compiles_checks_or_says_what_it_did_not() {
    let Some(toolkit) = toolkit() else { return };
    let arguments = ["--offline", "--no-verify", "--toolkit", &toolkit, "--arch", "sm_90", "--message-format", "short"];
    let new = || Place::with_kernel(None);
    let holds = |_: &Place, ended: &Ended, clean: &str| match ended.code == 0
        && ended.stdout != clean
        && !ended.stderr.contains("error")
    {
        true => Err("findings are missing, and nothing is said".to_string()),
        false => Ok(()),
    };
    let is_same = |_: &Place, next: &Ended, clean: &Ended| next.code == clean.code && next.stdout == clean.stdout;
    each_fault_in(&new, TRIED_LIVE, &arguments, holds, is_same);
}

/// What was compiled is known, so that the faults are those of writing.
#[test]
fn edits_are_whole_or_not_made() {
    let Some(toolkit) = toolkit() else { return };
    let arguments = ["--offline", "--toolkit", &toolkit, "--arch", "sm_90", "--fix", "--allow-no-vcs"];
    let first = Place::with_kernel(None);
    let Some(ended) = first.run(&arguments, "rename", 0, "0") else { return };
    let fixed = first.kernel();
    assert!(ended.code == 0 && fixed != KERNEL, "it edits: {}", ended.stderr);
    let known = first.path("cache");
    let new = || Place::with_kernel(Some(&known));
    let holds = |place: &Place, ended: &Ended, _: &str| {
        has_no_left_over(place, "tree")?;
        match place.kernel() {
            text if text == fixed => Ok(()),
            text if text == KERNEL && ended.code == 0 && !ended.stderr.contains("error") => {
                Err("it ends well and wrote nothing".to_string())
            }
            text if text == KERNEL => Ok(()),
            text => Err(format!("half a file: {text}")),
        }
    };
    each_fault_in(&new, TRIED, &arguments, holds, |place, next, _| next.code == 0 && place.kernel() == fixed);
}

/// The guardian removes what a run leaves that is killed: between the file and its place, above all.
#[test]
fn a_kill_leaves_nothing() {
    let arguments = ["--offline", "--message-format", "json", "--output", "../out/report.json", "kernels.cubin"];
    let mut problems = Vec::new();
    for family in ["open", "write", "rename"] {
        let Some(clean) = Place::new().run(&arguments, family, 0, "0") else { return };
        for n in chosen(clean.calls, TRIED).into_iter().chain(clean.calls.saturating_sub(4)..=clean.calls) {
            let place = Place::new();
            let Some(ended) = place.run(&arguments, family, n, "kill") else { return };
            // The guardian outlives the run by a moment.
            let is_clean = || place.names("tmp").len() == 1 && has_no_left_over(&place, "out").is_ok();
            let ended_well = (0..100).any(|_| {
                is_clean() || {
                    std::thread::sleep(Duration::from_millis(20));
                    false
                }
            });
            let result = match (ended.code == KILLED || n > clean.calls, ended_well) {
                (_, false) => Err(format!("left: {:?} {:?}", place.names("tmp"), place.names("out"))),
                (false, _) => Ok(()),
                (true, true) => is_whole_report(&place, &ended),
            };
            problems.extend(result.err().map(|problem| format!("{family} {n}: {problem}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
