//! An old project adopts the tool: a baseline, a regression that is seen in every format and refused by every hook, its mend, a
//! tighter baseline. With a real toolkit: `LMEM_LIVE=1 cargo test --test adopt`; `.ci/consumers` has each file read by the program
//! that it is for, too.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

/// An array that the project has always had in local memory.
const OLD: &str = "__global__ void old_one(const int* in, float* out, int n) {
  float part[16];
  for (int t = 0; t < 16; ++t) part[t] = in[t];
  for (int t = 0; t < n; ++t) part[in[t] & 15] += 1.0f;
  out[threadIdx.x] = part[n & 15];
}
";

/// One that somebody brings.
const NEW: &str = "__global__ void new_one(const int* in, float* out, int n) {
  float bins[8] = {};
  for (int t = 0; t < n; ++t) bins[in[t] & 7] += 1.0f;
  out[threadIdx.x] = bins[n & 7];
}
";

fn main() {
    let arguments = Arguments::from_args();
    let is_live = std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty());
    let has_consumers = std::env::var_os("LMEM_CONSUMERS").is_some();
    let trials = vec![
        Trial::test("an_old_project_only_gets_better", story).with_ignored_flag(!is_live),
        Trial::test("a_regression_fails_everywhere_until_it_is_mended", whole_story).with_ignored_flag(!is_live),
        Trial::test("reports_are_read_by_their_consumers", reports).with_ignored_flag(!is_live || !has_consumers),
        Trial::test("files_of_init_are_read_by_their_consumers", files).with_ignored_flag(!has_consumers),
        Trial::test("pre_commit_installs_a_wheel_and_refuses", pre_commit)
            .with_ignored_flag(!is_live || !has_consumers),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

struct Project(tempfile::TempDir);

impl Project {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the tool, which must end with an exit code.
    fn lmem(&self, arguments: &[&str], code: i32) -> Result<Output, Failed> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
        let output = command.arg("lmem").args(arguments).arg("--no-verify").current_dir(self.0.path()).output()?;
        let said =
            || format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match output.status.code() == Some(code) {
            true => Ok(output),
            false => Err(format!("{arguments:?}: {}\n{}", output.status, said()).into()),
        }
    }

    fn read(&self, name: &str) -> Result<String, Failed> {
        Ok(fs_err::read_to_string(self.path(name))?)
    }

    fn json(&self, name: &str) -> Result<Value, Failed> {
        Ok(serde_json::from_str(&self.read(name)?)?)
    }
}

fn holds(condition: bool, what: &str) -> Result<(), Failed> {
    if condition { Ok(()) } else { Err(what.into()) }
}

fn story() -> Result<(), Failed> {
    let project = Project(tempfile::tempdir()?);
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
                    [package.metadata.lmem]\narch = [\"sm_90\"]\nbaseline = \"lmem-baseline.json\"\n";
    fs_err::write(project.path("Cargo.toml"), manifest)?;
    fs_err::create_dir(project.path("src"))?;
    fs_err::write(project.path("src/lib.rs"), "")?;
    fs_err::write(project.path("a.cu"), OLD)?;

    // A baseline that is named and not there is no green run.
    let output = project.lmem(&[], 2)?;
    holds(String::from_utf8_lossy(&output.stderr).contains("--write-baseline"), "the next step is said")?;
    project.lmem(&["--write-baseline"], 0)?;
    holds(project.read("lmem-baseline.json")?.lines().count() == 2, "one finding is known")?;
    let output = project.lmem(&["-D", "warnings"], 0)?;
    holds(output.stdout.is_empty(), "what is known is not shown")?;

    // Lines move, and nothing is new.
    fs_err::write(project.path("a.cu"), format!("// A comment.\n\n{OLD}"))?;
    project.lmem(&["-D", "warnings"], 0)?;

    // A regression, in each format.
    fs_err::write(project.path("a.cu"), format!("{OLD}{NEW}"))?;
    let outputs = ["sarif=r.sarif", "gitlab=r.json", "junit=r.xml", "markdown=r.md", "rdjson=r.rdjson", "github"];
    let outputs: Vec<&str> = outputs.iter().flat_map(|output| ["--output", output]).collect();
    let output = project.lmem(&outputs, 1)?;
    let github = String::from_utf8_lossy(&output.stdout).into_owned();
    holds(github.starts_with("::error file=a.cu,line=8,") && github.lines().count() == 1, &github)?;
    holds(project.json("r.sarif")?["runs"][0]["results"].as_array().map(Vec::len) == Some(1), "one result in SARIF")?;
    let gitlab = project.json("r.json")?;
    holds(gitlab[0]["severity"] == "major" && gitlab[0]["location"]["lines"]["begin"] == 8, "one issue for GitLab")?;
    holds(project.json("r.rdjson")?["diagnostics"][0]["severity"] == "ERROR", "one diagnostic for reviewdog")?;
    holds(project.read("r.xml")?.contains("failures=\"1\""), "one failure in JUnit's XML")?;
    holds(project.read("r.md")?.contains("`bins`"), "the page names the array")?;
    let all = project.lmem(&["--no-baseline", "--message-format", "short"], 0)?;
    holds(String::from_utf8_lossy(&all.stdout).lines().count() == 2, "without the baseline both are shown")?;

    // More bytes than before is new too.
    fs_err::write(project.path("a.cu"), OLD.replace("16]", "32]"))?;
    let output = project.lmem(&["--message-format", "json"], 1)?;
    holds(
        String::from_utf8_lossy(&output.stdout).contains("128 B on sm_90; the baseline has 64 B"),
        "it says by how much",
    )?;

    // Mended, and tightened.
    fs_err::write(project.path("a.cu"), "__global__ void old_one(float* out) { out[threadIdx.x] = 1.0f; }\n")?;
    let output = project.lmem(&[], 0)?;
    holds(String::from_utf8_lossy(&output.stderr).contains("1 gone"), "what is gone is said")?;
    project.lmem(&["--write-baseline"], 0)?;
    holds(project.read("lmem-baseline.json")?.lines().count() == 1, "nothing is known any more")
}

/// A loop that an edit unrolls, with the same results.
const MENDABLE: &str = "__global__ void smooth(const float* in, float* out) {
  float part[8];
  for (int t = 0; t < 8; ++t) part[t] = in[t * 32 + threadIdx.x];
  float sum = 0;
  #pragma unroll 1
  for (int t = 0; t < 8; ++t) sum += part[t] * part[7 - t];
  out[threadIdx.x] = sum;
}
";

