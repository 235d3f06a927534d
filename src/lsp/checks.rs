//! Runs checks in the background: one at a time, and only the newest one reports.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use lsp_server::{Message, Notification, Request, RequestId};
use lsp_types::notification::{Progress, PublishDiagnostics, ShowMessage};
use lsp_types::request::{Request as _, WorkDoneProgressCreate};
use lsp_types::{
    MessageType, NumberOrString, ProgressParams, ProgressParamsValue, PublishDiagnosticsParams, ShowMessageParams,
    WorkDoneProgress, WorkDoneProgressBegin, WorkDoneProgressCreateParams, WorkDoneProgressEnd,
};
use serde::Serialize;

use crate::check::CheckError;
use crate::report::editor::{EditorReport, by_file, uri_of};

use super::Check;

/// Sends a message to the editor.
type Post = dyn Fn(Message) + Send + Sync;

/// The findings of the newest check, by file.
type Found = BTreeMap<PathBuf, Vec<EditorReport>>;

pub(super) struct Checks {
    work: Arc<Work>,
    worker: Option<Worker>,
    current: Current,
    count: u64,
}

/// The thread that checks. There is one, however many checks an editor asks for at once.
struct Worker {
    thread: JoinHandle<()>,
    /// Holds one message: that there is a check to begin.
    bell: SyncSender<()>,
    /// The newest check that has not begun.
    wanted: Arc<Wanted>,
}

/// The cancel flag of a check, and the name under which its progress is told.
type Wanted = Mutex<Option<(Arc<AtomicBool>, String)>>;

/// State shared by all checks of a session.
struct Work {
    check: Arc<Check>,
    send: Arc<Post>,
    roots: Vec<PathBuf>,
    shows_progress: bool,
    found: Mutex<Found>,
    /// The last error message: repeating it at each save would be noise.
    complaint: Mutex<String>,
}

/// The cancel flag of the current check.
#[derive(Clone, Default)]
pub(super) struct Current(Arc<Mutex<Arc<AtomicBool>>>);

impl Current {
    pub fn cancel(&self) {
        lock(&self.0).store(true, Ordering::Relaxed);
    }

    /// Cancels the current check, and returns the flag of the next one.
    fn next(&self) -> Arc<AtomicBool> {
        let mut current = lock(&self.0);
        current.store(true, Ordering::Relaxed);
        *current = Arc::default();
        Arc::clone(&current)
    }
}

/// Locks a mutex. If another thread panicked, its last state is used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Checks {
    pub fn new(check: Arc<Check>, send: Arc<Post>, roots: Vec<PathBuf>, shows_progress: bool) -> Self {
        let (found, complaint) = (Mutex::default(), Mutex::default());
        let work = Arc::new(Work { check, send, roots, shows_progress, found, complaint });
        Self { work, worker: None, current: Current::default(), count: 0 }
    }

    pub fn current(&self) -> Current {
        self.current.clone()
    }

    /// Starts a check. A running check is cancelled first, and reports nothing.
    pub fn start(&mut self) {
        let cancel = self.current.next();
        self.count += 1;
        let token = format!("cargo-lmem/{}", self.count);
        let worker = self.worker.get_or_insert_with(|| Worker::start(Arc::clone(&self.work)));
        *lock(&worker.wanted) = Some((cancel, token));
        // If the bell was rung and not heard yet, the worker finds the newest check all the same.
        let _ = worker.bell.try_send(());
    }

    /// Cancels the current check, and waits for its end.
    pub fn stop(&mut self) {
        self.current.cancel();
        let Some(Worker { thread, bell, .. }) = self.worker.take() else { return };
        // The worker ends when nobody can ring any more.
        drop(bell);
        drop(thread.join());
    }

    /// The findings of the last check in a file.
    pub fn found(&self, path: &Path) -> Vec<EditorReport> {
        lock(&self.work.found).get(path).cloned().unwrap_or_default()
    }
}

impl Worker {
    fn start(work: Arc<Work>) -> Self {
        let (bell, rung): (_, Receiver<()>) = sync_channel(1);
        let wanted: Arc<Wanted> = Arc::default();
        let newest = Arc::clone(&wanted);
        let thread = std::thread::spawn(move || {
            for () in rung {
                let Some((cancel, token)) = lock(&newest).take() else { continue };
                // A check that panics, which is told where it happens, ends no later one.
                drop(catch_unwind(AssertUnwindSafe(|| work.run(&cancel, &token))));
            }
        });
        Self { thread, bell, wanted }
    }
}

impl Work {
    fn run(&self, cancel: &AtomicBool, token: &str) {
        if cancel.load(Ordering::Relaxed) {
            return;
        }
        self.progress(token, true);
        // An editor may have many folders, and each takes a moment even where its check ends at once.
        let roots = self.roots.iter().take_while(|_| !cancel.load(Ordering::Relaxed));
        let results: Vec<_> = roots.map(|root| (self.check)(root, cancel)).collect();
        self.progress(token, false);
        if cancel.load(Ordering::Relaxed) {
            return;
        }
        let mut found = Found::new();
        for result in results {
            match result {
                Ok(report) => by_file(&report.diagnostics).into_iter().for_each(|(path, mut shown)| {
                    found.entry(path).or_default().append(&mut shown);
                }),
                // Earlier findings stay: a half-written settings file says nothing about kernels.
                Err(error) => return self.complain(&error),
            }
        }
        lock(&self.complaint).clear();
        self.publish(found);
    }

    /// Publishes the findings of each file; a file that no longer has any gets an empty list.
    fn publish(&self, found: Found) {
        let mut last = lock(&self.found);
        let paths: BTreeSet<&PathBuf> = last.keys().chain(found.keys()).collect();
        for path in paths {
            let shown = found.get(path).into_iter().flatten();
            let diagnostics = shown.map(|shown| shown.diagnostic.clone()).collect();
            if let Some(uri) = uri_of(path) {
                self.notify::<PublishDiagnostics>(PublishDiagnosticsParams { uri, diagnostics, version: None });
            }
        }
        *last = found;
    }

    fn complain(&self, error: &CheckError) {
        let mut text = format!("cargo lmem: {error}");
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            text.push_str(&format!("\n{error}"));
            cause = error.source();
        }
        error.hints().iter().for_each(|hint| text.push_str(&format!("\n{hint}")));
        let mut last = lock(&self.complaint);
        if *last != text {
            self.notify::<ShowMessage>(ShowMessageParams { typ: MessageType::ERROR, message: text.clone() });
            *last = text;
        }
    }

    fn progress(&self, token: &str, is_start: bool) {
        if !self.shows_progress {
            return;
        }
        let id = RequestId::from(token.to_string());
        let token = NumberOrString::String(token.to_string());
        let value = match is_start {
            true => {
                let parameters = WorkDoneProgressCreateParams { token: token.clone() };
                (self.send)(Request::new(id, WorkDoneProgressCreate::METHOD.to_string(), parameters).into());
                let title = "cargo lmem".to_string();
                WorkDoneProgress::Begin(WorkDoneProgressBegin { title, ..WorkDoneProgressBegin::default() })
            }
            false => WorkDoneProgress::End(WorkDoneProgressEnd::default()),
        };
        self.notify::<Progress>(ProgressParams { token, value: ProgressParamsValue::WorkDone(value) });
    }

    fn notify<N: lsp_types::notification::Notification>(&self, parameters: N::Params)
    where
        N::Params: Serialize,
    {
        (self.send)(Notification::new(N::METHOD.to_string(), parameters).into());
    }
}
