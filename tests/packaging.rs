//! What is published beside the crate: one version in all of it, and nothing that a shell would take for its own.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn read(path: &str) -> String {
    fs_err::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn every_file_names_this_version() {
    for (path, line) in [
        ("pyproject.toml", format!("version = \"{VERSION}\"")),
        ("pyproject.toml", format!("dependencies = [\"cargo-lmem=={VERSION}\"]")),
        ("action.yml", format!("    default: \"{VERSION}\"")),
        ("templates/lmem.yml", format!("      default: \"{VERSION}\"")),
    ] {
        assert!(read(path).lines().any(|it| it == line), "{path} lacks: {line}");
    }
}

/// `${{ … }}` in a script is text of whoever opened the pull request, and a shell would run it.
#[test]
fn scripts_take_values_as_variables() {
    for path in ["action.yml", ".github/workflows/release.yml", "src/init/files/github.yml"] {
        let text = read(path);
        let mut indent = None;
        for line in text.lines() {
            let depth = line.len() - line.trim_start().len();
            if indent.is_some_and(|indent| depth <= indent && !line.trim().is_empty()) {
                indent = None;
            }
            let is_start = line.trim_start().trim_start_matches("- ").starts_with("run:");
            assert!(!(is_start || indent.is_some()) || !line.contains("${{"), "{path}: {line}");
            if is_start {
                indent = Some(depth);
            }
        }
    }
}

/// What `cargo binstall` makes of the manifest is what the workflow uploads, and where it puts the program in it.
#[test]
fn the_archive_is_named_as_binstall_asks_for_it() {
    let (manifest, workflow) = (read("Cargo.toml"), read(".github/workflows/release.yml"));
    let binstall = manifest.split("[package.metadata.binstall]\n").nth(1).unwrap();
    let value = |key: &str| {
        let line = binstall.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ")).unwrap();
        line.trim_matches('"').to_string()
    };
    for target in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
        assert!(workflow.contains(&format!("- target: {target}\n")), "{target} is built");
        let repository = "https://example.org/somebody/cargo-lmem";
        let filled = |template: String| {
            let values = [
                ("repo", repository),
                ("version", VERSION),
                ("target", target),
                ("archive-suffix", ".tgz"),
                ("bin", "cargo-lmem"),
                ("binary-ext", ""),
            ];
            let fill = |text: String, (name, value): (&str, &str)| text.replace(&format!("{{ {name} }}"), value);
            let text = values.into_iter().fold(template, fill);
            assert!(!text.contains(['{', '}']), "a part has no value: {text}");
            text
        };
        // `$version` has the `v` of the tag.
        let name = format!("cargo-lmem-v{VERSION}-{target}");
        let address = format!("{repository}/releases/download/v{VERSION}/{name}.tgz");
        assert_eq!(filled(value("pkg-url")), address);
        assert_eq!(filled(value("bin-dir")), format!("{name}/cargo-lmem"));
    }
    assert_eq!(value("pkg-fmt"), "tgz");
    for line in [
        "version=\"v$(sed -n 's/^version = \"\\(.*\\)\"/\\1/p' Cargo.toml | head -1)\"",
        "name=\"cargo-lmem-$version-$TARGET\"",
        "cp \"$program\" README.md",
        "tar -czf \"dist/$name.tgz\" \"$name\"",
        "gh release create \"$GITHUB_REF_NAME\"",
    ] {
        assert!(workflow.contains(line), "the workflow lacks: {line}");
    }
    // The address is that of whoever publishes; a release without it would be found by nobody.
    assert!(workflow.contains("repository = \\\"$GITHUB_SERVER_URL/$GITHUB_REPOSITORY\\\""));
}

/// A folder with programs that stand in for others on `PATH`, and write down what they are given.
struct Stage(tempfile::TempDir);

impl Stage {
    fn new() -> Self {
        let stage = Self(tempfile::tempdir().unwrap());
        fs_err::create_dir(stage.path("bin")).unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs_err::write(&path, format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> \"$STAGE/{name}.log\"\n{script}")).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a script of the action, and returns what it says.
    fn run(&self, script: &str, arguments: &[&str], folder: &Path, variables: &[(&str, &str)]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/action").join(script);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([self.path("bin")].into_iter().chain(std::env::split_paths(&path))).unwrap();
        let mut command = Command::new("bash");
        command.arg(script).args(arguments).current_dir(folder).envs(variables.iter().copied());
        let output = command.env("PATH", path).env("STAGE", self.0.path()).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        said
    }

    fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.path(folder)).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }
}

