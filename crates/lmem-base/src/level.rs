//! Lint levels.

use serde::Deserialize;

/// The level of a lint, as in rustc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Allow,
    Warn,
    Deny,
    /// Like `Deny`, and a more specific level cannot override it.
    Forbid,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Deny => "deny",
            Self::Forbid => "forbid",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Allow, Self::Warn, Self::Deny, Self::Forbid].into_iter().find(|level| level.name() == text)
    }
}
