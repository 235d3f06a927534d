//! The units that suggestions are tried on, by the files that they read.
//!
//! Each edit is asked for its readers, several times. A look-up keeps that linear in the units of a workspace: comparing
//! each edit with the paths of each unit took half of a run in which nothing had changed.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cuda_syntax::Launches;
use lmem_base::diagnostic::Edit;
use lmem_base::source::{Span, normalize};
use lmem_unit::{AsCompiled, CompiledUnit, TranslationUnit, UnitCode};

use lmem_base::stored::Lazy;

use super::measure::Measured;
use crate::compile::Target;

/// A unit for a target, as compiled without edits.
pub struct Subject<'a> {
    pub unit: &'a TranslationUnit,
    pub target: &'a Target,
    /// The actual architecture, which a rescue may have raised.
    pub architecture: &'a str,
    /// Input files that may be edited, with normalized paths.
    pub dependencies: &'a [PathBuf],
    /// Its files in the version that was compiled.
    pub files: &'a Lazy<AsCompiled>,
    pub before: &'a Measured,
    /// Cost of compiling it, in compilations of small files.
    pub cost: u64,
    /// Its launches, if an edit asked for them: reading them takes a syntax tree, and most edits change nothing that they depend on.
    pub launches: OnceLock<Launches>,
}

impl Subject<'_> {
    /// What was compiled of its files.
    pub(super) fn compiled(&self) -> CompiledUnit<'_> {
        CompiledUnit { unit: self.unit, files: self.files.get(), dependencies: self.dependencies }
    }

    /// The launches in its own text and in Rust code.
    pub(super) fn launches(&self) -> &Launches {
        self.launches.get_or_init(|| Launches::of_unit(self.compiled()))
    }
}

/// All units of a run.
pub struct Subjects<'a> {
    all: Vec<Subject<'a>>,
    /// The units that are a `.cu` file, by its path.
    by_file: HashMap<&'a Path, Vec<usize>>,
    /// All units, by the files that they include.
    by_dependency: HashMap<&'a Path, Vec<usize>>,
    /// The units that are a text. Parts of it may be of any file.
    texts: Vec<usize>,
    /// By file, the literals that texts are made of which no unit has.
    shared: HashMap<&'a Path, Vec<&'a Span>>,
}

impl<'a> Subjects<'a> {
    pub fn new(all: Vec<Subject<'a>>) -> Self {
        let mut subjects = Self {
            all: Vec::new(),
            by_file: HashMap::new(),
            by_dependency: HashMap::new(),
            texts: Vec::new(),
            shared: HashMap::new(),
        };
        for (index, subject) in all.iter().enumerate() {
            for literal in &subject.unit.shared {
                subjects.shared.entry(&literal.file.path).or_default().push(literal);
            }
            match &subject.unit.code {
                UnitCode::CudaFile { file, .. } => subjects.by_file.entry(&file.path).or_default().push(index),
                UnitCode::CudaText { .. } | UnitCode::Ptx { .. } => subjects.texts.push(index),
                // Precompiled machine code does not change.
                UnitCode::Machine(_) => continue,
            }
            for path in subject.dependencies {
                subjects.by_dependency.entry(path).or_default().push(index);
            }
        }
        Self { all, ..subjects }
    }

    /// The indices of the units that read the file of an edit, in order.
    pub(super) fn readers<'e>(&self, edits: impl IntoIterator<Item = &'e Edit>) -> Vec<usize> {
        let mut readers: Vec<usize> = edits.into_iter().flat_map(|edit| self.readers_of(&edit.span)).collect();
        readers.sort_unstable();
        readers.dedup();
        readers
    }

    /// Whether a unit reads what is edited and the place of a finding. A kernel's name alone does not tell whether both
    /// are of one kernel: copies of a file have kernels with equal names.
    pub(super) fn are_of_one(&self, edits: &[Edit], place: &Span) -> bool {
        let of_place = self.readers_of(place);
        self.readers(edits).iter().any(|reader| of_place.contains(reader))
    }

    fn readers_of(&self, span: &Span) -> Vec<usize> {
        let path = span.file.path.as_path();
        let of_file = self.by_file.get(path).into_iter().flatten();
        let of_dependency = self.by_dependency.get(normalize(path).as_path()).into_iter().flatten();
        let of_text = self.texts.iter().filter(|index| reads_span(&self.all[**index], span));
        of_file.chain(of_dependency).chain(of_text).copied().collect()
    }

    /// The literals of a file that texts are made of which no unit has.
    pub(super) fn shared(&self, path: &Path) -> impl Iterator<Item = &Span> {
        self.shared.get(path).into_iter().flatten().copied()
    }
}

impl<'a> Deref for Subjects<'a> {
    type Target = [Subject<'a>];

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

/// Whether a unit reads the file of an edit; for a text, the edited part of it.
pub(super) fn reads(subject: &Subject<'_>, edit: &Edit) -> bool {
    reads_span(subject, &edit.span)
}

fn reads_span(subject: &Subject<'_>, span: &Span) -> bool {
    let path = &span.file.path;
    let is_own = match &subject.unit.code {
        UnitCode::CudaFile { file, .. } => file.path == *path,
        UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. } => text.touches(span),
        UnitCode::Machine(_) => return false,
    };
    is_own || (!subject.dependencies.is_empty() && subject.dependencies.contains(&normalize(path)))
}
