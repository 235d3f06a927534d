//! Destinations and formats of the findings.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum;

use super::MessageFormat;

/// One `--output` argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// `--output github`
    Stdout(MessageFormat),
    /// `--output sarif=FILE`; without a format, the file gets what its suffix says, or what stdout would get.
    File { format: Option<MessageFormat>, path: PathBuf },
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let format = |name: &str| MessageFormat::from_str(name, false).ok();
        if let Some(format) = format(text) {
            return Ok(Self::Stdout(format));
        }
        match text.split_once('=').filter(|(_, path)| !path.is_empty()) {
            Some((name, path)) if is_word(name) => match format(name) {
                Some(format) => Ok(Self::File { format: Some(format), path: path.into() }),
                None => Err(unknown(name, text)),
            },
            _ => Ok(Self::File { format: None, path: text.into() }),
        }
    }
}

/// Whether a name may be meant as a format, and not as a part of a path.
fn is_word(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphabetic())
}

fn unknown(name: &str, text: &str) -> String {
    let formats = MessageFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let names: Vec<String> = formats.map(|format| format.get_name().to_string()).collect();
    let near = lmem_base::words::nearest(name, names.iter().map(String::as_str));
    let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("there is no format `{name}`{meant} (`./{text}` is a file)")
}

/// The format that a file's suffix names.
fn by_suffix(path: &Path) -> Option<MessageFormat> {
    match path.extension()?.to_str()? {
        "sarif" => Some(MessageFormat::Sarif),
        "rdjson" => Some(MessageFormat::Rdjson),
        "json" | "jsonl" => Some(MessageFormat::Json),
        "md" => Some(MessageFormat::Markdown),
        _ => None,
    }
}

/// A report to write: its format, and its file, or stdout.
pub type OutputTarget<'a> = (MessageFormat, Option<&'a Path>);

/// All reports of a run. Stdout gets one too, unless a file without a format replaces it.
pub fn targets(outputs: &[Output], message_format: MessageFormat) -> Vec<OutputTarget<'_>> {
    let mut targets: Vec<OutputTarget<'_>> = outputs
        .iter()
        .map(|output| match output {
            Output::Stdout(format) => (*format, None),
            Output::File { format, path } => {
                let usual = || match message_format {
                    MessageFormat::Human => by_suffix(path).unwrap_or(message_format),
                    typed => typed,
                };
                (format.unwrap_or_else(usual), Some(path.as_path()))
            }
        })
        .collect();
    let is_stdout = |output: &Output| matches!(output, Output::Stdout(_) | Output::File { format: None, .. });
    if !outputs.iter().any(is_stdout) {
        targets.push((message_format, None));
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(outputs: &[&str]) -> Vec<(MessageFormat, Option<String>)> {
        let outputs: Vec<Output> = outputs.iter().map(|text| text.parse().unwrap()).collect();
        let targets = targets(&outputs, MessageFormat::Human).into_iter();
        targets.map(|(format, path)| (format, path.map(|path| path.display().to_string()))).collect()
    }

    #[test]
    fn stdout_gets_one_report_at_most() {
        let file = |name: &str| Some(name.to_string());
        assert_eq!(all(&[]), [(MessageFormat::Human, None)]);
        assert_eq!(all(&["report.txt"]), [(MessageFormat::Human, file("report.txt"))]);
        assert_eq!(all(&["sarif=a.sarif"]), [(MessageFormat::Sarif, file("a.sarif")), (MessageFormat::Human, None)]);
        let both = all(&["sarif=a.sarif", "github"]);
        assert_eq!(both, [(MessageFormat::Sarif, file("a.sarif")), (MessageFormat::Github, None)]);
        assert_eq!(all(&["./a=b"]), [(MessageFormat::Human, file("./a=b"))]);
        assert_eq!(all(&["a.sarif"]), [(MessageFormat::Sarif, file("a.sarif"))]);
        let error = "sarfi=a.sarif".parse::<Output>().unwrap_err();
        assert!(error.contains("did you mean `sarif`?") && error.contains("`./sarfi=a.sarif`"), "{error}");
        assert_eq!(all(&["./json"]), [(MessageFormat::Human, file("./json"))]);
    }
}
