//! The parts of a SARIF 2.1.0 document that are written here, with the names and the nesting of its schema
//! (<https://docs.oasis-open.org/sarif/sarif/v2.1.0/>, section 3).
//!
//! A crate for all of SARIF generates its types from the schema at build time; compiling it took as long as a fifth of
//! this program.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::json::LmemFields;
use crate::version::{self, VERSION};

#[derive(Serialize)]
pub(super) struct Sarif<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    runs: [SarifRun<'a>; 1],
    version: &'static str,
}

impl<'a> Sarif<'a> {
    pub(super) fn new(run: SarifRun<'a>) -> Self {
        Self {
            schema: "https://schemastore.azurewebsites.net/schemas/json/sarif-2.1.0.json",
            runs: [run],
            version: "2.1.0",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifRun<'a> {
    pub(super) automation_details: AutomationDetails,
    pub(super) column_kind: &'static str,
    pub(super) invocations: [Invocation; 1],
    pub(super) original_uri_base_ids: BTreeMap<&'static str, ArtifactLocation>,
    pub(super) results: Vec<SarifResult<'a>>,
    pub(super) tool: Tool,
}

/// `runAutomationDetails`: distinguishes our results from those of other tools.
#[derive(Serialize)]
pub(super) struct AutomationDetails {
    pub(super) id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation {
    pub(super) execution_successful: bool,
    pub(super) tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
pub(super) struct Notification {
    pub(super) level: Level,
    pub(super) message: SarifMessage,
}

#[derive(Serialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Note,
    Warning,
    Error,
}

/// `message` and `multiformatMessageString`, which have these members in common.
#[derive(Serialize)]
pub(super) struct SarifMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) markdown: Option<String>,
    pub(super) text: String,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactLocation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<SarifMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifResult<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) fixes: Vec<Fix>,
    pub(super) level: Level,
    pub(super) locations: Vec<SarifLocation>,
    pub(super) message: SarifMessage,
    pub(super) partial_fingerprints: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) properties: Option<ResultProperties<'a>>,
    pub(super) related_locations: Vec<SarifLocation>,
    pub(super) rule_id: String,
    pub(super) rule_index: i64,
}

/// A property bag: the figures and the proofs of edits, as in the JSON format.
#[derive(Serialize)]
pub(super) struct ResultProperties<'a> {
    pub(super) lmem: LmemFields<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fix {
    pub(super) artifact_changes: Vec<ArtifactChange>,
    pub(super) description: SarifMessage,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactChange {
    pub(super) artifact_location: ArtifactLocation,
    pub(super) replacements: Vec<Replacement>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Replacement {
    pub(super) deleted_region: SarifRegion,
    pub(super) inserted_content: SarifMessage,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifLocation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<SarifMessage>,
    pub(super) physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: ArtifactLocation,
    pub(super) region: SarifRegion,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifRegion {
    pub(super) end_column: usize,
    pub(super) end_line: usize,
    pub(super) start_column: usize,
    pub(super) start_line: usize,
}

#[derive(Serialize)]
pub(super) struct Tool {
    pub(super) driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Driver {
    name: &'static str,
    rules: Vec<Rule>,
    semantic_version: &'static str,
    version: &'static str,
    properties: DriverProperties,
}

/// The version of the rules: a baseline for other rules may not fit.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DriverProperties {
    rule_set: u32,
}

impl Driver {
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        let properties = DriverProperties { rule_set: lmem_lints::RULE_SET };
        Self { name: "cargo-lmem", rules, semantic_version: VERSION, version: version::short(), properties }
    }
}

/// `reportingDescriptor`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    pub(super) default_configuration: Configuration,
    pub(super) full_description: SarifMessage,
    pub(super) help: SarifMessage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) help_uri: Option<String>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) properties: Properties,
    pub(super) short_description: SarifMessage,
}

#[derive(Serialize)]
pub(super) struct Configuration {
    pub(super) level: Level,
}

#[derive(Serialize)]
pub(super) struct Properties {
    pub(super) tags: [&'static str; 2],
    /// The severity that GitHub shows.
    #[serde(rename = "problem.severity")]
    pub(super) severity: Level,
}
