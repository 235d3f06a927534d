//! The command line as a user sees it: arguments in, exit code and text out. Nothing here needs CUDA.

use std::path::{Path, PathBuf};

use snapbox::cmd::{Command, OutputAssert, cargo_bin};

/// A folder with a package, and a home without anything in it.
struct Place {
    folder: tempfile::TempDir,
}

const MANIFEST: &str = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["home", "demo/src"] {
            fs_err::create_dir_all(place.path(folder)).unwrap();
        }
        place.write("demo/Cargo.toml", MANIFEST).write("demo/src/lib.rs", "")
    }

    fn write(self, path: &str, text: &str) -> Self {
        fs_err::write(self.path(path), text).unwrap();
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// `cargo lmem` in the package, with the variables that cargo and the toolkit search look at set to nothing.
    fn lmem(&self, arguments: &[&str]) -> Command {
        let home = self.path("home");
        let command = Command::new(cargo_bin!("cargo-lmem")).arg("lmem").args(arguments);
        let command =
            ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CONDA_PREFIX", "VIRTUAL_ENV", "XDG_CACHE_HOME", "NO_COLOR"]
                .into_iter()
                .fold(command, Command::env_remove);
        command.current_dir(self.path("demo")).env("CARGO_LMEM_CACHE_DIR", home.join("cache"))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Checks the exit code, and that stderr holds all of `parts`.
fn expect(assert: OutputAssert, code: i32, parts: &[&str]) -> OutputAssert {
    let assert = assert.code(code);
    let stderr = text(&assert.get_output().stderr);
    for part in parts {
        assert!(stderr.contains(part), "`{part}` is not in:\n{stderr}");
    }
    assert
}

fn stdout(assert: &OutputAssert) -> String {
    text(&assert.get_output().stdout)
}

#[test]
fn help_names_the_commands_and_exit_codes() {
    let place = Place::new();
    let help = stdout(&place.lmem(&["--help"]).assert().success());
    for part in ["check", "explain", "toolkit", "cache", "--arch", "--message-format", "Exit codes"] {
        assert!(help.contains(part), "`{part}` is not in:\n{help}");
    }
}

#[test]
fn the_version_is_told() {
    let version = stdout(&Place::new().lmem(&["--version"]).assert().success());
    let lines: Vec<&str> = version.lines().collect();
    assert!(lines[0].starts_with(concat!("cargo-lmem ", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(lines[1].starts_with("rule set "), "{version}");
    // The commit stands in brackets, where the sources know it.
    let short = stdout(&Place::new().lmem(&["-V"]).assert().success());
    let commit = short.split(" (").nth(1).map(|rest| rest.trim().trim_end_matches(')').to_string());
    let is_hash = |text: &String| text.len() >= 10 && text.chars().all(|letter| letter.is_ascii_hexdigit());
    assert!(short.lines().count() == 1 && commit.as_ref().is_none_or(is_hash), "{short}");
}

#[test]
fn manual_pages_are_written() {
    let place = Place::new();
    assert!(stdout(&place.lmem(&["man"]).assert().success()).contains("cargo\\-lmem"));
    place.lmem(&["man", "pages"]).assert().success();
    let page = fs_err::read_to_string(place.path("demo/pages/cargo-lmem-check.1")).unwrap();
    assert!(page.contains("cargo lmem check"), "{page}");
    assert!(stdout(&place.lmem(&["completions", "bash"]).assert().success()).contains("complete -F"));
}

#[test]
fn an_unknown_lint_is_refused_with_a_suggestion() {
    let assert = Place::new().lmem(&["-D", "dynamic_indx"]).assert();
    expect(assert, 2, &["there is no lint `dynamic_indx`", "`dynamic_index`"]);
}

#[test]
fn a_path_that_does_not_exist_is_refused() {
    expect(Place::new().lmem(&["no/such.cu"]).assert(), 2, &["there is no file or folder", "no/such.cu"]);
}

#[test]
fn headers_and_other_files_are_refused() {
    let place = Place::new().write("demo/a.cuh", "");
    expect(place.lmem(&["a.cuh"]).assert(), 2, &["a.cuh", "it is a header"]);
    expect(place.lmem(&["Cargo.toml"]).assert(), 2, &["Cargo.toml", "`.cu`"]);
}

#[test]
fn no_cuda_source_is_a_warning() {
    let report = stdout(&Place::new().lmem(&[]).assert().code(0));
    assert!(report.contains("warning[not_checked]: no CUDA source was found"), "{report}");
    Place::new().lmem(&["-D", "warnings"]).assert().code(1);
    // Who names files need not mean that each has kernels.
    let place = Place::new().write("demo/src/lib.rs", "");
    expect(place.lmem(&["-D", "warnings", "src/lib.rs"]).assert(), 0, &["no CUDA source was found"]);
}

#[test]
fn quiet_says_nothing_of_the_run() {
    let assert = Place::new().lmem(&["--quiet"]).assert().success();
    assert_eq!(text(&assert.get_output().stderr), "");
}

#[test]
fn no_manifest_is_refused_with_a_way_out() {
    let place = Place::new();
    let assert = place.lmem(&[]).current_dir(place.path("home")).assert();
    expect(assert, 2, &["there is no `Cargo.toml`", "cargo lmem kernels/"]);
}

#[test]
fn an_unknown_architecture_is_refused_before_a_toolkit_is_looked_for() {
    let place = Place::new().write("demo/a.cu", "__global__ void k() {}");
    let arguments = ["--arch", "sm_banana", "--offline", "--toolkit", "/no/such/folder"];
    expect(place.lmem(&arguments).assert(), 2, &["`sm_banana` is not an architecture"]);
}

#[test]
fn every_lint_is_explained() {
    let place = Place::new();
    let list = stdout(&place.lmem(&["explain"]).assert().success());
    for name in lmem_lints::known_names().into_iter().filter(|name| *name != "warnings") {
        let explanation = stdout(&place.lmem(&["explain", name]).assert().success());
        assert!(explanation.starts_with(&format!("{name} (")), "{explanation}");
        assert!(explanation.contains("## Why it costs"), "{explanation}");
        assert!(explanation.contains(&format!("// lmem: allow({name}, reason = ")), "{explanation}");
        assert!(list.contains(name), "`{name}` is not in:\n{list}");
    }
}

#[test]
fn nonsense_is_not_explained() {
    expect(Place::new().lmem(&["explain", "nonsense"]).assert(), 2, &["there is no lint `nonsense`", "hint: "]);
    expect(Place::new().lmem(&["explain", "dynamic_indx"]).assert(), 2, &["did you mean `dynamic_index`?"]);
}

#[test]
fn remarks_are_explained_as_lints_are() {
    let place = Place::new();
    let list = stdout(&place.lmem(&["explain"]).assert().success());
    for remark in &lmem_lints::remark::ALL {
        let explanation = stdout(&place.lmem(&["explain", remark.name]).assert().success());
        assert!(explanation.starts_with(&format!("{} (", remark.name)), "{explanation}");
        assert!(list.contains(remark.name), "`{}` is not in:\n{list}", remark.name);
    }
    let numbered = stdout(&place.lmem(&["explain", "nvcc::177-D"]).assert().success());
    assert!(numbered.starts_with("compiler_warning ("), "{numbered}");
}

#[test]
fn settings_that_name_nothing_are_reported() {
    let settings = "[package.metadata.lmem]\nexclude = [\"kernals\"]\n[[package.metadata.lmem.file]]\npath = \"kernels/scn.cu\"\n\
                    nvcc-flags = [\"-O1\"]\n";
    let place = with_metadata(settings);
    fs_err::create_dir_all(place.path("demo/kernels")).unwrap();
    let place = place.write("demo/kernels/scan.rs", "");
    let assert = place.lmem(&[]).assert().success();
    let report = stdout(&assert);
    for part in [
        "warning[unmatched_setting]: `exclude` names no file or folder with `kernals`",
        "Cargo.toml:9:13",
        "`file.path` names no file or folder with `kernels/scn.cu`\n",
        "help: did you mean `kernels/scan.rs`?",
    ] {
        assert!(report.contains(part), "`{part}` is not in:\n{report}");
    }
    place.lmem(&["-D", "warnings"]).assert().code(1);
    let allowed = ["-A", "unmatched_setting", "-A", "not_checked", "-D", "warnings"];
    let allowed = stdout(&place.lmem(&allowed).assert().success());
    assert_eq!(allowed, "");
    let assert = place.lmem(&["--workspace", "--exclude", "demmo", "-D", "unmatched-setting"]).assert().code(1);
    let report = stdout(&assert);
    assert!(report.contains("with `demmo`\nhelp: did you mean `demo`?"), "{report}");
}

/// `cargo lmem` with nothing on the path but what finds no toolkit.
fn without_toolkit(place: &Place, arguments: &[&str]) -> Command {
    let nothing = place.path("home");
    let command = place.lmem(arguments).env("HOME", &nothing).env("PATH", &nothing);
    // `cargo metadata` has to be found all the same.
    command.env("CARGO", std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Machines with a toolkit in a usual place find it there whatever the environment says.
fn has_toolkit_in_a_usual_place(place: &Place) -> bool {
    without_toolkit(place, &["toolkit", "which", "--offline"]).assert().get_output().status.success()
}

#[test]
fn without_a_toolkit_the_ways_out_are_named() {
    let place = Place::new().write("demo/a.cu", "__global__ void k() {}");
    if has_toolkit_in_a_usual_place(&place) {
        return;
    }
    let ways = [
        "no CUDA toolkit found",
        "`--offline`",
        "hint: ",
        "cargo lmem toolkit install",
        "`CUDA_HOME`",
        "`--toolkit PATH`",
    ];
    expect(without_toolkit(&place, &["toolkit", "which", "--offline"]).assert(), 3, &ways);
    expect(without_toolkit(&place, &["--offline", "--arch", "sm_90"]).assert(), 3, &ways);
}

#[test]
fn a_toolkit_that_is_none_is_refused() {
    let place = Place::new().write("demo/a.cu", "__global__ void k() {}");
    let assert = place.lmem(&["--toolkit", "/no/such/folder", "--arch", "sm_90", "--offline"]).assert();
    expect(assert, 2, &["/no/such/folder"]);
}

fn with_metadata(text: &str) -> Place {
    Place::new().write("demo/Cargo.toml", &format!("{MANIFEST}\n{text}"))
}

#[test]
fn unknown_keys_of_the_manifest_are_named() {
    let assert = with_metadata("[package.metadata.lmem]\nnvcc_flag = [\"-O3\"]\n").lmem(&[]).assert();
    expect(assert, 2, &["`package.metadata.lmem.nvcc_flag`", "did you mean `nvcc-flags`?"]);
    let assert = with_metadata("[package.metadata.lmem]\narch = 90\n").lmem(&[]).assert();
    expect(assert, 2, &["`package.metadata.lmem.arch`"]);
    let assert = with_metadata("[package.metadata.lmem]\ntoolkit = \"/opt/evil\"\n").lmem(&[]).assert();
    expect(assert, 2, &["`package.metadata.lmem.toolkit`", "may not name programs"]);
}

#[test]
fn unknown_lints_of_the_manifest_are_named() {
    // Names are checked where there is something that they could speak of.
    let place = with_metadata("[package.metadata.lmem.lints]\nregister_spil = \"deny\"\n");
    let place = place.write("demo/a.cu", "__global__ void k() {}");
    expect(place.lmem(&["--offline"]).assert(), 2, &["register_spil", "did you mean `register_spill`?"]);
}

#[test]
fn a_report_goes_to_a_file() {
    let place = Place::new();
    let assert = place.lmem(&["--message-format", "sarif", "--output", "report.sarif"]).assert().success();
    assert_eq!(stdout(&assert), "");
    let report = fs_err::read_to_string(place.path("demo/report.sarif")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["version"], "2.1.0");
    assert_eq!(report["runs"][0]["tool"]["driver"]["name"], "cargo-lmem");
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let place = Place::new();
    expect(place.lmem(&["--output", "no/such/folder/report.txt"]).assert(), 2, &["error: "]);
}

#[test]
fn the_end_of_a_json_report_says_how_it_went() {
    let report = stdout(&Place::new().lmem(&["--message-format", "json"]).assert().success());
    assert_eq!(report.lines().last(), Some(r#"{"reason":"build-finished","success":true}"#));
}

#[test]
fn the_cache_is_shown_and_cleared() {
    let place = Place::new();
    let shown = stdout(&place.lmem(&["cache", "info"]).assert().success());
    assert!(shown.contains("0 entries") && Path::new(shown.lines().next().unwrap()).is_absolute(), "{shown}");
    place.lmem(&["cache", "clear"]).assert().success();
    let pruned = stdout(&place.lmem(&["cache", "prune", "--max-size", "1"]).assert().success());
    assert!(pruned.starts_with("removed 0 entries"), "{pruned}");
}

#[test]
fn settings_are_told_with_where_they_come_from() {
    let manifest = format!(
        "{MANIFEST}\n[workspace.metadata.lmem]\narch = [\"sm_80\"]\ntoolkit = \"13.5\"\n\n\
         [package.metadata.lmem]\narch = [\"sm_90\"]\nlints = {{ register-spill = \"deny\" }}\n"
    );
    let place = Place::new().write("demo/Cargo.toml", &manifest);
    let arguments = ["config", "--toolkit", "13.3", "-A", "dynamic_index", "--message-format", "json"];
    let assert = place.lmem(&arguments).env("CARGO_LMEM_MEMORY", "4096").assert().success();
    let told: serde_json::Value = serde_json::from_str(&stdout(&assert)).unwrap();
    let find = |list: &serde_json::Value, key: &str| {
        let found: Vec<_> = list.as_array().unwrap().iter().filter(|entry| entry["key"] == key).cloned().collect();
        assert_eq!(found.len(), 1, "{key}: {list}");
        (found[0]["value"].as_str().unwrap().to_string(), found[0]["origin"].clone())
    };
    let (settings, options) = (&told["parts"][0]["settings"], &told["options"]);
    let file = |line: usize| serde_json::json!({ "kind": "file", "file": "Cargo.toml", "line": line });
    assert_eq!(find(settings, "arch"), ("[\"sm_90\"]".to_string(), file(13)));
    let option = |text: &str| serde_json::json!({ "kind": "command-line", "option": text });
    assert_eq!(find(settings, "toolkit"), ("13.3".to_string(), option("--toolkit")));
    assert_eq!(find(settings, "lints.register_spill"), ("deny".to_string(), file(14)));
    assert_eq!(find(settings, "lints.dynamic_index"), ("allow".to_string(), option("--allow dynamic_index")));
    assert_eq!(find(settings, "lints.recursive_call").1["kind"], "default");
    assert_eq!(find(settings, "exclude").1["kind"], "default");
    let variable = serde_json::json!({ "kind": "environment", "variable": "CARGO_LMEM_MEMORY" });
    assert_eq!(find(options, "memory"), ("4096".to_string(), variable));
    assert_eq!(find(options, "timeout"), ("600".to_string(), serde_json::json!({ "kind": "default" })));
    assert_eq!(find(options, "cache folder").1["variable"], "CARGO_LMEM_CACHE_DIR");

    let human = stdout(&place.lmem(&["config"]).assert().success());
    for part in [
        "package demo",
        "  arch ",
        "Cargo.toml:13",
        "$CARGO_LMEM_CACHE_DIR",
        "lints and remarks have their default level",
    ] {
        assert!(human.contains(part), "`{part}` is not in:\n{human}");
    }
    expect(place.lmem(&["config", "-D", "dynamic_indx"]).assert(), 2, &["there is no lint `dynamic_indx`"]);
}

#[test]
fn files_for_others_are_written_once() {
    let place = Place::new();
    let arguments = ["init", "--github", "--gitlab", "--pre-commit", "--rust-analyzer", "--vscode"];
    let dry = stdout(&place.lmem(&[&arguments[..], &["--dry-run"]].concat()).assert().success());
    assert!(dry.contains("--- .github/workflows/lmem.yml") && !place.path("demo/.github").exists(), "{dry}");
    expect(place.lmem(&arguments).assert(), 0, &["wrote `.gitlab-ci.yml`", "`pre-commit install`"]);
    let tasks = fs_err::read_to_string(place.path("demo/.vscode/tasks.json")).unwrap();
    let tasks: serde_json::Value = serde_json::from_str(&tasks).unwrap();
    assert_eq!(tasks["tasks"][0]["args"][1], "--workspace");
    expect(place.lmem(&arguments).assert(), 0, &["`.gitlab-ci.yml` is there already"]);
    let place = place.write("demo/.gitlab-ci.yml", "build: {}\n");
    expect(place.lmem(&["init", "--gitlab"]).assert(), 2, &["stays as it is", "hint: add to its `include`", "--force"]);
    assert_eq!(fs_err::read_to_string(place.path("demo/.gitlab-ci.yml")).unwrap(), "build: {}\n");
    expect(place.lmem(&["init", "--gitlab", "--force"]).assert(), 0, &["wrote `.gitlab-ci.yml`"]);
    expect(place.lmem(&["init"]).assert(), 2, &["--github"]);
}

/// Git in a place, with nobody's settings.
fn git(place: &Place, arguments: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(place.path("demo")).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
    assert!(git.output().unwrap().status.success(), "{arguments:?}");
}

#[test]
fn a_comparison_needs_a_repository_and_a_revision() {
    let place = Place::new();
    expect(
        place.lmem(&["--staged"]).assert(),
        2,
        &["lies in no git repository", "`cargo lmem --baseline FILE` compares"],
    );
    git(&place, &["init", "-q"]);
    expect(place.lmem(&["--changed-since", "HEAD"]).assert(), 2, &["there is no commit yet"]);
    // Before the first commit all that is staged is new.
    expect(place.lmem(&["--staged"]).assert(), 2, &["no `Cargo.toml` or `lmem.toml` is staged in"]);
    git(&place, &["add", "."]);
    expect(place.lmem(&["--staged"]).assert(), 0, &["no CUDA source was found"]);
    git(&place, &["commit", "-q", "-m", "one"]);
    git(&place, &["commit", "-q", "--allow-empty", "-m", "two"]);
    expect(place.lmem(&["--changed-since", "HEAD~1"]).assert(), 0, &["no CUDA source was found"]);
    expect(place.lmem(&["--changed-since", "main~9"]).assert(), 2, &["there is no revision `main~9`"]);
    expect(place.lmem(&["--changed-since=--output=x"]).assert(), 2, &["there is no revision `--output=x`"]);
    expect(place.lmem(&["--staged", "--fix"]).assert(), 2, &["cannot be used with"]);
    expect(place.lmem(&["--staged", "--write-baseline"]).assert(), 2, &["cannot be used with"]);

    let shallow = Place::new();
    fs_err::remove_dir_all(shallow.path("demo")).unwrap();
    let source = format!("file://{}", place.path("demo").display());
    let clone = std::process::Command::new("git")
        .args(["clone", "-q", "--depth", "1", &source])
        .arg(shallow.path("demo"))
        .output();
    assert!(clone.unwrap().status.success());
    let hint = "`git fetch --unshallow` brings it";
    expect(shallow.lmem(&["--changed-since", "HEAD~1"]).assert(), 2, &["in this shallow clone", hint]);
}

#[test]
fn what_is_not_merged_is_not_checked() {
    let place = Place::new();
    git(&place, &["init", "-q", "-b", "main"]);
    git(&place, &["add", "."]);
    git(&place, &["commit", "-q", "-m", "one"]);
    git(&place, &["checkout", "-q", "-b", "other"]);
    let place = place.write("demo/src/lib.rs", "// other\n");
    git(&place, &["commit", "-qam", "other"]);
    git(&place, &["checkout", "-q", "main"]);
    let place = place.write("demo/src/lib.rs", "// main\n");
    git(&place, &["commit", "-qam", "main"]);
    let mut merge = std::process::Command::new("git");
    merge.arg("-C").arg(place.path("demo")).args(["-c", "user.name=a", "-c", "user.email=a@b", "merge", "-q", "other"]);
    assert!(!merge.output().unwrap().status.success());
    expect(place.lmem(&["--staged"]).assert(), 2, &["1 file is not merged yet: `src/lib.rs`"]);
}

/// One file is of one part, and the other part says whose it is.
#[test]
fn a_part_says_what_is_left_to_others() {
    let place = Place::new().write("demo/src/a.cu", "__global__ void k() {}\n");
    let run = |part: &str, format: &str| {
        place.lmem(&["--offline", "--partition", part, "--message-format", format]).assert().get_output().clone()
    };
    let parts = ["1/2", "2/2"];
    let (empty, full): (Vec<_>, Vec<_>) = parts.iter().partition(|part| run(part, "human").status.success());
    assert_eq!((empty.len(), full.len()), (1, 1));
    // The file's own part needs a toolkit.
    assert_eq!(run(full[0], "human").status.code(), Some(3));
    let (number, _) = empty[0].split_once('/').unwrap();
    let stderr = text(&run(empty[0], "human").stderr);
    assert!(stderr.contains(&format!("Partition {number} of 2: 0 sources, 1 is left to the others")), "{stderr}");
    assert!(!stderr.contains("no CUDA source"), "{stderr}");
    let json = text(&run(empty[0], "json").stdout);
    let tally = format!(r#""partition":{{"number":{number},"count":2,"units":0,"left_to_others":1}}"#);
    assert!(json.contains(&tally), "{json}");
    expect(place.lmem(&["--partition", "3/2"]).assert(), 2, &["write `N/M` for the N-th of M parts"]);
    expect(place.lmem(&["--partition", "1/2", "--write-baseline"]).assert(), 2, &["cannot be used with"]);
}
