//! Compiler messages, parsed. Formats: EDG's `file(line): error #n: text` (nvcc and NVRTC), gcc's
//! `file:line:column: error: text`, ptxas's `ptxas file, line n; error : text`, and `nvcc fatal : text`.

use serde::{Deserialize, Serialize};

/// Severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MessageKind {
    Warning,
    Error,
}

/// A compiler message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompilerMessage {
    pub kind: MessageKind,
    /// The program or stage: `nvcc`, `ptxas`, `gcc`, `nvrtc`.
    pub compiler: String,
    /// `177-D` for `warning #177-D`.
    pub number: Option<String>,
    pub text: String,
    /// The file name as printed, and the line, from 1.
    pub place: Option<(String, u32)>,
    /// The column, from 1, with the source line that the compiler printed. If that line differs from the source, macros
    /// are expanded in it and the column is not usable.
    pub column: Option<(u32, String)>,
}

/// Parses the messages of a text, in order; other lines are skipped.
///
/// `front_end` names the compiler behind messages in EDG's form: nvcc or NVRTC.
pub fn parse_messages(text: &str, front_end: &str) -> Vec<CompilerMessage> {
    let lines: Vec<&str> = text.lines().collect();
    let mut messages = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let message = edg(line, front_end)
            .map(|message| CompilerMessage { column: caret(&lines[index + 1..]), ..message })
            .or_else(|| gcc(line))
            .or_else(|| ptxas(line))
            .or_else(|| fatal(line));
        messages.extend(message);
    }
    messages
}

/// `a.cu(3): warning #177-D: variable "x" was declared but never referenced`
fn edg(line: &str, front_end: &str) -> Option<CompilerMessage> {
    let at = line.find("): ")?;
    let (place, rest) = (&line[..at], &line[at + 3..]);
    let (file, number) = place.rsplit_once('(')?;
    let line_number: u32 = number.parse().ok()?;
    let (head, text) = rest.split_once(": ")?;
    let (word, number) = head.split_once(" #").map_or((head, None), |(word, number)| (word, Some(number.to_string())));
    let kind = match word {
        "error" | "catastrophic error" | "internal error" => MessageKind::Error,
        "warning" => MessageKind::Warning,
        _ => return None,
    };
    let place = Some((file.to_string(), line_number));
    Some(CompilerMessage { kind, compiler: front_end.into(), number, text: text.trim().into(), place, column: None })
}

/// EDG prints the source line, indented by two, and a caret below the column.
fn caret(following: &[&str]) -> Option<(u32, String)> {
    // A message may continue on some indented lines before the source line.
    let caret = following.iter().take(12).take_while(|line| !line.is_empty()).position(|line| line.trim() == "^")?;
    let source = following.get(caret.checked_sub(1)?)?.strip_prefix("  ")?;
    let column = following[caret].chars().count().checked_sub(2)?;
    Some((u32::try_from(column).ok()?, source.to_string()))
}

/// `a.cu:1:10: fatal error: nope.h: No such file or directory`
fn gcc(line: &str) -> Option<CompilerMessage> {
    let (word_at, word, kind) = [
        (": fatal error: ", MessageKind::Error),
        (": error: ", MessageKind::Error),
        (": warning: ", MessageKind::Warning),
    ]
    .into_iter()
    .find_map(|(word, kind)| line.find(word).map(|at| (at, word, kind)))?;
    let (place, text) = (&line[..word_at], &line[word_at + word.len()..]);
    let mut parts = place.rsplitn(3, ':');
    let column: u32 = parts.next()?.parse().ok()?;
    let line_number: u32 = parts.next()?.parse().ok()?;
    let place = Some((parts.next()?.to_string(), line_number));
    let column = Some((column, String::new()));
    Some(CompilerMessage { kind, compiler: "gcc".into(), number: None, text: text.trim().into(), place, column })
}

