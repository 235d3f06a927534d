//! Output of effective settings, for people and for programs.

use std::fmt::Write;

use lmem_base::inert::{in_json, name as inert, without_commands};

use super::{Everything, InForce, Origin};

/// A table for each package, and one for the run's options.
pub fn human(everything: &Everything) -> String {
    let mut text = format!("{}\n", everything.workspace.display());
    for part in &everything.parts {
        let name = part.package.as_ref().map_or_else(|| "files".to_string(), |name| format!("package {name}"));
        // Lints with their default level are left out.
        let is_shown = |setting: &&InForce| !setting.key.starts_with("lints.") || setting.origin != Origin::Default;
        let shown: Vec<&InForce> = part.settings.iter().filter(is_shown).collect();
        text.push_str(&table(&name, &shown));
        if shown.len() < part.settings.len() {
            let count = part.settings.len() - shown.len();
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "  {count} lints and remarks have their default level (`cargo lmem explain` lists them)"
            );
        }
    }
    // An unset switch is left out.
    let is_off = |option: &&InForce| option.origin == Origin::Default && matches!(option.value.as_str(), "false" | "0");
    let options: Vec<&InForce> = everything.options.iter().filter(|option| !is_off(option)).collect();
    text.push_str(&table("options", &options));
    without_commands(&text).into_owned()
}

fn table(name: &str, settings: &[&InForce]) -> String {
    let width = |of: fn(&InForce) -> &str| settings.iter().map(|it| of(it).chars().count()).max().unwrap_or(0).min(56);
    let (keys, values) = (width(|it| &it.key), width(|it| &it.value));
    let line = |setting: &&InForce| {
        format!(
            "  {:keys$}  {:values$}  {}\n",
            inert(&setting.key),
            inert(&setting.value),
            inert(&origin(&setting.origin))
        )
    };
    format!("\n{}\n{}", inert(name), settings.iter().map(line).collect::<String>())
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".to_string(),
        Origin::File { file, line } => format!("{file}:{line}"),
        Origin::Environment { variable } => format!("${variable}"),
        Origin::CommandLine { option } => format!("command line: {option}"),
    }
}

/// The same as one JSON document.
///
/// # Errors
/// Serializing strings and numbers does not fail.
pub fn json(everything: &Everything) -> serde_json::Result<String> {
    Ok(in_json(&serde_json::to_string_pretty(everything)?) + "\n")
}
