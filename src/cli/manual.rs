//! `cargo lmem man`: generates manual pages from clap's definitions.

use std::io;

use clap::CommandFactory;
use clap_mangen::Man;

use super::Lmem;

/// A page: its file name, and its content in roff.
pub type Page = (String, Vec<u8>);

/// The pages of all commands, starting with the main one: `cargo-lmem.1`, `cargo-lmem-check.1`, …
///
/// # Errors
/// Writing to a buffer does not fail.
pub fn manual() -> io::Result<Vec<Page>> {
    // Names as in `man` and cargo, and the usage as typed.
    let command = Lmem::command().version(crate::version::VERSION).disable_help_subcommand(true);
    let mut pages = Vec::new();
    add(command, "cargo-lmem", "cargo lmem", &mut pages)?;
    Ok(pages)
}

fn add(command: clap::Command, name: &str, typed: &str, pages: &mut Vec<Page>) -> io::Result<()> {
    let below: Vec<clap::Command> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let command = command.name(name.to_string()).bin_name(typed).display_name(name);
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    for command in below {
        let (name, typed) = (format!("{name}-{}", command.get_name()), format!("{typed} {}", command.get_name()));
        add(command, &name, &typed, pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_page() {
        let pages = manual().unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["cargo-lmem.1", "cargo-lmem-check.1", "cargo-lmem-toolkit-install.1"] {
            assert!(names.contains(&name), "{names:?}");
        }
        assert!(names.iter().all(|name| !name.contains("__")), "{names:?}");
        let (_, check) = pages.iter().find(|(name, _)| name == "cargo-lmem-check.1").unwrap();
        let text = String::from_utf8(check.clone()).unwrap();
        assert!(text.contains("\\-\\-arch") && text.contains("cargo lmem check"), "{text}");
    }
}
