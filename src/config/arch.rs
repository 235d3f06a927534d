//! Names of GPU architectures.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// An architecture such as `sm_90` or `sm_90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    number: u16,
    /// `a` (features of this chip alone) or `f` (of its family).
    suffix: Option<char>,
}

/// A text that names no architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an architecture such as `sm_90`, `90` or `sm_90a`")]
pub struct ArchError(pub String);

impl FromStr for Arch {
    type Err = ArchError;

    /// Reads `sm_90`, `compute_90` and `90`, each with `a` or `f` behind it or not.
    ///
    /// # Errors
    /// When the text is anything else.
    fn from_str(text: &str) -> Result<Self, ArchError> {
        let error = || ArchError(text.to_string());
        let name = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).unwrap_or(text);
        let digits = name.trim_end_matches(['a', 'f']);
        let suffix = match &name[digits.len()..] {
            "" => None,
            suffix if suffix.len() == 1 => suffix.chars().next(),
            _ => return Err(error()),
        };
        let plausible = matches!(digits.len(), 2 | 3) && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|number| plausible && *number >= 10).ok_or_else(error)?;
        Ok(Self { number, suffix })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

/// The value of the key `arch`: one name or a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArchList(pub Vec<Arch>);

impl<'de> Deserialize<'de> for ArchList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArchListVisitor)
    }
}

struct ArchListVisitor;

impl<'de> Visitor<'de> for ArchListVisitor {
    type Value = ArchList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an architecture such as \"sm_90\", or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ArchList, E> {
        Ok(ArchList(vec![text.parse().map_err(E::custom)?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<ArchList, A::Error> {
        let mut list = Vec::new();
        while let Some(name) = names.next_element::<String>()? {
            list.push(name.parse().map_err(de::Error::custom)?);
        }
        if list.is_empty() {
            return Err(de::Error::invalid_length(0, &self));
        }
        Ok(ArchList(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_the_same_architecture() {
        for text in ["sm_90a", "90a", "compute_90a"] {
            assert_eq!(text.parse::<Arch>().unwrap().to_string(), "sm_90a");
        }
        assert_eq!("120f".parse::<Arch>().unwrap().to_string(), "sm_120f");
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "sm_",
            "sm_9",
            "sm90",
            "sm_90aa",
            "sm_90,sm_80",
            "native",
            "sm_+9",
            "sm_00",
            "sm_9999",
            "sm_९०",
            "-o",
            "sm_é",
        ] {
            assert!(text.parse::<Arch>().is_err(), "{text}");
        }
    }
}
