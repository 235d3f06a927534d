//! An editor starts `cargo lmem lsp` and speaks with it over stdin and stdout. With a real toolkit it gets findings and an edit:
//! `LMEM_LIVE=1 cargo test --test lsp`.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};

const KERNEL: &str = "__global__ void smooth(const float* in, float* out) {
  float part[8];
  for (int t = 0; t < 8; ++t) part[t] = in[t * 32 + threadIdx.x];
  float sum = 0;
  #pragma unroll 1
  for (int t = 0; t < 8; ++t) sum += part[t] * part[7 - t];
  out[threadIdx.x] = sum;
}
";

fn main() {
    let arguments = Arguments::from_args();
    let is_live = std::env::var_os("LMEM_LIVE").is_some_and(|value| !value.is_empty());
    let trials = vec![
        Trial::test("without_a_toolkit_the_editor_is_told_what_to_do", without_toolkit),
        Trial::test("a_length_that_nothing_has_does_not_end_the_server_by_force", wrong_length),
        Trial::test("an_edit_of_a_menu_ends_its_finding", edit).with_ignored_flag(!is_live),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

struct Editor {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    count: i64,
}

impl Editor {
    fn start(command: &mut Command, folder: &Path) -> Result<Self, Failed> {
        let command = command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn()?;
        let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
            return Err("the server has no pipes".into());
        };
        let mut editor = Self { server, input, output: BufReader::new(output), count: 0 };
        let folders = json!([{ "uri": format!("file://{}", folder.display()), "name": "demo" }]);
        editor.ask("initialize", json!({ "capabilities": {}, "workspaceFolders": folders }))?;
        editor.tell("initialized", json!({}))?;
        Ok(editor)
    }

    fn send(&mut self, message: &Value) -> Result<(), Failed> {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        Ok(self.input.flush()?)
    }

    fn tell(&mut self, method: &str, parameters: Value) -> Result<(), Failed> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }))
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, Failed> {
        self.count += 1;
        let id = self.count;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        loop {
            let message = self.next()?;
            if message["id"] == id {
                return Ok(message.get("result").or(message.get("error")).cloned().unwrap_or_default());
            }
        }
    }

    fn hear(&mut self, method: &str) -> Result<Value, Failed> {
        loop {
            let message = self.next()?;
            if message["method"] == method {
                return Ok(message["params"].clone());
            }
        }
    }

    fn next(&mut self) -> Result<Value, Failed> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server said nothing more".into());
            }
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse()?,
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }

    fn end(mut self) -> Result<(), Failed> {
        self.ask("shutdown", Value::Null)?;
        self.tell("exit", Value::Null)?;
        drop(self.input);
        let status = self.server.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
    }
}

/// A project without Cargo, which needs none.
fn project() -> Result<tempfile::TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    fs_err::write(folder.path().join("lmem.toml"), "arch = [\"sm_90\"]\n")?;
    fs_err::write(folder.path().join("a.cu"), KERNEL)?;
    Ok(folder)
}

fn without_toolkit() -> Result<(), Failed> {
    let (project, nothing) = (project()?, tempfile::tempdir()?);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
    command.args(["lmem", "lsp", "--offline", "--toolkit", "99.9"]).env("CARGO_LMEM_CACHE_DIR", nothing.path());
    let mut editor = Editor::start(&mut command, project.path())?;
    let message = editor.hear("window/showMessage")?["message"].as_str().unwrap_or_default().to_string();
    if !message.contains("toolkit") {
        return Err(message.into());
    }
    editor.end()
}

fn wrong_length() -> Result<(), Failed> {
    let (project, nothing) = (project()?, tempfile::tempdir()?);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
    command.args(["lmem", "lsp", "--offline", "--toolkit", "99.9"]).env("CARGO_LMEM_CACHE_DIR", nothing.path());
    let mut editor = Editor::start(&mut command, project.path())?;
    write!(editor.input, "Content-Length: 10000000000000\r\n\r\n{{")?;
    drop(editor.input);
    let status = editor.server.wait()?;
    if status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
}

fn edit() -> Result<(), Failed> {
    let project = project()?;
    let path = project.path().join("a.cu");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-lmem"));
    let mut editor = Editor::start(command.args(["lmem", "lsp"]), project.path())?;
    let published = editor.hear("textDocument/publishDiagnostics")?;
    let (uri, found) = (published["uri"].clone(), &published["diagnostics"][0]);
    if found["code"] != "dynamic_index" && found["code"] != "rolled_loop" {
        return Err(format!("{found}").into());
    }
    let document = json!({ "uri": uri, "languageId": "cuda-cpp", "version": 1, "text": KERNEL });
    editor.tell("textDocument/didOpen", json!({ "textDocument": document }))?;
    let context = json!({ "diagnostics": [found] });
    let parameters = json!({ "textDocument": { "uri": uri }, "range": found["range"], "context": context });
    let actions = editor.ask("textDocument/codeAction", parameters)?;
    let edits = actions[0]["edit"]["documentChanges"][0]["edits"].as_array().cloned().unwrap_or_default();
    if edits.is_empty() {
        return Err(format!("no edit: {actions}").into());
    }
    fs_err::write(&path, applied(KERNEL, edits))?;
    editor.tell("textDocument/didSave", json!({ "textDocument": { "uri": uri } }))?;
    let published = editor.hear("textDocument/publishDiagnostics")?;
    if published["diagnostics"] != json!([]) {
        return Err(format!("{published}\n{}", fs_err::read_to_string(&path)?).into());
    }
    editor.end()
}

/// The text with the edits of a menu, from the last to the first. It is ASCII: columns are bytes.
fn applied(text: &str, mut edits: Vec<Value>) -> String {
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap_or_default()).unwrap_or_default();
    let offset = |position: &Value| {
        let lines = text.split_inclusive('\n').take(number(&position["line"]));
        lines.map(str::len).sum::<usize>() + number(&position["character"])
    };
    edits.sort_by_key(|edit| std::cmp::Reverse(offset(&edit["range"]["start"])));
    edits.iter().fold(text.to_string(), |mut text, edit| {
        let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
        text.replace_range(range, edit["newText"].as_str().unwrap_or_default());
        text
    })
}
