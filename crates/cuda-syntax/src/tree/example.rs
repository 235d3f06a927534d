//! A unit of a single text that was not compiled, for tests.

use std::path::Path;

use lmem_base::source::SourceFile;
use lmem_unit::{Artifacts, FrontEnd, MappedText, NvrtcOptions, STRING_NAME, TranslationUnit, UnitCode};

use super::syntax_tree::SyntaxTrees;

/// A unit of a single text. Line tables call the text [`Example::NAME`].
pub struct Example {
    unit: TranslationUnit,
    artifacts: Artifacts,
}

impl Example {
    pub const NAME: &str = STRING_NAME;

    pub fn new(text: &str) -> Self {
        let file = SourceFile::from_text(Self::NAME, text);
        let code = UnitCode::CudaText { text: MappedText::from_file(&file), options: NvrtcOptions::default() };
        let unit = TranslationUnit {
            name: Self::NAME.into(),
            package: None,
            base: "/nowhere".into(),
            code,
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        };
        let artifacts = Artifacts { architecture: "sm_90".into(), folder: "/nowhere".into(), ..Artifacts::default() };
        Self { unit, artifacts }
    }

    /// Adds the front end's facts on local variables.
    pub fn with_front_end(mut self, front_end: FrontEnd) -> Self {
        self.artifacts.front_end = front_end;
        self
    }

    pub fn trees(&self) -> SyntaxTrees<'_> {
        SyntaxTrees::new(&self.unit, &self.artifacts, Path::new("/nowhere"))
    }
}
