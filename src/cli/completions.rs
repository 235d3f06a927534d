//! `cargo lmem completions SHELL`.
//!
//! Shells complete `cargo-lmem …` from clap's definitions. Users type `cargo lmem …`, which cargo's own completions
//! handle. Those for zsh call a function `_cargo-lmem` themselves; bash and fish need a few more lines.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::Lmem;

/// Completes `cargo lmem …` in bash with the words of `cargo-lmem …`; other cargo commands go to cargo's own function.
const BASH: &str = r#"
_cargo_lmem_or_cargo() {
    if [[ "${COMP_WORDS[1]}" == lmem && $COMP_CWORD -gt 1 ]]; then
        local words=("${COMP_WORDS[@]:1}")
        words[0]=cargo-lmem
        COMP_WORDS=("${words[@]}")
        COMP_CWORD=$((COMP_CWORD - 1))
        _cargo_lmem cargo-lmem "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    elif declare -F _cargo > /dev/null; then
        _cargo "$@"
    fi
}
complete -F _cargo_lmem_or_cargo -o bashdefault -o default cargo
"#;

/// The same for fish, whose completions are additive.
const FISH: &str = r#"
complete -c cargo -n "__fish_seen_subcommand_from lmem" -f -a "(complete -C (string join ' ' -- cargo-lmem (commandline -opc)[3..] (commandline -ct)))"
"#;

/// The completion script for a shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let script = match shell {
        // clap_complete 4.6 generates a bash script that does not find subcommands of a name with a hyphen.
        Shell::Bash => script(shell, "cargo_lmem").replace(" cargo_lmem\n", " cargo-lmem\n") + BASH,
        Shell::Fish => script(shell, "cargo-lmem") + FISH,
        _ => script(shell, "cargo-lmem"),
    };
    script.into_bytes()
}

fn script(shell: Shell, name: &str) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown_command(), name, &mut script);
    // The script consists of our own text.
    String::from_utf8_lossy(&script).into_owned()
}

/// The command without internal subcommands, which clap would complete too.
fn shown_command() -> Command {
    let command = Lmem::command();
    let same = Command::default().name("cargo-lmem").args(command.get_arguments()).groups(command.get_groups());
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    same.subcommands(shown.cloned()).disable_help_subcommand(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    fn text(shell: Shell) -> String {
        String::from_utf8(completions(shell)).unwrap()
    }

    #[test]
    fn every_shell_gets_the_flags_and_no_internal_command() {
        for shell in Shell::value_variants() {
            let text = text(*shell);
            assert!(text.contains("write-baseline") && text.contains("explain"), "{shell}");
            assert!(!text.contains("__nvcc"), "{shell}");
        }
    }

    /// Completes `cargo lmem ch` in bash itself, and checks that cargo's other words are left alone.
    #[test]
    fn bash_completes_what_people_type() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("lmem.bash");
        fs_err::write(&script, completions(Shell::Bash)).unwrap();
        let complete = |words: &str| {
            let program = format!(
                "_cargo() {{ COMPREPLY=(cargos-own); }}; source {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
                 _cargo_lmem_or_cargo cargo \"${{COMP_WORDS[COMP_CWORD]}}\" x; echo \"${{COMPREPLY[@]}}\"",
                script.display()
            );
            let output = std::process::Command::new("bash").args(["-c", &program]).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_string()
        };
        assert_eq!(complete("cargo lmem exp"), "explain");
        assert_eq!(complete("cargo lmem check --write-ba"), "--write-baseline");
        assert_eq!(complete("cargo lmem check --message-format sa"), "sarif");
        assert_eq!(complete("cargo bu"), "cargos-own");
    }
}
