//! Locations of settings: the lines of a manifest's keys, for explaining why a setting applies.

use std::path::Path;

use lmem_base::places;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{MAX_BYTES, PACKAGE_KEYS, Table};

/// One key of a settings table, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// `arch`, `lints.register_spill`, `file[0].path`
    pub key: String,
    /// As TOML on one line.
    pub value: String,
    /// From 1.
    pub line: usize,
}

/// Keys that a package may set.
pub fn known_keys() -> &'static [&'static str] {
    PACKAGE_KEYS
}

/// The settings of a manifest's table in the order of its keys; without `table`, those of a `lmem.toml`. An unreadable
/// file has no settings here: its error is reported where the settings are used.
pub fn settings(manifest: &Path, table: Option<Table>) -> Vec<Setting> {
    let bytes = places::read(manifest, MAX_BYTES).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap_or_default();
    of_text(&text, table).unwrap_or_default()
}

fn of_text(text: &str, table: Option<Table>) -> Option<Vec<Setting>> {
    let document = DeTable::parse(text).ok()?.into_inner();
    let mut found = Vec::new();
    match table {
        None => add(text, "", &document, &mut found),
        Some(table) => {
            let root = match table {
                Table::Workspace => "workspace",
                Table::Package => "package",
            };
            let settings =
                ["metadata", "lmem"].iter().try_fold(document.get(root)?.get_ref().as_table()?, |table, key| {
                    table.get(*key)?.get_ref().as_table()
                })?;
            add(text, "", settings, &mut found);
        }
    }
    found.sort_by_key(|setting| setting.line);
    Some(found)
}

fn add(text: &str, prefix: &str, table: &DeTable<'_>, found: &mut Vec<Setting>) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        // Tables are listed key by key, because each key can be overridden separately.
        match value.get_ref() {
            DeValue::Table(inner) if prefix.is_empty() => add(text, &format!("{name}."), inner, found),
            DeValue::Array(inner) if name == "file" => {
                let tables = inner.iter().filter_map(|value| value.get_ref().as_table()).enumerate();
                tables.for_each(|(index, table)| add(text, &format!("{name}[{index}]."), table, found));
            }
            _ => found.push(Setting { key: name, value: shown(text, value), line: line_of(text, key.span().start) }),
        }
    }
}

fn shown(text: &str, value: &Spanned<DeValue<'_>>) -> String {
    let written = text.get(value.span()).unwrap_or_default();
    written.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"a\"\n\n[package.metadata.lmem]\narch = [\n  \"sm_80\",\n  \"sm_90\",\n]\n\
                            lints = { register_spill = \"deny\" }\n\n[[package.metadata.lmem.file]]\npath = \"a.cu\"\n\
                            [workspace.metadata.lmem]\ntoolkit = \"13.5\"\n";

    fn settings(text: &str, table: Option<Table>) -> Vec<(String, String, usize)> {
        of_text(text, table).unwrap().into_iter().map(|setting| (setting.key, setting.value, setting.line)).collect()
    }

    fn expected(key: &str, value: &str, line: usize) -> (String, String, usize) {
        (key.to_string(), value.to_string(), line)
    }

    #[test]
    fn keys_have_their_lines() {
        assert_eq!(
            settings(MANIFEST, Some(Table::Package)),
            [
                expected("arch", "[ \"sm_80\", \"sm_90\", ]", 5),
                expected("lints.register_spill", "\"deny\"", 9),
                expected("file[0].path", "\"a.cu\"", 12),
            ]
        );
        assert_eq!(settings(MANIFEST, Some(Table::Workspace)), [expected("toolkit", "\"13.5\"", 14)]);
        assert_eq!(settings("toolkit = \"13.5\"\n", None), [expected("toolkit", "\"13.5\"", 1)]);
        assert_eq!(of_text("[package]\nname = \"a\"\n", Some(Table::Package)), None);
    }
}
