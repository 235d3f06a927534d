//! A SARIF 2.1.0 document, as GitHub code scanning and editors read it.

use std::collections::BTreeMap;
use std::io;

use serde_json::json;
use serde_sarif::sarif::{
    ArtifactLocation, Invocation, Location, Message, MultiformatMessageString, Notification, NotificationLevel,
    PhysicalLocation, PropertyBag, Region as SarifRegion, ReportingConfiguration, ReportingDescriptor,
    Result as SarifResult, ResultLevel, Run, SCHEMA_URL, Sarif, Tool, ToolComponent,
};

use lmem_base::diagnostic::{Code, Diagnostic, Label, Report, Severity};
use lmem_base::source::Span;

use super::Context;
use super::facts::{self, repository_path};
use super::position::{Columns, Region};

/// The name that SARIF files use for the repository root.
const ROOT: &str = "%SRCROOT%";

pub(super) fn render(report: &Report, cx: &Context, out: &mut dyn io::Write) -> io::Result<()> {
    let document = Sarif::builder().schema(SCHEMA_URL).version(json!("2.1.0")).runs(vec![run(report, cx)]).build();
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn run(report: &Report, cx: &Context) -> Run {
    let rules = rules(&report.diagnostics, cx);
    let (placed, unplaced): (Vec<_>, Vec<_>) = report.diagnostics.iter().partition(|found| found.primary.is_some());
    let results: Vec<SarifResult> = placed.into_iter().map(|diagnostic| result(diagnostic, &rules, cx)).collect();
    let notifications: Vec<Notification> = unplaced.into_iter().map(notification).collect();
    let invocation = Invocation::builder()
        .execution_successful(report.summary.failed_units == 0)
        .tool_execution_notifications(notifications)
        .build();
    let root = ArtifactLocation::builder().description(message("the root of the repository")).build();
    Run::builder()
        .tool(Tool::builder().driver(driver(rules)).build())
        .column_kind(json!("utf16CodeUnits"))
        .original_uri_base_ids(BTreeMap::from([(ROOT.to_string(), root)]))
        .invocations(vec![invocation])
        .results(results)
        .build()
}

fn driver(rules: Vec<ReportingDescriptor>) -> ToolComponent {
    ToolComponent::builder()
        .name("cargo-lmem")
        .version(env!("CARGO_PKG_VERSION"))
        .semantic_version(env!("CARGO_PKG_VERSION"))
        .rules(rules)
        .build()
}

/// The rules that spoke, by id.
fn rules(diagnostics: &[Diagnostic], cx: &Context) -> Vec<ReportingDescriptor> {
    let codes: BTreeMap<String, &Code> =
        diagnostics.iter().map(|diagnostic| (rule_id(&diagnostic.code), &diagnostic.code)).collect();
    codes.into_iter().map(|(id, code)| rule(id, code, cx)).collect()
}

fn rule_id(code: &Code) -> String {
    let id = code.id();
    if id.is_empty() { "compiler".to_string() } else { id }
}

fn rule(id: String, code: &Code, cx: &Context) -> ReportingDescriptor {
    let name = code.name();
    let docs = (cx.lint_docs)(name).map_or_else(|| format!("A message of `{name}`."), str::to_string);
    let brief = docs.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(name).to_string();
    let (level, severity) = match code {
        Code::Compiler(_) => ("error", "error"),
        Code::Lint(_) | Code::Tool(_) => ("warning", "warning"),
    };
    let properties = BTreeMap::from([("problem.severity".to_string(), json!(severity))]);
    ReportingDescriptor::builder()
        .id(id)
        .name(name)
        .short_description(text(&brief))
        .full_description(text(&brief))
        .help(MultiformatMessageString::builder().text(docs.clone()).markdown(docs).build())
        .default_configuration(ReportingConfiguration::builder().level(json!(level)).build())
        .properties(
            PropertyBag::builder()
                .tags(vec!["cuda".to_string(), "performance".to_string()])
                .additional_properties(properties)
                .build(),
        )
        .build()
}

fn text(text: &str) -> MultiformatMessageString {
    MultiformatMessageString::builder().text(text).build()
}

fn message(text: &str) -> Message {
    Message::builder().text(text).build()
}

fn result(diagnostic: &Diagnostic, rules: &[ReportingDescriptor], cx: &Context) -> SarifResult {
    let rule_id = rule_id(&diagnostic.code);
    let rule_index = rules.iter().position(|rule| rule.id == rule_id).map_or(-1, |index| index as i64);
    let level = match diagnostic.severity {
        Severity::Note => ResultLevel::Note,
        Severity::Warning => ResultLevel::Warning,
        Severity::Error => ResultLevel::Error,
    };
    let locations: Vec<Location> = diagnostic.primary.iter().map(|label| location(label, None, cx)).collect();
    let related = (1..).zip(&diagnostic.secondary);
    let related: Vec<Location> = related.map(|(number, label)| location(label, Some(number), cx)).collect();
    SarifResult::builder()
        .rule_id(rule_id)
        .rule_index(rule_index)
        .level(level)
        .message(message(&result_text(diagnostic)))
        .locations(locations)
        .related_locations(related)
        .partial_fingerprints(BTreeMap::from([("cargoLmem/v1".to_string(), diagnostic.fingerprint())]))
        .build()
}

/// GitHub shows a related location only where the message links to it.
fn result_text(diagnostic: &Diagnostic) -> String {
    facts::text_with(diagnostic, |number, label| format!("[{}]({number})", escape_link(&label.text)))
}

fn escape_link(text: &str) -> String {
    text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

fn notification(diagnostic: &Diagnostic) -> Notification {
    let level = match diagnostic.severity {
        Severity::Note => NotificationLevel::Note,
        Severity::Warning => NotificationLevel::Warning,
        Severity::Error => NotificationLevel::Error,
    };
    let text = facts::plain_text(diagnostic);
    Notification::builder().level(json!(level)).message(message(&text)).build()
}

fn location(label: &Label, related: Option<i64>, cx: &Context) -> Location {
    let physical =
        PhysicalLocation::builder().artifact_location(artifact(&label.span, cx)).region(region(&label.span)).build();
    let mut location = Location::builder().physical_location(physical).build();
    if let Some(number) = related {
        location.id = Some(number);
        location.message = Some(message(&label.text));
    }
    location
}

fn artifact(span: &Span, cx: &Context) -> ArtifactLocation {
    let path = repository_path(span, cx);
    if path.starts_with('/') {
        return ArtifactLocation::builder().uri(format!("file://{}", escape_uri(&path))).build();
    }
    ArtifactLocation::builder().uri(escape_uri(&path)).uri_base_id(ROOT).build()
}

fn region(span: &Span) -> SarifRegion {
    let region = Region::new(span, Columns::Utf16);
    SarifRegion::builder()
        .start_line(region.start_line as i64)
        .start_column(region.start_column as i64)
        .end_line(region.end_line as i64)
        .end_column(region.end_column as i64)
        .build()
}

/// Everything but unreserved characters and `/` as `%XX`.
fn escape_uri(path: &str) -> String {
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
        let parsed: Sarif = serde_json::from_str(&document).unwrap();
        assert_eq!(parsed.runs[0].results.as_ref().map(Vec::len), Some(4));
        assert_data_eq!(document.replace(env!("CARGO_PKG_VERSION"), "VERSION"), str![[r#"
{
  "$schema": "https://schemastore.azurewebsites.net/schemas/json/sarif-2.1.0.json",
  "runs": [
    {
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
            "cargoLmem/v1": "40f89be2aeafc836"
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
            "cargoLmem/v1": "714982f7d0621c14"
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
            "cargoLmem/v1": "3ca073804faac01e"
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
            "cargoLmem/v1": "52530740ce4bc6b8"
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
          "version": "VERSION"
        }
      }
    }
  ],
  "version": "2.1.0"
}

"#]].raw());
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
