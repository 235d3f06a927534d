//! Tests with an editor that talks to the server; the findings are made up.

use std::sync::Mutex;
use std::sync::mpsc;

use lmem_base::diagnostic::{Applicability, Code, Diagnostic, Edit, Label, Severity, Suggestion, Verification};
use lmem_base::source::{SourceFile, Span};
use serde_json::{Value, json};

use super::*;

const TEXT: &str = "__global__ void k(float* out) {\n    float a[4];\n}\n";

/// A client at the other end of the connection.
struct Editor {
    connection: Connection,
    server: Option<std::thread::JoinHandle<Result<(), LspError>>>,
    count: i32,
    /// Notifications received while waiting for a response.
    heard: Vec<String>,
}

impl Editor {
    fn start(folder: &Path, check: Arc<Check>) -> Self {
        Self::start_with(folder, check, json!({}))
    }

    /// Starts a session with further parameters of `initialize`.
    fn start_with(folder: &Path, check: Arc<Check>, more: Value) -> Self {
        let (server, connection) = Connection::memory();
        let start = folder.to_path_buf();
        let server = std::thread::spawn(move || session(server, check, &start, &Arc::default()));
        let mut editor = Self { connection, server: Some(server), count: 0, heard: Vec::new() };
        let uri = uri_of(folder).unwrap();
        let capabilities = json!({ "window": { "workDoneProgress": true } });
        let mut parameters = json!({ "rootUri": uri, "capabilities": capabilities });
        parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = editor.ask("initialize", parameters);
        assert_eq!(answer["serverInfo"]["name"], "cargo-lmem");
        assert_eq!(answer["capabilities"]["codeActionProvider"]["codeActionKinds"][0], "quickfix");
        editor.tell("initialized", json!({}));
        editor
    }

    fn tell(&self, method: &str, parameters: Value) {
        self.connection.sender.send(Notification::new(method.to_string(), parameters).into()).unwrap();
    }

    /// Sends a request and waits for the response; notifications in between only leave their names in `heard`.
    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.count += 1;
        let request = Request::new(self.count.into(), method.to_string(), parameters);
        self.connection.sender.send(request.into()).unwrap();
        loop {
            match self.next() {
                Message::Response(response) => return response.response_kind_value(),
                Message::Notification(notification) => self.heard.push(notification.method),
                Message::Request(_) => {}
            }
        }
    }

    fn next(&self) -> Message {
        self.connection.receiver.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    /// The next notification of a kind.
    fn hear(&self, method: &str) -> Value {
        loop {
            if let Message::Notification(notification) = self.next()
                && notification.method == method
            {
                return notification.params;
            }
        }
    }

    fn save(&self, path: &Path) {
        self.tell("textDocument/didSave", json!({ "textDocument": { "uri": uri_of(path).unwrap() } }));
    }

    /// Shuts the server down, and returns the notifications up to its end.
    fn end(mut self) -> Vec<String> {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        self.server.take().unwrap().join().unwrap().unwrap();
        let told = self.connection.receiver.try_iter().filter_map(|message| match message {
            Message::Notification(notification) => Some(notification.method),
            _ => None,
        });
        self.heard.into_iter().chain(told).collect()
    }
}

/// The result of a response, or its error.
trait Answered {
    fn response_kind_value(self) -> Value;
}

impl Answered for Response {
    fn response_kind_value(self) -> Value {
        let value = serde_json::to_value(self).unwrap();
        value.get("error").or(value.get("result")).cloned().unwrap_or(Value::Null)
    }
}

fn found(path: &Path) -> Report {
    let file = SourceFile::from_text(path.to_str().unwrap(), TEXT);
    let at = TEXT.find("a[4]").unwrap();
    let edit = Edit::alone(Span::new(&file, at..at + 4), "a = 0");
    let suggestion = Suggestion {
        verification: Some(Verification::default()),
        ..Suggestion::new("use one value", Applicability::MachineApplicable, vec![edit])
    };
    let diagnostic = Diagnostic {
        severity: Severity::Warning,
        code: Code::Lint("dynamic_index"),
        message: "`a` is in local memory".to_string(),
        primary: Some(Label { span: Span::new(&file, at..at + 1), text: String::new() }),
        secondary: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
        suggestions: vec![suggestion],
        evidence: None,
        package: None,
    };
    Report { diagnostics: vec![diagnostic], ..Report::default() }
}

