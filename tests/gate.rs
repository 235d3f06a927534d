//! What may land: changes beside a revision, staged files, comments that are written, budgets, levels of files. With a real
//! toolkit: `LMEM_LIVE=1 cargo test --test gate`.

use std::path::PathBuf;
use std::process::{Command, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

/// An array in local memory, whose size a header has.
const KERNEL: &str = "#include \"size.cuh\"
__global__ void NAME(const int* in, float* out, int n) {
  float part[SIZE];
  for (int t = 0; t < SIZE; ++t) part[t] = in[t];
  for (int t = 0; t < n; ++t) part[in[t] & (SIZE - 1)] += 1.0f;
  out[threadIdx.x] = part[n & (SIZE - 1)];
}
";

const RUST: &str = "use cudarc::nvrtc::compile_ptx;

const RAW: &str = r#\"
extern \"C\" __global__ void raw(const int* in, float* out, int n) {
  float own[8] = {};
  for (int t = 0; t < n; ++t) own[in[t] & 7] += 1.0f;
  out[threadIdx.x] = own[n & 7];
}\"#;

pub fn load() {
    compile_ptx(RAW).unwrap();
    compile_ptx(\"extern \\\"C\\\" __global__ void plain(const int* in, float* out, int n) {\\n  float own[8] = {};\\n  \
                    for (int t = 0; t < n; ++t) own[in[t] & 7] += 1.0f;\\n  out[threadIdx.x] = own[n & 7];\\n}\").unwrap();
}
";

const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
                        [package.metadata.lmem]\narch = [\"sm_90\"]\ninclude-dirs = [\"inc\"]\n";

fn main() {
    let arguments = Arguments::from_args();
    let is_live = std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty());
    let trial = |name: &str, test: fn() -> Result<(), Failed>| Trial::test(name, test).with_ignored_flag(!is_live);
    let trials = vec![
        trial("a_change_is_held_against_a_revision", a_change_is_held_against_a_revision),
        trial("the_index_counts_and_not_the_working_tree", the_index_counts_and_not_the_working_tree),
        trial("kernels_stand_beside_those_of_a_revision", kernels_stand_beside_those_of_a_revision),
        trial("histories_hide_nothing_and_bring_nothing_back", histories_hide_nothing_and_bring_nothing_back),
        trial("settings_and_baselines_of_a_branch_hide_nothing", settings_and_baselines_of_a_branch_hide_nothing),
        trial("comments_are_written_for_what_is_found", comments_are_written_for_what_is_found),
        trial("settings_have_budgets_and_levels", settings_have_budgets_and_levels),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Result<Self, Failed> {
        let project = Self(tempfile::tempdir()?);
        for (name, text) in [
            ("Cargo.toml", MANIFEST),
            ("src/lib.rs", ""),
            ("inc/size.cuh", "#define SIZE 16\n"),
            ("kernels/a.cu", &KERNEL.replace("NAME", "one")),
            ("kernels/b.cu", &KERNEL.replace("NAME", "two").replace("#include \"size.cuh\"", "#define SIZE 8")),
        ] {
            project.write(name, text)?;
        }
        project.git(&["init", "-q"])?;
        project.commit()?;
        Ok(project)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("tree").join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failed> {
        fs_err::create_dir_all(self.path(name).parent().unwrap_or(self.0.path()))?;
        Ok(fs_err::write(self.path(name), text)?)
    }

    fn read(&self, name: &str) -> Result<String, Failed> {
        Ok(fs_err::read_to_string(self.path(name))?)
    }

    fn git(&self, arguments: &[&str]) -> Result<(), Failed> {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.path("")).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let output = git.output()?;
        holds(output.status.success(), &format!("git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    fn commit(&self) -> Result<(), Failed> {
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "-m", "a"])
    }

    /// Runs the tool, which must end with an exit code.
    fn run(&self, arguments: &[&str], code: i32) -> Result<Output, Failed> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
        let command = command.arg("lmem").args(arguments).arg("--no-verify").current_dir(self.path(""));
        // Toolkits are found as always; what is kept is this test's own.
        let output = command.env("CARGO_LMEM_CACHE_DIR", self.0.path().join("cache")).output()?;
        let said =
            || format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match output.status.code() == Some(code) {
            true => Ok(output),
            false => Err(format!("{arguments:?}: {}\n{}", output.status, said()).into()),
        }
    }

    /// The lines that a run prints for its findings.
    fn lines(&self, arguments: &[&str], code: i32) -> Result<Vec<String>, Failed> {
        let output = self.run(&[arguments, &["--message-format", "short"]].concat(), code)?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect())
    }
}

