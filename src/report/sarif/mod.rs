//! A SARIF 2.1.0 document for GitHub code scanning and editors.

mod document;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use document::{
    ArtifactChange, ArtifactLocation, AutomationDetails, Configuration, Driver, Fix, Invocation, Level, Notification,
    PhysicalLocation, Properties, Replacement, ResultProperties, Rule, Sarif, SarifLocation, SarifMessage, SarifResult,
    SarifRun, Tool,
};
use lmem_base::diagnostic::{Applicability, Code, Diagnostic, Label, Report, Severity, Suggestion};
use lmem_base::source::Span;

use super::Context;
use super::facts::{self, repository_path};
use super::json::LmemFields;
use super::position::{Columns, Region};
use crate::version::VERSION;

/// The conventional name of the repository root in SARIF files.
const ROOT: &str = "%SRCROOT%";

/// The category of our runs in code scanning; the name of a single run would follow the `/`.
const CATEGORY: &str = "cargo-lmem/";

pub(super) fn render(report: &Report, cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Sarif::new(run(report, cx)))?;
    writeln!(out)
}

fn run<'a>(report: &'a Report, cx: &Context) -> SarifRun<'a> {
    let rules = rules(&report.diagnostics, cx);
    let named = report.diagnostics.iter().zip(facts::fingerprints(&report.diagnostics));
    let (placed, unplaced): (Vec<_>, Vec<_>) = named.partition(|(found, _)| found.primary.is_some());
    let root = ArtifactLocation { description: Some(message("the root of the repository")), ..Default::default() };
    SarifRun {
        automation_details: AutomationDetails { id: CATEGORY },
        column_kind: "utf16CodeUnits",
        invocations: [Invocation {
            execution_successful: report.summary.failed_units == 0,
            tool_execution_notifications: unplaced
                .into_iter()
                .map(|(diagnostic, _)| notification(diagnostic))
                .collect(),
        }],
        original_uri_base_ids: BTreeMap::from([(ROOT, root)]),
        results: placed.into_iter().map(|(diagnostic, name)| result(diagnostic, name, &rules, cx)).collect(),
        tool: Tool { driver: Driver::new(rules) },
    }
}

/// The rules with findings, by id.
fn rules(diagnostics: &[Diagnostic], cx: &Context) -> Vec<Rule> {
    let codes: BTreeMap<String, &Code> =
        diagnostics.iter().map(|diagnostic| (rule_id(&diagnostic.code), &diagnostic.code)).collect();
    codes.into_iter().map(|(id, code)| rule(id, code, cx)).collect()
}

fn rule_id(code: &Code) -> String {
    let id = code.id();
    if id.is_empty() { "compiler".to_string() } else { id }
}

fn rule(id: String, code: &Code, cx: &Context) -> Rule {
    let name = code.name();
    let docs = (cx.lint_docs)(name).map_or_else(|| format!("A message of `{name}`."), str::to_string);
    let brief = docs.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(name);
    let level = match code {
        Code::Compiler(_) => Level::Error,
        Code::Lint(_) | Code::Tool(_) => Level::Warning,
    };
    Rule {
        default_configuration: Configuration { level },
        full_description: message(brief),
        short_description: message(brief),
        help: SarifMessage { markdown: Some(docs.clone()), text: docs },
        help_uri: matches!(code, Code::Lint(name) if lmem_lints::find(name).is_some()).then(|| help_uri(name)),
        id,
        name: name.to_string(),
        properties: Properties { tags: ["cuda", "performance"], severity: level },
    }
}

/// The documentation of a lint is the head of its source, and docs.rs keeps the sources of each version.
pub(super) fn help_uri(lint: &str) -> String {
    format!("https://docs.rs/lmem-lints/{VERSION}/src/lmem_lints/{lint}.rs.html")
}

fn message(text: &str) -> SarifMessage {
    SarifMessage { markdown: None, text: text.to_string() }
}

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Note => Level::Note,
        Severity::Warning => Level::Warning,
        Severity::Error => Level::Error,
    }
}

