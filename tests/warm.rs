//! A second run says what a first one would: after edits of sources, headers, flags, environment and levels, and whatever
//! became of the cache. With a real toolkit: `LMEM_LIVE=1 cargo test --test warm`.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

#[path = "warm/edits.rs"]
mod edits;
#[path = "warm/wrapper.rs"]
mod wrapper;

/// Edits and damages, each behind the others. A round compiles everything twice.
const ROUNDS: usize = 12;

fn main() {
    let arguments = Arguments::from_args();
    let is_live = std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty());
    let trial = |name: &str, test: fn() -> Result<(), Failed>| Trial::test(name, test).with_ignored_flag(!is_live);
    let trials = vec![
        trial("warm_output_is_cold_output", warm_output_is_cold_output),
        trial("a_cache_serves_another_worktree", a_cache_serves_another_worktree),
        trial("a_budget_is_spent_in_order_and_goes_on", a_budget_is_spent_in_order_and_goes_on),
        trial("a_refusal_is_kept_until_a_file_changes", a_refusal_is_kept_until_a_file_changes),
        trial("machine_code_is_read_once", machine_code_is_read_once),
        trial("every_kind_of_damage_is_a_miss", edits::every_kind_of_damage_is_a_miss),
        trial("toolkits_do_not_answer_for_each_other", edits::toolkits_do_not_answer_for_each_other),
        trial("random_edits_of_test_crates", edits::random_edits_of_test_crates),
        trial("a_wrapper_starts_every_ptxas", wrapper::a_wrapper_starts_every_ptxas),
        trial("a_wrapper_that_fails_hides_nothing", wrapper::a_wrapper_that_fails_hides_nothing),
        trial("no_tree_names_a_wrapper", wrapper::no_tree_names_a_wrapper),
        Trial::test("sccache_has_what_ptxas_gave", wrapper::sccache_has_what_ptxas_gave)
            .with_ignored_flag(!is_live || std::env::var_os("LMEM_CONSUMERS").is_none()),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

/// Numbers that are the same in every run (xorshift, Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap_or(0)
    }
}

struct Place {
    folder: tempfile::TempDir,
    toolkit: PathBuf,
}

