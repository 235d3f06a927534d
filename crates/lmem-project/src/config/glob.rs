//! Patterns of settings and of the command line.
//!
//! Each is compiled to a regular expression, and `globset` takes for granted that this succeeds. Settings are part of the
//! tree that is checked, so that they may hold a pattern for which it does not.

use globset::{GlobBuilder, GlobMatcher};

/// Limit on the bytes of a pattern.
const MAX_BYTES: usize = 4096;

/// Limit on braces within braces.
const MAX_DEPTH: usize = 8;

/// Limit on the wildcards of a pattern, each of which makes the automaton larger: `?` is any character of Unicode.
const MAX_WILDCARDS: usize = 64;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    #[error("{0}")]
    Invalid(#[from] globset::Error),
    #[error("a pattern has at most {MAX_BYTES} bytes, and this has {0}")]
    TooLong(usize),
    #[error("a pattern has at most {MAX_DEPTH} braces within each other, and `{0}` has more")]
    TooDeep(String),
    #[error("a pattern has at most {MAX_WILDCARDS} of `*`, `?` and `[`, and this has {0}")]
    TooManyWildcards(usize),
}

/// A pattern whose `*` matches `/` too.
///
/// # Errors
/// It is invalid, or beyond the limits.
pub fn matcher(pattern: &str) -> Result<GlobMatcher, GlobError> {
    built(pattern, false)
}

/// A pattern whose `*` stops at `/`.
///
/// # Errors
/// It is invalid, or beyond the limits.
pub fn path_matcher(pattern: &str) -> Result<GlobMatcher, GlobError> {
    built(pattern, true)
}

fn built(pattern: &str, stops_at_separators: bool) -> Result<GlobMatcher, GlobError> {
    if pattern.len() > MAX_BYTES {
        return Err(GlobError::TooLong(pattern.len()));
    }
    if depth(pattern) > MAX_DEPTH {
        return Err(GlobError::TooDeep(pattern.chars().take(40).collect()));
    }
    let wildcards = wildcards(pattern);
    if wildcards > MAX_WILDCARDS {
        return Err(GlobError::TooManyWildcards(wildcards));
    }
    let glob = GlobBuilder::new(pattern).literal_separator(stops_at_separators).build()?;
    Ok(glob.compile_matcher())
}

/// How many wildcards there are. Those that are escaped count too.
fn wildcards(pattern: &str) -> usize {
    pattern.bytes().filter(|byte| matches!(byte, b'*' | b'?' | b'[')).count()
}

/// The most braces that are open at once. Those that are escaped count too.
fn depth(pattern: &str) -> usize {
    let (mut open, mut most) = (0usize, 0);
    for byte in pattern.bytes() {
        match byte {
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_bounded() {
        let nested = |depth: usize| format!("{}b{}", "{a,".repeat(depth), "}".repeat(depth));
        assert!(path_matcher(&nested(MAX_DEPTH)).unwrap().is_match("b"));
        assert!(matches!(path_matcher(&nested(300)), Err(GlobError::TooDeep(_))));
        assert!(matches!(matcher(&"a".repeat(MAX_BYTES + 1)), Err(GlobError::TooLong(_))));
        assert!(matches!(matcher("{a"), Err(GlobError::Invalid(_))));
        assert!(matches!(matcher(&"?*".repeat(100)), Err(GlobError::TooManyWildcards(200))));
    }

    #[test]
    fn patterns_within_the_limits_compile() {
        for part in ["*", "?", "**/", "[!a-\u{10ffff}]", "{a,*}", "{,}", "[[]", "ä"] {
            let by_wildcards = MAX_WILDCARDS.checked_div(wildcards(part)).unwrap_or(usize::MAX);
            let pattern = part.repeat(by_wildcards.min(MAX_BYTES / part.len()));
            assert!(path_matcher(&pattern).is_ok() && matcher(&pattern).is_ok(), "{part}");
        }
    }
}