const TOML: &str = "arch = [\"sm_90\"]\nbaseline = \"lmem-baseline.json\"\n";

impl Project {
    /// A project without Cargo in a repository of its own, with an old finding that its baseline knows.
    fn with_baseline() -> Result<Self, Failed> {
        let project = Self(tempfile::tempdir()?);
        fs_err::write(project.path("lmem.toml"), TOML)?;
        fs_err::write(project.path("a.cu"), OLD)?;
        project.lmem(&["--write-baseline"], 0)?;
        project.git(&["init", "--quiet"])?;
        project.git(&["config", "user.name", "nobody"])?;
        project.git(&["config", "user.email", "nobody@localhost"])?;
        project.git(&["add", "--all"])?;
        project.git(&["commit", "--quiet", "--message", "old"])?;
        Ok(project)
    }

    fn git(&self, arguments: &[&str]) -> Result<(), Failed> {
        self.run(Command::new("git").args(arguments), true).map(drop)
    }

    /// Runs a program in the project, with ours on `PATH`, and checks whether it succeeds.
    fn run(&self, command: &mut Command, succeeds: bool) -> Result<String, Failed> {
        let own = Path::new(env!("CARGO_BIN_EXE_cargo-lmem")).parent().map(Path::to_path_buf);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path)))?;
        let output = command.current_dir(self.0.path()).env("PATH", path).output()?;
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match output.status.success() == succeeds {
            true => Ok(said),
            false => Err(format!("{command:?}: {}\n{said}", output.status).into()),
        }
    }

    /// A program of those that `.ci/consumers` installs.
    fn consumer(&self, name: &str, arguments: &[&str], succeeds: bool) -> Result<String, Failed> {
        let folder = PathBuf::from(std::env::var_os("LMEM_CONSUMERS").unwrap_or_default());
        let (wheels, home) = (folder.join("wheels"), folder.join("pre-commit"));
        let mut command = Command::new(folder.join("bin").join(name));
        command.args(arguments).env("PIP_FIND_LINKS", wheels).env("PRE_COMMIT_HOME", home);
        self.run(&mut command, succeeds)
    }

    fn validate(&self, arguments: &[&str]) -> Result<(), Failed> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/validate.py");
        let arguments: Vec<&str> = script.to_str().into_iter().chain(arguments.iter().copied()).collect();
        self.consumer("python", &arguments, true).map(drop)
    }
}

/// Every format, the file that gets it, and what makes it a failure there.
const FORMATS: [(&str, &str, &str); 9] = [
    ("sarif", "r.sarif", "\"level\": \"error\""),
    ("gitlab", "r.json", "\"severity\": \"major\""),
    ("junit", "r.xml", "<failure "),
    ("markdown", "r.md", "| error |"),
    ("rdjson", "r.rdjson", "\"severity\": \"ERROR\""),
    ("github", "r.github", "::error "),
    ("short", "r.txt", ": error: "),
    ("json", "r.jsonl", "\"level\":\"error\""),
    ("human", "r.human", "error["),
];

