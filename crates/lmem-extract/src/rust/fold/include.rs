//! Included files.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use lmem_base::places;
use lmem_base::source::{SourceFile, Span, has_ending, normalize};
use lmem_project::build_flags::BuiltFile;
use lmem_unit::MappedText;
use lmem_unit::machine::is_machine_code;

use super::{Folded, Folder, Origin};
use crate::rust::fold::failure::{Failure, FailureKind};

/// Placeholder for `env!("OUT_DIR")`; no real path begins like this.
pub(in crate::rust) const OUT_DIR: &str = "\u{0}OUT_DIR";

impl Folder<'_, '_> {
    /// The text of an `include_str!` of `path`, written at `place`.
    pub fn include(&mut self, file: usize, path: &str, place: Span) -> Result<Folded, Failure> {
        if let Some(built) = path.strip_prefix(OUT_DIR) {
            let built = BuiltFile::InOutDir(built.to_string());
            let reason = format!("it includes `{}`, which the build makes", built.name());
            return Err(Failure { reason, kind: FailureKind::Built(built) });
        }
        let folder = self.code.files[file].rust.path().parent().unwrap_or(Path::new("")).to_path_buf();
        let included = normalize(&folder.join(path));
        places::asked_for(&included);
        if !included.exists() && has_ending(&included, &["ptx", "cubin", "fatbin"]) {
            // Some builds write their outputs into the source tree.
            let reason = format!("it includes `{path}`, which does not exist");
            return Err(Failure { reason, kind: FailureKind::Built(BuiltFile::At(included)) });
        }
        if self.code.workspace.may_read(&included) && is_machine_code(&included) {
            let reason = format!("it includes `{path}`, which is machine code");
            return Err(Failure { reason, kind: FailureKind::Machine(included, place) });
        }
        self.file(&included, path, Some(place))
    }

    /// The text of a file; `place` is that of the macro that includes it.
    ///
    /// # Errors
    /// The file does not exist, or must not be read.
    pub fn file(&mut self, path: &Path, written: &str, place: Option<Span>) -> Result<Folded, Failure> {
        let included = self.read(path, written, place.is_some())?;
        let files = BTreeSet::from([included.path.clone()]);
        Ok(Folded { text: MappedText::from_file(&included), origin: Some(Origin::File(included, place)), files })
    }

    /// Reads a text that is compiled in, or that is loaded when the program runs: that one lies elsewhere by right.
    fn read(&mut self, path: &Path, written: &str, is_compiled_in: bool) -> Result<Arc<SourceFile>, Failure> {
        if let Some(file) = self.included.get(path) {
            return Ok(Arc::clone(file));
        }
        places::asked_for(path);
        if !path.exists() {
            return Err(Failure::made(format!("it includes `{written}`, which does not exist")));
        }
        if !self.code.workspace.may_read(path) {
            let reason = format!("it includes `{written}`, which lies outside of the workspace or is no file");
            return Err(if is_compiled_in { Failure::beyond(reason) } else { Failure::made(reason) });
        }
        let file = SourceFile::read(path, &self.code.workspace.root)
            .map_err(|error| Failure::beyond(format!("it includes `{written}`: {error}")))?;
        if !file.is_utf8() {
            let reason = format!("it includes `{written}`, which is not UTF-8");
            return Err(Failure { reason, kind: FailureKind::Binary });
        }
        self.included.insert(path.to_path_buf(), Arc::clone(&file));
        Ok(file)
    }
}
