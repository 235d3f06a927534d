//! One text for a compiler.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lmem_base::source::{SourceFile, Span};
use lmem_base::stored::whole_file;

use crate::flags::{DriverOptions, NvccFlags, NvrtcOptions};
use crate::machine::MachineCode;
use crate::mapped_text::MappedText;

/// One text for a compiler, with the map from its offsets back to the files that users edit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TranslationUnit {
    /// How the unit is called in messages: `kernels/scan.cu`, `src/kernels.rs:41`.
    pub name: String,
    /// The package it belongs to, by name.
    pub package: Option<String>,
    /// Folder that relative include paths start from: the package's, else that of the file.
    pub base: PathBuf,
    pub code: UnitCode,
    /// Where the kernel string is handed over (`compile_ptx(SRC)`), when that is not where the text lies.
    pub use_site: Option<Span>,
    /// How Rust code launches its kernels.
    pub launches: Vec<RustLaunch>,
}

/// A launch of a kernel in Rust code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RustLaunch {
    /// The name that it is loaded by: of `extern "C"` kernels their own, else the mangled one.
    pub kernel: String,
    /// Threads along each axis, where they are known.
    pub block: Option<[u32; 3]>,
    pub dynamic_shared: DynamicShared,
    /// Where the name is handed over.
    pub loaded_at: Span,
    pub span: Span,
}

/// Shared memory that a launch adds to what the kernel declares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DynamicShared {
    /// No launch was seen.
    #[default]
    Unseen,
    Bytes(u64),
    /// The number is only known when the program runs.
    Unknown,
}

impl TranslationUnit {
    /// The file whose package and settings the unit has.
    pub fn path(&self) -> PathBuf {
        let of_text = |text: &MappedText| text.first_file().map(|file| file.path.clone());
        let path = match (&self.use_site, &self.code) {
            (Some(span), _) => Some(span.file.path.clone()),
            (None, UnitCode::CudaFile { file, .. }) => Some(file.path.clone()),
            (None, UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. }) => of_text(text),
            (None, UnitCode::Machine(code)) => Some(code.span.file.path.clone()),
        };
        path.unwrap_or_else(|| self.base.clone())
    }
}

/// Names that units have, where several texts may come from one place.
#[derive(Debug, Default)]
pub struct UnitNames(BTreeMap<String, usize>);

impl UnitNames {
    /// The name, with a number where another unit has it: `src/lib.rs:5#2`.
    pub fn unique(&mut self, name: &str) -> String {
        let known = self.0.entry(name.to_string()).or_default();
        *known += 1;
        if *known > 1 { format!("{name}#{known}") } else { name.to_string() }
    }
}

/// What is compiled, and by which compiler.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum UnitCode {
    /// A `.cu` file, compiled where it lies by `nvcc`.
    CudaFile {
        #[serde(with = "whole_file")]
        file: Arc<SourceFile>,
        flags: NvccFlags,
    },
    /// CUDA C++ text from Rust code, compiled by NVRTC.
    CudaText { text: MappedText, options: NvrtcOptions },
    /// PTX text, for `ptxas` alone.
    Ptx { text: MappedText, options: DriverOptions },
    /// A cubin, for no compiler. It is what it is, and is not written down.
    #[serde(skip)]
    Machine(MachineCode),
}

impl TranslationUnit {
    /// The text of a unit that is no `.cu` file.
    pub fn text(&self) -> Option<&str> {
        match &self.code {
            UnitCode::CudaFile { .. } | UnitCode::Machine(_) => None,
            UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => Some(text.as_str()),
        }
    }

    /// Whether a kernel's name stands in the text; that of a mangled one as the source has it.
    pub fn may_define(&self, kernel: &str) -> bool {
        let kernel = match &self.code {
            UnitCode::Ptx { .. } | UnitCode::Machine(_) => kernel,
            UnitCode::CudaFile { .. } | UnitCode::CudaText { .. } => source_name(kernel),
        };
        let text = match &self.code {
            UnitCode::CudaFile { file, .. } => file.text(),
            UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => text.as_str(),
            UnitCode::Machine(code) => return code.may_define(kernel),
        };
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        let mut places = memchr::memmem::find_iter(text.as_bytes(), kernel.as_bytes());
        places.any(|at| {
            let (before, rest) = (text.get(..at).unwrap_or(""), text.get(at + kernel.len()..).unwrap_or(""));
            !before.ends_with(is_part) && !rest.starts_with(is_part)
        })
    }
}

/// A function's own name in a mangled one: `mean` of `_ZN4user4meanIfEEvPT_`; other names are their own.
fn source_name(name: &str) -> &str {
    let mut rest = name.strip_prefix("_Z").unwrap_or("");
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut last = name;
    while let Some(digits) = rest.find(|character: char| !character.is_ascii_digit()).filter(|digits| *digits > 0) {
        let (length, behind) = rest.split_at(digits);
        let Some(part) = length.parse::<usize>().ok().and_then(|length| behind.get(..length)) else { break };
        (last, rest) = (part, &behind[part.len()..]);
    }
    last
}

/// Text that looks like a kernel but whose value is only known at run time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unresolved {
    pub span: Span,
    /// Why, as the end of the sentence "was not analysed: …".
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_hold_the_name_of_the_source() {
        for (name, expected) in [
            ("mean", "mean"),
            ("_Z4meanPf", "mean"),
            ("_ZN4user4meanIfEEvPT_", "mean"),
            ("_Z", "_Z"),
            ("_Z9mean", "_Z9mean"),
            ("_Z99999999999999999999mean", "_Z99999999999999999999mean"),
        ] {
            assert_eq!(source_name(name), expected);
        }
    }

    #[test]
    fn units_of_one_place_are_numbered() {
        let mut names = UnitNames::default();
        assert_eq!(["a:1", "b:1", "a:1", "a:1"].map(|name| names.unique(name)), ["a:1", "b:1", "a:1#2", "a:1#3"]);
    }
}
