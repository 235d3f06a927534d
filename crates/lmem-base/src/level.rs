//! Levels of lints.

use serde::Deserialize;

/// How a lint is reported; as in rustc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Allow,
    Warn,
    Deny,
    /// As `Deny`, and nothing more specific may allow it.
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