/// `ptxas /tmp/k.ptx, line 26; error   : text`, `ptxas fatal   : text`, `ptxas warning : text`
fn ptxas(line: &str) -> Option<CompilerMessage> {
    let rest = line.strip_prefix("ptxas ")?;
    let (place, rest) = match rest.split_once("; ") {
        Some((place, rest)) => {
            let (file, number) = place.rsplit_once(", line ")?;
            (Some((file.to_string(), number.trim().parse().ok()?)), rest)
        }
        None => (None, rest),
    };
    let (word, text) = rest.split_once(':')?;
    let kind = match word.trim() {
        "error" | "fatal" => MessageKind::Error,
        "warning" | "Warning" => MessageKind::Warning,
        _ => return None,
    };
    Some(CompilerMessage {
        kind,
        compiler: "ptxas".into(),
        number: None,
        text: text.trim().into(),
        place,
        column: None,
    })
}

/// `nvcc fatal   : Unsupported gpu architecture 'sm_50'`
fn fatal(line: &str) -> Option<CompilerMessage> {
    let (compiler, rest) = line.split_once(' ')?;
    let rest = rest.trim_start();
    let (kind, rest) = match (rest.strip_prefix("fatal"), rest.strip_prefix("warning")) {
        (Some(rest), _) => (MessageKind::Error, rest),
        (None, Some(rest)) => (MessageKind::Warning, rest),
        (None, None) => return None,
    };
    let text = rest.trim_start().strip_prefix(':')?.trim();
    matches!(compiler, "nvcc" | "cicc" | "nvlink" | "fatbinary" | "cudafe++").then(|| CompilerMessage {
        kind,
        compiler: compiler.into(),
        number: None,
        text: text.into(),
        place: None,
        column: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_end_messages_have_columns() {
        let text = "err.cu(4): error: identifier \"u\" is undefined\n   int y = u + 2;\n           ^\n\n\
                    err.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n    int x = 1;\n        ^\n\n\
                    Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n\
                    3 errors detected in the compilation of \"err.cu\".\n";
        let messages = parse_messages(text, "nvcc");
        assert_eq!(messages.len(), 2);
        assert_eq!(messages[0].place, Some(("err.cu".into(), 4)));
        assert_eq!(messages[0].column, Some((10, " int y = u + 2;".into())));
        assert_eq!((messages[1].kind, messages[1].number.as_deref()), (MessageKind::Warning, Some("177-D")));
    }

    #[test]
    fn other_compilers() {
        let text = "e2.cu:1:10: fatal error: nope.h: No such file or directory\n    1 | #include \"nope.h\"\n\
                    ptxas /tmp/e3.ptx, line 26; error   : Not a name of any known instruction: 'bogus'\n\
                    ptxas fatal   : Unresolved extern function '_Z1fi'\n\
                    nvcc fatal   : Unsupported gpu architecture 'sm_50'\n\
                    ptxas info    : 0 bytes gmem\n";
        let messages = parse_messages(text, "nvcc");
        let texts: Vec<(&str, &str)> = messages.iter().map(|m| (m.compiler.as_str(), m.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                ("gcc", "nope.h: No such file or directory"),
                ("ptxas", "Not a name of any known instruction: 'bogus'"),
                ("ptxas", "Unresolved extern function '_Z1fi'"),
                ("nvcc", "Unsupported gpu architecture 'sm_50'"),
            ]
        );
        assert_eq!(messages[0].column, Some((10, String::new())));
        assert_eq!(messages[1].place, Some(("/tmp/e3.ptx".into(), 26)));
    }

    #[test]
    fn a_windows_path_or_a_template_does_not_confuse() {
        let messages = parse_messages("C:\\a (1)\\b.cu(7): error: no f(int): x", "nvcc");
        assert_eq!(messages[0].place, Some(("C:\\a (1)\\b.cu".into(), 7)));
        assert_eq!(messages[0].text, "no f(int): x");
    }
}
