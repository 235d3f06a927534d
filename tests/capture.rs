//! `--capture` as a user runs it, on a workspace with one package for each usual way to build kernels and for each library
//! that loads them, with the real crates and a real toolkit: `LMEM_LIVE=1 cargo test --test capture`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

use cuda_toolkit::Request;

fn main() {
    let arguments = Arguments::from_args();
    let is_live = std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty());
    let trial = |name: &str, test: fn() -> Result<(), Failed>| Trial::test(name, test).with_ignored_flag(!is_live);
    let trials = vec![
        trial("every_way_to_build_is_seen", every_way_to_build_is_seen),
        trial("a_build_that_fails_says_so", a_build_that_fails_says_so),
        trial("what_goes_past_the_stand_in_is_said", what_goes_past_the_stand_in_is_said),
        trial("a_capture_that_fails_leaves_no_flags_behind", a_capture_that_fails_leaves_no_flags_behind),
        trial("kernels_of_real_libraries_are_found", kernels_of_real_libraries_are_found),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

/// A copy of a part of the workspace, and a cache that knows no builds.
struct Place {
    folder: tempfile::TempDir,
    toolkit: PathBuf,
    /// Where `cmake` is, when it is not on `PATH`.
    cmake: Option<PathBuf>,
}

impl Place {
    /// The packages whose names begin so.
    fn new(start: &str) -> Result<Self, Failed> {
        let cancel = std::sync::atomic::AtomicBool::new(false);
        let toolkit = cuda_toolkit::select(Request { quiet: true, ..Request::default() }, &cancel)?.toolkit.root;
        let runs = Command::new("cmake").arg("--version").output().is_ok_and(|output| output.status.success());
        // Tests run beside each other, and one installation is enough.
        static CMAKE: OnceLock<Option<PathBuf>> = OnceLock::new();
        let cmake = if runs || start != "with_" { None } else { CMAKE.get_or_init(install_cmake).clone() };
        let has_cmake = runs || cmake.is_some();
        let place = Self { folder: tempfile::tempdir()?, toolkit, cmake };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/builds");
        for entry in walkdir::WalkDir::new(&source).into_iter().filter_map(Result::ok) {
            let below = entry.path().strip_prefix(&source)?;
            let is_wanted = below.components().count() == 1 || below.to_string_lossy().starts_with(start);
            if entry.file_type().is_file() && is_wanted && (has_cmake || !below.starts_with("with_cmake")) {
                let copy = place.path(&below.to_string_lossy());
                fs_err::create_dir_all(copy.parent().unwrap_or(&copy))?;
                fs_err::copy(entry.path(), copy)?;
            }
        }
        let manifest = fs_err::read_to_string(source.join("Cargo.toml"))?;
        let members = format!("members = [\"{start}*\"]");
        fs_err::write(place.path("Cargo.toml"), manifest.replace("members = [\"uses_*\", \"with_*\"]", &members))?;
        if !has_cmake && start == "with_" {
            eprintln!("note: there is no `cmake` on this machine, and no way to get it: `with_cmake` is left out");
        }
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    fn lmem(&self, arguments: &[&str]) -> Result<Output, Failed> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
        command.args(["lmem", "--workspace", "--message-format", "json", "-v"]).args(arguments);
        command.current_dir(self.path("")).env("CARGO_LMEM_CACHE_DIR", self.folder.path().join("cache"));
        if let Some(cmake) = &self.cmake {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(cmake.clone()).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders)?);
        }
        let output = command
            .env("CUDA_HOME", &self.toolkit)
            .env_remove("CUDA_COMPUTE_CAP")
            .env_remove("CUDA_LIBRARY_PATH")
            .output()?;
        match output.status.success() {
            true => Ok(output),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    }
}

/// From the package that Python users get it by, which holds the program itself; kept for later runs.
fn install_cmake() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cmake");
    let programs = folder.join("cmake/data/bin");
    if programs.join("cmake").is_file() {
        return Some(programs);
    }
    let installers: [&[&str]; 3] = [&["uv", "pip"], &["pip"], &["pip3"]];
    let installs = |words: &&[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["install", "--quiet", "--target"]).arg(&folder).arg("cmake");
        command.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) && programs.join("cmake").is_file()
    };
    installers.iter().any(installs).then_some(programs)
}

/// Bytes of local memory and origin of flags, by kernel and architecture.
type Kernels = BTreeMap<(String, String), (u64, String)>;

fn found(output: &Output) -> Result<Kernels, Failed> {
    let mut all = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let value: Value = serde_json::from_str(line)?;
        if value["lmem"]["lint"] != "dynamic_index" {
            continue;
        }
        for kernel in value["lmem"]["kernels"].as_array().into_iter().flatten() {
            let text = |key: &str| kernel[key].as_str().unwrap_or_default().to_string();
            let flags = value["lmem"]["flags"].as_str().unwrap_or_default().to_string();
            all.insert((text("name"), text("arch")), (kernel["bytes"].as_u64().unwrap_or(0), flags));
        }
    }
    Ok(all)
}

