//! `cargo lmem lsp`: findings in editors, over the Language Server Protocol.
//!
//! A check runs when the editor opens a workspace and whenever a file is saved. It runs in its own thread, and a newer
//! save cancels it. Unchanged units come from the cache. Verified edits are offered as quick fixes, as long as the text
//! is the one that was compiled.

mod checks;
mod open;
mod stdio;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lsp_server::{Connection, ErrorCode, ExtractError, Message, Notification, ProtocolError, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, DidSaveTextDocument, Exit, Notification as _,
};
use lsp_types::request::{CodeActionRequest, Request as _, Shutdown};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProviderCapability, DocumentChanges,
    InitializeParams, InitializeResult, OneOf, OptionalVersionedTextDocumentIdentifier, Position, Range, SaveOptions,
    ServerCapabilities, ServerInfo, TextDocumentEdit, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkspaceEdit,
};
use serde::de::DeserializeOwned;

use lmem_base::diagnostic::Report;
use lmem_base::source::has_ending;

use crate::check::{CheckError, Surroundings, check_in};
use crate::cli::CheckArgs;
use crate::report::editor::{Action, EditorReport, path_of, uri_of};
use crate::version;
use checks::Checks;
use open::OpenFiles;

/// Interval for polling the cancel flag.
const PULSE: Duration = Duration::from_millis(200);

/// Exit code that shells use for a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Extensions of files that can influence the findings.
const ENDINGS: [&str; 8] = ["cu", "cuh", "h", "hpp", "inl", "rs", "ptx", "toml"];

