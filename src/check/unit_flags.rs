//! What the flags of a unit say of its code.

use lmem_base::diagnostic::FlagOrigin;
use lmem_unit::{DriverOptions, TranslationUnit, UnitCode};

/// Where the flags of a unit are from.
pub fn flag_origin(unit: &TranslationUnit) -> FlagOrigin {
    match &unit.code {
        UnitCode::CudaFile { flags, .. } => flags.origin,
        // Captured options, or their absence, are those that the program runs with.
        UnitCode::CudaText { options, .. } if options.captured.is_some() => FlagOrigin::Captured,
        UnitCode::CudaText { .. } | UnitCode::Ptx { .. } if unit.unresolved_options().is_some() => FlagOrigin::Assumed,
        UnitCode::CudaText { .. } | UnitCode::Ptx { .. } | UnitCode::Machine(_) => FlagOrigin::Code,
    }
}

/// Whether the driver makes the machine code that runs, from PTX.
pub fn is_for_driver(unit: &TranslationUnit) -> bool {
    match &unit.code {
        UnitCode::CudaFile { flags, .. } => flags.targets.iter().any(|target| target.architecture.is_none()),
        UnitCode::CudaText { options, .. } => !options.captured.as_ref().is_some_and(|captured| captured.takes_cubin),
        UnitCode::Ptx { .. } => true,
        UnitCode::Machine(_) => false,
    }
}

/// Whether the code is for debugging: nothing is in registers then.
pub fn is_debug(unit: &TranslationUnit) -> bool {
    let asks = |arguments: &[String]| {
        arguments.iter().any(|argument| matches!(argument.as_str(), "-G" | "--device-debug" | "-device-debug"))
    };
    match &unit.code {
        UnitCode::CudaFile { flags, .. } => asks(&flags.arguments),
        UnitCode::CudaText { options, .. } => asks(&options.arguments),
        UnitCode::Ptx { text, .. } => {
            let target = text.as_str().lines().find_map(|line| line.trim_start().strip_prefix(".target"));
            target.is_some_and(|rest| rest.split(',').any(|word| word.trim() == "debug"))
        }
        UnitCode::Machine(code) => code.header.is_debug,
    }
}

/// The register limit for all kernels of a unit, and the name of its option: nvcc's, or that of the driver's compiler.
/// An option of NVRTC does not affect the code that runs.
pub fn register_flag(unit: &TranslationUnit) -> Option<(u32, String)> {
    let of_driver = |options: &DriverOptions| {
        let (registers, _) = maxrregcount(&options.arguments)?;
        Some((registers, format!("ModuleJitOption::MaxRegisters({registers})")))
    };
    match &unit.code {
        UnitCode::CudaFile { flags, .. } => maxrregcount(&flags.arguments).or_else(|| of_driver(&flags.driver)),
        UnitCode::Ptx { options, .. } => of_driver(options),
        UnitCode::CudaText { .. } | UnitCode::Machine(_) => None,
    }
}

fn maxrregcount(arguments: &[String]) -> Option<(u32, String)> {
    let mut arguments = arguments.iter().peekable();
    let mut found = None;
    while let Some(argument) = arguments.next() {
        let name = argument.trim_start_matches('-');
        let Some(rest) = name.strip_prefix("maxrregcount").filter(|_| argument.starts_with('-')) else { continue };
        let value = match rest.strip_prefix('=') {
            Some(value) => value.to_string(),
            None => arguments.peek().map(|value| (*value).clone()).unwrap_or_default(),
        };
        found = value.parse().ok().map(|registers| (registers, format!("-maxrregcount={value}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::source::SourceFile;
    use lmem_unit::{MappedText, NvccFlags};

    fn unit(arguments: &[&str]) -> TranslationUnit {
        let arguments = arguments.iter().map(|text| text.to_string()).collect();
        let flags = NvccFlags::new(arguments, FlagOrigin::Config);
        TranslationUnit {
            name: "a.cu".into(),
            package: None,
            base: ".".into(),
            code: UnitCode::CudaFile { file: SourceFile::from_text("a.cu", "int a;"), flags },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        }
    }

    #[test]
    fn flags_that_matter_are_seen() {
        assert!(is_debug(&unit(&["-O3", "-G"])));
        assert!(!is_debug(&unit(&["-g", "-lineinfo"])));
        assert!(!is_for_driver(&unit(&["-O3"])));
        for arguments in [&["-maxrregcount=64"][..], &["--maxrregcount", "64"], &["-maxrregcount", "64"]] {
            assert_eq!(register_flag(&unit(arguments)), Some((64, "-maxrregcount=64".into())), "{arguments:?}");
        }
        let options = DriverOptions { arguments: vec!["-O1".into(), "--maxrregcount=32".into()], ..Default::default() };
        let ptx = UnitCode::Ptx { text: MappedText::default(), options };
        let ptx = TranslationUnit { code: ptx, ..unit(&[]) };
        assert!(is_for_driver(&ptx));
        let limit = register_flag(&ptx);
        assert_eq!(limit, Some((32, "ModuleJitOption::MaxRegisters(32)".into())));
        assert_eq!(register_flag(&unit(&["-O3"])), None);
        assert_eq!(register_flag(&unit(&["-maxrregcount"])), None);
    }

    #[test]
    fn ptx_tells_that_it_is_for_debugging() {
        let text = MappedText::from_file(&SourceFile::from_text("a.ptx", ".version 8.0\n.target sm_90, debug\n"));
        assert!(is_debug(&TranslationUnit {
            code: UnitCode::Ptx { text, options: DriverOptions::default() },
            ..unit(&[])
        }));
    }
}
