//! An old project adopts the tool: a baseline, a regression that is seen in every format, its mend, a tighter baseline. With a real
//! toolkit: `LMEM_LIVE=1 cargo test --test adopt`.

use std::path::PathBuf;
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
    let is_live = std::env::var_os("LMEM_LIVE").is_some();
    let trial = Trial::test("an_old_project_only_gets_better", story).with_ignored_flag(!is_live);
    libtest_mimic::run(&arguments, vec![trial]).exit();
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
        String::from_utf8_lossy(&output.stdout).contains("128 bytes on sm_90: the baseline has 64"),
        "it says by how much",
    )?;

    // Mended, and tightened.
    fs_err::write(project.path("a.cu"), "__global__ void old_one(float* out) { out[threadIdx.x] = 1.0f; }\n")?;
    let output = project.lmem(&[], 0)?;
    holds(String::from_utf8_lossy(&output.stderr).contains("1 gone"), "what is gone is said")?;
    project.lmem(&["--write-baseline"], 0)?;
    holds(project.read("lmem-baseline.json")?.lines().count() == 1, "nothing is known any more")
}
