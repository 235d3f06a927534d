//! Levels of lints and remarks, and the resulting severity.

use std::collections::BTreeMap;

use lmem_base::diagnostic::Severity;
use lmem_base::level::Level;

use super::lint::Lint;
use super::remark::Remark;

/// Lint levels from the command line, the configuration, and defaults.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    levels: BTreeMap<String, Level>,
    /// The level of `warnings`, which replaces `warn` in all lints.
    warnings: Option<Level>,
}

impl Levels {
    /// Sets a level; `warnings` means all lints at `warn`. A forbidden lint stays forbidden.
    pub fn set(&mut self, lint: &str, level: Level) {
        if lint == "warnings" {
            self.warnings = Some(level);
        } else if self.levels.get(lint) != Some(&Level::Forbid) {
            self.levels.insert(lint.to_string(), level);
        }
    }

    pub fn level(&self, lint: &Lint) -> Level {
        match (self.own_level(lint), self.warnings) {
            (Level::Warn, Some(warnings)) => warnings,
            // What warns by itself was lowered after all.
            (Level::Allow, Some(Level::Forbid)) if lint.level == Level::Warn => Level::Forbid,
            (level, _) => level,
        }
    }

    /// Severity of a remark; `None` if it is allowed. A note becomes louder only if the remark is named.
    pub fn remark_severity(&self, remark: &Remark) -> Option<Severity> {
        let own = match (self.levels.get(remark.name), remark.severity) {
            (_, Severity::Error) => return Some(Severity::Error),
            (None, Severity::Note) => return Some(Severity::Note),
            (None, Severity::Warning) => Level::Warn,
            (Some(level), _) => *level,
        };
        match (own, self.warnings) {
            (Level::Allow, Some(Level::Forbid)) if remark.severity == Severity::Warning => Some(Severity::Error),
            (Level::Warn, Some(Level::Allow)) | (Level::Allow, _) => None,
            (Level::Warn, None | Some(Level::Warn)) => Some(Severity::Warning),
            (Level::Deny | Level::Forbid, _) | (Level::Warn, Some(Level::Deny | Level::Forbid)) => {
                Some(Severity::Error)
            }
        }
    }

    /// The level without `warnings`.
    fn own_level(&self, lint: &Lint) -> Level {
        self.levels.get(lint.name).copied().unwrap_or(lint.level)
    }

    /// Severity of a finding; `None` if its lint is allowed. A minor finding at `warn` is a note, even if warnings are
    /// errors.
    pub fn severity(&self, lint: &Lint, is_minor: bool) -> Option<Severity> {
        match (self.level(lint), self.own_level(lint)) {
            (Level::Allow, _) => None,
            (_, Level::Warn) if is_minor => Some(Severity::Note),
            (Level::Warn, _) => Some(Severity::Warning),
            (Level::Deny | Level::Forbid, _) => Some(Severity::Error),
        }
    }
}
