//! Progress of a run on stderr: a progress bar on a terminal, otherwise a line at intervals.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two lines in a log.
const INTERVAL: Duration = Duration::from_secs(10);

/// Limit on names per line; further ones are counted.
const MAX_NAMES: usize = 3;

/// Output for lines.
type Say = fn(&str);

/// The compilations of a run; empty if nobody watches.
pub struct Progress {
    bar: ProgressBar,
    state: Arc<Mutex<State>>,
    log: Option<Log>,
}

/// The finished compilations, and those that run, with counts: one file may compile for several architectures at once.
#[derive(Debug, Default)]
struct State {
    doing: &'static str,
    done: usize,
    length: usize,
    running: BTreeMap<String, usize>,
}

/// A thread that prints progress lines.
struct Log {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts with `length` known compilations; [`Self::plan`] adds others.
    pub fn new(doing: &'static str, length: usize, quiet: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let log = (!quiet && !is_terminal).then_some((INTERVAL, say as Say));
        Self::with(doing, length, !quiet && is_terminal, log)
    }

    fn with(doing: &'static str, length: usize, is_shown: bool, log: Option<(Duration, Say)>) -> Self {
        let bar = if is_shown { ProgressBar::new(length as u64) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{prefix:>12.cyan.bold} [{bar:27}] {pos}/{len}: {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.set_prefix(doing);
        if is_shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let state = Arc::new(Mutex::new(State { doing, length, ..State::default() }));
        let log = log.map(|(interval, say)| Log::start(&state, interval, say));
        Self { bar, state, log }
    }

    /// Adds compilations.
    pub fn plan(&self, count: usize) {
        self.change(|state| state.length += count);
    }

    pub fn start(&self, name: &str) {
        self.change(|state| *state.running.entry(name.to_string()).or_default() += 1);
    }

    pub fn finish(&self, name: &str) {
        self.change(|state| {
            state.done += 1;
            match state.running.get_mut(name) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(state.running.remove(name)),
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let Ok(mut state) = self.state.lock() else { return };
        change(&mut state);
        if !self.bar.is_hidden() {
            let names: Vec<&str> = state.running.keys().map(String::as_str).collect();
            self.bar.set_length(state.length as u64);
            self.bar.set_position(state.done as u64);
            self.bar.set_message(names.join(", "));
        }
    }

    /// Prints lines above the bar.
    pub fn say(&self, lines: &[String]) {
        if !lines.is_empty() {
            self.bar.suspend(|| lines.iter().for_each(|line| say(line)));
        }
    }

    pub fn clear(self) {
        self.bar.finish_and_clear();
        if let Some(Log { stop, thread }) = self.log {
            drop(stop);
            // The thread has no result.
            drop(thread.map(JoinHandle::join));
        }
    }
}

impl Log {
    fn start(state: &Arc<Mutex<State>>, interval: Duration, say: Say) -> Self {
        let (stop, stopped) = channel::<()>();
        let state = Arc::clone(state);
        let thread = std::thread::Builder::new().spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(interval) {
                if let Ok(state) = state.lock() {
                    say(&line(&state));
                }
            }
        });
        // Without a thread nothing is said meanwhile.
        Self { stop, thread: thread.ok() }
    }
}

fn say(line: &str) {
    lmem_base::say::line(line);
}

/// `    Checking 12/40: a.cu, b.cu`
fn line(state: &State) -> String {
    let names: Vec<&str> = state.running.keys().take(MAX_NAMES).map(String::as_str).collect();
    let more = state.running.len().checked_sub(MAX_NAMES + 1).map(|more| format!(" and {} more", more + 1));
    format!("{:>12} {}/{}: {}{}", state.doing, state.done, state.length, names.join(", "), more.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn keep(line: &str) {
        SAID.lock().unwrap().push(line.to_string());
    }

    #[test]
    fn a_log_has_a_line_now_and_then() {
        let progress = Progress::with("Checking", 5, false, Some((Duration::from_millis(1), keep)));
        ["a.cu", "b.cu", "b.cu", "c.cu", "d.cu", "e.cu"].iter().for_each(|name| progress.start(name));
        progress.finish("b.cu");
        let wanted = "    Checking 1/5: a.cu, b.cu, c.cu and 2 more";
        while !SAID.lock().unwrap().iter().any(|line| line == wanted) {
            std::thread::sleep(Duration::from_millis(1));
        }
        progress.clear();
        let count = SAID.lock().unwrap().len();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(SAID.lock().unwrap().len(), count);
    }

    #[test]
    fn no_more_is_done_than_was_planned() {
        let progress = Progress::with("Proving", 0, false, None);
        progress.plan(2);
        progress.start("a.cu");
        progress.finish("a.cu");
        progress.start("b.cu");
        progress.finish("b.cu");
        progress.plan(1);
        let state = progress.state.lock().unwrap();
        assert_eq!(line(&state), "     Proving 2/3: ");
    }
}
