//! Workspaces that try to execute, to show, to lose or to hang: each folder of `tests/hostile/` is one.
//!
//! `case.json` says how the tool is started and what must come of it; `tree/` is the workspace. What git does not keep
//! (links, pipes, repositories) is made by `setup`, a shell script. Of every case holds, without being said: nothing in the
//! workspace is executed (by `strace`, where that is there), no word of the files outside is shown, no file in the
//! workspace or outside changes, nothing is left in the folder for temporary files, and the tool ends within its time.
//! Cases that need compilers run with `LMEM_LIVE=1`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;

/// What the files outside of the workspace say.
const SECRET: &str = "hunter2";
/// More than this does not fit into a variable.
const MAX_SAID: usize = 64 << 10;
/// A file that hostile programs write, outside of the workspace.
const EXECUTED: &str = "executed";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the workspace tries, for readers.
    #[serde(rename = "what")]
    _what: String,
    /// Needs a toolkit.
    #[serde(default)]
    live: bool,
    #[serde(default)]
    setup: String,
    run: Vec<String>,
    /// The folder that it is started in, if not `$TREE`.
    #[serde(default)]
    from: Option<String>,
    /// `$TREE`, `$OUTSIDE`, `$CASE`, `$CARGO` and the variables of the test are replaced; an empty value removes a variable.
    #[serde(default)]
    environment: BTreeMap<String, String>,
    exit: Vec<i32>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    says_not: Vec<String>,
    /// Files that may change, below `$TREE` or `$OUTSIDE`.
    #[serde(default)]
    writes: Vec<String>,
    /// A shell script that must succeed afterwards, with what was said in `$SAID`.
    #[serde(default)]
    holds: String,
    #[serde(default = "a_minute")]
    seconds: u64,
}

fn a_minute() -> u64 {
    60
}

