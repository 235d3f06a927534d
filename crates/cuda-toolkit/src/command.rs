//! `cargo lmem toolkit list|install|which|remove`.

use std::fmt::Write;
use std::io;
use std::sync::atomic::AtomicBool;

use clap::Subcommand;

use lmem_base::version::VersionRequest;

use super::environment::Environment;
use super::{Component, Library, Refuses, Request, Selection, Toolkit, ToolkitError, install, releases, select};

#[derive(Debug, Subcommand)]
pub enum ToolkitCommand {
    /// Toolkits found on this machine, and versions that can be installed
    List,
    /// Download a toolkit from NVIDIA's Python wheels with `uv` or `pip`
    Install {
        /// Version such as `13.5` [default: the newest known]
        version: Option<String>,
        /// Fetch the headers of a library too, for files that include them (may be repeated)
        #[arg(long, value_name = "LIBRARY", value_delimiter = ',')]
        with: Vec<Library>,
        /// Use only what uv or pip have in their caches
        #[arg(long)]
        offline: bool,
    },
    /// Print the folder of the toolkit that a check would use; one that is missing is fetched first
    Which {
        /// As for `cargo lmem check`
        #[arg(long, value_name = "PATH|VERSION|managed")]
        toolkit: Option<String>,
        /// Never use the network
        #[arg(long)]
        offline: bool,
    },
    /// Remove a managed toolkit
    Remove {
        /// Version such as `13.5`
        version: String,
    },
}

/// Runs a subcommand. The requested output goes to stdout, all messages to stderr.
///
/// `configured` is the toolkit pinned in Cargo.toml, for `which`.
///
/// # Errors
/// There is no such toolkit, it cannot be installed or removed, or `cancel` was set.
pub fn run(
    command: &ToolkitCommand,
    configured: Option<&str>,
    refuses: Refuses<'_>,
    cancel: &AtomicBool,
) -> Result<(), ToolkitError> {
    let environment = &Environment::of_process();
    let cx = install::Context { environment, offline: false, quiet: false, unverified: true, cancel };
    match command {
        ToolkitCommand::List => print(&list(&cx, refuses)),
        ToolkitCommand::Install { version, with, offline } => {
            let wanted = version.as_deref().map(str::parse::<VersionRequest>).transpose()?;
            let cx = install::Context { offline: *offline, ..cx };
            let toolkit = install::toolkit(&cx, wanted)?;
            for library in with {
                let folder = install::component(&cx, &toolkit, Component::Headers(*library))?;
                lmem_base::say::line(&format!("the headers of {library} are ready in {}", folder.display()));
            }
            lmem_base::say::line(&format!("CUDA {} is ready in {}", toolkit.number, toolkit.root.display()));
            Ok(())
        }
        ToolkitCommand::Which { toolkit, offline } => {
            let request = Request { choice: toolkit.as_deref(), configured, offline: *offline, quiet: false, refuses };
            let Selection { toolkit, notes } = select::select(environment, request, cancel)?;
            notes.iter().for_each(|note| lmem_base::say::line(&format!("note: {note}")));
            print(&format!("{}\n", toolkit.root.display()))
        }
        ToolkitCommand::Remove { version } => {
            let removed = install::remove(&cx, version.parse()?)?;
            lmem_base::say::line(&format!("removed CUDA {}", removed.join(", ")));
            Ok(())
        }
    }
}

/// Lists toolkits in the order in which a check prefers them, rejected places, and installable versions.
fn list(cx: &install::Context<'_>, refuses: Refuses<'_>) -> String {
    let (found, refused) = select::all(cx, refuses);
    let mut text = String::new();
    for toolkit in &found {
        let _ = writeln!(text, "{}", line(toolkit));
    }
    if found.is_empty() {
        text.push_str("no CUDA toolkit on this machine\n");
    }
    for refused in &refused {
        let _ = writeln!(text, "not usable: {refused}");
    }
    let installed = |release: &&releases::Release| found.iter().any(|toolkit| toolkit.number == release.number);
    let numbers: Vec<&str> =
        releases::RELEASES.iter().filter(|release| !installed(release)).map(|release| release.number).collect();
    if !numbers.is_empty() {
        let _ = writeln!(text, "to install: {} (`cargo lmem toolkit install VERSION`)", numbers.join(", "));
    }
    text
}

fn line(toolkit: &Toolkit) -> String {
    let lacks = if toolkit.lacks.is_empty() { String::new() } else { format!(", lacks {}", toolkit.lacks.join(", ")) };
    format!("CUDA {:<8} {} ({}{lacks})", toolkit.number, toolkit.root.display(), toolkit.found)
}

/// Prints to stdout; a closed pipe (`| head -1`) is not an error.
fn print(text: &str) -> Result<(), ToolkitError> {
    match io::Write::write_all(&mut anstream::stdout(), text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(ToolkitError::Stdout(error)),
        _ => Ok(()),
    }
}
