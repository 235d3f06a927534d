//! Messages about the run on stderr.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::compile::Shown;

/// Prints messages about the run on stderr, unless `--quiet`.
pub struct Talk {
    pub quiet: bool,
    /// How often `-v` was given.
    pub verbosity: u8,
    /// Notes that were said: each round of `--fix` would say them again.
    said: Mutex<BTreeSet<String>>,
}

impl Talk {
    pub fn new(quiet: bool, verbosity: u8) -> Self {
        Self { quiet, verbosity, said: Mutex::default() }
    }

    /// Says a note, once in a run.
    pub fn note(&self, text: &str) {
        let is_new = self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_string());
        if is_new && !self.quiet {
            lmem_base::say::line(&format!("note: {text}"));
        }
    }

    pub fn detail(&self, text: &str) {
        if self.verbosity > 0 {
            lmem_base::say::line(text);
        }
    }

    /// Prints a finished command; with `-vv` also its folder, exit status and time.
    pub fn command(&self, shown: &Shown<'_>) {
        self.detail(&format!("running: {}", shown.command));
        if self.verbosity > 1 {
            let folder = shown.folder.map(|folder| format!("in {}, ", folder.display())).unwrap_or_default();
            self.detail(&format!("  {folder}{:?} after {:.2} s", shown.end, shown.elapsed.as_secs_f64()));
        }
    }
}