fn holds(condition: bool, what: &str) -> Result<(), Failed> {
    if condition { Ok(()) } else { Err(what.into()) }
}

fn are(lines: &[String], starts: &[&str]) -> Result<(), Failed> {
    let is_same = lines.len() == starts.len() && lines.iter().zip(starts).all(|(line, start)| line.starts_with(start));
    holds(is_same, &format!("{starts:?} are expected: {lines:#?}"))
}

/// The facts of the run, which stand in the last line of JSON.
fn facts(output: &Output) -> Result<Value, Failed> {
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().ok_or("there is no last line")?;
    Ok(serde_json::from_str::<Value>(last)?["lmem"].clone())
}

const SINCE: &[&str] = &["--changed-since", "HEAD"];

fn a_change_is_held_against_a_revision() -> Result<(), Failed> {
    let project = Project::new()?;
    are(&project.lines(SINCE, 0)?, &[])?;

    // Lines move, and a file gets another name.
    project.git(&["mv", "kernels/a.cu", "kernels/moved.cu"])?;
    project.write("kernels/moved.cu", &format!("// A comment.\n\n{}", KERNEL.replace("NAME", "one")))?;
    are(&project.lines(SINCE, 0)?, &[])?;
    project.git(&["reset", "-q", "--hard"])?;

    // A new file, which git does not know yet.
    project.write("kernels/new.cu", &KERNEL.replace("NAME", "three"))?;
    are(&project.lines(SINCE, 1)?, &["kernels/new.cu:3:9: error: `part`"])?;
    fs_err::remove_file(project.path("kernels/new.cu"))?;

    // A header that one of the two files includes makes an array larger.
    project.write("inc/size.cuh", "#define SIZE 32\n")?;
    let output = project.run(&[SINCE, &["--message-format", "json"]].concat(), 1)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    holds(text.contains("128 B on sm_90; `HEAD` has 64 B"), "it says by how much")?;
    let since = &facts(&output)?["since"];
    let expected = serde_json::json!({ "revision": "HEAD", "changed_units": 1, "compared_units": 1, "known": 0, "new": 0, "worse": 1,
                                       "smaller": 0, "gone": 0 });
    holds(*since == expected, &format!("{since}"))?;
    project.git(&["reset", "-q", "--hard"])?;

    // A flag of the settings does the same.
    project.write("Cargo.toml", &format!("{MANIFEST}defines = [\"SIZE_OF_B=64\"]\n"))?;
    project.write(
        "kernels/b.cu",
        &KERNEL.replace("NAME", "two").replace("#include \"size.cuh\"", "#define SIZE SIZE_OF_B"),
    )?;
    // What other flags leave out of it is not known.
    are(
        &project.lines(SINCE, 1)?,
        &["kernels/b.cu:3:9: error: `part`", "note: not everything that `HEAD` checks is checked now"],
    )?;
    project.git(&["reset", "-q", "--hard"])?;

    // A file that was looked for in vain is there, though nobody reads it; a link leads to another folder.
    let sections = "#include \"D/size.cuh\"\n#if __has_include(\"extra.h\")\n#undef SIZE\n#define SIZE 96\n#endif\n";
    project.write("kernels/b.cu", &KERNEL.replace("NAME", "two").replace("#include \"size.cuh\"\n", sections))?;
    for (folder, size) in [("kernels/A", 16), ("kernels/B", 48)] {
        project.write(&format!("{folder}/size.cuh"), &format!("#define SIZE {size}\n"))?;
    }
    fs_err::os::unix::fs::symlink("A", project.path("kernels/D"))?;
    project.git(&["add", "."])?;
    project.git(&["commit", "-q", "-m", "directives"])?;
    project.write("kernels/extra.h", "")?;
    are(&project.lines(SINCE, 1)?, &["kernels/b.cu:7:9: error: `part`"])?;
    fs_err::remove_file(project.path("kernels/extra.h"))?;
    fs_err::remove_file(project.path("kernels/D"))?;
    fs_err::os::unix::fs::symlink("B", project.path("kernels/D"))?;
    are(&project.lines(SINCE, 1)?, &["kernels/b.cu:7:9: error: `part`"])?;
    project.git(&["reset", "-q", "--hard", "HEAD^"])?;

    // A comment that silenced something goes.
    project.write(
        "kernels/b.cu",
        &project.read("kernels/b.cu")?.replace("  float part", "  // lmem: allow(dynamic_index)\n  float part"),
    )?;
    project.commit()?;
    project.write("kernels/b.cu", &project.read("kernels/b.cu")?.replace("  // lmem: allow(dynamic_index)\n", ""))?;
    are(&project.lines(SINCE, 1)?, &["kernels/b.cu:3:9: error: `part`"])?;
    are(&project.lines(&["--changed-since", "HEAD~1"], 0)?, &[])
}