impl Project {
    /// A run fails and says why in each format, and the hook of git refuses the commit.
    fn fails_everywhere(&self, what: &str) -> Result<(), Failed> {
        let folder = tempfile::tempdir_in(self.path(".git"))?;
        let outputs = FORMATS.map(|(format, name, _)| format!("{format}={}", folder.path().join(name).display()));
        let arguments: Vec<&str> = outputs.iter().flat_map(|output| ["--output", output]).collect();
        self.lmem(&arguments, 1)?;
        for (format, name, mark) in FORMATS {
            let text = fs_err::read_to_string(folder.path().join(name))?;
            let plain = text.replace(char::is_whitespace, "");
            let mark: String = mark.split_whitespace().collect();
            holds(text.contains(what) && plain.contains(&mark), &format!("{format} has `{what}` as an error: {text}"))?;
        }
        let text = fs_err::read_to_string(folder.path().join("r.jsonl"))?;
        for message in cargo_metadata::Message::parse_stream(text.as_bytes()) {
            let is_known = !matches!(message?, cargo_metadata::Message::TextLine(_));
            holds(is_known, "cargo's parser knows each line")?;
        }
        let refused = self.run(Command::new("git").args(["commit", "--all", "--message", "refused"]), false)?;
        holds(refused.contains(what), &refused)
    }
}

/// Adopted with a baseline; what is new fails in each format and in the hook, until it is mended, has a reason, or keeps its budget.
fn whole_story() -> Result<(), Failed> {
    let project = Project::with_baseline()?;
    let hook = project.run(Command::new("cargo-lmem").args(["init", "--git-hook"]), true)?;
    holds(hook.contains("wrote `.git/hooks/pre-commit`"), &hook)?;
    // What has nothing to do with kernels is not checked, and what is known is no reason to refuse.
    fs_err::write(project.path("notes.md"), "notes\n")?;
    fs_err::write(project.path("a.cu"), format!("// A comment.\n{OLD}"))?;
    project.git(&["add", "--all"])?;
    project.git(&["commit", "--quiet", "--message", "a comment"])?;
    fs_err::write(project.path("a.cu"), format!("{OLD}{MENDABLE}"))?;
    project.fails_everywhere("`part`")?;
    let table = project.run(Command::new("cargo-lmem").args(["lmem", "diff"]), true)?;
    holds(table.contains("smooth") && table.contains("1 new; 1 kernel unchanged"), &table)?;
    // Mended by what was proven; the tree has changes, which `--fix` must be told to mix with.
    project.run(Command::new("cargo-lmem").args(["lmem", "--fix", "--allow-dirty"]), true)?;
    holds(project.read("a.cu")? != format!("{OLD}{MENDABLE}"), "the file is mended")?;
    project.git(&["commit", "--quiet", "--all", "--message", "mended"])?;
    // Tightened: the array that was there before goes, and with it what the baseline lets in.
    let tight = project.read("a.cu")?.replace(OLD, "");
    fs_err::write(project.path("a.cu"), tight)?;
    project.lmem(&["--write-baseline"], 0)?;
    holds(project.read("lmem-baseline.json")?.lines().count() == 1, "nothing is known any more")?;
    project.git(&["commit", "--quiet", "--all", "--message", "tightened"])?;
    // One that is meant to stay has a reason.
    fs_err::write(project.path("b.cu"), NEW)?;
    project.git(&["add", "--all"])?;
    project.fails_everywhere("`bins`")?;
    let reasoned =
        NEW.replacen("  float bins", "  // lmem: allow(dynamic_index, reason = \"a cold path\")\n  float bins", 1);
    fs_err::write(project.path("b.cu"), reasoned)?;
    project.git(&["add", "--all"])?;
    project.git(&["commit", "--quiet", "--message", "with a reason"])?;
    // A block of 1024 threads fills an SM of 2048, and two thirds of one of 1536.
    let budgeted = "// lmem: budget(occupancy >= 80%)
__global__ void __launch_bounds__(1024) wide(float* out) { out[threadIdx.x] = 1.0f; }
";
    fs_err::write(project.path("c.cu"), budgeted)?;
    project.git(&["add", "--all"])?;
    project.git(&["commit", "--quiet", "--message", "within its budget on one architecture"])?;
    fs_err::write(project.path("lmem.toml"), TOML.replace("\"sm_90\"", "\"sm_80\", \"sm_89\", \"sm_90\""))?;
    project.lmem(&["--arch", "sm_80,sm_90"], 0)?;
    project.fails_everywhere("exceeds its budget on sm_89: occupancy")?;
    fs_err::write(project.path("c.cu"), budgeted.replace("80%", "60%"))?;
    project.git(&["commit", "--quiet", "--all", "--message", "within it on all"])
}

