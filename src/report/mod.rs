//! Writes the results of a run in the requested format.
//!
//! `fold` merges diagnostics, `render` writes them. Equal diagnostics give equal bytes.

mod bounds;
mod comparison;
mod compilers;
pub mod editor;
mod excerpt;
mod facts;
mod figures;
mod fold;
mod github;
mod gitlab;
mod group;
mod human;
mod inert;
mod json;
mod junit;
mod kernels;
mod markdown;
mod names;
mod position;
mod rdjson;
mod sarif;
mod short;
mod suggestion;
mod summary;
mod wrap;

#[cfg(test)]
pub(crate) mod samples;

use std::io;
use std::path::{Path, PathBuf};

use lmem_base::diagnostic::Report;
use lmem_base::inert::{replaced, without_commands};
use lmem_base::places::repository_of;

use crate::cli::MessageFormat;
use inert::Inert;

pub use fold::{fold, fold_units, limit_costs, sort, sort_by_place};
pub use short::line;
pub use summary::{not_shown, summary};

/// What a format needs to know besides the diagnostics.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub packages: &'a [PackageInfo],
    /// The workspace root, which displayed paths are relative to.
    pub root: &'a Path,
    /// Path from the repository root to the workspace root, empty or with a trailing `/`: GitHub and SARIF expect paths
    /// relative to the repository. `repository_prefix` finds it.
    pub repository_prefix: &'a str,
    /// The text that `cargo lmem explain` shows for a lint.
    pub lint_docs: fn(&str) -> Option<&'static str>,
    /// Whether the human format may use color.
    pub color: bool,
    /// Columns of the terminal; `DEFAULT_WIDTH` without a terminal.
    pub width: usize,
    /// Whether edits are shown in full, whatever their length.
    pub full: bool,
    /// Limit on findings that the human format shows in full.
    pub limit: Option<usize>,
}

impl Context<'_> {
    /// Columns of our own text: source is shown beyond them where the terminal is wider.
    fn columns(&self) -> usize {
        self.width.min(wrap::MAX_COLUMNS)
    }
}

/// The columns of the terminal that stdout is; `DEFAULT_WIDTH` where it is none, or one without a size.
pub fn terminal_width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0).clamp(MIN_WIDTH, DEFAULT_WIDTH))
}

/// Columns that a report takes at least: no terminal is that narrow for long.
const MIN_WIDTH: usize = 50;

/// Number of findings that people can read on a terminal; the costliest come first.
pub const TERMINAL_LIMIT: usize = 30;

/// Columns of source text without a terminal; rustc uses the same number.
pub const DEFAULT_WIDTH: usize = 140;

/// A package, as cargo's messages name it.
#[derive(Debug, Clone)]
pub struct PackageInfo {
    pub name: String,
    /// Cargo's package id.
    pub id: String,
    pub manifest_path: PathBuf,
    /// The target that messages about kernels are assigned to.
    pub target: cargo_metadata::Target,
}

impl PackageInfo {
    /// The package with its library as target, otherwise its first target; `None` for a package without targets.
    pub fn new(package: &cargo_metadata::Package) -> Option<Self> {
        let library = package.targets.iter().find(|target| target.is_lib());
        Some(Self {
            name: package.name.to_string(),
            id: package.id.repr.clone(),
            manifest_path: package.manifest_path.clone().into_std_path_buf(),
            target: library.or(package.targets.first())?.clone(),
        })
    }
}

/// Writes all diagnostics of a run in their order.
///
/// # Errors
/// Writing to `out` fails.
pub fn render(report: &Report, format: MessageFormat, cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    let report = &*bounds::bounded(report);
    let mut text = Vec::new();
    match format {
        MessageFormat::Json | MessageFormat::Sarif | MessageFormat::Gitlab | MessageFormat::Rdjson => {
            return formatted(report, format, cx, &mut Inert(out));
        }
        _ => formatted(report, format, cx, &mut text)?,
    }
    let text = String::from_utf8_lossy(&text);
    // A log shows what is printed, and a CI runner looks for commands in it.
    let text = match format {
        MessageFormat::Junit => junit::without_commands(&text),
        // Its lines are commands, with all that they say on them.
        MessageFormat::Github if report.comparison.is_none() => replaced(&text, "?"),
        _ => without_commands(&text).into_owned(),
    };
    out.write_all(text.as_bytes())
}

fn formatted(report: &Report, format: MessageFormat, cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    if let Some(compared) = &report.comparison {
        return comparison::render(compared, report, format, cx, out);
    }
    match format {
        MessageFormat::Human => {
            human::render(report, cx, out)?;
            report.kernels.iter().try_for_each(|all| out.write_all(kernels::table(all).as_bytes()))
        }
        MessageFormat::Short => short::render(report, out),
        MessageFormat::Json => json::render(report, cx, out),
        MessageFormat::Sarif => sarif::render(report, cx, out),
        MessageFormat::Github => github::render(report, cx, out),
        MessageFormat::Gitlab => gitlab::render(report, cx, out),
        MessageFormat::Junit => junit::render(report, out),
        MessageFormat::Markdown => markdown::render(report, cx, out),
        MessageFormat::Rdjson => rdjson::render(report, cx, out),
    }
}

/// Path from the folder with `.git` down to `root`, empty or with a trailing `/`.
pub fn repository_prefix(root: &Path) -> String {
    let below = repository_of(root).and_then(|repository| root.strip_prefix(repository).ok());
    let below = below.map(|path| path.to_string_lossy().replace('\\', "/")).unwrap_or_default();
    if below.is_empty() { below } else { format!("{below}/") }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use lmem_base::diagnostic::Code;
    use lmem_base::source::SourceFile;

    use super::*;

    #[test]
    fn no_format_prints_commands_to_runners() {
        let file = SourceFile::from_text("::error::a##[x].cu", "::notice::b##vso[c]\n");
        let label = samples::label(&file, "notice", "##[d]\n ::error::e");
        let mut diagnostic = samples::diagnostic(Code::Tool("odd"), "f\n  ::error::g ##vso[h]", label);
        diagnostic.notes = vec!["::error::i\n::error::j##[k]".to_string()];
        let report = Report { diagnostics: vec![diagnostic], ..Report::default() };
        for format in MessageFormat::value_variants() {
            let text = samples::rendered(&report, *format);
            assert!(!text.contains("##[") && !text.contains("##vso["), "{format:?}: {text}");
            let mut commands = text.lines().filter(|line| line.trim_start().starts_with("::"));
            let ours = if *format == MessageFormat::Github { 1 } else { 0 };
            assert_eq!(commands.by_ref().count(), ours, "{format:?}: {text}");
        }
    }

    #[test]
    fn the_prefix_ends_at_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("rust/gpu");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        assert_eq!(repository_prefix(&root), "rust/gpu/");
        assert_eq!(repository_prefix(folder.path()), "");
    }
}
