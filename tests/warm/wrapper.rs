//! A program of the user's before `ptxas`: what it gives is what is reported, and its failure is not the text's.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;

use super::{Given, Place, same, toolkit};

const SETTING: &str = "CARGO_LMEM_PTXAS_WRAPPER";

/// A kernel that spills, so that `ptxas` is asked a second time for what it would take without its limit.
const SPILLS: &str = "__global__ void __launch_bounds__(1024, 2) spills(float* out) {\n    float v[64];\n#pragma unroll\n    for (int i = 0; i < 64; i++) v[i] = out[i * 7];\n    __syncthreads();\n#pragma unroll\n    for (int i = 0; i < 64; i++) out[i * 5] = v[i] * v[63 - i];\n}\n";

fn place() -> Result<(Place, Given), Failed> {
    let place = Place::new(toolkit()?)?;
    place.write("kernels/spills.cu", SPILLS)?;
    Ok((place, Given { arguments: vec!["-Iinclude".to_string(), "-j2".to_string()], variables: Vec::new() }))
}

/// A script outside of the tree.
fn script(place: &Place, name: &str, lines: &str) -> Result<PathBuf, Failed> {
    let path = place.folder.path().join(name);
    fs_err::write(&path, format!("#!/bin/sh\n{lines}\n"))?;
    fs_err::set_permissions(&path, PermissionsExt::from_mode(0o755))?;
    Ok(path)
}

pub fn a_wrapper_starts_every_ptxas() -> Result<(), Failed> {
    let (place, given) = place()?;
    let plain = place.run(&given, &["--no-cache"])?;
    let log = place.folder.path().join("log");
    let wrapper = script(&place, "wrap", &format!("echo \"$@\" >> {}\nexec \"$@\"", log.display()))?;
    let words = wrapper.display().to_string();
    same(
        &place.run(&given, &["--no-cache", "--no-verify", "--ptxas-wrapper", &words])?,
        &place.run(&given, &["--no-cache", "--no-verify"])?,
        "a wrapper",
    )?;
    let count = |text: &str| text.lines().filter(|line| line.contains("/bin/ptxas ")).count();
    let commands = fs_err::read_to_string(&log)?;
    // Three files, a text, and the spills again without a limit.
    if count(&commands) != 5 {
        return Err(format!("`ptxas` was not started 5 times:\n{commands}").into());
    }
    let by_variable = Given { variables: vec![(SETTING, words)], ..given };
    same(&place.run(&by_variable, &["--no-cache"])?, &plain, "a wrapper, with proofs")?;
    if count(&fs_err::read_to_string(&log)?) < 12 {
        return Err("edits were not compiled by the wrapper".into());
    }
    Ok(())
}

pub fn a_wrapper_that_fails_hides_nothing() -> Result<(), Failed> {
    let (place, given) = place()?;
    place.write("kernels/wrong.cu", "__global__ void wrong() { asm(\"no_such_instruction;\"); }\n")?;
    let plain = place.run(&given, &["--no-cache", "--no-verify"])?;
    for (name, lines, why) in [
        ("refuses", "echo the server is gone >&2; exit 3", Some("the server is gone")),
        ("dies", "kill -9 $$", Some("Signal(9)")),
        ("forgets", "exit 0", None),
    ] {
        let wrapper = script(&place, name, lines)?;
        let words = wrapper.display().to_string();
        let ended = place.run(&given, &["--no-cache", "--no-verify", "--ptxas-wrapper", &words])?;
        match why {
            Some(why) => {
                same(&ended, &plain, name)?;
                let note = format!("note: `{words}` failed where `ptxas` did not, which was run without it: {why}");
                if ended.2.matches(&note).count() != 1 {
                    return Err(format!("no note, or several: {}", ended.2).into());
                }
            }
            // It says that all is well, and nothing is there.
            None if ended.1 != Some(4) || !ended.0.contains("cubin") => {
                return Err(format!("{:?}: {}{}", ended.1, ended.0, ended.2).into());
            }
            None => {}
        }
    }
    Ok(())
}

pub fn no_tree_names_a_wrapper() -> Result<(), Failed> {
    let (place, given) = place()?;
    let mark = place.folder.path().join("mark");
    let wrapper = script(&place, "tree/wrap", &format!("touch {}\nexec \"$@\"", mark.display()))?;
    let manifest = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    place.write(
        "Cargo.toml",
        &format!("{manifest}\n[package.metadata.lmem]\nptxas-wrapper = \"{}\"\n", wrapper.display()),
    )?;
    let setting = place.run(&given, &["--no-cache"])?;
    place.write("Cargo.toml", manifest)?;
    let relative = place.run(&given, &["--no-cache", "--ptxas-wrapper", "./wrap"])?;
    for (ended, what) in [(setting, "ptxas-wrapper"), (relative, "it is no absolute path of a program")] {
        if ended.1.is_none_or(|code| code == 0) || !ended.2.contains(what) {
            return Err(format!("{:?}: {}", ended.1, ended.2).into());
        }
    }
    match mark.exists() {
        true => Err("a program of the tree ran".into()),
        false => Ok(()),
    }
}

/// sccache as it comes, its server too.
pub fn sccache_has_what_ptxas_gave() -> Result<(), Failed> {
    let (place, given) = place()?;
    let tools = std::env::var("LMEM_CONSUMERS")?;
    let sccache = Path::new(&tools).join("bin/sccache");
    let (kept, socket) = (place.folder.path().join("kept"), place.folder.path().join("socket"));
    let variables = [("SCCACHE_DIR", kept.display().to_string()), ("SCCACHE_SERVER_UDS", socket.display().to_string())];
    let ask = |word: &str| -> Result<String, Failed> {
        let output = Command::new(&sccache).arg(word).envs(variables.clone()).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // The texts of edited copies name the folders that these lie in.
    let run = |given: &Given| place.run(given, &["--no-cache", "--no-verify"]);
    let plain = run(&given)?;
    // Two that start it at once fail at times, and their results are made without it.
    ask("--start-server")?;
    let words = (SETTING, sccache.display().to_string());
    let by_sccache = Given { variables: variables.iter().cloned().chain([words]).collect(), ..given };
    let ran = [run(&by_sccache), run(&by_sccache)];
    let told = ask("--show-stats");
    ask("--stop-server")?;
    for ended in ran {
        same(&ended?, &plain, "sccache")?;
    }
    let number = |what: &str| {
        let line = told.as_ref().ok()?.lines().find_map(|line| line.strip_prefix(what))?;
        line.trim().parse::<u32>().ok()
    };
    match (number("Cache hits (CUBIN)"), number("Cache misses (CUBIN)")) {
        (Some(5), Some(5)) => Ok(()),
        _ => Err(format!("the second run was not answered by what the first left: {told:?}").into()),
    }
}
