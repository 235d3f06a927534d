//! Spilling to shared memory: the resource usage of kernels that spill when ptxas is allowed to. Needs a second run
//! over the same PTX, with the pragma that CUDA 13.0 introduced.

use lmem_base::version::Version;

use ptx_syntax::Opcode;

use crate::{PtxFunction, PtxModule};

/// The pragma; in CUDA C++ it is `asm volatile (".pragma \"enable_smem_spilling\";");`.
pub const PRAGMA: &str = "enable_smem_spilling";

/// The first version that documents the pragma. ptxas 12.9 accepts it too, 12.4 ignores it with a warning.
pub const SINCE: Version = Version { major: 13, minor: 0 };

/// Whether nvcc flags make ptxas reject the pragma: separate compilation, debugging, and `-ewp`.
pub fn is_refused_with(flags: &[String]) -> bool {
    const REFUSED: [&str; 8] =
        ["-dc", "--device-c", "-dw", "--device-w", "-G", "--device-debug", "-ewp", "--extensible-whole-program"];
    let is_separate = |flag: &str| {
        ["-rdc", "--relocatable-device-code"].iter().any(|name| flag.starts_with(name)) && !flag.ends_with("=false")
    };
    flags.iter().any(|flag| REFUSED.contains(&flag.as_str()) || is_separate(flag))
}

/// The PTX with the pragma in each of `kernels` that may have it, and the names of those kernels; `None` if there are
/// none. Line numbers do not change.
pub fn with_pragma(ptx: &str, kernels: &[&str]) -> Option<(String, Vec<String>)> {
    let module = PtxModule::parse(ptx).ok()?;
    let may_have: Vec<&PtxFunction> = kernels
        .iter()
        .filter_map(|name| module.function(name))
        .filter(|function| may_spill(function, &module))
        .collect();
    let opening_lines: Vec<usize> =
        may_have.iter().filter_map(|function| opening_line(ptx, *function.lines.as_ref()?.start() as usize)).collect();
    if may_have.is_empty() || opening_lines.len() != may_have.len() {
        return None;
    }
    let text = ptx.split_inclusive('\n').enumerate().fold(String::with_capacity(ptx.len()), |text, (index, line)| {
        match opening_lines.contains(&(index + 1)) {
            true => text + &line.replacen('{', &format!("{{ .pragma \"{PRAGMA}\";"), 1),
            false => text + line,
        }
    });
    Some((text, may_have.iter().map(|function| function.name.to_string()).collect()))
}

/// Whether a kernel may have the pragma. ptxas rejects it, and with it the whole text, in kernels with calls
/// ("functions use abi"), dynamic shared memory, or register redistribution between warps.
pub fn may_spill(function: &PtxFunction, module: &PtxModule) -> bool {
    let is_refused = |opcode: Opcode| matches!(opcode, Opcode::Call | Opcode::Setmaxnreg | Opcode::Alloca);
    function.is_entry
        && !function.has_pragma(PRAGMA)
        && !function.instructions.iter().any(|instruction| is_refused(instruction.opcode()))
        && !module.extern_shared.iter().any(|symbol| function.mentions(symbol))
}

/// The line, from 1, of the opening brace of the function whose header begins on line `header`.
fn opening_line(ptx: &str, header: usize) -> Option<usize> {
    let lines = ptx.lines().enumerate().skip(header.checked_sub(1)?);
    lines.into_iter().find(|(_, line)| line.split("//").next().unwrap_or(line).contains('{')).map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".extern .shared .align 16 .b8 tile[];\n.visible .entry plain(\n\t.param .u64 p\n)\n\
        .maxntid 256, 1, 1\n{\n\tret;\n}\n.visible .entry dynamic()\n{\n\tmov.u32 %r1, tile;\n}\n\
        .visible .entry calls()\n{\n\tcall.uni f, ();\n}\n.entry has()\n{\n.pragma \"enable_smem_spilling\";\n}\n";

    #[test]
    fn the_pragma_goes_where_it_may() {
        let (text, names) = with_pragma(PTX, &["plain", "dynamic", "calls", "has"]).unwrap();
        assert_eq!(names, ["plain"]);
        assert_eq!(text.lines().count(), PTX.lines().count());
        assert!(text.contains(".maxntid 256, 1, 1\n{ .pragma \"enable_smem_spilling\";\n\tret;"), "{text}");
        assert_eq!(text.matches("enable_smem_spilling").count(), 2);
        assert_eq!(with_pragma(PTX, &["dynamic", "nowhere"]), None);
    }

    #[test]
    fn flags_that_forbid_it() {
        let refused = |flag: &str| is_refused_with(&["-O3".to_string(), flag.to_string()]);
        assert!(["-G", "-rdc=true", "--relocatable-device-code=true", "-dc"].into_iter().all(refused));
        assert!(!["-rdc=false", "-lineinfo"].into_iter().any(refused));
    }
}