/// The second push brings the comment of the first one up to date; other comments of the same bot stay.
#[test]
fn a_pull_request_gets_one_comment() {
    let stage = Stage::new();
    let gh = "case \"$*\" in
*--jq*) printf '%s\\n' \"$*\" > \"$STAGE/query\"; cat \"$STAGE/known\" 2> /dev/null || true ;;
*) for word; do case \"$word\" in body=@*) cp \"${word#body=@}\" \"$STAGE/sent\" ;; esac; done ;;
esac
";
    stage.program("gh", gh);
    let variables = [("CATEGORY", "sm_90 --> x"), ("GH_REPO", "owner/name"), ("PULL_REQUEST", "7")];
    let page = stage.path("page.md").display().to_string();
    let comment = || stage.run("comment.sh", &[&page], stage.0.path(), &variables);

    // No table, and no comment yet: nothing is said.
    fs_err::write(&page, "## Kernels\n\nNo kernel differs.\n").unwrap();
    comment();
    assert_eq!(stage.read("sent"), "");
    fs_err::write(&page, "## Kernels\n\n| kernel |\n|---|\n| a |\n").unwrap();
    comment();
    assert!(
        stage.read("gh.log").contains("--method POST repos/owner/name/issues/7/comments"),
        "{}",
        stage.read("gh.log")
    );
    assert!(stage.read("sent").starts_with("<!-- cargo-lmem: sm_90_--__x -->\n## Kernels"), "{}", stage.read("sent"));
    assert!(
        stage.read("query").contains("startswith(\"<!-- cargo-lmem: sm_90_--__x -->\")"),
        "{}",
        stage.read("query")
    );
    // The next push finds it, and so does one after which nothing differs.
    fs_err::write(stage.path("known"), "4711\n4712\n").unwrap();
    fs_err::write(&page, "## Kernels\n\nNo kernel differs.\n").unwrap();
    comment();
    assert!(stage.read("gh.log").contains("--method PATCH repos/owner/name/issues/comments/4711 "));
    assert!(stage.read("sent").ends_with("No kernel differs.\n"));
    // A long table is cut between lines.
    fs_err::write(&page, "| kernel → other |\n".repeat(5000)).unwrap();
    comment();
    let sent = stage.read("sent");
    assert!(sent.len() < 65000 && sent.ends_with("| kernel → other |\n\n… the summary of the job has the rest\n"));
    // Without a page there is nothing to say.
    fs_err::remove_file(&page).unwrap();
    let before = stage.read("gh.log");
    comment();
    assert_eq!(stage.read("gh.log"), before);
}

/// The base is the first parent of the merge that is checked out, which a shallow clone has to fetch; of a branch, it is where
/// the branch began.
#[test]
fn a_pull_request_is_compared_with_its_base() {
    let stage = Stage::new();
    fs_err::create_dir(stage.path("origin")).unwrap();
    let commit = |name: &str| {
        fs_err::write(stage.path("origin").join(name), name).unwrap();
        stage.git("origin", &["add", "-A"]);
        stage.git("origin", &["commit", "-q", "-m", name]);
        stage.git("origin", &["rev-parse", "HEAD"])
    };
    stage.git("origin", &["init", "-q", "-b", "main"]);
    let began = commit("one");
    stage.git("origin", &["checkout", "-q", "-b", "change"]);
    let change = commit("two");
    stage.git("origin", &["checkout", "-q", "main"]);
    let base = commit("three");
    stage.git("origin", &["checkout", "-q", "-b", "merge"]);
    stage.git("origin", &["merge", "-q", "--no-ff", "-m", "parent of none", "change"]);
    let source = format!("file://{}", stage.path("origin").display());
    stage.git("", &["clone", "-q", "--depth", "1", "-b", "merge", &source, "shallow"]);
    stage.git("", &["clone", "-q", "-b", "change", &source, "branch"]);
    stage.program("cargo-lmem", "test ! -e \"$STAGE/fails\"\n");
    let compare = |folder: &str, base: &str| {
        let arguments = ["page.md", "--arch", "sm_90", "-D", "warnings"];
        stage.run("compare.sh", &arguments, &stage.path(folder), &[("BASE", base)])
    };

    // The event is older than the merge.
    compare("shallow", &began);
    let line = |commit: &str| format!("lmem diff {commit} --arch sm_90 -D warnings --output markdown=page.md\n");
    assert_eq!(stage.read("cargo-lmem.log"), line(&base));
    stage.git("shallow", &["cat-file", "-e", &base]);
    compare("branch", &base);
    assert_eq!(stage.read("cargo-lmem.log"), line(&base) + &line(&began));
    // A commit that cannot be had, and kernels that do not compile, are said and fail nothing.
    let nowhere = change.chars().rev().collect::<String>();
    assert!(compare("branch", &nowhere).contains("::warning title=cargo lmem::the commit"));
    fs_err::write(stage.path("fails"), "").unwrap();
    assert!(compare("branch", &base).contains("::warning title=cargo lmem::the kernels cannot be compared"));
}
