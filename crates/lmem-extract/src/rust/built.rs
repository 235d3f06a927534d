//! Build outputs such as PTX files: analysed through the `.cu` files that they are built from.

use std::path::{Path, PathBuf};

use lmem_base::source::has_ending;
use lmem_project::build_flags::BuiltFile;
use lmem_unit::{DriverOptions, Unresolved};

use super::Extractor;

impl Extractor<'_> {
    /// Records a build output and the driver options with which it is loaded. Its `.cu` source is known if the build
    /// was captured; otherwise it is the `.cu` file of the same name.
    pub(super) fn built(&mut self, in_file: usize, built: &BuiltFile, options: DriverOptions, unresolved: Unresolved) {
        let package = self.code.files[in_file].package;
        let name =
            package.and_then(|package| self.workspace.packages.get(package)).map(|package| package.name.as_str());
        let is_checked = |path: &PathBuf| self.workspace.files.iter().any(|file| file.path == *path);
        let mut sources: Vec<PathBuf> = self.builds.sources_of(name, built).into_iter().filter(is_checked).collect();
        if sources.is_empty() {
            sources = self.named_alike(built.name(), package);
        }
        match sources.as_slice() {
            [] => {
                let reason = format!("{}: there is no `.cu` file of that name", unresolved.reason);
                self.unresolved(Unresolved { reason, ..unresolved });
            }
            [only] => {
                let known = self.strings.loaded.entry(only.clone()).or_default();
                if !known.iter().any(|known| known.arguments == options.arguments) {
                    known.push(options);
                }
            }
            // With several candidates, the options apply to none of them; each file is analysed anyway.
            _ => {}
        }
    }

    /// `.cu` files with the same file name; those of the package if it has any.
    fn named_alike(&self, name: &str, package: Option<usize>) -> Vec<PathBuf> {
        let stem = Path::new(name).file_stem();
        let files = self.workspace.files.iter();
        let alike: Vec<_> =
            files.filter(|file| has_ending(&file.path, &["cu"]) && file.path.file_stem() == stem).collect();
        let is_own = |file: &&lmem_project::discover::DiscoveredFile| file.package == package && package.is_some();
        let has_own = alike.iter().any(is_own);
        alike.into_iter().filter(|file| !has_own || is_own(file)).map(|file| file.path.clone()).collect()
    }
}
