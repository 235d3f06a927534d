//! Levels of remarks, and remarks on settings that match nothing.

use std::path::Path;

use lmem_base::diagnostic::{Code, Diagnostic, Help, Label, Severity};
use lmem_base::source::{SourceFile, Span};
use lmem_lints::Levels;
use lmem_lints::remark::{self, COMPILER_WARNING};
use lmem_project::discover::Unmatched;

/// Key of a budget's pattern.
pub const BUDGET_KEY: &str = "budget.kernel";

/// Gives a remark its level; `None` for `allow`. Findings of lints already have theirs.
pub fn leveled(mut diagnostic: Diagnostic, levels: &Levels) -> Option<Diagnostic> {
    let name = match &diagnostic.code {
        Code::Tool(name) => name,
        Code::Compiler(_) if diagnostic.severity == Severity::Warning => COMPILER_WARNING,
        Code::Compiler(_) | Code::Lint(_) => return Some(diagnostic),
    };
    // A text that must not compile is a note, whatever its name is.
    if let Some(remark) = remark::find(name).filter(|remark| remark.severity == diagnostic.severity) {
        diagnostic.severity = levels.remark_severity(remark)?;
    }
    Some(diagnostic)
}

/// A remark on a setting that matches nothing, at its location in the manifest.
pub fn unmatched(unmatched: &Unmatched, root: &Path) -> Diagnostic {
    let Unmatched { manifest, key, text, near } = unmatched;
    let is_kernel = *key == BUDGET_KEY;
    let what = match manifest {
        Some(_) if is_kernel => "no kernel",
        Some(_) => "no file or folder",
        None => "no package of the workspace",
    };
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if is_kernel => "a glob is for the whole name: `*part*` finds a part of it".to_string(),
        None => {
            "patterns are relative to the folder of their `Cargo.toml`; `*` stops at `/`, `**` does not".to_string()
        }
    };
    let span = manifest.as_ref().and_then(|manifest| place_in(manifest, text, root));
    Diagnostic {
        severity: Severity::Warning,
        code: Code::Tool("unmatched_setting"),
        message: format!("`{key}` names {what} with `{text}`"),
        primary: span.map(|span| Label { span, text: String::new() }),
        secondary: Vec::new(),
        notes: Vec::new(),
        help: vec![Help { message: help }],
        suggestions: Vec::new(),
        evidence: None,
        package: None,
    }
}

/// The location of a value in a manifest, as written before normalization.
fn place_in(manifest: &Path, value: &str, root: &Path) -> Option<Span> {
    let file = SourceFile::read(manifest, root).ok()?;
    let mut found = file.text().match_indices(value);
    let at = found.find_map(|(at, _)| {
        let before = file.text()[..at].strip_suffix("./").unwrap_or(&file.text()[..at]);
        let after = &file.text()[at + value.len()..];
        let is_value = before.ends_with(['"', '\'']) && after.trim_start_matches('/').starts_with(['"', '\'']);
        is_value.then_some(at)
    })?;
    Some(Span::new(&file, at..at + value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::level::Level;

    fn warning(code: Code) -> Diagnostic {
        let setting = Unmatched { manifest: None, key: "--exclude", text: "gpo".into(), near: Some("gpu".into()) };
        Diagnostic { code, ..unmatched(&setting, Path::new("/")) }
    }

    #[test]
    fn all_warnings_are_raised_and_lowered() {
        let severity = |code: Code, names: &[(&str, Level)]| {
            let mut levels = Levels::default();
            names.iter().for_each(|(name, level)| levels.set(name, *level));
            leveled(warning(code), &levels).map(|diagnostic| diagnostic.severity)
        };
        let unused = || Code::Tool("unused_allow");
        assert_eq!(severity(unused(), &[]), Some(Severity::Warning));
        assert_eq!(severity(unused(), &[("warnings", Level::Deny)]), Some(Severity::Error));
        assert_eq!(severity(unused(), &[("warnings", Level::Allow)]), None);
        assert_eq!(severity(unused(), &[("unused_allow", Level::Deny)]), Some(Severity::Error));
        assert_eq!(severity(unused(), &[("unused_allow", Level::Allow), ("warnings", Level::Deny)]), None);
        let compiler = || Code::Compiler("nvcc::177-D".to_string());
        assert_eq!(severity(compiler(), &[("warnings", Level::Deny)]), Some(Severity::Error));
        assert_eq!(severity(compiler(), &[("compiler_warning", Level::Allow)]), None);
    }

    #[test]
    fn a_setting_is_shown_in_its_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        fs_err::write(&manifest, "# kernals\nexclude = [\"./kernals/\"]\n").unwrap();
        let setting = Unmatched { manifest: Some(manifest), key: "exclude", text: "kernals".into(), near: None };
        let diagnostic = unmatched(&setting, folder.path());
        assert_eq!(diagnostic.message, "`exclude` names no file or folder with `kernals`");
        assert_eq!(diagnostic.primary.unwrap().span.line_column(), (2, 15));
        assert_eq!(
            warning(Code::Tool("unmatched_setting")).message,
            "`--exclude` names no package of the workspace with `gpo`"
        );
    }
}