fn result<'a>(diagnostic: &'a Diagnostic, fingerprint: String, rules: &[Rule], cx: &Context) -> SarifResult<'a> {
    let rule_id = rule_id(&diagnostic.code);
    let rule_index = rules.iter().position(|rule| rule.id == rule_id).map_or(-1, |index| index as i64);
    let related = (1..).zip(&diagnostic.secondary);
    // A tool that applies a fix asks nobody for the number that is to be filled in.
    let is_whole = |suggestion: &&Suggestion| suggestion.applicability != Applicability::HasPlaceholders;
    let proven = diagnostic.suggestions.iter().filter(|suggestion| suggestion.is_proven()).filter(is_whole);
    SarifResult {
        fixes: proven.map(|suggestion| fix(diagnostic, suggestion, cx)).collect(),
        level: level(diagnostic.severity),
        locations: diagnostic.primary.iter().map(|label| location(label, None, cx)).collect(),
        message: message(&result_text(diagnostic)),
        // GitHub only reads the second fingerprint, and computes one from the line if it is missing.
        partial_fingerprints: BTreeMap::from([
            ("cargoLmem/v2", fingerprint.clone()),
            ("primaryLocationLineHash", fingerprint.clone()),
        ]),
        properties: LmemFields::new(diagnostic, fingerprint).map(|lmem| ResultProperties { lmem }),
        related_locations: related.map(|(number, label)| location(label, Some(number), cx)).collect(),
        rule_id,
        rule_index,
    }
}

/// An edit that was compiled, with its proof in the description.
fn fix(diagnostic: &Diagnostic, suggestion: &Suggestion, cx: &Context) -> Fix {
    let mut changes: Vec<ArtifactChange> = Vec::new();
    let mut last: Option<&Path> = None;
    for edit in &suggestion.edits {
        if last != Some(edit.span.file.path.as_path()) {
            changes.push(ArtifactChange { artifact_location: artifact(&edit.span, cx), replacements: Vec::new() });
            last = Some(&edit.span.file.path);
        }
        let inserted_content = message(&edit.replacement);
        let replacement = Replacement { deleted_region: region(&edit.span), inserted_content };
        if let Some(change) = changes.last_mut() {
            change.replacements.push(replacement);
        }
    }
    let (title, proof) = facts::titled(diagnostic, suggestion);
    let proof = proof.filter(|proof| proof.contains('\n')).map(|proof| format!("\n{proof}")).unwrap_or_default();
    Fix { artifact_changes: changes, description: message(&format!("{title}{proof}")) }
}

/// The message. GitHub only shows a related location if the message links to it.
fn result_text(diagnostic: &Diagnostic) -> String {
    facts::text_with(diagnostic, |number, label| format!("[{}]({number})", escape_link(&label.text)))
}