fn of<'a>(all: &'a Kernels, kernel: &str) -> Vec<(&'a str, u64, &'a str)> {
    let own = all.iter().filter(|((name, _), _)| name == kernel);
    own.map(|((_, arch), (bytes, flags))| (arch.as_str(), *bytes, flags.as_str())).collect()
}

fn expect<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}").into()) }
}

fn every_way_to_build_is_seen() -> Result<(), Failed> {
    let place = Place::new("with_")?;
    let assumed = found(&place.lmem(&["--no-verify", "--arch", "sm_90"])?)?;
    expect(of(&assumed, "with_cc"), vec![("sm_90", 32, "assumed")])?;

    let generated = place.path("with_bindgen_cuda/src/ptx.rs");
    let past = SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::options().write(true).open(&generated)?.set_modified(past)?;
    let output = place.lmem(&["--no-verify", "--capture"])?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let captured = found(&output)?;
    // Every package says how long its array is, in its own way; the architectures are those of the builds.
    expect(of(&captured, "with_cc"), vec![("sm_80", 48, "captured"), ("sm_90a", 48, "captured")])?;
    expect(of(&captured, "with_command"), vec![("sm_80", 112, "captured")])?;
    let architecture = of(&captured, "with_bindgen_cuda").first().map(|(arch, ..)| arch.to_string());
    let architecture = architecture.ok_or_else(|| format!("bindgen_cuda was not seen:\n{words}"))?;
    expect(of(&captured, "with_bindgen_cuda"), vec![(&architecture, 64, "captured")])?;
    expect(of(&captured, "with_cudaforge").iter().map(|found| found.1).collect::<Vec<_>>(), vec![80])?;
    if place.path("with_cmake").is_dir() {
        expect(of(&captured, "with_cmake"), vec![("sm_90", 96, "captured")])?;
    }
    // A limit in a build of PTX is lost.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    expect(text.contains("`-maxrregcount=40` and `-Xptxas=-dlcm=cg` does not reach"), true)?;
    // Bindings were written again, and are what they were, with their time.
    expect(fs_err::metadata(&generated)?.modified()?, past)?;
    expect(words.contains("a build script changed"), false)?;

    // Later runs remember, also for another architecture.
    let later = found(&place.lmem(&["--no-verify", "--arch", "sm_90"])?)?;
    expect(of(&later, "with_cc"), vec![("sm_90a", 48, "captured")])?;
    expect(of(&later, "with_command"), vec![("sm_90", 112, "captured")])?;

    // What did not change is not built again; features are.
    let again = found(&place.lmem(&["--no-verify", "--capture", "--features", "with_command/double"])?)?;
    expect(of(&again, "with_command"), vec![("sm_80", 224, "captured")])?;
    expect(of(&again, "with_cc").len(), 2)?;

    // A build script that has changed since is named.
    let script = place.path("with_cc/build.rs");
    fs_err::write(&script, format!("{}\n", fs_err::read_to_string(&script)?))?;
    let output = place.lmem(&["--no-verify"])?;
    expect(String::from_utf8_lossy(&output.stderr).contains("the build script of `with_cc` has changed"), true)?;

    // Records that are lost are made again, though cargo has nothing to do.
    fs_err::remove_dir_all(place.folder.path().join("cache"))?;
    expect(
        of(&found(&place.lmem(&["--no-verify", "--capture", "--arch", "sm_90"])?)?, "with_cc"),
        vec![("sm_90a", 48, "captured")],
    )
}

