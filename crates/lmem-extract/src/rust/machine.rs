//! Machine code that Rust code includes or loads.

use std::path::Path;

use lmem_base::source::{Span, display_path};
use lmem_unit::{TranslationUnit, machine};

use super::Extractor;

impl Extractor<'_> {
    /// Adds the unit of a machine-code file, once for all places that name it.
    pub(super) fn machine(&mut self, in_file: usize, path: &Path, span: &Span) {
        if !self.strings.files.insert(path.to_path_buf()) {
            return;
        }
        let package = self.code.files[in_file].package.and_then(|package| self.workspace.packages.get(package));
        let folder = span.file.path.parent().unwrap_or(Path::new(""));
        let found = machine::read(path, span);
        found.unresolved.into_iter().for_each(|unresolved| self.unresolved(unresolved));
        for (suffix, code) in found.codes {
            let name = self.names.unique(&format!("{}{suffix}", display_path(path, &self.workspace.root)));
            self.strings.units.push(TranslationUnit {
                name,
                package: package.map(|package| package.name.clone()),
                base: package.map_or(folder, |package| &package.root).to_path_buf(),
                code,
                use_site: Some(span.clone()),
                included_at: None,
                launches: Vec::new(),
                shared: Vec::new(),
            });
        }
    }
}