fn escape_link(text: &str) -> String {
    text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

fn notification(diagnostic: &Diagnostic) -> Notification {
    Notification { level: level(diagnostic.severity), message: message(&facts::plain_text(diagnostic)) }
}

fn location(label: &Label, related: Option<i64>, cx: &Context) -> SarifLocation {
    SarifLocation {
        id: related,
        message: related.map(|_| message(&label.text)),
        physical_location: PhysicalLocation {
            artifact_location: artifact(&label.span, cx),
            region: region(&label.span),
        },
    }
}

fn artifact(span: &Span, cx: &Context) -> ArtifactLocation {
    let path = repository_path(span, cx);
    match path.starts_with('/') {
        true => ArtifactLocation { uri: Some(format!("file://{}", escape_uri(&path))), ..Default::default() },
        false => ArtifactLocation { uri: Some(escape_uri(&path)), uri_base_id: Some(ROOT), ..Default::default() },
    }
}

fn region(span: &Span) -> document::SarifRegion {
    let Region { start_line, start_column, end_line, end_column } = Region::new(span, Columns::Utf16);
    document::SarifRegion { end_column, end_line, start_column, start_line }
}

/// Escapes everything but unreserved characters and `/` as `%XX`.
pub(super) fn escape_uri(path: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::MessageFormat;
    use crate::report::samples;
    use snapbox::{IntoData, assert_data_eq, str};

    #[test]
    fn a_document() {
        let document = samples::rendered(&samples::report(), MessageFormat::Sarif);
        assert_data_eq!(document.replace(crate::version::short(), "VERSION").replace(VERSION, "VERSION"), str![[r#"
{
  "$schema": "https://schemastore.azurewebsites.net/schemas/json/sarif-2.1.0.json",
  "runs": [
    {
      "automationDetails": {
        "id": "cargo-lmem/"
      },
      "columnKind": "utf16CodeUnits",
      "invocations": [
        {
          "executionSuccessful": true,
          "toolExecutionNotifications": [
            {
              "level": "note",
              "message": {
                "text": "`third_party/cutlass` is a git submodule and was skipped"
              }
            }
          ]
        }
      ],
      "originalUriBaseIds": {
        "%SRCROOT%": {
          "description": {
            "text": "the root of the repository"
          }
        }
      },
      "results": [
        {
          "level": "error",
          "locations": [
            {
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "extra/broken.cu",
                  "uriBaseId": "%SRCROOT%"
                },
                "region": {
                  "endColumn": 32,
                  "endLine": 1,
                  "startColumn": 23,
                  "startLine": 1
                }
              }
            }
          ],
          "message": {
            "text": "identifier \"undefined\" is undefined"
          },
          "partialFingerprints": {
            "cargoLmem/v2": "4666832344446db0",
            "primaryLocationLineHash": "4666832344446db0"
          },
          "relatedLocations": [],
          "ruleId": "nvcc",
          "ruleIndex": 3
        },
        {
          "level": "error",
          "locations": [
            {
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "include/scan.cuh",
                  "uriBaseId": "%SRCROOT%"
                },
                "region": {
                  "endColumn": 24,
                  "endLine": 2,
                  "startColumn": 19,
                  "startLine": 2
                }
              }
            }
          ],
          "message": {
            "text": "`count` (`int[4]`, 16 B) is in local memory: dynamically indexed\n16 B per thread\n[indexed here](1)\nnote: sm_90: stack frame 16 B, registers 31\nnote: inlined at kernels/scan.cu:3"
          },
          "partialFingerprints": {
            "cargoLmem/v2": "5f4eb648d6498c16",
            "primaryLocationLineHash": "5f4eb648d6498c16"
          },
          "properties": {
            "lmem": {
              "lint": "dynamic_index",
              "variable": "count",
              "variable_type": null,
              "bytes": 16,
              "loads": 1,
              "stores": 1,
              "loop_depth": 0,
              "uniformity": null,
              "kernels": [
                {
                  "name": "scan",
                  "mangled": "_Z4scan",
                  "arch": "sm_90",
                  "toolkit": "13.5",
                  "bytes": 16,
                  "loads": 0,
                  "stores": 0,
                  "usage": {
                    "stack_frame": 16,
                    "spill_stores": 0,
                    "spill_loads": 0,
                    "registers": 31,
                    "shared": 0
                  },
                  "flags": "config"
                }
              ],
              "flags": "config",
              "fingerprint": "5f4eb648d6498c16",
              "suggestions": []
            }
          },
          "relatedLocations": [
            {
              "id": 1,
              "message": {
                "text": "indexed here"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "kernels/scan.cu",
                  "uriBaseId": "%SRCROOT%"
                },
                "region": {
                  "endColumn": 19,
                  "endLine": 3,
                  "startColumn": 9,
                  "startLine": 3
                }
              }
            }
          ],
          "ruleId": "lmem::dynamic_index",
          "ruleIndex": 0
        },
        {
          "level": "warning",
          "locations": [
            {
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "kernels/running_mean.cu",
                  "uriBaseId": "%SRCROOT%"
                },
                "region": {
                  "endColumn": 17,
                  "endLine": 3,
                  "startColumn": 11,
                  "startLine": 3
                }
              }
            }
          ],
          "message": {
            "text": "`window` (`float[32]`, 128 B) is in local memory: dynamically indexed\n128 B per thread; 32 local loads, 1 store\n[divergent, loaded from memory (loop at line 4)](1)\nnote: sm_90: stack frame 128 B, registers 31\nhelp: index with the loop counter and unroll"
          },
          "partialFingerprints": {
            "cargoLmem/v2": "88040dc246a6d807",
            "primaryLocationLineHash": "88040dc246a6d807"
          },
          "properties": {
            "lmem": {
              "lint": "dynamic_index",
              "variable": "window",
              "variable_type": "float[32]",
              "bytes": 128,
              "loads": 32,
              "stores": 1,
              "loop_depth": 2,
              "uniformity": "per-thread",
              "kernels": [
                {
                  "name": "running_mean<32>",
                  "mangled": "_Z16running_mean<32>",
                  "arch": "sm_90",
                  "toolkit": "13.5",
                  "bytes": 128,
                  "loads": 32,
                  "stores": 1,
                  "usage": {
                    "stack_frame": 128,
                    "spill_stores": 0,
                    "spill_loads": 0,
                    "registers": 31,
                    "shared": 0
                  },
                  "flags": "config"
                }
              ],
              "flags": "config",
              "fingerprint": "88040dc246a6d807",
              "suggestions": []
            }
          },
          "relatedLocations": [
            {
              "id": 1,
              "message": {
                "text": "divergent, loaded from memory (loop at line 4)"
              },
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "kernels/running_mean.cu",
                  "uriBaseId": "%SRCROOT%"
                },
                "region": {
                  "endColumn": 17,
                  "endLine": 7,
                  "startColumn": 16,
                  "startLine": 7
                }
              }
            }
          ],
          "ruleId": "lmem::dynamic_index",
          "ruleIndex": 0
        },
        {
          "level": "warning",
          "locations": [
            {
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "src/kernels.rs",
                  "uriBaseId": "%SRCROOT%"
                },
                "region": {
                  "endColumn": 58,
                  "endLine": 2,
                  "startColumn": 49,
                  "startLine": 2
                }
              }
            }
          ],
          "message": {
            "text": "kernel `gemm_tile` spills: launch bounds allow 32 registers, 71 needed\n380 B of stack per thread for spills\nnote: sm_90: stack frame 384 B, spill stores 380 B, spill loads 420 B, registers 32\nnote: spills in the loop at line 9"
          },
          "partialFingerprints": {
            "cargoLmem/v2": "4f76298b54290e8c",
            "primaryLocationLineHash": "4f76298b54290e8c"
          },
          "properties": {
            "lmem": {
              "lint": "register_spill",
              "variable": null,
              "variable_type": null,
              "bytes": 380,
              "loads": 105,
              "stores": 95,
              "loop_depth": 0,
              "uniformity": null,
              "kernels": [
                {
                  "name": "gemm_tile",
                  "mangled": "_Z9gemm_tile",
                  "arch": "sm_90",
                  "toolkit": "13.5",
                  "bytes": 380,
                  "loads": 0,
                  "stores": 0,
                  "usage": {
                    "stack_frame": 384,
                    "spill_stores": 380,
                    "spill_loads": 420,
                    "registers": 32,
                    "shared": 0
                  },
                  "flags": "assumed"
                }
              ],
              "flags": "assumed",
              "fingerprint": "4f76298b54290e8c",
              "suggestions": []
            }
          },
          "relatedLocations": [],
          "ruleId": "lmem::register_spill",
          "ruleIndex": 1
        }
      ],
      "tool": {
        "driver": {
          "name": "cargo-lmem",
          "rules": [
            {
              "defaultConfiguration": {
                "level": "warning"
              },
              "fullDescription": {
                "text": "A local array is indexed by a value the compiler does not know."
              },
              "help": {
                "markdown": "A local array is indexed by a value the compiler does not know.\n\n## Why it costs\nRegisters have no addresses.\n",
                "text": "A local array is indexed by a value the compiler does not know.\n\n## Why it costs\nRegisters have no addresses.\n"
              },
              "helpUri": "https://docs.rs/lmem-lints/VERSION/src/lmem_lints/dynamic_index.rs.html",
              "id": "lmem::dynamic_index",
              "name": "dynamic_index",
              "properties": {
                "tags": [
                  "cuda",
                  "performance"
                ],
                "problem.severity": "warning"
              },
              "shortDescription": {
                "text": "A local array is indexed by a value the compiler does not know."
              }
            },
            {
              "defaultConfiguration": {
                "level": "warning"
              },
              "fullDescription": {
                "text": "A message of `register_spill`."
              },
              "help": {
                "markdown": "A message of `register_spill`.",
                "text": "A message of `register_spill`."
              },
              "helpUri": "https://docs.rs/lmem-lints/VERSION/src/lmem_lints/register_spill.rs.html",
              "id": "lmem::register_spill",
              "name": "register_spill",
              "properties": {
                "tags": [
                  "cuda",
                  "performance"
                ],
                "problem.severity": "warning"
              },
              "shortDescription": {
                "text": "A message of `register_spill`."
              }
            },
            {
              "defaultConfiguration": {
                "level": "warning"
              },
              "fullDescription": {
                "text": "A message of `submodule`."
              },
              "help": {
                "markdown": "A message of `submodule`.",
                "text": "A message of `submodule`."
              },
              "id": "lmem::submodule",
              "name": "submodule",
              "properties": {
                "tags": [
                  "cuda",
                  "performance"
                ],
                "problem.severity": "warning"
              },
              "shortDescription": {
                "text": "A message of `submodule`."
              }
            },
            {
              "defaultConfiguration": {
                "level": "error"
              },
              "fullDescription": {
                "text": "A message of `nvcc`."
              },
              "help": {
                "markdown": "A message of `nvcc`.",
                "text": "A message of `nvcc`."
              },
              "id": "nvcc",
              "name": "nvcc",
              "properties": {
                "tags": [
                  "cuda",
                  "performance"
                ],
                "problem.severity": "error"
              },
              "shortDescription": {
                "text": "A message of `nvcc`."
              }
            }
          ],
          "semanticVersion": "VERSION",
          "version": "VERSION",
          "properties": {
            "ruleSet": 1
          }
        }
      }
    }
  ],
  "version": "2.1.0"
}

