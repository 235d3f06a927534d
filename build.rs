//! Compiles what `cargo lmem run` puts before NVRTC in other programs: a library of its own, which becomes part of ours. And finds
//! the commit that `--version` tells.

use std::path::Path;
use std::process::Command;

const SOURCE: &str = "src/run/nvrtc_shim.c";

/// Written by `cargo package`.
const PACKAGED: &str = ".cargo_vcs_info.json";

/// Characters of a commit that people read.
const SHORT: usize = 10;

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(commit) = commit() {
        println!("cargo::rustc-env=CARGO_LMEM_COMMIT={commit}");
    }
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let library = Path::new(&out).join("libcargo_lmem_nvrtc.so");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        // `LD_PRELOAD` is the loader's of Linux; elsewhere the subcommand says so.
        std::fs::write(&library, b"").expect("the build folder can be written");
        return;
    }
    // Optimized whatever the profile: a tail call in it matters.
    let compiler = cc::Build::new().opt_level(2).warnings(true).extra_warnings(true).pic(true).get_compiler();
    let mut command = compiler.to_command();
    command.args(["-shared", "-fvisibility=hidden", "-Wl,-soname,libcargo_lmem_nvrtc.so", "-o"]);
    command.arg(&library).arg(SOURCE).args(["-ldl", "-lpthread"]);
    let status = command.status();
    assert!(status.is_ok_and(|status| status.success()), "`{SOURCE}` does not compile: {command:?}");
}

/// The commit of the sources, in short: of the file that a crate's archive has, or of the repository that they lie in. Sources
/// from elsewhere have none.
fn commit() -> Option<String> {
    if let Ok(packaged) = std::fs::read_to_string(PACKAGED) {
        let hash = packaged.split("\"sha1\"").nth(1)?.split('"').nth(1)?;
        return hash.get(..SHORT).map(str::to_string);
    }
    // A folder that merely lies in a repository of somebody else's has no commit of ours.
    if !Path::new(".git").exists() {
        return None;
    }
    // Each commit would build a debug binary anew, for a text that nobody reads there.
    if std::env::var("PROFILE").as_deref() == Ok("release") {
        let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
        if Path::new(&log).exists() {
            println!("cargo::rerun-if-changed={log}");
        }
    }
    git(&["rev-parse", &format!("--short={SHORT}"), "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string()).filter(|text| !text.is_empty())
}