fn the_index_counts_and_not_the_working_tree() -> Result<(), Failed> {
    let project = Project::new()?;
    are(&project.lines(&["--staged"], 0)?, &[])?;
    project.write("kernels/new.cu", &KERNEL.replace("NAME", "three"))?;
    are(&project.lines(&["--staged"], 0)?, &[])?;
    project.git(&["add", "kernels/new.cu"])?;
    // What is mended and not staged is not mended for the commit.
    project.write("kernels/new.cu", "// Nothing.\n")?;
    are(&project.lines(&["--staged"], 1)?, &["kernels/new.cu:3:9: error: `part`"])?;
    are(&project.lines(&["--staged", "kernels/new.cu"], 1)?, &["kernels/new.cu:3:9: error: `part`"])?;
    are(&project.lines(&["--staged", "kernels/a.cu"], 0)?, &[])?;
    are(&project.lines(SINCE, 0)?, &[])?;
    project.git(&["add", "kernels/new.cu"])?;
    are(&project.lines(&["--staged"], 0)?, &[])
}

/// The document of `cargo lmem diff`, and for each kernel what it says of the stack frame.
fn table(project: &Project, arguments: &[&str]) -> Result<(Value, Vec<String>), Failed> {
    let output = project.run(&[&["diff"], arguments, &["--message-format", "json"]].concat(), 0)?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let rows = document["kernels"].as_array().ok_or("there is a list of kernels")?.iter().map(|row| {
        let frame = |side: &str| row[side]["stack_frame"].as_u64().map_or("-".to_string(), |bytes| bytes.to_string());
        let word = |key: &str| row[key].as_str().unwrap_or("-").to_string();
        format!("{} {} {} {} {}", word("file"), word("kernel"), word("change"), frame("before"), frame("after"))
    });
    Ok((document.clone(), rows.collect()))
}

