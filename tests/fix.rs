//! `--fix` as a user runs it, on copies of test crates, with a real toolkit: `LMEM_LIVE=1 cargo test --test fix`.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};

/// How often a run is killed: at moments spread over its length, and while it writes.
const KILLS: u32 = 21;
/// Files that are fixed in one run, so that a kill has something to come between.
const COPIES: usize = 16;

/// Unix and Windows line endings, tabs, and a part that must stay as badly formatted as it is.
const UNIX: &str = "__global__ void walk(const float *in, float *out, int n)\n{\n\tfloat part[16];\n\tint i = threadIdx.x;\n\tfor (int t = 0; t < n; ++t) {\n\t\tpart[t] = in[i + t];\n\t}\n\tfloat   sum=0;\n\tfor (int t = 0; t < n; ++t) {\n\t\tsum += part[t];\n\t}\n\tout[i] = sum;\n}\n";
const FIXED: &str = "__global__ void walk(const float *in, float *out, int n)\n{\n\tfloat part[16];\n\tint i = threadIdx.x;\n\t#pragma unroll\n\tfor (int t = 0; t < 16; ++t) if (t < n) {\n\t\tpart[t] = in[i + t];\n\t}\n\tfloat   sum=0;\n\t#pragma unroll\n\tfor (int t = 0; t < 16; ++t) if (t < n) {\n\t\tsum += part[t];\n\t}\n\tout[i] = sum;\n}\n";

