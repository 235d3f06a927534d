//! Translation units.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lmem_base::source::{SourceFile, Span};
use lmem_base::stored::whole_file;

use crate::flags::{DriverOptions, NvccFlags, NvrtcOptions};
use crate::machine::MachineCode;
use crate::mapped_text::MappedText;

/// A text for a compiler, with the mapping from its offsets to the user's files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TranslationUnit {
    /// Name of the unit in messages: `kernels/scan.cu`, `src/kernels.rs:41`.
    pub name: String,
    /// Name of its package.
    pub package: Option<String>,
    /// Base folder of relative include paths: the package's folder, else the file's.
    pub base: PathBuf,
    pub code: UnitCode,
    /// The call that gets the kernel string (`compile_ptx(SRC)`), if the text is written elsewhere.
    pub use_site: Option<Span>,
    /// Where Rust code includes the file with the text.
    pub included_at: Option<Span>,
    /// Launches in Rust code.
    pub launches: Vec<RustLaunch>,
    /// Literals of the text that texts unknown before run time have too.
    pub shared: Vec<Span>,
}

/// A kernel launch in Rust code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RustLaunch {
    /// The name used for loading: the plain name of an `extern "C"` kernel, otherwise the mangled name.
    pub kernel: String,
    /// Block dimensions, if known.
    pub block: Option<[u32; 3]>,
    pub dynamic_shared: DynamicShared,
    /// The call that gets the name.
    pub loaded_at: Span,
    pub span: Span,
}

/// Dynamic shared memory of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DynamicShared {
    /// No launch was found.
    #[default]
    Unseen,
    Bytes(u64),
    /// The size is known at run time only.
    Unknown,
}

impl TranslationUnit {
    /// The file that determines the unit's package and settings.
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

/// Names of units, made unique: several texts may come from one place.
#[derive(Debug, Default)]
pub struct UnitNames(BTreeMap<String, usize>);

impl UnitNames {
    /// The name, with a number appended if it is taken: `src/lib.rs:5#2`.
    pub fn unique(&mut self, name: &str) -> String {
        let known = self.0.entry(name.to_string()).or_default();
        *known += 1;
        if *known > 1 { format!("{name}#{known}") } else { name.to_string() }
    }
}

/// The code of a unit, by compiler.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum UnitCode {
    /// A `.cu` file, compiled in place by `nvcc`.
    CudaFile {
        #[serde(with = "whole_file")]
        file: Arc<SourceFile>,
        flags: NvccFlags,
    },
    /// CUDA C++ text from Rust code, compiled by NVRTC.
    CudaText { text: MappedText, options: NvrtcOptions },
    /// PTX text, compiled by `ptxas` only.
    Ptx { text: MappedText, options: DriverOptions },
    /// A cubin, which needs no compiler. It is not serialized.
    #[serde(skip)]
    Machine(MachineCode),
}

impl TranslationUnit {
    /// Why some options of a kernel string or of PTX are not known.
    pub fn unresolved_options(&self) -> Option<&str> {
        match &self.code {
            UnitCode::CudaText { options, .. } if options.captured.is_none() => options.unresolved.as_deref(),
            UnitCode::Ptx { options, .. } => options.unresolved.as_deref(),
            UnitCode::CudaText { .. } | UnitCode::CudaFile { .. } | UnitCode::Machine(_) => None,
        }
    }

    /// Whether no call is known that compiles the text.
    pub fn is_unclaimed(&self) -> bool {
        matches!(&self.code, UnitCode::CudaText { options, .. } if options.is_unclaimed)
    }

    /// The text of a unit, unless it is a `.cu` file.
    pub fn text(&self) -> Option<&str> {
        match &self.code {
            UnitCode::CudaFile { .. } | UnitCode::Machine(_) => None,
            UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => Some(text.as_str()),
        }
    }

