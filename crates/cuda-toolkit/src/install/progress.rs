//! Progress of a fetch.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::installer::Installer;
use super::plan::Plan;
use super::{Context, say};

/// Limit on what an installer may fetch and unpack: an index that is not NVIDIA's may give without end. The largest toolkit
/// has less than 2 GB with its wheels.
pub(super) const MAX_BYTES: u64 = 8 << 30;

/// Shows progress: a bar on a terminal, otherwise one line.
pub(super) struct Progress {
    pub(super) bar: ProgressBar,
    pub(super) measured: Instant,
}

impl Progress {
    pub(super) fn start(cx: &Context<'_>, plan: &Plan, installer: &Installer) -> Self {
        let bar = if cx.quiet { ProgressBar::hidden() } else { ProgressBar::no_length() };
        let message = format!("fetching {} with {}", plan.what, installer.name);
        // uv downloads into its own cache and links from there; pip keeps both wheels and contents in this folder until
        // the end.
        let total = plan.megabytes.map(|(wheels, contents)| if installer.is_uv { contents } else { wheels + contents });
        let template = if total.is_some() {
            "{spinner} {msg} {bar:30} {decimal_bytes} {elapsed}"
        } else {
            "{spinner} {msg} {decimal_bytes} {elapsed}"
        };
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_draw_target(if cx.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() });
        if bar.is_hidden() {
            let size = plan
                .megabytes
                .map(|(wheels, contents)| format!(" (about {wheels} MB to download, {contents} MB on disk)"));
            say(cx, &format!("{message}{}", size.unwrap_or_default()));
        }
        if let Some(total) = total {
            bar.set_length(total * 1_000_000);
        }
        bar.set_message(message);
        Self { bar, measured: Instant::now() }
    }

    /// Measures what there is; the result says whether it is too much.
    pub(super) fn tick(&mut self, staging: &Path) -> bool {
        self.bar.tick();
        // Measuring walks thousands of files.
        if self.measured.elapsed() < Duration::from_millis(300) {
            return false;
        }
        let files = walkdir::WalkDir::new(staging).into_iter().filter_map(Result::ok);
        let bytes =
            files.filter_map(|file| file.metadata().ok()).filter(|file| file.is_file()).map(|file| file.len()).sum();
        // The installer deletes its downloads at the end; the bar must not go back.
        self.bar.set_position(self.bar.position().max(bytes));
        self.measured = Instant::now();
        bytes > MAX_BYTES
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
