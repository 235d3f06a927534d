//! Workspaces that try to execute, to show, to lose or to hang: each folder of `tests/hostile/` is one.
//!
//! `case.json` says how the tool is started and what must come of it; `tree/` is the workspace, or `base` names one that
//! cases share. What git does not keep (links, pipes, repositories) is made by `setup`, a shell script. Of every case holds, without being said: nothing in the
//! workspace is executed (by `strace`, where that is there), no word of the files outside is shown, no file in the
//! workspace or outside changes, nothing is left in the folder for temporary files, and the tool ends within its time.
//! Cases that need compilers run with `LMEM_LIVE=1`.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
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
    /// `package`: a package without CUDA. `machine`: the same with `kernels.cubin`, which has findings and needs no compiler.
    #[serde(default)]
    base: Option<String>,
    /// A toolkit is made whose `nvcc` is this shell script; it is named on the command line.
    #[serde(default)]
    nvcc: Option<String>,
    #[serde(default)]
    setup: String,
    run: Vec<String>,
    /// The folder that it is started in, if not `$TREE`.
    #[serde(default)]
    from: Option<String>,
    /// `$TREE`, `$OUTSIDE`, `$CASE`, `$CARGO` and the variables of the test are replaced; an empty value removes a variable.
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// Where the streams go, such as `/dev/full`, if not into files whose text is looked at.
    #[serde(default)]
    stdout: Option<String>,
    #[serde(default)]
    stderr: Option<String>,
    /// Text in a pipe that the shell before the tool leaves open, as descriptor 7.
    #[serde(default)]
    inherits: Option<String>,
    /// A shell script; the tool is killed as soon as it succeeds.
    #[serde(default)]
    killed_when: Option<String>,
    /// MiB of address space that the tool and all that it starts may take: less than its own limits, where reaching those takes long.
    #[serde(default)]
    memory: Option<u64>,
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

