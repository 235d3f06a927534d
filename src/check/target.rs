//! Selection of target architectures.

use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lmem_base::gpu::Arch;
use lmem_base::process;

use super::{CheckError, Talk};

/// Default if nothing names an architecture and there is no GPU: the oldest that is still common.
const FALLBACK: &str = "sm_80";

/// The architectures of `--arch`.
///
/// # Errors
/// A name is invalid, or `native` is requested without a GPU.
pub fn typed(names: &[String]) -> Result<Vec<String>, CheckError> {
    let mut architectures = Vec::new();
    if !names.is_empty() && names.iter().all(|name| name.trim().is_empty()) {
        return Err(CheckError::Usage("`--arch` names no architecture".to_string()));
    }
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        let architecture = match name {
            "native" => native().ok_or_else(|| {
                CheckError::Usage("`--arch native`: `nvidia-smi` names no GPU on this machine".to_string())
            })?,
            name => name.parse::<Arch>()?.to_string(),
        };
        if !architectures.contains(&architecture) {
            architectures.push(architecture);
        }
    }
    Ok(architectures)
}

/// The architecture of this machine's GPU, otherwise a common one; prints which one it is.
pub fn fallback(talk: &Talk) -> String {
    match native() {
        Some(architecture) => {
            talk.note(&format!("no architecture is set: compiling for this machine's GPU, {architecture}"));
            architecture
        }
        None => {
            talk.note(&format!(
                "no architecture is set: compiling for {FALLBACK} (`--arch`, or `arch` in the settings, sets it)"
            ));
            FALLBACK.to_string()
        }
    }
}

/// The architecture of this machine's GPU, otherwise a common one.
pub fn likely() -> String {
    native().unwrap_or_else(|| FALLBACK.to_string())
}

/// The architecture that a build targets, if that is `name` with a letter: a kernel may need instructions that `sm_90a`
/// has and `sm_90` lacks.
pub fn as_built(name: &str, built: &[&str]) -> String {
    let is_variant = |built: &&&str| {
        built.strip_prefix(name).is_some_and(|letter| letter.bytes().all(|byte| byte.is_ascii_lowercase()))
    };
    let exact = built.iter().find(|built| **built == name);
    exact.or_else(|| built.iter().find(is_variant)).map_or_else(|| name.to_string(), ToString::to_string)
}

/// The newest GPU of this machine. Queried once, because the driver may take seconds to answer.
fn native() -> Option<String> {
    static NATIVE: OnceLock<Option<String>> = OnceLock::new();
    NATIVE.get_or_init(ask_driver).clone()
}

/// Queries `nvidia-smi`.
fn ask_driver() -> Option<String> {
    let mut command = Command::new(process::on_path("nvidia-smi")?);
    command.args(["--query-gpu=compute_cap", "--format=csv,noheader"]);
    let output = process::run(&mut command, b"", Duration::from_secs(10), &AtomicBool::new(false)).ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.end == process::End::Exit(0))?;
    newest(&text)
}

fn newest(capabilities: &str) -> Option<String> {
    let numbers = capabilities.lines().filter_map(|line| line.trim().replace('.', "").parse::<u32>().ok());
    numbers.max().map(|number| format!("sm_{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_and_made_alike() {
        let names = |text: &[&str]| typed(&text.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(names(&["90", "sm_90", "sm_120a"]).unwrap(), ["sm_90", "sm_120a"]);
        assert!(matches!(names(&["hopper"]), Err(CheckError::Arch(_))));
        assert!(names(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_build_says_which_variant_is_meant() {
        assert_eq!(as_built("sm_90", &["sm_80", "sm_90a"]), "sm_90a");
        assert_eq!(as_built("sm_90", &["sm_90a", "sm_90"]), "sm_90");
        assert_eq!(as_built("sm_10", &["sm_100a"]), "sm_10");
        assert_eq!(as_built("sm_120", &[]), "sm_120");
    }

    #[test]
    fn the_newest_gpu_counts() {
        assert_eq!(newest("8.6\n12.0\n").as_deref(), Some("sm_120"));
        assert_eq!(newest("No devices were found\n"), None);
    }
}
