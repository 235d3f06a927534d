//! The hostile kernels: every file that `--fix` changes, before and after, on a GPU.
//!
//! What was judged equal is written down in `judged.txt`; `tests/hunt.rs` compares that with what edits there are.

#[path = "../../hunt/collection.rs"]
mod collection;
mod make;
mod pair;
mod run;

pub use make::make;
pub use pair::{PAIR, pair};
pub use run::run;