/// Why the server ended before the editor asked it to.
#[derive(Debug, thiserror::Error)]
pub enum LspError {
    #[error("the editor does not keep to the language server protocol")]
    Protocol(#[from] ProtocolError),
    #[error("a message of the editor cannot be read")]
    Message(#[from] serde_json::Error),
    #[error("the editor cannot be reached")]
    Connection(#[source] std::io::Error),
    #[error("the current folder cannot be used")]
    Folder(#[source] std::io::Error),
    #[error("`cargo lmem lsp` writes nothing: `{0}` is for a check")]
    Writes(&'static str),
}

/// Checks a folder until cancelled.
type Check = dyn Fn(&Path, &AtomicBool) -> Result<Report, CheckError> + Send + Sync;

/// Serves an editor over stdin and stdout, until it sends `exit`. Signals set `cancel`.
///
/// # Errors
/// The editor violates the protocol, or an argument is not valid here.
pub fn serve(arguments: &CheckArgs, cancel: &Arc<AtomicBool>) -> Result<(), LspError> {
    let writing =
        [("--fix", arguments.fix), ("--diff", arguments.diff), ("--write-baseline", arguments.write_baseline)];
    if let Some((name, _)) = writing.iter().find(|(_, is_set)| *is_set) {
        return Err(LspError::Writes(name));
    }
    let folder = std::env::current_dir().map_err(LspError::Folder)?;
    let arguments = CheckArgs { quiet: true, verbose: 0, ..arguments.clone() };
    let check = move |folder: &Path, cancel: &AtomicBool| {
        let surroundings = Surroundings { current_folder: Some(folder), ..Surroundings::default() };
        check_in(surroundings, &arguments, cancel).map(|outcome| outcome.report)
    };
    // An editor that is waited for, to begin or to end, cannot be interrupted in any other way.
    end_with_signals(|| std::thread::sleep(PULSE), cancel);
    let (connection, threads) = stdio::connect();
    session(connection, Arc::new(check), &folder, cancel)?;
    threads.join().map_err(LspError::Connection)
}

/// Runs the session. The connection is dropped at its end, as the threads of stdin and stdout wait for that.
fn session(connection: Connection, check: Arc<Check>, folder: &Path, cancel: &Arc<AtomicBool>) -> Result<(), LspError> {
    let (id, parameters) = connection.initialize_start()?;
    let parameters: InitializeParams = serde_json::from_value(parameters)?;
    let server_info = ServerInfo { name: "cargo-lmem".to_string(), version: Some(version::short().to_string()) };
    let result = InitializeResult { capabilities: capabilities(), server_info: Some(server_info) };
    connection.initialize_finish(id, serde_json::to_value(result)?)?;
    let sender = connection.sender.clone();
    // If the editor is gone, sending fails and the loop below ends.
    let send = Arc::new(move |message: Message| drop(sender.send(message)));
    let shows_progress = parameters.capabilities.window.as_ref().and_then(|window| window.work_done_progress);
    let checks = Checks::new(check, send, roots(&parameters, folder), shows_progress == Some(true));
    let mut server = Server { checks, open: OpenFiles::default() };
    let current = server.checks.current();
    end_with_signals(move || current.cancel(), cancel);
    server.checks.start();
    server.listen(&connection);
    server.checks.stop();
    Ok(())
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::FULL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        ..ServerCapabilities::default()
    }
}

/// The folders open in the editor, otherwise the one that the server was started in.
fn roots(parameters: &InitializeParams, folder: &Path) -> Vec<PathBuf> {
    let folders = parameters.workspace_folders.iter().flatten().filter_map(|folder| path_of(&folder.uri));
    let folders: Vec<PathBuf> = folders.collect();
    #[expect(deprecated, reason = "older editors know only of one folder")]
    let only = parameters.root_uri.as_ref().and_then(path_of);
    match (folders.is_empty(), only) {
        (false, _) => folders,
        (true, Some(only)) => vec![only],
        (true, None) => vec![folder.to_path_buf()],
    }
}

/// Ends the compilers and the process on a signal, because the loop below only waits for the editor.
fn end_with_signals(before: impl FnOnce() + Send + 'static, cancel: &Arc<AtomicBool>) {
    let cancel = Arc::clone(cancel);
    std::thread::spawn(move || {
        while !cancel.load(Ordering::Relaxed) {
            std::thread::sleep(PULSE);
        }
        before();
        std::thread::sleep(PULSE);
        std::process::exit(INTERRUPTED);
    });
}

struct Server {
    checks: Checks,
    open: OpenFiles,
}

impl Server {
    /// Listens until the editor sends `exit`, or is gone. After `shutdown` nothing but `exit` is listened to.
    fn listen(&mut self, connection: &Connection) {
        let mut is_shut_down = false;
        for message in &connection.receiver {
            match message {
                Message::Request(request) => {
                    let answer = match request.method.as_str() {
                        _ if is_shut_down => {
                            let text = "the server was shut down".to_string();
                            Response::new_err(request.id, ErrorCode::InvalidRequest as i32, text)
                        }
                        Shutdown::METHOD => {
                            is_shut_down = true;
                            self.checks.current().cancel();
                            Response::new_ok(request.id, ())
                        }
                        _ => self.answer(request),
                    };
                    drop(connection.sender.send(answer.into()));
                }
                Message::Notification(notification) if notification.method == Exit::METHOD => return,
                Message::Notification(notification) if !is_shut_down => self.hear(notification),
                // Responses to requests for progress bars are not needed.
                Message::Notification(_) | Message::Response(_) => {}
            }
        }
    }

    fn hear(&mut self, notification: Notification) {
        match notification.method.as_str() {
            DidOpenTextDocument::METHOD => {
                self.heard::<DidOpenTextDocument>(notification, |server, opened| {
                    let document = opened.text_document;
                    server.open.set(&document.uri, document.version, document.text);
                });
            }
            DidChangeTextDocument::METHOD => {
                self.heard::<DidChangeTextDocument>(notification, |server, mut changed| {
                    // The server requests full-text synchronization, so this is the whole text.
                    if let Some(change) = changed.content_changes.pop() {
                        let document = changed.text_document;
                        server.open.set(&document.uri, document.version, change.text);
                    }
                });
            }
            DidCloseTextDocument::METHOD => {
                self.heard::<DidCloseTextDocument>(notification, |server, closed| {
                    server.open.close(&closed.text_document.uri);
                });
            }
            DidSaveTextDocument::METHOD => {
                self.heard::<DidSaveTextDocument>(notification, |server, saved| {
                    if path_of(&saved.text_document.uri).is_some_and(|path| has_ending(&path, &ENDINGS)) {
                        server.checks.start();
                    }
                });
            }
            _ => {}
        }
    }

    /// Parses a notification; a malformed one is ignored, as it has no response.
    fn heard<N: lsp_types::notification::Notification>(
        &mut self,
        notification: Notification,
        act: impl FnOnce(&mut Self, N::Params),
    ) where
        N::Params: DeserializeOwned,
    {
        if let Ok(parameters) = notification.extract::<N::Params>(N::METHOD) {
            act(self, parameters);
        }
    }

    fn answer(&self, request: Request) -> Response {
        let id = request.id.clone();
        match request.extract::<CodeActionParams>(CodeActionRequest::METHOD) {
            Ok((id, parameters)) => Response::new_ok(id, self.actions(&parameters)),
            Err(ExtractError::MethodMismatch(request)) => {
                let text = format!("`{}` is not known here", request.method);
                Response::new_err(request.id, ErrorCode::MethodNotFound as i32, text)
            }
            Err(ExtractError::JsonError { error, .. }) => {
                Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string())
            }
        }
    }

    fn actions(&self, parameters: &CodeActionParams) -> Vec<CodeAction> {
        let Some(path) = path_of(&parameters.text_document.uri) else { return Vec::new() };
        let found = self.checks.found(&path);
        let touched = found.iter().filter(|shown| touches(shown, &path, parameters.range));
        touched.flat_map(|shown| shown.actions.iter().filter_map(|action| self.action(shown, action))).collect()
    }

    /// The quick fix for an edit, unless the text differs from the one that was compiled: the edit could hit the wrong
    /// place.
    fn action(&self, shown: &EditorReport, action: &Action) -> Option<CodeAction> {
        let edits = action.edits.iter().map(|(file, edits)| {
            let version = self.open.version_of(&file.path, file.text())?;
            let text_document = OptionalVersionedTextDocumentIdentifier { uri: uri_of(&file.path)?, version };
            Some(TextDocumentEdit { text_document, edits: edits.iter().cloned().map(OneOf::Left).collect() })
        });
        let changes = edits.collect::<Option<Vec<_>>>()?;
        Some(CodeAction {
            title: action.title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![shown.diagnostic.clone()]),
            is_preferred: Some(action.is_safe),
            edit: Some(WorkspaceEdit {
                document_changes: Some(DocumentChanges::Edits(changes)),
                ..WorkspaceEdit::default()
            }),
            ..CodeAction::default()
        })
    }
}

/// Whether the cursor is at the finding, at one of its labels, or at a line that its edits change.
fn touches(shown: &EditorReport, path: &Path, cursor: Range) -> bool {
    let related = shown.diagnostic.related_information.iter().flatten().map(|related| &related.location);
    let related = related.filter(|place| path_of(&place.uri).as_deref() == Some(path)).map(|place| place.range);
    let edits = shown.actions.iter().flat_map(|action| &action.edits).filter(|(file, _)| file.path == path);
    let edits = edits.flat_map(|(_, edits)| edits).map(|edit| edit.range);
    std::iter::once(shown.diagnostic.range).chain(related).chain(edits).any(|range| overlap(range, cursor))
}

fn overlap(one: Range, other: Range) -> bool {
    let before = |one: Position, other: Position| (one.line, one.character) <= (other.line, other.character);
    // Editors ask for the cursor's line as often as for its exact position.
    let line = |range: Range| (range.start.line, range.end.line);
    let ((start, end), (first, last)) = (line(one), line(other));
    (start <= last && first <= end) || (before(one.start, other.end) && before(other.start, one.end))
}

#[cfg(test)]
mod tests;