fn reports() -> Result<(), Failed> {
    let project = Project::with_baseline()?;
    fs_err::write(project.path("a.cu"), format!("{OLD}{MENDABLE}"))?;
    fs_err::write(project.path("b.cu"), NEW)?;
    let outputs =
        ["sarif=r.sarif", "gitlab=r.json", "junit=r.xml", "rdjson=r.rdjson", "short=r.txt", "github=r.github"];
    let outputs = outputs.iter().flat_map(|output| ["--output", output]);
    let arguments: Vec<&str> = ["lmem"].into_iter().chain(outputs).collect();
    project.run(Command::new("cargo-lmem").args(&arguments), false)?;
    let schema = std::env::var("LMEM_SARIF_SCHEMA")?;
    project.validate(&["sarif", "r.sarif", &schema])?;
    holds(project.read("r.sarif")?.contains("insertedContent"), "SARIF has the edit")?;
    project.validate(&["gitlab", "r.json"])?;
    project.validate(&["junit", "r.xml", &std::env::var("LMEM_JUNIT_SCHEMA")?])?;
    project.validate(&["rdjson", "r.rdjson"])?;
    holds(project.read("r.rdjson")?.contains("suggestions"), "reviewdog has the edit")?;
    let validator = "../node_modules/.bin/rdformat-validator";
    if PathBuf::from(std::env::var_os("LMEM_CONSUMERS").unwrap_or_default()).join("bin").join(validator).exists() {
        project.consumer(validator, &["--strict", "--no-extra-fields", "r.rdjson"], true)?;
    }
    project.validate(&["github", "r.github"])?;
    project.run(Command::new("cargo-lmem").args(["init", "--vscode"]), true)?;
    project.validate(&["matcher", ".vscode/tasks.json", "r.txt"])
}

fn files() -> Result<(), Failed> {
    for manifest in ["lmem.toml", "Cargo.toml"] {
        let project = Project(tempfile::tempdir()?);
        fs_err::create_dir(project.path(".git"))?;
        fs_err::write(project.path(manifest), "")?;
        fs_err::write(project.path("CMakeLists.txt"), "")?;
        let arguments = ["init", "--github", "--gitlab", "--pre-commit"];
        project.run(Command::new("cargo-lmem").args(arguments), true)?;
        let workflow = ".github/workflows/lmem.yml";
        project.consumer("check-jsonschema", &["--builtin-schema", "vendor.github-workflows", workflow], true)?;
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/zizmor.yml").display().to_string();
        project.consumer("zizmor", &["--offline", "--no-progress", "--config", &rules, workflow], true)?;
        let gitlab = ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci", ".gitlab/lmem.yml"];
        project.consumer("check-jsonschema", &gitlab, true)?;
        project.consumer("pre-commit", &["validate-config", ".pre-commit-config.yaml"], true)?;
    }
    Ok(())
}

fn pre_commit() -> Result<(), Failed> {
    let project = Project::with_baseline()?;
    let (repository, version) = (env!("CARGO_MANIFEST_DIR"), Command::new("git").args(["rev-parse", "HEAD"]).output()?);
    let version = String::from_utf8(version.stdout)?;
    let of_repository =
        format!("repos:\n  - repo: {repository}\n    rev: {}\n    hooks:\n      - id: cargo-lmem\n", version.trim());
    // The hook of this repository, and the one that `init` writes, which needs no address.
    for config in [Some(of_repository), None] {
        match config {
            Some(config) => fs_err::write(project.path(".pre-commit-config.yaml"), config)?,
            None => {
                let arguments = ["init", "--pre-commit", "--force"];
                project.run(Command::new("cargo-lmem").args(arguments), true)?;
            }
        }
        fs_err::write(project.path("a.cu"), format!("// Known before.\n{OLD}"))?;
        project.git(&["add", "--all"])?;
        project.consumer("pre-commit", &["run"], true)?;
        fs_err::write(project.path("a.cu"), format!("{OLD}{NEW}"))?;
        project.git(&["add", "--all"])?;
        let refused = project.consumer("pre-commit", &["run"], false)?;
        holds(refused.contains("`bins`") && !refused.contains("`part`"), &refused)?;
    }
    Ok(())
}
