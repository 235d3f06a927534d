#![doc = include_str!("../README.md")]
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod effects;
mod graph;
mod initial;
mod lexer;
mod module;
mod parse;
mod words;

pub use graph::{Block, BlockInfo, Dominators, Graph, Jump, Loop, LoopInfo, Loops};
pub use initial::{Initial, InitialValue};
pub use module::{
    Address, AddressBase, Call, Form, Function, Guard, Instruction, Label, LabelInfo, Linkage, Location, Module,
    Opaque, Operand, ParameterPlace, PointerAttribute, Prototype, PrototypeInfo, Reg, Register, Var, Variable,
    without_copy_number,
};
pub use parse::{ParseError, unescape_path};
pub use words::{Modifier, Opcode, Space, SpecialRegister, Type};