    /// Whether the text contains a kernel's name; for a mangled name, the source name counts.
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
        let mut places = memchr::memmem::find_iter(text.as_bytes(), kernel.as_bytes());
        places.any(|at| {
            let (before, rest) = (text.get(..at).unwrap_or(""), text.get(at + kernel.len()..).unwrap_or(""));
            !before.ends_with(is_part) && !rest.starts_with(is_part)
        })
    }
}

/// Names of kernels, by number, to be looked for in many texts.
#[derive(Debug, Default)]
pub struct KernelNames<'k> {
    all: Vec<&'k str>,
    /// Those that are words of a text: as they are, and by their source names.
    exact: HashMap<&'k str, Vec<usize>>,
    of_source: HashMap<&'k str, Vec<usize>>,
}

impl<'k> KernelNames<'k> {
    pub fn of(names: impl Iterator<Item = &'k str>) -> Self {
        let mut found = Self { all: names.collect(), ..Self::default() };
        for (number, name) in found.all.iter().enumerate() {
            found.exact.entry(name).or_default().push(number);
            found.of_source.entry(source_name(name)).or_default().push(number);
        }
        found
    }
}

impl TranslationUnit {
    /// The numbers of the kernels that the unit may define, as [`Self::may_define`] says of each, in one pass for all.
    pub fn may_define_of(&self, names: &KernelNames<'_>) -> BTreeSet<usize> {
        let (text, wanted) = match &self.code {
            UnitCode::CudaFile { file, .. } => (file.text(), &names.of_source),
            UnitCode::CudaText { text, .. } => (text.as_str(), &names.of_source),
            UnitCode::Ptx { text, .. } => (text.as_str(), &names.exact),
            UnitCode::Machine(_) => {
                return (0..names.all.len()).filter(|number| self.may_define(names.all[*number])).collect();
            }
        };
        let mut found = BTreeSet::new();
        if !wanted.is_empty() {
            let words = text.split(|character| !is_part(character)).filter(|word| !word.is_empty());
            found.extend(words.filter_map(|word| wanted.get(word)).flatten().copied());
        }
        // A name with other characters is no word.
        let odd = wanted.iter().filter(|(name, _)| name.is_empty() || !name.chars().all(is_part));
        found.extend(odd.flat_map(|(_, numbers)| numbers).filter(|number| self.may_define(names.all[**number])));
        found
    }
}

/// Whether a character may be a part of a name.
fn is_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The source name in a mangled name: `mean` for `_ZN4user4meanIfEEvPT_`; other names are returned unchanged.
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

/// Text that looks like a kernel, but whose value is known at run time only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unresolved {
    pub span: Span,
    /// The reason, as the end of the sentence "was not analysed: …".
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
    fn many_names_are_looked_for_at_once() {
        let names = ["mean", "_ZN4user4meanIfEEvPT_", "me", "sum", "", "a-b", "mean_2", "_Z3sumPf"];
        let file = SourceFile::from_text("a.cu", "void mean(); // a-b é_me\nint _Z3sumPf, mean_2;");
        let text = MappedText::from_file(&file);
        let codes = [
            UnitCode::CudaText { text: text.clone(), options: NvrtcOptions::default() },
            UnitCode::Ptx { text, options: DriverOptions::default() },
        ];
        for code in codes {
            let unit = TranslationUnit {
                name: String::new(),
                package: None,
                base: PathBuf::new(),
                code,
                use_site: None,
                included_at: None,
                launches: Vec::new(),
                shared: Vec::new(),
            };
            let each: BTreeSet<usize> = (0..names.len()).filter(|number| unit.may_define(names[*number])).collect();
            assert_eq!(unit.may_define_of(&KernelNames::of(names.into_iter())), each);
            assert!(each.contains(&0) && each.contains(&5) && !each.contains(&2), "{each:?}");
        }
    }

    #[test]
    fn units_of_one_place_are_numbered() {
        let mut names = UnitNames::default();
        assert_eq!(["a:1", "b:1", "a:1", "a:1"].map(|name| names.unique(name)), ["a:1", "b:1", "a:1#2", "a:1#3"]);
    }
}
