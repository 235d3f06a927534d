//! Levels of remarks, and remarks on settings that match nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

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

/// Limit on settings that are shown in their manifest, which is searched for each of them.
const MAX_SHOWN: usize = 100;

/// Remarks on settings that match nothing, the first ones at their location in the manifest.
pub fn unmatched(settings: &[Unmatched], root: &Path) -> Vec<Diagnostic> {
    let mut manifests: BTreeMap<&Path, Option<Arc<SourceFile>>> = BTreeMap::new();
    let mut remarks = Vec::new();
    for (index, setting) in settings.iter().enumerate() {
        let manifest = setting.manifest.as_deref().filter(|_| index < MAX_SHOWN);
        let read = |path| manifests.entry(path).or_insert_with(|| SourceFile::read(path, root).ok()).clone();
        let place = manifest.and_then(read).and_then(|file| place_in(&file, &setting.text));
        let primary = place.map(|span| Label { span, text: String::new() });
        remarks.push(Diagnostic { primary, ..unmatched_setting(setting) });
    }
    remarks
}

fn unmatched_setting(unmatched: &Unmatched) -> Diagnostic {
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
    Diagnostic {
        help: vec![Help { message: help }],
        ..Diagnostic::of_tool(Severity::Warning, "unmatched_setting", format!("`{key}` names {what} with `{text}`"))
    }
}

/// The location of a value in a manifest, as written before normalization.
fn place_in(file: &Arc<SourceFile>, value: &str) -> Option<Span> {
    let mut found = file.text().match_indices(value);
    let at = found.find_map(|(at, _)| {
        let before = file.text()[..at].strip_suffix("./").unwrap_or(&file.text()[..at]);
        let after = &file.text()[at + value.len()..];
        let is_value = before.ends_with(['"', '\'']) && after.trim_start_matches('/').starts_with(['"', '\'']);
        is_value.then_some(at)
    })?;
    Some(Span::new(file, at..at + value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::level::Level;

    fn warning(code: Code) -> Diagnostic {
        let setting = Unmatched { manifest: None, key: "--exclude", text: "gpo".into(), near: Some("gpu".into()) };
        Diagnostic { code, ..unmatched_setting(&setting) }
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
        let settings = vec![setting; MAX_SHOWN + 1];
        let mut diagnostics = unmatched(&settings, folder.path());
        assert!(diagnostics.pop().unwrap().primary.is_none() && diagnostics.pop().unwrap().primary.is_some());
        let diagnostic = diagnostics.swap_remove(0);
        assert_eq!(diagnostic.message, "`exclude` names no file or folder with `kernals`");
        assert_eq!(diagnostic.primary.unwrap().span.line_column(), (2, 15));
        assert_eq!(
            warning(Code::Tool("unmatched_setting")).message,
            "`--exclude` names no package of the workspace with `gpo`"
        );
    }
}
