//! `cargo lmem diff`: the options of a check, and what they mean for a table of kernels.

use clap::Args;

use super::{CheckArgs, targets};

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  cargo lmem diff                                     the working tree beside the last commit
  cargo lmem diff main...                             this branch beside where it began
  cargo lmem diff --staged                            what the next commit would change
  cargo lmem diff HEAD~3 kernels/ --arch sm_80,sm_90  some files, on two architectures
  cargo lmem diff main... --output markdown=diff.md   a page for a pull request

Shows what kernels take before and after, and decides nothing: the exit code is 0 where all files compile.
`cargo lmem --changed-since REV` fails for what is new or takes more.")]
pub struct DiffArgs {
    /// Revision to compare with; `REV...` is where the branch left REV [default: HEAD]
    #[arg(value_name = "REV")]
    pub revision: Option<String>,
    #[command(flatten)]
    pub check: CheckArgs,
}

impl DiffArgs {
    /// The arguments of the check that finds the figures.
    ///
    /// # Errors
    /// An option does not go with a table; the message is for the user.
    pub fn as_check(&self) -> Result<CheckArgs, String> {
        let check = &self.check;
        let others = [
            (check.fix, "--fix"),
            (check.diff, "--diff"),
            (check.add_allow.is_some(), "--add-allow"),
            (check.write_baseline, "--write-baseline"),
            (check.with_check, "--with-check"),
            (check.capture, "--capture"),
            (check.baseline.is_some(), "--baseline"),
            (check.partition.is_some(), "--partition"),
        ];
        if let Some((_, name)) = others.iter().find(|(is_given, _)| *is_given) {
            return Err(format!("`cargo lmem diff` shows figures, and takes no `{name}`"));
        }
        let formats = targets(&check.output, check.message_format);
        if formats.iter().any(|(format, _)| !format.has_kernels()) {
            return Err("a table of kernels is written as `human`, `markdown` or `json`".to_string());
        }
        Ok(CheckArgs {
            changed_since: self.revision.clone().or_else(|| check.changed_since.clone()),
            // Figures are those of all kernels, and edits are for the findings of a check.
            no_verify: true,
            no_baseline: true,
            baseline: None,
            ..check.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cargo, Command};

    fn parsed(words: &str) -> Result<CheckArgs, String> {
        let words = format!("cargo lmem diff {words}");
        let Cargo::Lmem(arguments) = Cargo::try_parse_from(words.split_whitespace()).unwrap();
        let Some(Command::Diff(arguments)) = arguments.command else { panic!("no diff: {words}") };
        arguments.as_check()
    }

    #[test]
    fn a_revision_stands_before_paths() {
        let check = parsed("main... kernels a.cu --arch sm_90").unwrap();
        assert_eq!((check.changed_since.as_deref(), check.paths.len()), (Some("main..."), 2));
        assert!(check.no_verify && check.no_baseline);
        assert_eq!(parsed("").unwrap().changed_since, None);
        assert_eq!(parsed("--changed-since main").unwrap().changed_since.as_deref(), Some("main"));
        assert_eq!(parsed("HEAD --changed-since main").unwrap().changed_since.as_deref(), Some("HEAD"));
    }

    #[test]
    fn options_that_write_are_refused() {
        assert!(parsed("--fix").unwrap_err().contains("`--fix`"));
        assert!(parsed("--write-baseline").unwrap_err().contains("`--write-baseline`"));
        assert!(parsed("--baseline known.json").unwrap_err().contains("`--baseline`"));
        assert!(parsed("--output sarif=a.sarif").unwrap_err().contains("`markdown`"));
        assert!(parsed("--output markdown=a.md --output json=a.json").is_ok());
    }
}