fn main() {
    let arguments = Arguments::from_args();
    let is_live = std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let mut cases: Vec<PathBuf> =
        fs_err::read_dir(folder).expect("the cases").filter_map(|entry| Some(entry.ok()?.path())).collect();
    cases.sort();
    let trials = cases.into_iter().filter(|path| path.join("case.json").is_file()).map(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let read = || Ok::<Case, Failed>(serde_json::from_slice(&fs_err::read(path.join("case.json"))?)?);
        let case = read();
        let is_ignored = case.as_ref().is_ok_and(|case| case.live) && !is_live;
        Trial::test(name, move || hold(&case?, &path)).with_ignored_flag(is_ignored)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn hold(case: &Case, folder: &Path) -> Result<(), Failed> {
    let place = tempfile::tempdir()?;
    let root = fs_err::canonicalize(place.path())?;
    let [tree, outside, temporary, cache] = ["tree", "outside", "tmp", "cache"].map(|name| root.join(name));
    for made in [&tree, &outside, &temporary, &cache] {
        fs_err::create_dir(made)?;
    }
    fs_err::write(outside.join("credentials"), format!("{SECRET} = {SECRET}_key\n"))?;
    copy(&folder.join("tree"), &tree)?;
    let cargo = PathBuf::from(env!("CARGO"));
    let variables: BTreeMap<&str, &Path> =
        [("TREE", &*tree), ("OUTSIDE", &*outside), ("CASE", folder), ("CARGO", &*cargo)].into();
    let script = |text: &str, said: &str| -> Result<(), Failed> {
        let mut shell = Command::new("sh");
        shell
            .args(["-eu", "-c", text])
            .current_dir(&tree)
            .envs(&variables)
            .env("SAID", said.get(..MAX_SAID).unwrap_or(said));
        let output = shell.output()?;
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success().then_some(()).ok_or_else(|| format!("`{text}` fails: {words}\n{said}").into())
    };
    script(&case.setup, "")?;
    let before = state(&[&tree, &outside]);
    let replaced = |text: &String| {
        let all = variables
            .iter()
            .fold(text.clone(), |text, (name, value)| text.replace(&format!("${name}"), &value.to_string_lossy()));
        all.replace("$PATH", &std::env::var("PATH").unwrap_or_default())
    };
    let trace = root.join("trace");
    let (mut command, is_traced) = traced(&trace);
    command.args(case.run.iter().map(replaced)).stdin(Stdio::null());
    command.current_dir(case.from.as_ref().map_or_else(|| tree.clone(), |from| PathBuf::from(replaced(from))));
    // As when it is started directly, which is the way for trees of strangers.
    command
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("CARGO_LMEM_CACHE_DIR", &cache)
        .env("TMPDIR", &temporary);
    if let Some(toolkit) = toolkit().filter(|_| case.live) {
        command.env("CUDA_HOME", toolkit);
    }
    for (name, value) in &case.environment {
        match replaced(value) {
            value if value.is_empty() => command.env_remove(name),
            value => command.env(name, value),
        };
    }
    let (out, err) = (root.join("stdout"), root.join("stderr"));
    command.stdout(fs_err::File::create(&out)?.into_parts().0).stderr(fs_err::File::create(&err)?.into_parts().0);
    let start = Instant::now();
    let mut child = command.spawn()?;
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if start.elapsed() > Duration::from_secs(case.seconds) {
            child.kill()?;
            child.wait()?;
            return Err(format!("it did not end within {} s", case.seconds).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let said = format!("{}{}", fs_err::read_to_string(out)?, fs_err::read_to_string(err)?);
    let mut wrong = Vec::new();
    if !code.is_some_and(|code| case.exit.contains(&code)) {
        wrong.push(format!("exit code {code:?}"));
    }
    wrong.extend(case.says.iter().map(replaced).filter(|word| !said.contains(word)).map(|word| format!("no `{word}`")));
    let never = [SECRET.to_string(), "panicked".to_string()];
    let never = case.says_not.iter().map(replaced).chain(never);
    wrong.extend(never.filter(|word| said.contains(word)).map(|word| format!("it says `{word}`")));
    if outside.join(EXECUTED).exists() {
        wrong.push("something was executed".to_string());
    }
    if is_traced {
        let started = fs_err::read_to_string(&trace).unwrap_or_default();
        let ours = format!("execve(\"{}", tree.display());
        // A program that is not there is looked for, and not started.
        let is_started = |line: &&str| line.contains(&ours) && !line.ends_with("ENOENT (No such file or directory)");
        wrong.extend(started.lines().find(is_started).map(|line| format!("it starts {line}")));
    }
    let may_change: Vec<PathBuf> = case.writes.iter().map(|path| PathBuf::from(replaced(path))).collect();
    let after = state(&[&tree, &outside]);
    let changed = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    wrong.extend(
        changed.filter(|path| !may_change.contains(path)).map(|path| format!("`{}` has changed", path.display())),
    );
    let left = fs_err::read_dir(&temporary)?.filter_map(Result::ok).map(|entry| entry.path());
    wrong.extend(left.map(|path| format!("`{}` is left", path.display())));
    if wrong.is_empty() { script(&case.holds, &said) } else { Err(format!("{}\n{said}", wrong.join("\n")).into()) }
}

/// The toolkit that a check would use: cases have a cache folder of their own, where no managed one lies.
fn toolkit() -> Option<&'static Path> {
    static TOOLKIT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let ask = || {
        let output = Command::new(env!("CARGO_BIN_EXE_cargo-lmem")).args(["lmem", "toolkit", "which"]).output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        Some(path).filter(|path| path.is_dir())
    };
    TOOLKIT.get_or_init(ask).as_deref()
}

/// The program, below `strace` where that works.
fn traced(trace: &Path) -> (Command, bool) {
    let program = env!("CARGO_BIN_EXE_cargo-lmem");
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).output().is_ok_and(|it| it.status.success());
    if !works {
        return (Command::new(program), false);
    }
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=execve", "-s", "4096", "-o"]).arg(trace).arg(program);
    (command, true)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    for entry in walkdir::WalkDir::new(from).min_depth(1).into_iter().filter_map(Result::ok) {
        let target = to.join(entry.path().strip_prefix(from)?);
        match entry.file_type().is_dir() {
            true => fs_err::create_dir(target)?,
            false => drop(fs_err::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// Kind, permissions and content of everything below some folders.
fn state(folders: &[&Path]) -> BTreeMap<PathBuf, String> {
    use std::os::unix::fs::MetadataExt;
    let entries = folders.iter().flat_map(|folder| walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok));
    let describe = |path: &Path| {
        let metadata = fs_err::symlink_metadata(path).ok()?;
        let content = match metadata.is_file() {
            true => blake3::hash(&fs_err::read(path).ok()?).to_hex().to_string(),
            false => fs_err::read_link(path).map(|path| path.display().to_string()).unwrap_or_default(),
        };
        // The folder itself is new where a file beside is replaced; its entries say all.
        let place = if metadata.is_file() { metadata.ino() } else { 0 };
        Some(format!("{:o} {place} {content}", metadata.mode()))
    };
    entries.filter_map(|entry| Some((entry.path().to_path_buf(), describe(entry.path())?))).collect()
}
