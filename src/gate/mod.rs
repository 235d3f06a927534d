//! The gate for changes: known findings may stay, new and worse ones may not land.

mod baseline;

pub use baseline::{Against, BUDGET, Baseline, BaselineError, DEFAULT_NAME, identity};