/// Larger files are compared by their length.
const MAX_HASHED: u64 = 64 << 20;
/// The exit code of a tool that was killed, as cases write it.
const KILLED: i32 = 137;
/// The manifest of a package that cases share.
const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";

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
    let cubin = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates/machine_code/images/lines.cubin");
    if let Some(base) = &case.base {
        fs_err::write(tree.join("Cargo.toml"), MANIFEST)?;
        fs_err::create_dir(tree.join("src"))?;
        fs_err::write(tree.join("src/lib.rs"), "")?;
        match base.as_str() {
            "package" => {}
            "machine" => drop(fs_err::copy(&cubin, tree.join("kernels.cubin"))?),
            other => return Err(format!("there is no base `{other}`").into()),
        }
    }
    // Hooks that are samples take longer to copy than all else that a test makes.
    let template = root.join("template");
    for name in ["hooks", "info"] {
        fs_err::create_dir_all(template.join(name))?;
    }
    let toolkit_folder = root.join("toolkit");
    case.nvcc.iter().try_for_each(|script| make_toolkit(&toolkit_folder, script))?;
    let mut variables: BTreeMap<&str, &Path> = [
        ("TREE", &*tree),
        ("OUTSIDE", &*outside),
        ("CASE", folder),
        ("CARGO", &*cargo),
        ("CUBIN", &*cubin),
        ("CACHE", &*cache),
        ("TEMPORARY", &*temporary),
        ("TOOLKIT", &*toolkit_folder),
        ("PROGRAM", Path::new(env!("CARGO_BIN_EXE_cargo-lmem"))),
    ]
    .into();
    variables.extend(toolkit().filter(|_| case.live).map(|path| ("CUDA", path)));
    let script = |text: &str, said: &str| -> Result<(), Failed> {
        let mut shell = Command::new("sh");
        shell
            .args(["-eu", "-c", text])
            .current_dir(&tree)
            .envs(&variables)
            .env("GIT_TEMPLATE_DIR", &template)
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
    // Killing `strace` would not kill the tool.
    let (mut command, is_traced) = match case.killed_when.is_some() {
        true => (Command::new(env!("CARGO_BIN_EXE_cargo-lmem")), false),
        false => traced(&trace),
    };
    if let Some(text) = &case.inherits {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec \"$@\" 7<<'END'\n{text}\nEND"), "sh"]);
        shell.arg(command.get_program()).args(command.get_args());
        command = shell;
    }
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
    let stream = |place: &Path, other: &Option<String>| -> Result<std::fs::File, Failed> {
        fs_err::write(place, "")?;
        let place = other.as_deref().map_or(place, Path::new);
        Ok(fs_err::File::options().write(true).open(place)?.into_parts().0)
    };
    command.stdout(stream(&out, &case.stdout)?).stderr(stream(&err, &case.stderr)?);
    command.process_group(0);
    if let Some(memory) = case.memory {
        lmem_base::process::limit_memory(&mut command, memory << 20);
    }
    let start = Instant::now();
    let mut child = command.spawn()?;
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if case.killed_when.as_ref().is_some_and(|condition| script(condition, "").is_ok()) {
            child.kill()?;
            child.wait()?;
            break Some(KILLED);
        }
        if start.elapsed() > Duration::from_secs(case.seconds) {
            // All of the group: without `strace`, the tool would go on.
            Command::new("kill").args(["-9", &format!("-{}", child.id())]).status()?;
            child.wait()?;
            return Err(format!("it did not end within {} s", case.seconds).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = |path: &Path| fs_err::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let said = format!("{}{}", text(&out)?, text(&err)?);
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
    if case.killed_when.is_some() {
        // The guardian outlives the tool by a moment.
        let is_empty = || fs_err::read_dir(&temporary).is_ok_and(|mut entries| entries.next().is_none());
        let _ = (0..250).any(|_| {
            is_empty() || {
                std::thread::sleep(Duration::from_millis(20));
                false
            }
        });
    }
    let may_change: Vec<PathBuf> = case.writes.iter().map(|path| PathBuf::from(replaced(path))).collect();
    let after = state(&[&tree, &outside]);
    let changed = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    wrong.extend(
        changed.filter(|path| !may_change.contains(path)).map(|path| format!("`{}` has changed", path.display())),
    );
    let left = fs_err::read_dir(&temporary)?.filter_map(Result::ok).map(|entry| entry.path());
    wrong.extend(left.map(|path| format!("`{}` is left", path.display())));
    let alive = alive(&root);
    wrong.extend(alive.into_iter().map(|line| format!("`{line}` lives on")));
    if wrong.is_empty() { script(&case.holds, &said) } else { Err(format!("{}\n{said}", wrong.join("\n")).into()) }
}

/// A toolkit of shell scripts.
fn make_toolkit(folder: &Path, nvcc: &str) -> Result<(), Failed> {
    let version = "case \"$*\" in *--version*) echo 'Cuda compilation tools, release 13.0, V13.0.48'; exit 0;; esac";
    for (name, script) in [
        ("bin/nvcc", nvcc),
        ("bin/ptxas", "exit 1"),
        ("bin/cudafe++", "exit 1"),
        ("bin/fatbinary", "exit 1"),
        ("nvvm/bin/cicc", "exit 1"),
    ] {
        let path = folder.join(name);
        fs_err::create_dir_all(path.parent().unwrap_or(folder))?;
        // By another process: a file that this one has open while a thread forks cannot be started.
        let text = format!("#!/bin/sh\n{version}\n{script}\n");
        let write = "printf %s \"$1\" > \"$2\"; chmod 755 \"$2\"";
        let status = Command::new("sh").args(["-ec", write, "sh", &text]).arg(&path).status()?;
        status.success().then_some(()).ok_or("the toolkit cannot be made")?;
    }
    Ok(fs_err::write(folder.join("version.json"), "{\"cuda_nvcc\": {\"version\": \"13.0.48\"}}")?)
}

/// Processes that still name the folder of the case, after a moment.
fn alive(root: &Path) -> Vec<String> {
    let name = root.to_string_lossy().into_owned();
    let now = || -> Vec<String> {
        let entries = fs_err::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let is_number = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit());
        let lines = entries.map(|entry| entry.path()).filter(|path| is_number(path)).filter_map(|path| {
            let bytes = std::fs::read(path.join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
        });
        lines.filter(|line| line.contains(&name)).collect()
    };
    for _ in 0..100 {
        if now().is_empty() {
            return Vec::new();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    now()
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
    // A filter of the kernel stops programs at `execve` alone, not twice at each call of the system: half of all that these tests took.
    const TRACED: [&str; 6] = ["--seccomp-bpf", "-f", "-qq", "-e", "trace=execve", "-o"];
    static WORKS: OnceLock<bool> = OnceLock::new();
    let program = env!("CARGO_BIN_EXE_cargo-lmem");
    let try_it = || Command::new("strace").args(TRACED).args(["/dev/null", "true"]).output();
    if !*WORKS.get_or_init(|| try_it().is_ok_and(|it| it.status.success())) {
        return (Command::new(program), false);
    }
    let mut command = Command::new("strace");
    command.args(["-s", "4096"]).args(TRACED).arg(trace).arg(program);
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
            // Sparse files can have any size.
            true if metadata.len() > MAX_HASHED => metadata.len().to_string(),
            true => blake3::hash(&fs_err::read(path).ok()?).to_hex().to_string(),
            false => fs_err::read_link(path).map(|path| path.display().to_string()).unwrap_or_default(),
        };
        // The folder itself is new where a file beside is replaced; its entries say all.
        let place = if metadata.is_file() { metadata.ino() } else { 0 };
        Some(format!("{:o} {place} {content}", metadata.mode()))
    };
    entries.filter_map(|entry| Some((entry.path().to_path_buf(), describe(entry.path())?))).collect()
}
