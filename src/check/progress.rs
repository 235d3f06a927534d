//! How far a run is, on stderr where that is a terminal.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over the compilations of a run; nothing where nobody looks.
pub struct Progress {
    bar: ProgressBar,
    /// What is being compiled, and how often: one file for several architectures.
    running: Mutex<BTreeMap<String, usize>>,
}

impl Progress {
    pub fn new(doing: &'static str, length: usize, quiet: bool) -> Self {
        let is_shown = !quiet && std::io::stderr().is_terminal();
        let bar = if is_shown { ProgressBar::new(length as u64) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{prefix:>12.cyan.bold} [{bar:27}] {pos}/{len}: {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.set_prefix(doing);
        if is_shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, running: Mutex::default() }
    }

    pub fn start(&self, name: &str) {
        self.change(name, |count| count + 1);
    }

    /// Starts something that nobody counted before.
    pub fn start_more(&self, name: &str) {
        self.bar.inc(1);
        self.bar.set_message(name.to_string());
    }

    pub fn finish(&self, name: &str) {
        self.change(name, |count| count.saturating_sub(1));
        self.bar.inc(1);
    }

    fn change(&self, name: &str, change: impl Fn(usize) -> usize) {
        if self.bar.is_hidden() {
            return;
        }
        if let Ok(mut running) = self.running.lock() {
            let count = running.get(name).copied().unwrap_or(0);
            match change(count) {
                0 => drop(running.remove(name)),
                count => drop(running.insert(name.to_string(), count)),
            }
            let names: Vec<&str> = running.keys().map(String::as_str).collect();
            self.bar.set_message(names.join(", "));
        }
    }

    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
