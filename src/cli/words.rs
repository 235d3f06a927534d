//! Handles words that users type before they know the commands.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;

use lmem_base::gpu::Arch;
use lmem_base::words::nearest;

use super::{CheckArgs, Lmem};

/// The arguments in the form of `cargo lmem …`: cargo runs `cargo-lmem lmem …`, users run `cargo-lmem …`, and `help
/// COMMAND` means `COMMAND --help`.
pub fn normalized(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_none_or(|first| first != "lmem") {
        arguments.insert(1.min(arguments.len()), "lmem".into());
    }
    if arguments.get(2).is_some_and(|word| word == "help") {
        arguments.remove(2);
        arguments.push("--help".into());
    }
    arguments
}

/// A word or an option that was meant as something else, and what to type.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistyped {
    pub message: String,
    pub hint: String,
}

/// Checks whether the first path, given without a command, is no path, or another one is an architecture.
pub fn mistaken_word(arguments: &CheckArgs, folder: &Path) -> Option<Mistyped> {
    let mut names = arguments.paths.iter().filter_map(|path| plain_word(path));
    let arch = names.find(|name| name.parse::<Arch>().is_ok() && !folder.join(name).exists());
    if let Some(arch) = arch {
        let all: Vec<&str> = arguments.arch.iter().map(String::as_str).chain([arch]).collect();
        return Some(Mistyped {
            message: format!("there is no file or folder `{arch}`"),
            hint: format!("architectures are separated by commas: `--arch {}`", all.join(",")),
        });
    }
    let word = arguments.paths.first().and_then(|path| plain_word(path))?;
    if folder.join(word).exists() {
        return None;
    }
    let commands = command_names();
    if commands.iter().any(|name| name == word) {
        return Some(Mistyped {
            message: format!("`{word}` has to come before all options"),
            hint: format!("`cargo lmem {word} …`"),
        });
    }
    let near = nearest(word, commands.iter().map(String::as_str));
    Some(Mistyped {
        message: match near {
            Some(near) => format!("there is no command, file or folder `{word}`: did you mean `{near}`?"),
            None => format!("there is no command, file or folder `{word}`"),
        },
        hint: format!("commands are {}; `cargo lmem help` explains them", quoted(&commands)),
    })
}

/// Accepts `chekc`, but not `kernels/scan.cu`.
fn plain_word(path: &Path) -> Option<&str> {
    let word = path.to_str()?;
    let is_plain = word.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'));
    (is_plain && !word.is_empty()).then_some(word)
}

fn command_names() -> Vec<String> {
    let command = Lmem::command();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_string()).filter(|name| name != "help").collect()
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn words(text: &str) -> String {
        let arguments = normalized(text.split(' ').map(OsString::from));
        arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_way_to_start_is_one() {
        assert_eq!(words("cargo-lmem lmem check a.cu"), "cargo-lmem lmem check a.cu");
        assert_eq!(words("cargo-lmem check a.cu"), "cargo-lmem lmem check a.cu");
        assert_eq!(words("cargo-lmem --version"), "cargo-lmem lmem --version");
        assert_eq!(words("cargo-lmem"), "cargo-lmem lmem");
        assert_eq!(words("cargo-lmem lmem help"), "cargo-lmem lmem --help");
        assert_eq!(words("cargo-lmem help toolkit install"), "cargo-lmem lmem toolkit install --help");
        assert_eq!(normalized([]), ["lmem"]);
    }

    #[test]
    fn words_that_are_no_paths_were_meant_as_commands() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir(folder.path().join("kernels")).unwrap();
        let mistake = |text: &str| {
            let super::super::Cargo::Lmem(arguments) =
                super::super::Cargo::try_parse_from(normalized(text.split(' ').map(OsString::from))).unwrap();
            mistaken_word(&arguments.check, folder.path()).map(|mistake| mistake.message)
        };
        assert_eq!(
            mistake("cargo-lmem chekc").as_deref(),
            Some("there is no command, file or folder `chekc`: did you mean `check`?")
        );
        assert_eq!(mistake("cargo-lmem zzz").as_deref(), Some("there is no command, file or folder `zzz`"));
        assert_eq!(mistake("cargo-lmem -q check").as_deref(), Some("`check` has to come before all options"));
        assert_eq!(mistake("cargo-lmem kernels"), None);
        assert_eq!(mistake("cargo-lmem no/such.cu"), None);
        assert_eq!(
            mistake("cargo-lmem kernels --arch sm_80 sm_90").as_deref(),
            Some("there is no file or folder `sm_90`")
        );
    }
}