fn a_build_that_fails_says_so() -> Result<(), Failed> {
    let place = Place::new("with_")?;
    let script = place.path("with_cc/build.rs");
    fs_err::write(&script, fs_err::read_to_string(&script)?.replace(".compile(", ".flag(\"-no-such-flag\").compile("))?;
    let output = place.lmem(&[
        "--no-verify",
        "--capture",
        "--package",
        "with_cc",
        "--package",
        "with_command",
        "--arch",
        "sm_90",
    ]);
    let output = match output {
        // The flags that were seen do not compile, and are not replaced by others.
        Err(words) => words.message().unwrap_or_default().to_string(),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    let note =
        output.lines().find(|line| line.contains("the build failed: the flags of the compiler calls up to there"));
    expect(note.is_some_and(|note| note.contains("`with_cc`")), true)
}

/// A capture that fails takes neither the flags of another script for those of this one, nor the note that they are old.
fn a_capture_that_fails_leaves_no_flags_behind() -> Result<(), Failed> {
    let place = Place::new("with_command")?;
    let script = place.path("with_command/build.rs");
    place.lmem(&["--no-verify", "--capture", "--arch", "sm_90"])?;
    fs_err::write(&script, "fn main() { panic!(\"no\") }\n")?;
    let output = place.lmem(&["--no-verify", "--capture", "--arch", "sm_90"])?;
    expect(String::from_utf8_lossy(&output.stderr).contains("flags of what was not built are not known"), true)?;
    expect(of(&found(&output)?, "with_command").iter().all(|(.., flags)| *flags == "assumed"), true)?;
    let output = place.lmem(&["--no-verify", "--arch", "sm_90"])?;
    expect(String::from_utf8_lossy(&output.stderr).contains("the build script of `with_command` has changed"), true)
}

/// A script that names its compiler by a path is not seen, and is named once, whatever it compiles.
fn what_goes_past_the_stand_in_is_said() -> Result<(), Failed> {
    let place = Place::new("with_command")?;
    // What the script was seen to compile before it changed is not taken for what it compiles now.
    let captured = found(&place.lmem(&["--no-verify", "--capture", "--arch", "sm_90"])?)?;
    expect(of(&captured, "with_command").iter().all(|(.., flags)| *flags == "captured"), true)?;
    let nvcc = place.toolkit.join("bin/nvcc");
    let script = place.path("with_command/build.rs");
    let text =
        fs_err::read_to_string(&script)?.replace("new(\"nvcc\")", &format!("new({:?})", nvcc.display().to_string()));
    fs_err::write(&script, text)?;
    let kernel = fs_err::read_to_string(place.path("with_command/kernels/with_command.cu"))?;
    fs_err::write(place.path("with_command/kernels/other.cu"), kernel)?;
    let output = place.lmem(&["--no-verify", "--capture", "--arch", "sm_90"])?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let note = format!(
        "the build script of `with_command` was not seen to compile `with_command/kernels/other.cu` and 1 other file (it \
         names `{}`, and only an nvcc found by `PATH`, `NVCC`, `CUDACXX` or `CUDA_HOME` is seen): their flags are assumed",
        nvcc.display()
    );
    expect((words.matches(&note).count(), words.matches("flags are assumed").count()), (1, 1))?;
    expect(of(&found(&output)?, "with_command").iter().all(|(.., flags)| *flags == "assumed"), true)?;
    // Without asking for the flags of the build, nothing is said of it.
    let words = String::from_utf8_lossy(&place.lmem(&["--no-verify", "--arch", "sm_90"])?.stderr).into_owned();
    expect(words.contains("was not seen to compile"), false)
}

/// That the packages are built as they stand says that their code is code for these libraries.
fn kernels_of_real_libraries_are_found() -> Result<(), Failed> {
    let place = Place::new("uses_")?;
    let output = place.lmem(&["--capture", "--arch", "sm_90"])?;
    expect(
        places(&output)?,
        [
            ("bins", "uses_cudarc/src/kernels.rs:5:11", 64, "code"),
            ("cells", "uses_cust/kernels/cells.cu:6:11", 272, "captured"),
            ("histogram", "uses_old_cudarc/src/lib.rs:11:11", 208, "code"),
            ("lengths", "uses_old_cudarc/src/lib.rs:49:11", 240, "code"),
            ("medians", "uses_old_cudarc/kernels/medians.cu:3:11", 176, "code"),
            ("moments", "uses_cudarc/kernels/moments.cu:2:11", 80, "code"),
            ("pick", "uses_cust/src/lib.rs:25:5", 288, "code"),
            ("ranks", "uses_cudarc/kernels/ranks.cu:6:11", 144, "captured"),
            ("scaled", "uses_cudarc/src/kernels.rs:22:12", 112, "code"),
            ("thirds", "uses_cudarc/src/lib.rs:86:23", 96, "code"),
        ]
        .map(|(kernel, place, bytes, flags)| format!("{kernel} {place} {bytes} {flags}"))
        .to_vec(),
    )?;
    let words = String::from_utf8_lossy(&output.stderr);
    expect(words.contains("the driver makes machine code of PTX"), true)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Nothing is left out. Blocks of launches in Rust code are proposed: other code may launch larger ones.
    expect(text.contains("not checked"), false)?;
    for title in ["replace 256 by your largest block size", "replace 64 by your largest block size"] {
        expect((title, text.contains(title)), (title, true))?;
    }
    expect(text.contains("the register limit does not reach the code that runs"), true)
}

/// Kernel, place, bytes and origin of flags of every array that is indexed at run time.
fn places(output: &Output) -> Result<Vec<String>, Failed> {
    let mut all = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let value: Value = serde_json::from_str(line)?;
        let spans = value["message"]["spans"].as_array().into_iter().flatten();
        for span in spans.filter(|span| span["is_primary"] == true && value["lmem"]["lint"] == "dynamic_index") {
            let kernel = &value["lmem"]["kernels"][0];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            all.push(format!(
                "{} {}:{}:{} {} {}",
                text(&kernel["name"]),
                text(&span["file_name"]),
                span["line_start"],
                span["column_start"],
                kernel["bytes"],
                text(&value["lmem"]["flags"])
            ));
        }
    }
    all.sort();
    Ok(all)
}