"#]].raw());
    }

    #[test]
    fn edits_that_were_compiled_are_fixes() {
        let mut open = samples::proven();
        open.suggestions[0].verification = None;
        let mut unfilled = samples::proven();
        unfilled.suggestions[0].applicability = Applicability::HasPlaceholders;
        let report = Report { diagnostics: vec![samples::proven(), open, unfilled], ..Report::default() };
        let document = samples::rendered(&report, MessageFormat::Sarif);
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let results = &document["runs"][0]["results"];
        let fix = &results[0]["fixes"][0];
        let text = fix["description"]["text"].as_str().unwrap();
        assert!(text.contains("verified by recompiling: sm_90: stack frame 128 → 0 B"), "{text}");
        let replacement = &fix["artifactChanges"][0]["replacements"][0];
        assert_eq!(replacement["insertedContent"]["text"], "k = i");
        assert_eq!(replacement["deletedRegion"]["startLine"], 5);
        assert_eq!(results[0]["properties"]["lmem"]["suggestions"][0]["verification"]["status"], "proven");
        assert!(results[1].get("fixes").is_none() && results[2].get("fixes").is_none());
        // Each result has its own fingerprint.
        let name = |index: usize| results[index]["partialFingerprints"]["primaryLocationLineHash"].as_str().unwrap();
        assert_eq!(format!("{}-2", name(0)), name(1));
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(escape_uri("kernels/größe #1.cu"), "kernels/gr%C3%B6%C3%9Fe%20%231.cu");
    }

    #[test]
    fn brackets_do_not_end_a_link() {
        assert_eq!(escape_link("`a[k]` \\ b"), "`a\\[k\\]` \\\\ b");
    }
}
