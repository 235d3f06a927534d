//! What people write: CUDA and Rust sources with their comments, and what the front end makes of them.

use std::path::Path;
use std::sync::Arc;

use lmem_base::gpu::Arch;
use lmem_base::source::SourceFile;
use lmem_extract::extract;
use lmem_lints::{known_names, names_with_levels};
use lmem_project::build_flags::BuildFlags;
use lmem_project::directive::Directives;
use lmem_project::discover::{DiscoveredFile, Workspace};
use lmem_unit::{AsCompiled, FrontEnd, MappedText};

use super::code::examine;
use super::project::with_folder;

/// A kernel file, the lines of which `lines.cubin` names.
const OWN: &str = include_str!("../../test-crates/machine_code/device/filters.cu");
const CUBIN: &[u8] = include_bytes!("../../test-crates/machine_code/images/lines.cubin");

pub fn front_end(bytes: &[u8]) {
    drop(FrontEnd::parse(&String::from_utf8_lossy(bytes)));
}

/// The preprocessor's output, aligned with a file that it is not of.
pub fn preprocessed(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    drop(AsCompiled::new(&text, Path::new("/nowhere"), &|_| true, &|_| Some(OWN.to_string())));
    drop(AsCompiled::of_text("a.cu", &text, &["-DN=4".to_string()]));
}

/// A source that is not the one which was compiled.
pub fn cuda(bytes: &[u8]) {
    let source = String::from_utf8_lossy(bytes);
    let arch = Arch::new(90);
    let names = |_: &str, _: &std::collections::BTreeSet<u32>| Some("kernels/a.cu".to_string());
    if let Ok(facts) = nv_code::read_machine_code(CUBIN, arch, true, &names) {
        examine(&facts, "", &source, AsCompiled::of_text("kernels/a.cu", &source, &[]), arch);
    }
}

/// `// lmem:` comments, in CUDA and in Rust.
pub fn directives(bytes: &[u8]) {
    let file = SourceFile::from_text("a.cu", &String::from_utf8_lossy(bytes));
    let mut directives = Directives::default();
    directives.read(&MappedText::from_file(&file), &known_names());
    directives.read_rust(&file, &names_with_levels());
    drop((directives.errors().to_vec(), directives.unused()));
}

/// Literals, macros, calls and launches of Rust code.
pub fn rust(bytes: &[u8]) {
    with_folder(|root| {
        let path = root.join("lib.rs");
        if std::fs::write(&path, bytes).is_err() {
            return;
        }
        let file = DiscoveredFile { path, package: None, config: Arc::default(), explicit: true };
        let workspace = Workspace { root: root.to_path_buf(), files: vec![file], ..Workspace::default() };
        drop(extract(&workspace, &BuildFlags::default()));
    });
}
