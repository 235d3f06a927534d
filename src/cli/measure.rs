//! `cargo lmem measure`: the options of a check, and kernels by name.

use std::path::PathBuf;

use clap::Args;

use super::CheckArgs;

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  cargo lmem measure                        every verified edit of the package
  cargo lmem measure 'reduce*'              those of some kernels
  cargo lmem measure kernels/scan.cu        those of a file
  cargo lmem measure --message-format json  with times, registers and clocks

Both versions of a kernel run on this machine's first GPU, on a launch that is generated as for the comparison of
results, with as many blocks as the CPU can run first. Launches alternate; the median of 21 counts. An edit that is
slower, or writes other bytes, is not shown. Later runs show what was measured, until the code changes.")]
pub struct MeasureArgs {
    #[command(flatten)]
    pub check: CheckArgs,
}

impl MeasureArgs {
    /// The arguments of the check. Of the paths, what is no file is the name of a kernel.
    ///
    /// # Errors
    /// There are several names, or an option does not go with it; the message is for the user.
    pub fn as_check(&self) -> Result<CheckArgs, String> {
        let check = &self.check;
        if check.no_verify {
            return Err("`cargo lmem measure` times what was verified, and takes no `--no-verify`".to_string());
        }
        let (paths, names): (Vec<PathBuf>, Vec<PathBuf>) = check.paths.iter().cloned().partition(|path| path.exists());
        let names = names.iter().map(|name| name.to_string_lossy().into_owned()).chain(check.kernel.clone());
        let names: Vec<String> = names.collect();
        match names.len() {
            0 | 1 => Ok(CheckArgs { paths, kernel: names.into_iter().next(), ..check.clone() }),
            _ => Err(format!("one name of kernels at a time: `{}`; `{{a,b}}` stands for several", names.join("`, `"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cargo, Command};

    fn parsed(words: &str) -> Result<CheckArgs, String> {
        let words = format!("cargo lmem measure {words}");
        let Cargo::Lmem(arguments) = Cargo::try_parse_from(words.split_whitespace()).unwrap();
        let Some(Command::Measure(arguments)) = arguments.command else { panic!("no measure: {words}") };
        arguments.as_check()
    }

    #[test]
    fn what_is_no_file_is_a_kernel() {
        let check = parsed("src reduce*").unwrap();
        assert_eq!((check.paths.len(), check.kernel.as_deref()), (1, Some("reduce*")));
        assert_eq!(parsed("").unwrap().kernel, None);
        assert!(parsed("scan* reduce*").unwrap_err().contains("`scan*`, `reduce*`"));
        assert!(parsed("--no-verify").unwrap_err().contains("--no-verify"));
    }
}