fn main() {
    let arguments = Arguments::from_args();
    let is_live = std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty());
    let trial = |name: &str, test: fn() -> Result<(), Failed>| Trial::test(name, test).with_ignored_flag(!is_live);
    let trials = vec![
        trial("edits_are_all_that_changes", edits_are_all_that_changes),
        trial("headers_that_were_looked_for_are_there_for_edited_copies", headers_that_were_looked_for),
        trial("a_second_run_has_nothing_to_do", a_second_run_has_nothing_to_do),
        trial("a_patch_is_what_would_be_written", a_patch_is_what_would_be_written),
        trial("literals_are_edited_in_place", literals_are_edited_in_place),
        trial("macros_are_edited_where_they_are_written", macros_are_edited_where_they_are_written),
        trial("pieces_are_edited_in_place", pieces_are_edited_in_place),
        trial("trees_with_changes_are_refused", trees_with_changes_are_refused),
        trial("a_kill_leaves_each_file_old_or_new", a_kill_leaves_each_file_old_or_new),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

/// A folder with a package.
struct Place(tempfile::TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Result<Self, Failed> {
        let place = Self(tempfile::tempdir()?);
        let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[package.metadata.lmem]\narch = [\"sm_90\"]\n";
        place.write("Cargo.toml", manifest)?;
        place.write("src/lib.rs", "")?;
        files.iter().try_for_each(|(name, text)| place.write(name, text))?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failed> {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap_or(self.0.path()))?;
        Ok(fs_err::write(path, text)?)
    }

    fn read(&self, name: &str) -> Result<String, Failed> {
        Ok(fs_err::read_to_string(self.path(name))?)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
        command.arg("lmem").args(arguments).current_dir(self.0.path());
        command
    }

    fn lmem(&self, arguments: &[&str], code: i32) -> Result<Output, Failed> {
        let output = self.command(arguments).output()?;
        match output.status.code() == Some(code) {
            true => Ok(output),
            false => {
                Err(format!("{arguments:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)).into())
            }
        }
    }

    fn fix(&self) -> Result<Output, Failed> {
        self.lmem(&["--fix", "--allow-no-vcs"], 0)
    }

    fn git(&self, arguments: &[&str]) -> Result<(), Failed> {
        let identity = ["-c", "user.name=demo", "-c", "user.email=demo@localhost"];
        let status = Command::new("git").arg("-C").arg(self.0.path()).args(identity).args(arguments).output()?.status;
        if status.success() { Ok(()) } else { Err(format!("git {arguments:?}").into()) }
    }
}

fn same(found: &str, expected: &str) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(format!("found:\n{found}\nexpected:\n{expected}").into()) }
}

fn edits_are_all_that_changes() -> Result<(), Failed> {
    let windows = UNIX.replace('\n', "\r\n");
    let place = Place::new(&[("kernels/unix.cu", UNIX), ("kernels/windows.cu", &windows)])?;
    fs_err::set_permissions(place.path("kernels/unix.cu"), PermissionsExt::from_mode(0o640))?;
    place.fix()?;
    same(&place.read("kernels/unix.cu")?, FIXED)?;
    same(&place.read("kernels/windows.cu")?, &FIXED.replace('\n', "\r\n"))?;
    let mode = fs_err::metadata(place.path("kernels/unix.cu"))?.permissions().mode() & 0o777;
    same(&format!("{mode:o}"), "640")
}

/// The include folder is beside the file's own, and no manifest names it.
fn headers_that_were_looked_for() -> Result<(), Failed> {
    let include = "#include \"model/box.cuh\"\n";
    let text = format!("{include}{UNIX}");
    let place = Place::new(&[("code/force/a.cu", &text), ("code/model/box.cuh", "#pragma once\n")])?;
    fs_err::remove_file(place.path("Cargo.toml"))?;
    place.lmem(&["--fix", "--allow-no-vcs", "--arch", "sm_90", "code"], 0)?;
    same(&place.read("code/force/a.cu")?, &format!("{include}{FIXED}"))
}

fn a_second_run_has_nothing_to_do() -> Result<(), Failed> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates");
    let mut files = Vec::new();
    for name in ["rolled_loop/kernels/fir.cu", "address_escape/kernels/escape.cu", "param_copy/kernels/parameters.cu"] {
        let path = sources.join(name);
        if path.exists() {
            files.push((format!("kernels/{}", name.replace('/', "_")), fs_err::read_to_string(path)?));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let place = Place::new(&files)?;
    let first = String::from_utf8_lossy(&place.fix()?.stderr).into_owned();
    let texts: Vec<String> = files.iter().map(|(name, _)| place.read(name)).collect::<Result<_, _>>()?;
    if texts.iter().zip(&files).all(|(text, (_, old))| text == old) {
        return Err(format!("nothing was fixed:\n{first}").into());
    }
    let second = String::from_utf8_lossy(&place.fix()?.stderr).into_owned();
    let after: Vec<String> = files.iter().map(|(name, _)| place.read(name)).collect::<Result<_, _>>()?;
    if after != texts || !second.contains("nothing to fix") {
        return Err(format!("a second run changes something:\n{second}").into());
    }
    Ok(())
}

fn a_patch_is_what_would_be_written() -> Result<(), Failed> {
    let place = Place::new(&[("kernels/a.cu", UNIX)])?;
    let output = place.lmem(&["--diff"], 0)?;
    same(&place.read("kernels/a.cu")?, UNIX)?;
    place.write("fix.patch", &String::from_utf8(output.stdout)?)?;
    place.git(&["init", "-q"])?;
    place.git(&["apply", "fix.patch"])?;
    same(&place.read("kernels/a.cu")?, FIXED)
}

fn literals_are_edited_in_place() -> Result<(), Failed> {
    let escaped = UNIX.replace('\n', "\\n").replace('\t', "\\t");
    let code = |first: &str, second: &str| {
        format!(
            "//! é\npub const A: &str = \"{first}\";\npub const B: &str = r#\"{second}\"#;\npub fn all() {{\n    let _ = (cudarc::nvrtc::compile_ptx(A), cudarc::nvrtc::compile_ptx(B));\n}}\n"
        )
    };
    let raw = UNIX.replace("walk", "extra");
    let place = Place::new(&[("src/lib.rs", &code(&escaped, &raw))])?;
    place.fix()?;
    let fixed = FIXED.replace('\n', "\\n").replace('\t', "\\t");
    same(&place.read("src/lib.rs")?, &code(&fixed, &FIXED.replace("walk", "extra")))
}

/// Texts that Rust code puts together: each edit lands in the piece that it is about.
fn pieces_are_edited_in_place() -> Result<(), Failed> {
    let escape = |text: &str| text.replace('\n', "\\n").replace('\t', "\\t");
    let code = |first: &str, second: &str| {
        format!(
            "const H: &str = \"// é\\n\";\nconst A: &str = \"{first}\";\nfn compile(text: &str) {{ cudarc::nvrtc::compile_ptx(text).unwrap(); }}\npub fn all() {{\n    compile(&format!(\"{{H}}{{}}\", A.replace(\"walk\", \"run\")));\n    compile(concat!(\"// é {{\\n\", r#\"{second}\"#));\n    compile(include_str!(\"../kernels/c.cu\"));\n}}\n"
        )
    };
    let (escaped, raw) = (escape(UNIX), UNIX.replace("walk", "extra"));
    let place = Place::new(&[("src/lib.rs", &code(&escaped, &raw)), ("kernels/c.cu", UNIX)])?;
    place.fix()?;
    same(&place.read("kernels/c.cu")?, FIXED)?;
    same(&place.read("src/lib.rs")?, &code(&escape(FIXED), &FIXED.replace("walk", "extra")))
}

/// An edit lands in the argument of a call, or in the definition for all calls at once.
fn macros_are_edited_where_they_are_written() -> Result<(), Failed> {
    let escape = |text: &str| text.replace('\n', "\\n").replace('\t', "\\t");
    let code = |own: &str, argument: &str| {
        let (head, tail) = own.split_once("walk").unwrap_or_default();
        format!(
            "macro_rules! given {{ ($text:expr) => {{ cudarc::nvrtc::compile_ptx($text).unwrap() }}; }}\nmacro_rules! named {{ ($name:ident) => {{ cudarc::nvrtc::compile_ptx(concat!(\"{head}\", stringify!($name), \"{tail}\")).unwrap() }}; }}\npub fn all() {{\n    given!(r#\"{argument}\"#);\n    named!(one);\n    named!(other);\n}}\n"
        )
    };
    let place = Place::new(&[("src/lib.rs", &code(&escape(UNIX), &UNIX.replace("walk", "extra")))])?;
    place.fix()?;
    same(&place.read("src/lib.rs")?, &code(&escape(FIXED), &FIXED.replace("walk", "extra")))
}

fn trees_with_changes_are_refused() -> Result<(), Failed> {
    let place = Place::new(&[("kernels/a.cu", UNIX)])?;
    let refused = |arguments: &[&str], what: &str| -> Result<(), Failed> {
        let stderr = String::from_utf8_lossy(&place.lmem(arguments, 2)?.stderr).into_owned();
        same(&place.read("kernels/a.cu")?, UNIX)?;
        if stderr.contains(what) { Ok(()) } else { Err(stderr.into()) }
    };
    refused(&["--fix"], "--allow-no-vcs")?;
    place.git(&["init", "-q"])?;
    refused(&["--fix"], "--allow-dirty")?;
    place.git(&["add", "."])?;
    refused(&["--fix", "--allow-dirty"], "--allow-staged")?;
    place.git(&["commit", "-q", "-m", "first"])?;
    place.lmem(&["--fix"], 0)?;
    same(&place.read("kernels/a.cu")?, FIXED)
}

fn a_kill_leaves_each_file_old_or_new() -> Result<(), Failed> {
    let names: Vec<String> = (0..COPIES).map(|number| format!("kernels/walk_{number}.cu")).collect();
    let old: BTreeMap<&str, String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| (name.as_str(), UNIX.replace("walk", &format!("walk_{number}"))))
        .collect();
    let files: Vec<(&str, &str)> = old.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let place = Place::new(&files)?;
    place.fix()?;
    let new: BTreeMap<&str, String> =
        names.iter().map(|name| Ok((name.as_str(), place.read(name)?))).collect::<Result<_, Failed>>()?;
    if names.iter().any(|name| new[name.as_str()] == old[name.as_str()]) {
        return Err("a file was not fixed".into());
    }
    let reset = || files.iter().try_for_each(|(name, text)| place.write(name, text));
    reset()?;
    // All is cached now: this is how long a run takes.
    let start = Instant::now();
    place.fix()?;
    let length = start.elapsed();
    let (mut killed, mut between) = (0, 0);
    for number in 0..KILLS {
        reset()?;
        let moment = match number % 3 {
            0 => Moment::After(length * number / KILLS),
            _ => Moment::AfterFirstWrite(Duration::from_micros(u64::from(number) * 40)),
        };
        killed += u32::from(kill_at(&place, &old, moment)?);
        let fixed = count_fixed(&place, &old, &new)?;
        between += u32::from((1..COPIES).contains(&fixed));
    }
    println!("{killed} of {KILLS} runs were killed, {between} between two files");
    if between == 0 { Err(format!("of {killed} killed runs none was writing").into()) } else { Ok(()) }
}

/// When a run is killed.
enum Moment {
    After(Duration),
    /// So long after one of the files was seen to be new.
    AfterFirstWrite(Duration),
}

/// Whether the run was still going on.
fn kill_at(place: &Place, old: &BTreeMap<&str, String>, moment: Moment) -> Result<bool, Failed> {
    let mut command = place.command(&["--fix", "--allow-no-vcs"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    match moment {
        Moment::After(time) => std::thread::sleep(time),
        Moment::AfterFirstWrite(time) => {
            while child.try_wait()?.is_none() && count_changed(place, old) == 0 {
                std::hint::spin_loop();
            }
            std::thread::sleep(time);
        }
    }
    child.kill()?;
    Ok(child.wait()?.code().is_none())
}

fn count_changed(place: &Place, old: &BTreeMap<&str, String>) -> usize {
    let length = |name: &str| fs_err::metadata(place.path(name)).map_or(0, |metadata| metadata.len());
    old.iter().filter(|(name, text)| length(name) != text.len() as u64).count()
}

fn count_fixed(place: &Place, old: &BTreeMap<&str, String>, new: &BTreeMap<&str, String>) -> Result<usize, Failed> {
    let mut fixed = 0;
    for (name, old) in old {
        let text = place.read(name)?;
        match (&text == old, text == new[name]) {
            (true, _) => {}
            (_, true) => fixed += 1,
            _ => return Err(format!("`{name}` is neither old nor new:\n{text}").into()),
        }
    }
    Ok(fixed)
}
