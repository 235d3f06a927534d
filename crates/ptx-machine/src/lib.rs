#![doc = include_str!("../README.md")]
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod access;
mod call;
mod convert;
mod decode;
mod execute;
mod float;
mod integer;
mod launch;
mod machine;
mod matrix;
mod memory;
mod op;
mod outcome;
mod races;
mod soft;
mod together;
mod values;
mod warp;

pub use decode::{DecodeError, ParameterUse, Program};
pub use launch::{Launch, Limits};
pub use memory::{Access, Class, Element, Memory, Origin, Region, RegionId, Value, Values, Written, Zeros};
pub use outcome::{AccessCount, BlockCount, End, Event, Events, Fault, Outcome, Place, Races};
pub use values::Generated;