#[test]
fn findings_come_with_edits_for_the_text_that_was_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b.cu");
    fs_err::write(&path, TEXT).unwrap();
    let (checked, root) = (path.clone(), folder.path().to_path_buf());
    let is_mended = Arc::new(AtomicBool::new(false));
    let mended = Arc::clone(&is_mended);
    let check = move |folder: &Path, _: &AtomicBool| {
        assert_eq!(folder, root);
        Ok(if mended.load(Ordering::Relaxed) { Report::default() } else { found(&checked) })
    };
    let mut editor = Editor::start(folder.path(), Arc::new(check));
    assert_eq!(editor.hear("$/progress")["value"]["kind"], "begin");
    assert_eq!(editor.hear("$/progress")["value"]["kind"], "end");
    let published = editor.hear("textDocument/publishDiagnostics");
    let uri = published["uri"].clone();
    assert!(uri.as_str().unwrap().ends_with("/a%20b.cu"), "{uri}");
    let diagnostic = &published["diagnostics"][0];
    assert_eq!(diagnostic["range"]["start"], json!({ "line": 1, "character": 10 }));
    assert_eq!((&diagnostic["code"], &diagnostic["severity"]), (&"dynamic_index".into(), &2.into()));
    assert!(diagnostic["codeDescription"]["href"].as_str().unwrap().starts_with("https://"));

    let ask = |editor: &mut Editor, line: u32| {
        let place = json!({ "line": line, "character": 0 });
        let range = json!({ "start": place, "end": place });
        let parameters = json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": [] } });
        editor.ask("textDocument/codeAction", parameters)
    };
    // A closed file is compared with the text on disk.
    let actions = ask(&mut editor, 1);
    assert_eq!(actions[0]["isPreferred"], true, "{actions}");
    let change = &actions[0]["edit"]["documentChanges"][0];
    assert_eq!(change["edits"][0]["newText"], "a = 0");
    assert_eq!(change["textDocument"]["version"], Value::Null);
    assert_eq!(ask(&mut editor, 0), json!([]));
    // An open file is compared with the editor's text.
    let document = json!({ "uri": uri, "languageId": "cuda-cpp", "version": 7, "text": TEXT });
    editor.tell("textDocument/didOpen", json!({ "textDocument": document }));
    assert_eq!(ask(&mut editor, 1)[0]["edit"]["documentChanges"][0]["textDocument"]["version"], 7);
    let document = json!({ "uri": uri, "version": 8 });
    let changes = json!([{ "text": format!("// {TEXT}") }]);
    editor.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    assert_eq!(ask(&mut editor, 1), json!([]));
    // Fixed findings are withdrawn.
    is_mended.store(true, Ordering::Relaxed);
    editor.save(&path);
    let published = editor.hear("textDocument/publishDiagnostics");
    assert_eq!((&published["uri"], &published["diagnostics"]), (&uri, &json!([])));
    assert_eq!(editor.ask("textDocument/hover", json!({}))["code"], ErrorCode::MethodNotFound as i32);
    editor.end();
}

#[test]
fn a_newer_save_ends_an_older_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cu");
    let checked = path.clone();
    let (started, starts) = mpsc::channel();
    let (started, count) = (Mutex::new(started), Mutex::new(0));
    let check = move |_: &Path, cancel: &AtomicBool| {
        let number = {
            let mut count = count.lock().unwrap();
            *count += 1;
            *count
        };
        started.lock().unwrap().send(number).unwrap();
        if number == 1 {
            while !cancel.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            return Err(CheckError::Interrupted);
        }
        Ok(found(&checked))
    };
    let editor = Editor::start(folder.path(), Arc::new(check));
    assert_eq!(starts.recv_timeout(Duration::from_secs(20)).unwrap(), 1);
    // Saving a file that cannot influence the findings starts no check.
    editor.save(&folder.path().join("notes.md"));
    editor.save(&path);
    assert_eq!(starts.recv_timeout(Duration::from_secs(20)).unwrap(), 2);
    let published = editor.hear("textDocument/publishDiagnostics");
    assert_eq!(published["diagnostics"].as_array().unwrap().len(), 1);
    editor.end();
}

#[test]
fn a_check_that_cannot_start_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let check = |_: &Path, _: &AtomicBool| Err(CheckError::Usage("there is nothing here".to_string()));
    let editor = Editor::start(folder.path(), Arc::new(check));
    let message = editor.hear("window/showMessage");
    assert_eq!((&message["type"], &message["message"]), (&1.into(), &"cargo lmem: there is nothing here".into()));
    editor.save(&folder.path().join("a.cu"));
    assert_eq!(editor.hear("$/progress")["value"]["kind"], "begin");
    // The second check ends with the same error before the server ends.
    editor.tell("textDocument/didSave", json!({ "broken": true }));
    let heard = editor.end();
    assert!(
        heard.contains(&"$/progress".to_string()) && !heard.contains(&"window/showMessage".to_string()),
        "{heard:?}"
    );
}

#[test]
fn folders_that_were_not_begun_are_not_checked_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (started, starts) = mpsc::channel();
    let started = Mutex::new(started);
    let check = move |_: &Path, cancel: &AtomicBool| {
        started.lock().unwrap().send(()).unwrap();
        while !cancel.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(CheckError::Interrupted)
    };
    let uri = uri_of(folder.path()).unwrap();
    let folders: Vec<Value> = (0..100).map(|_| json!({ "uri": uri, "name": "one of many" })).collect();
    let mut editor = Editor::start_with(folder.path(), Arc::new(check), json!({ "workspaceFolders": folders }));
    starts.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(editor.ask("shutdown", Value::Null), Value::Null);
    // A save starts no check any more, and a request gets an answer that says why.
    editor.save(&folder.path().join("a.cu"));
    assert_eq!(editor.ask("textDocument/hover", json!({}))["code"], ErrorCode::InvalidRequest as i32);
    editor.tell("exit", Value::Null);
    editor.server.take().unwrap().join().unwrap().unwrap();
    assert_eq!(starts.iter().count(), 0);
}

/// A thread for each save would be thousands where a program saves all files of a project.
#[test]
fn all_checks_run_in_one_thread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cu");
    fs_err::write(&path, TEXT).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let check = move |_: &Path, cancel: &AtomicBool| {
        noted.lock().unwrap().push(std::thread::current().id());
        // One that panics ends no later one.
        assert!(noted.lock().unwrap().len() != 1, "the first check");
        while !cancel.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(CheckError::Interrupted)
    };
    let editor = Editor::start(folder.path(), Arc::new(check));
    let start = std::time::Instant::now();
    while seen.lock().unwrap().len() < 3 && start.elapsed() < Duration::from_secs(20) {
        (0..500).for_each(|_| editor.save(&path));
        std::thread::sleep(Duration::from_millis(5));
    }
    editor.end();
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 3 && seen.iter().all(|thread| *thread == seen[0]), "{seen:?}");
}
