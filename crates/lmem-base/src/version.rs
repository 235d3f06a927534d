//! CUDA versions: of a toolkit, and as requested by the user.

use std::fmt;
use std::str::FromStr;

/// A version such as 13.5; the third number is not needed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    /// The oldest supported version: NVIDIA's 11.x compilers print too little (`ptxas -v`, spill marks, `-arch` names).
    pub const OLDEST: Version = Version { major: 12, minor: 0 };
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    /// Parses "13.5", "13.5.37" and "13", which means 13.0 here.
    ///
    /// # Errors
    /// The text is not one to three numbers separated by dots.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let request = VersionRequest::from_str(text)?;
        Ok(Self { major: request.major, minor: request.minor.unwrap_or(0) })
    }
}

/// A text that is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version such as `13.5`")]
pub struct VersionError(pub String);

/// A requested version: "13" allows any 13.x, "13.5" any build of 13.5, "13.5.37" only that build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRequest {
    pub major: u32,
    pub minor: Option<u32>,
    pub build: Option<u32>,
}

impl VersionRequest {
    /// Whether a toolkit's number ("13.5.37", or "13.5" if the build is unknown) satisfies the request.
    pub fn allows(&self, number: &str) -> bool {
        let Ok(actual) = VersionRequest::from_str(number) else { return false };
        let same = |asked: Option<u32>, actual: Option<u32>| asked.is_none() || actual.is_none() || asked == actual;
        self.major == actual.major && same(self.minor, actual.minor) && same(self.build, actual.build)
    }
}

impl fmt::Display for VersionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.major)?;
        [self.minor, self.build].iter().flatten().try_for_each(|number| write!(f, ".{number}"))
    }
}

impl FromStr for VersionRequest {
    type Err = VersionError;

    /// Parses "13", "13.5" and "13.5.37".
    ///
    /// NVIDIA numbers a release in two ways: 13.0.2 is its second update, 13.0.88 the build of its compilers. So far
    /// updates are below ten and builds above. Tools print only the build, so an update number is read as "13.0".
    ///
    /// # Errors
    /// The text is not one to three numbers separated by dots.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let numbers = text.split('.').map(number).collect::<Option<Vec<u32>>>();
        match numbers.as_deref() {
            Some([major]) => Ok(Self { major: *major, minor: None, build: None }),
            Some([major, minor]) => Ok(Self { major: *major, minor: Some(*minor), build: None }),
            Some([major, minor, third]) => {
                Ok(Self { major: *major, minor: Some(*minor), build: Some(*third).filter(|third| *third >= 10) })
            }
            _ => Err(VersionError(text.to_owned())),
        }
    }
}

/// Parses a number of at most four digits; `u32::from_str` would accept "+5" too.
fn number(text: &str) -> Option<u32> {
    let digits = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> VersionRequest {
        text.parse().unwrap()
    }

    #[test]
    fn versions_have_one_to_three_numbers() {
        assert_eq!("13.5".parse(), Ok(Version { major: 13, minor: 5 }));
        assert_eq!("13.5.37".parse(), Ok(Version { major: 13, minor: 5 }));
        assert_eq!("13".parse(), Ok(Version { major: 13, minor: 0 }));
        assert_eq!(Version { major: 13, minor: 5 }.to_string(), "13.5");
        for text in ["", ".", "13.", "13.5.3.7", "v13", "13.x", "+13", "13 ", "99999999999"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn minors_compare_as_numbers() {
        assert!("12.10".parse::<Version>().unwrap() > "12.9".parse().unwrap());
    }

    #[test]
    fn a_request_allows_what_it_leaves_open() {
        assert!(request("13").allows("13.5.37"));
        assert!(request("13.5").allows("13.5.37"));
        assert!(request("13.5.37").allows("13.5.37"));
        assert!(request("13.5.37").allows("13.5"));
        assert!(!request("13.4").allows("13.5.37"));
        assert!(!request("13.5.40").allows("13.5.37"));
        assert!(!request("13.5").allows("unknown"));
    }

    #[test]
    fn an_update_number_is_not_a_build() {
        assert!(request("13.0.2").allows("13.0.88"));
        assert_eq!(request("13.0.2").to_string(), "13.0");
    }
}
