//! What the tests of the test crates share.

pub mod archive;
pub mod claims;
pub mod constants;
pub mod crates;
pub mod disassembly;
pub mod live;
pub mod machine_code;
pub mod marks;
pub mod memo;
pub mod occupancy;
pub mod record;
pub mod recorded;
pub mod registry;
pub mod run;

/// What is wrong, as text for whoever reads the test's output.
pub type Problem = String;

/// One text of several problems; `Ok` where there are none.
pub fn all(problems: Vec<Problem>) -> Result<(), Problem> {
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}
