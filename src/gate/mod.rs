//! What may land: findings that were there before may stay, new and worse ones may not.

mod baseline;

pub use baseline::{Baseline, BaselineError, DEFAULT_NAME, identity};