fn kernels_stand_beside_those_of_a_revision() -> Result<(), Failed> {
    let project = Project::new()?;
    project.git(&["branch", "-M", "main"])?;
    let (document, rows) = table(&project, &[])?;
    holds(rows.is_empty() && document["unchanged"] == 2, &format!("{document}"))?;

    // More in one file, a new kernel, and one that is gone with its file.
    project.write("inc/size.cuh", "#define SIZE 32\n")?;
    project.write("kernels/new.cu", "__global__ void fresh(float* out) { out[threadIdx.x] = 1.0f; }\n")?;
    fs_err::remove_file(project.path("kernels/b.cu"))?;
    let expected = ["kernels/a.cu one more 64 128", "kernels/new.cu fresh new - 0", "kernels/b.cu two removed 32 -"];
    let (document, rows) = table(&project, &[])?;
    holds(rows == expected && document["unchanged"] == 0, &format!("{rows:?} {document}"))?;
    holds(document["findings"]["worse"] == 1, "findings are counted beside it")?;
    let page = project.run(&["diff", "--message-format", "markdown"], 0)?;
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    holds(page.contains("| one (`kernels/a.cu:2`) | sm_90 | more | **64 → 128 B** |"), &page)?;
    // The index is what it was; with paths, the others are not looked at.
    holds(table(&project, &["--staged"])?.1.is_empty(), "nothing is staged")?;
    holds(table(&project, &["HEAD", "kernels/new.cu"])?.1 == expected[1..2], "one file alone")?;

    // A branch beside where it began, though `main` went on; a kernel that moves to another file is the same one.
    project.git(&["checkout", "-q", "-b", "change"])?;
    project.commit()?;
    project.git(&["checkout", "-q", "main"])?;
    project.write("kernels/later.cu", &KERNEL.replace("NAME", "later"))?;
    project.commit()?;
    project.git(&["checkout", "-q", "change"])?;
    holds(table(&project, &["main..."])?.1 == expected, "what the branch did")?;
    holds(table(&project, &["main"])?.1.len() == 4, "beside `main` itself, its kernel is missing too")?;
    let moved = format!("{}{}", project.read("kernels/new.cu")?, KERNEL.replace("NAME", "one"));
    project.write("kernels/new.cu", &moved)?;
    project.write("kernels/a.cu", "__global__ void other(float* out) { out[threadIdx.x] = 2.0f; }\n")?;
    holds(table(&project, &[])?.1 == ["kernels/a.cu other new - 0"], "`one` has another place")?;
    are(&project.lines(SINCE, 0)?, &[])?;

    // What does not compile is said, and is neither new nor gone.
    project.write("kernels/a.cu", "__global__ void other(float* out) { nothing(); }\n")?;
    let output = project.run(&["diff"], 4)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    holds(text.contains("does not compile, and is not compared: `kernels/a.cu`"), &text)?;
    project.run(&["diff", "--fix"], 2)?;
    project.run(&["diff", "nowhere"], 2).map(drop)
}

