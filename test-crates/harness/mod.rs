//! Shared code for the tests on test crates.

pub mod archive;
pub mod claims;
pub mod constants;
pub mod crates;
pub mod disassembly;
pub mod examples;
pub mod live;
pub mod live_ranges;
pub mod machine_code;
pub mod marks;
pub mod memo;
pub mod occupancy;
pub mod record;
pub mod recorded;
pub mod registry;
pub mod run;

/// A failure, as text for the reader of the test's output.
pub type Problem = String;

/// Joins several problems into one text; `Ok` if there are none.
pub fn all(problems: Vec<Problem>) -> Result<(), Problem> {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}
