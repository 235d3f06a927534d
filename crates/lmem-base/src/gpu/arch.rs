//! Names of GPU architectures.

use std::fmt;
use std::str::FromStr;

use super::Gpu;
use super::table::ROWS;

/// An architecture such as `sm_90` or `sm_90a`. Ordered numerically: `sm_90` comes before `sm_100`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    number: u32,
    /// `a` (architecture-specific features) or `f` (family-specific features).
    suffix: Option<char>,
}

/// A text that is not an architecture name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an architecture such as `sm_90`, `90` or `sm_90a`{near}", text = .0, near = near(.0))]
pub struct ArchError(pub String);

impl ArchError {
    /// The architecture that was probably meant by `sm90`, `SM-90` or `9.0`.
    pub fn meant(&self) -> Option<Arch> {
        meant(&self.0)
    }
}

fn meant(typed: &str) -> Option<Arch> {
    let text: String = typed.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    let (prefix, number) = text.split_at(text.find(|letter: char| letter.is_ascii_digit())?);
    matches!(prefix, "" | "sm" | "compute" | "cc" | "arch").then(|| number.parse().ok())?
}

fn near(typed: &str) -> String {
    meant(typed).map(|arch| format!(": did you mean `{arch}`?")).unwrap_or_default()
}

impl Arch {
    pub const fn new(number: u32) -> Self {
        Self { number, suffix: None }
    }

    /// Parses an architecture name from a compiler or a file. An unknown name gives number 0, older than all others:
    /// such names are read, not chosen by the user, and must not stop the run.
    pub fn of(name: &str) -> Self {
        name.parse().unwrap_or(Self::new(0))
    }

    /// 90 for `sm_90a`
    pub fn number(self) -> u32 {
        self.number
    }

    pub fn suffix(self) -> Option<char> {
        self.suffix
    }

    /// The figures of the architecture. One without a row gets the row of the next older architecture, because a new
    /// one mostly resembles its family.
    pub fn gpu(self) -> &'static Gpu {
        let next = ROWS.partition_point(|row| row.number <= self.number);
        &ROWS[next.saturating_sub(1)]
    }
}

impl FromStr for Arch {
    type Err = ArchError;

    /// Parses `sm_90`, `compute_90` and `90`, each with an optional suffix `a` or `f`.
    ///
    /// # Errors
    /// The text is anything else.
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
    fn a_slip_has_a_meaning() {
        let meant = |text: &str| text.parse::<Arch>().unwrap_err().meant().map(|arch| arch.to_string());
        assert_eq!(meant("sm90").as_deref(), Some("sm_90"));
        assert_eq!(meant("SM-90a").as_deref(), Some("sm_90a"));
        assert_eq!(meant("8.6").as_deref(), Some("sm_86"));
        assert_eq!(meant("h100"), None);
        assert_eq!(meant("sm_"), None);
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

    #[test]
    fn any_name_has_a_number() {
        for (text, number) in [("sm_90", 90), ("sm_90a", 90), ("compute_120f", 120), ("86", 86), ("x", 0)] {
            assert_eq!(Arch::of(text).number(), number, "{text}");
        }
        assert_eq!((Arch::of("sm_90a").suffix(), Arch::of("sm_90").suffix()), (Some('a'), None));
        assert!(Arch::of("sm_90a") < Arch::of("sm_100"));
    }

    #[test]
    fn each_architecture_has_its_row_or_that_of_the_next_older() {
        assert!(ROWS.is_sorted_by_key(|row| row.number));
        for row in ROWS {
            assert_eq!(Arch::new(row.number).gpu(), row);
        }
        let newest = ROWS.last().expect("there are rows").number;
        for (number, row) in [(0, 50), (49, 50), (99, 90), (109, 107), (999, newest)] {
            assert_eq!(Arch::new(number).gpu().number, row, "{number}");
        }
    }
}