/// What a run is given beside the files.
#[derive(Clone, Default)]
struct Given {
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

const KERNEL: &str = "#include \"size.cuh\"\n#ifndef EXTRA\n#define EXTRA 0\n#endif\n__global__ void NAME(float* out, const int* at, int n) {\n    float kept[SIZE + EXTRA];\n    for (int i = 0; i < SIZE; i++) kept[i] = out[i];\n    for (int i = 0; i < n; i++) out[i] += kept[at[i]];\n}\n";

const RUST: &str = "use cudarc::nvrtc::compile_ptx;\n\nconst KERNEL: &str = r#\"\nextern \"C\" __global__ void text(float* out, const int* at) {\n    float own[24];\n    for (int i = 0; i < 24; i++) own[i] = out[i];\n    out[0] = own[at[0]];\n}\"#;\n\npub fn load() {\n    compile_ptx(KERNEL).unwrap();\n}\n";

impl Place {
    fn new(toolkit: PathBuf) -> Result<Self, Failed> {
        let place = Self { folder: tempfile::tempdir()?, toolkit };
        place.write(
            "Cargo.toml",
            "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n",
        )?;
        place.write("src/lib.rs", RUST)?;
        place.write("include/size.cuh", "#define SIZE 24\n")?;
        place.write("other/size.cuh", "#define SIZE 40\n")?;
        place.write("kernels/one.cu", &KERNEL.replace("NAME", "one"))?;
        place.write("kernels/two.cu", &KERNEL.replace("NAME", "two"))?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("tree").join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failed> {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap_or(self.folder.path()))?;
        Ok(fs_err::write(path, text)?)
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// What a run prints, and how it ends.
    fn run(&self, given: &Given, more: &[&str]) -> Result<(String, Option<i32>, String), Failed> {
        let output = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"))
            .args(["lmem", "--arch", "sm_90", "--toolkit"])
            .arg(&self.toolkit)
            .args(&given.arguments)
            .args(more)
            .current_dir(self.path(""))
            .env("CARGO_LMEM_CACHE_DIR", self.cache())
            .env_remove("NVCC_APPEND_FLAGS")
            .envs(given.variables.iter().map(|(name, value)| (name, value)))
            .output()?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok((text(output.stdout), output.status.code(), text(output.stderr)))
    }

    fn entries(&self) -> Vec<PathBuf> {
        let walk = walkdir::WalkDir::new(self.cache()).sort_by_file_name().into_iter().filter_map(Result::ok);
        walk.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
    }

    /// Does something to entries of the cache.
    fn damage(&self, numbers: &mut Numbers) -> Result<(), Failed> {
        let entries = self.entries();
        let mut any = || entries[numbers.below(entries.len())].clone();
        for _ in 0..4 {
            let (one, other) = (any(), any());
            let mut bytes = fs_err::read(&one).unwrap_or_default();
            match one.as_os_str().len() + bytes.len() {
                length if length % 4 == 0 => fs_err::write(&one, &bytes[..bytes.len() / 2])?,
                length if length % 4 == 1 => {
                    bytes.iter_mut().take(40).for_each(|byte| *byte ^= 0x10);
                    fs_err::write(&one, bytes)?;
                }
                length if length % 4 == 2 && other.is_file() => drop(fs_err::copy(other, &one)?),
                _ if one.is_file() => {
                    fs_err::remove_file(&one)?;
                    fs_err::create_dir(&one)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn change(&self, given: &mut Given, round: usize, numbers: &mut Numbers) -> Result<&'static str, Failed> {
        let number = 20 + numbers.below(30);
        Ok(match round % ROUNDS {
            0 => {
                self.write("include/size.cuh", &format!("#define SIZE {number}\n"))?;
                "a header"
            }
            1 => {
                given.variables = vec![("CPATH", self.path("other").display().to_string())];
                given.arguments.retain(|argument| !argument.starts_with("-I"));
                "CPATH"
            }
            2 => {
                given.variables = vec![("NVCC_APPEND_FLAGS", "-DEXTRA=3".to_string())];
                given.arguments.push("-Iinclude".to_string());
                "NVCC_APPEND_FLAGS"
            }
            3 => {
                given.arguments.push("-Adynamic_index".to_string());
                "a level"
            }
            4 => {
                given.arguments.pop();
                given.arguments.push("-Dwarnings".to_string());
                "another level"
            }
            5 | 9 => {
                self.damage(numbers)?;
                "damage"
            }
            6 => {
                self.write("kernels/one.cu", &format!("// a line\n{}", KERNEL.replace("NAME", "other")))?;
                "a source"
            }
            7 => {
                self.write("src/lib.rs", &format!("//! Lines move.\n\n{}", RUST.replace("24", &number.to_string())))?;
                "Rust code"
            }
            8 => {
                given.arguments.push("-DEXTRA=5".to_string());
                given.variables.clear();
                "a flag"
            }
            10 => {
                self.write("kernels/three.cu", &KERNEL.replace("NAME", "three"))?;
                fs_err::remove_file(self.path("kernels/two.cu"))?;
                "files"
            }
            _ => {
                self.write("kernels/one.cu", "// lmem: allow-file(dynamic_index, reason = \"a test\")\nint x;\n")?;
                "a comment"
            }
        })
    }
}

/// The toolkit that other live tests use.
fn toolkit() -> Result<PathBuf, Failed> {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-lmem")).args(["lmem", "toolkit", "which"]).output()?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn same(left: &(String, Option<i32>, String), right: &(String, Option<i32>, String), what: &str) -> Result<(), Failed> {
    match (&left.0, left.1) == (&right.0, right.1) {
        true => Ok(()),
        false => Err(format!("after {what}: warm\n{}{}\ncold\n{}{}", left.0, left.2, right.0, right.2).into()),
    }
}

fn warm_output_is_cold_output() -> Result<(), Failed> {
    let place = Place::new(toolkit()?)?;
    let mut given = Given { arguments: vec!["-Iinclude".to_string()], variables: Vec::new() };
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    place.run(&given, &["--no-verify"])?;
    for round in 0..ROUNDS {
        let what = place.change(&mut given, round, &mut numbers)?;
        let cold = place.run(&given, &["--no-verify", "--no-cache"])?;
        same(&place.run(&given, &["--no-verify"])?, &cold, what)?;
        let again = place.run(&given, &["--no-verify"])?;
        same(&again, &cold, &format!("{what}, again"))?;
        if cold.1 != Some(4) && !again.2.contains("from the cache") {
            return Err(format!("nothing was kept after {what}: {}", again.2).into());
        }
    }
    Ok(())
}

fn a_cache_serves_another_worktree() -> Result<(), Failed> {
    let place = Place::new(toolkit()?)?;
    let given = Given { arguments: vec!["-Iinclude".to_string()], variables: Vec::new() };
    place.run(&given, &["--no-verify"])?;
    let moved = place.folder.path().join("elsewhere");
    copy(&place.path(""), &moved)?;
    let here = place.run(&given, &["--no-verify"])?;
    let entries = place.entries().len();
    fs_err::rename(place.path(""), place.folder.path().join("gone"))?;
    fs_err::rename(moved, place.path(""))?;
    same(&place.run(&given, &["--no-verify"])?, &here, "a move")?;
    let new = place.entries().len() - entries;
    if new > 4 {
        return Err(format!("{new} new entries for a copy of a worktree").into());
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    for entry in walkdir::WalkDir::new(from).into_iter().filter_map(Result::ok) {
        let target = to.join(entry.path().strip_prefix(from)?);
        match entry.file_type().is_dir() {
            true => fs_err::create_dir_all(target)?,
            false => drop(fs_err::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

fn a_budget_is_spent_in_order_and_goes_on() -> Result<(), Failed> {
    let place = Place::new(toolkit()?)?;
    let given = Given { arguments: vec!["-Iinclude".to_string()], variables: Vec::new() };
    let run = |more: &[&str]| place.run(&given, more);
    let first = run(&["--verify-budget", "1"])?;
    if !first.2.contains("left unverified") {
        return Err(format!("nothing is said of what is left: {}", first.2).into());
    }
    same(&run(&["--verify-budget", "1", "--no-cache"])?, &first, "the same budget")?;
    for _ in 0..20 {
        if !run(&["--verify-budget", "1"])?.2.contains("left unverified") {
            let all = run(&["--no-cache"])?;
            return same(&run(&["--verify-budget", "1"])?, &all, "all rounds");
        }
    }
    Err("a budget of one compilation a run never ends".into())
}

/// Whether a run started nvcc or ptxas.
fn compiles(run: &(String, Option<i32>, String)) -> bool {
    run.2.lines().any(|line| line.starts_with("running: "))
}

fn a_refusal_is_kept_until_a_file_changes() -> Result<(), Failed> {
    let place = Place::new(toolkit()?)?;
    place
        .write("kernels/one.cu", "#include \"size.cuh\"\n__global__ void k(int* out) { out[0] = SIZE + missing; }\n")?;
    place.write("kernels/two.cu", "#include \"later.cuh\"\n__global__ void k(int* out) { out[0] = LATER; }\n")?;
    let given = Given { arguments: vec!["-Iinclude".to_string()], variables: Vec::new() };
    let run = |paths: &[&str]| place.run(&given, &[&["-v", "--no-verify"], paths].concat());
    let first = run(&["kernels/one.cu"])?;
    let again = run(&["kernels/one.cu"])?;
    if first.1 != Some(4) || first.0 != again.0 || !compiles(&first) || compiles(&again) {
        return Err(format!("{first:?}\n{again:?}").into());
    }
    place.write("include/size.cuh", "#define SIZE 24\n#define missing 1\n")?;
    if run(&["kernels/one.cu"])?.1 != Some(0) {
        return Err("a header that makes a file compile is not seen".into());
    }
    // A header that was not there may come to be.
    let missing = run(&["kernels/two.cu"])?;
    place.write("include/later.cuh", "#define LATER 1\n")?;
    match (missing.1, run(&["kernels/two.cu"])?.1) {
        (Some(4), Some(0)) => Ok(()),
        codes => Err(format!("a missing header: {codes:?}").into()),
    }
}

fn machine_code_is_read_once() -> Result<(), Failed> {
    let place = Place::new(toolkit()?)?;
    let compiled = Command::new(place.toolkit.join("bin/nvcc"))
        .args(["-cubin", "-arch=sm_90", "-lineinfo", "-Iinclude", "-o", "kernels/one.cubin", "kernels/one.cu"])
        .current_dir(place.path(""))
        .status()?;
    if !compiled.success() {
        return Err("the kernel does not compile".into());
    }
    place.write(
        "src/lib.rs",
        "pub const ONE: &[u8] = include_bytes!(\"../kernels/one.cubin\");\npub fn load() -> cudarc::driver::Module {\n    \
         cudarc::driver::Module::load_data(ONE).unwrap()\n}\n",
    )?;
    let given = Given::default();
    let run = |more: &[&str]| place.run(&given, &[&["--no-verify", "kernels/one.cubin"], more].concat());
    let cold = run(&["--no-cache"])?;
    same(&run(&[])?, &cold, "nothing")?;
    let warm = run(&[])?;
    same(&warm, &cold, "nothing, again")?;
    if !warm.2.contains("from the cache") || !cold.0.contains("kept") {
        return Err(format!("machine code is read again: {}{}", cold.0, warm.2).into());
    }
    // What its line table names has a part in what is said of it.
    place.write("kernels/one.cu", "\n")?;
    same(&run(&[])?, &run(&["--no-cache"])?, "the source of the machine code")
}
