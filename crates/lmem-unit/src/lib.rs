//! Translation units, and the compiler outputs for them.

pub mod artifacts;
pub mod as_compiled;
pub mod flags;
pub mod front_end;
pub mod machine;
pub mod mapped_text;
pub mod message;
pub mod unit;

pub use artifacts::{Artifacts, Dependency, STRING_NAME, declared_target};
pub use as_compiled::meeting;
pub use as_compiled::{
    AsCompiled, Behaviour, Beside, Blocks, CONVERSION, CompiledFile, CompiledText, CompiledUnit, Difference, Expansion,
    HiddenCode, Hides, MATH, Token, TokenKind, VALUES, aliases_in, are_heads, compiled_string, directive_name,
    each_token, is_unroll_pragma, is_word, operators_in, tokens,
};
pub use flags::{CapturedText, CodeTarget, DriverOptions, IneffectiveKind, IneffectiveOption, NvccFlags, NvrtcOptions};
pub use front_end::{FrontEnd, FrontEndMember, FrontEndVariable};
pub use machine::MachineCode;
pub use mapped_text::MappedText;
pub use message::{CompilerMessage, MessageKind, parse_messages};
pub use unit::{DynamicShared, KernelNames, RustLaunch, TranslationUnit, UnitCode, UnitNames, Unresolved};