/// Each history was a regression that nobody saw, or an error for what was there before.
fn histories_hide_nothing_and_bring_nothing_back() -> Result<(), Failed> {
    let project = Project::new()?;
    // A header of a submodule, which goes on to another commit.
    let library = project.0.path().join("library");
    fs_err::create_dir(&library)?;
    let in_library = |arguments: &[&str]| project.git(&[&["-C", &library.display().to_string()], arguments].concat());
    in_library(&["init", "-q"])?;
    fs_err::write(library.join("size.cuh"), "#define SIZE 16\n")?;
    in_library(&["add", "."])?;
    in_library(&["commit", "-q", "-m", "16"])?;
    let source = library.display().to_string();
    project.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &source, "dep"])?;
    project.write("kernels/a.cu", &KERNEL.replace("NAME", "one").replace("size.cuh", "../dep/size.cuh"))?;
    project.commit()?;
    are(&project.lines(SINCE, 0)?, &[])?;
    project.write("dep/size.cuh", "#define SIZE 32\n")?;
    are(&project.lines(SINCE, 1)?, &["kernels/a.cu:3:9: error: `part`"])?;
    are(&project.lines(&["--staged"], 0)?, &[])?;
    project.git(&["-C", "dep", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-a", "-m", "32"])?;
    project.git(&["add", "dep"])?;
    are(&project.lines(&["--staged"], 1)?, &["kernels/a.cu:3:9: error: `part`"])?;
    holds(table(&project, &[])?.1 == ["kernels/a.cu one more 64 128"], "the table has it too")?;
    project.commit()?;
    are(&project.lines(SINCE, 0)?, &[])?;

    // A file gets another name beside a baseline, which has the old one.
    project.write("Cargo.toml", &format!("{MANIFEST}baseline = \"known.json\"\n"))?;
    project.run(&["--write-baseline"], 0)?;
    project.git(&["mv", "kernels/b.cu", "kernels/renamed.cu"])?;
    are(&project.lines(&["-D", "warnings"], 0)?, &[])?;
    // A copy beside the original is new.
    project.write("kernels/copy.cu", &project.read("kernels/renamed.cu")?)?;
    let lines = project.lines(&[], 1)?;
    holds(lines.len() == 2 && lines.iter().all(|line| line.contains("`part`")), &format!("{lines:?}"))?;

    // A file that never compiled refuses no commit; one that the change breaks does, with the same words.
    let broken = "__global__ void broken(float* out) { out[0] = NOWHERE; }\n";
    project.write("kernels/broken.cu", broken)?;
    fs_err::remove_file(project.path("kernels/copy.cu"))?;
    project.commit()?;
    project.write("kernels/a.cu", &format!("// A comment.\n{}", project.read("kernels/a.cu")?))?;
    let output = project.run(SINCE, 0)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    holds(said.contains("1 source compiled neither in `HEAD` nor now"), &said)?;
    project.git(&["add", "-A"])?;
    project.run(&["--staged", "--quiet"], 0)?;
    project.write("kernels/broken_too.cu", &broken.replace("void broken", "void broken_too"))?;
    let lines = project.lines(SINCE, 4)?;
    holds(lines.iter().any(|line| line.contains("NOWHERE")), &format!("{lines:?}"))?;
    fs_err::remove_file(project.path("kernels/broken_too.cu"))?;

    // Nothing of a project is staged for the first commit.
    let fresh = Project(tempfile::tempdir()?);
    fresh.write("lmem.toml", "arch = [\"sm_90\"]\n")?;
    fresh.write("a.cu", &KERNEL.replace("NAME", "one").replace("#include \"size.cuh\"", "#define SIZE 8"))?;
    fresh.git(&["init", "-q"])?;
    let output = fresh.run(&["--staged"], 2)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    holds(said.contains("no `Cargo.toml` or `lmem.toml` is staged in `") && !said.contains("trees"), &said)?;
    let said = String::from_utf8_lossy(&fresh.run(SINCE, 2)?.stderr).into_owned();
    holds(said.contains("there is no commit yet"), &said)?;
    fresh.git(&["add", "-A"])?;
    are(&fresh.lines(&["--staged"], 1)?, &["a.cu:3:9: error: `part`"])?;
    holds(table(&fresh, &[])?.1 == ["a.cu one new - 32"], "beside an empty tree")
}

fn settings_and_baselines_of_a_branch_hide_nothing() -> Result<(), Failed> {
    let project = Project::new()?;
    // The branch brings more bytes, and a baseline that knows them.
    project.write("Cargo.toml", &format!("{MANIFEST}baseline = \"known.json\"\n"))?;
    project.run(&["--write-baseline", "--baseline", "known.json"], 0)?;
    project.commit()?;
    project.write("inc/size.cuh", "#define SIZE 32\n")?;
    project.run(&["--write-baseline"], 0)?;
    are(&project.lines(&[], 0)?, &[])?;
    // A baseline that allows more than there is can be an error.
    let known = project.read("known.json")?;
    project.write("known.json", &known.replace("128", "99999"))?;
    are(&project.lines(&["-D", "warnings"], 0)?, &[])?;
    let lines = project.lines(&["-D", "stale_baseline"], 1)?;
    holds(lines.iter().any(|line| line.contains("the baseline can be tightened")), &format!("{lines:?}"))?;
    project.write("known.json", &known)?;
    are(&project.lines(SINCE, 1)?, &["kernels/a.cu:3:9: error: "])?;
    project.git(&["checkout", "-q", "."])?;
    // It leaves a file out, and takes more in it.
    project.write("Cargo.toml", &format!("{MANIFEST}exclude = [\"kernels/b.cu\"]\n"))?;
    let hidden = "not everything that `HEAD` checks is checked now";
    let loosened = "the settings ask for less than those of `HEAD`";
    are(&project.lines(SINCE, 0)?, &[&format!("warning: {loosened}"), &format!("note: {hidden}")])?;
    let strict = [SINCE, &["-D", "no_longer_checked", "-A", "loosened_settings"]].concat();
    are(&project.lines(&strict, 1)?, &[&format!("error: {hidden}")])?;
    // A kernel that it brings itself, too; its settings have no say in this.
    let excused = "exclude = [\"kernels/new.cu\"]\nlints = { loosened_settings = \"allow\" }\n";
    project.write("Cargo.toml", &format!("{MANIFEST}{excused}"))?;
    project.write("kernels/new.cu", &project.read("kernels/b.cu")?)?;
    are(&project.lines(&[SINCE, &["-D", "warnings"]].concat(), 1)?, &[&format!("error: {loosened}")])?;
    let said = String::from_utf8_lossy(&project.run(&[SINCE, &["--message-format", "human"]].concat(), 0)?.stdout)
        .into_owned();
    holds(
        said.contains("`exclude` leaves out `kernels/new.cu`") && said.contains("`loosened_settings` is lower"),
        &said,
    )?;
    fs_err::remove_file(project.path("kernels/new.cu"))?;
    project.write("Cargo.toml", &format!("{MANIFEST}exclude = [\"kernels/b.cu\"]\n"))?;
    let output = project.run(&["diff", "--message-format", "human"], 0)?;
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    holds(table.contains("two"), &table)?;
    // It silences a file that takes more, by a comment and by a level: neither is gone.
    let kernel = project.read("kernels/a.cu")?;
    project.write("kernels/a.cu", &format!("// lmem: allow-file(dynamic_index)\n{kernel}"))?;
    project.write("Cargo.toml", MANIFEST)?;
    project.write("inc/size.cuh", "#define SIZE 64\n")?;
    are(&project.lines(&strict, 1)?, &[&format!("error: {hidden}")])?;
    let said = project.run(SINCE, 0)?;
    holds(!String::from_utf8_lossy(&said.stderr).contains("gone"), "silenced is not gone")?;
    project.write("kernels/a.cu", &kernel)?;
    project.write("Cargo.toml", &format!("{MANIFEST}lints = {{ warnings = \"allow\" }}\n"))?;
    are(&project.lines(&strict, 1)?, &[&format!("error: {hidden}")])?;
    let said = String::from_utf8_lossy(&project.run(&[], 0)?.stderr).into_owned();
    holds(said.contains("Found nothing that is not silenced"), &said)?;
    project.git(&["checkout", "-q", "."])?;
    // It compiles a kernel no longer, by a condition or by a name that no build knows; without its text it is gone.
    project.write("kernels/a.cu", &format!("#ifdef NEVER\n{kernel}\n#endif\n"))?;
    are(&project.lines(&strict, 1)?, &[&format!("error: {hidden}")])?;
    let said = project.run(&[SINCE, &["--message-format", "human"]].concat(), 0)?;
    let said = format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    let why = "`part` of `one` in `kernels/a.cu` (dynamic_index) is not compiled, and its text is";
    holds(said.contains(why) && !said.contains("gone"), &said)?;
    project.write("kernels/a.cu", "__global__ void other(float* out) { out[threadIdx.x] = 2.0f; }\n")?;
    are(&project.lines(&strict, 0)?, &[])?;
    project.git(&["checkout", "-q", "."])?;
    project.git(&["mv", "kernels/a.cu", "kernels/a.cuh"])?;
    are(&project.lines(&strict, 1)?, &[&format!("error: {hidden}")])?;
    are(&project.lines(&["--staged", "-D", "no_longer_checked"], 1)?, &[&format!("error: {hidden}")])?;
    project.write("kernels/user.cu", "#include \"a.cuh\"\n")?;
    are(&project.lines(&strict, 0)?, &[])?;
    fs_err::remove_file(project.path("kernels/user.cu"))?;
    project.git(&["reset", "-q", "--hard"])?;
    // Another architecture is compared on its own.
    project.write("Cargo.toml", &MANIFEST.replace("\"sm_90\"", "\"sm_90\", \"sm_80\""))?;
    are(&project.lines(SINCE, 0)?, &[])
}

fn comments_are_written_for_what_is_found() -> Result<(), Failed> {
    let project = Project::new()?;
    project.write("src/lib.rs", RUST)?;
    // As `--fix`, it keeps apart what it writes.
    let output = project.run(&["--add-allow=old"], 2)?;
    holds(String::from_utf8_lossy(&output.stderr).contains("not committed"), "a dirty tree is refused")?;
    project.commit()?;
    holds(project.lines(&[], 0)?.len() == 4, "four findings are there")?;
    let output = project.run(&["--add-allow=old", "--message-format", "json"], 0)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    holds(said.contains("wrote comments for 4 findings into 3 files"), &said)?;
    holds(facts(&output)?["suppressions"].as_array().map(Vec::len) == Some(4), "four comments silence")?;
    are(&project.lines(&["-D", "warnings"], 0)?, &[])?;
    let comment = "// lmem: allow(dynamic_index, reason = \"old\")";
    holds(project.read("kernels/a.cu")?.contains(&format!("  {comment}\n  float part")), "above the declaration")?;
    let rust = project.read("src/lib.rs")?;
    holds(rust.contains(&format!("  {comment}\n  float own[8]")), "inside the raw string")?;
    holds(rust.contains(&format!("    {comment}\n    compile_ptx(\"")), "above the other one")?;
    // The line of the finding goes, and the comment is left.
    project.write(
        "kernels/b.cu",
        &format!("{comment}\n__global__ void two(float* out) {{ out[threadIdx.x] = 1.0f; }}\n"),
    )?;
    are(&project.lines(&["-D", "unused_allow"], 1)?, &["kernels/b.cu:1:1: error: unused `allow`"])?;
    let output = project.run(&["--add-allow=a \"b\""], 2)?;
    holds(String::from_utf8_lossy(&output.stderr).contains("without quotation marks"), "a reason is plain text")
}

fn settings_have_budgets_and_levels() -> Result<(), Failed> {
    let project = Project::new()?;
    let budget = "[[package.metadata.lmem.budget]]\nkernel = \"t*\"\nstack = 16\n";
    let levels = "[[package.metadata.lmem.file]]\npath = \"kernels/b.cu\"\nlints = { dynamic_index = \"allow\" }\n";
    project.write("Cargo.toml", &format!("{MANIFEST}\n{budget}\n{levels}"))?;
    are(
        &project.lines(&[], 1)?,
        &[
            "kernels/b.cu:2:17: error: kernel `two` exceeds its budget on sm_90: stack frame",
            "kernels/a.cu:3:9: warning: `part`",
        ],
    )?;
    // Nothing before it was over a budget, and the level hides what was there.
    let hidden = "note: not everything that `HEAD` checks is checked now";
    let loosened = "warning: the settings ask for less than those of `HEAD`";
    are(&project.lines(SINCE, 1)?, &["kernels/b.cu:2:17: error: kernel `two` exceeds", loosened, hidden])?;
    project.write("Cargo.toml", &format!("{MANIFEST}\n{}", budget.replace("\"t*\"", "\"too\"")))?;
    let output = project.run(&["-A", "dynamic_index"], 0)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    holds(text.contains("`budget.kernel` names no kernel with `too`") && text.contains("did you mean `two`?"), &text)
}
