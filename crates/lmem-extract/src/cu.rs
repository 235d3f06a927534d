//! `.cu`, `.ptx` and machine-code files: translation units without extraction from Rust code.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use lmem_base::diagnostic::FlagOrigin;
use lmem_base::source::{SourceFile, Span, display_path, has_ending};
use lmem_project::build_flags::BuildFlags;
use lmem_project::config::flags_for;
use lmem_project::discover::{DiscoveredFile, Workspace};
use lmem_unit::{DriverOptions, MappedText, NvccFlags, TranslationUnit, UnitCode, machine};

use super::Extraction;
use super::rust::{Strings, cannot_be_read, unread};

/// The `.cu` and `.ptx` files of a workspace, except files that are compiled as strings.
pub(super) fn extract(workspace: &Workspace, builds: &BuildFlags, strings: &Strings) -> Extraction {
    let compiled_as_strings = &strings.files;
    let mut extraction = Extraction::default();
    for file in workspace.files.iter().filter(|file| has_ending(&file.path, &["cubin", "fatbin"])) {
        // For an included file, findings are better reported at the Rust code that includes it.
        if !compiled_as_strings.contains(&file.path) {
            machine_code(workspace, file, &mut extraction);
        }
    }
    for file in workspace.files.iter().filter(|file| has_ending(&file.path, &["cu", "ptx"])) {
        // The Rust code that loads a PTX file also gives its options; the file alone does not.
        let is_named = file.explicit && has_ending(&file.path, &["cu"]);
        if compiled_as_strings.contains(&file.path) && !is_named {
            let name = display_path(&file.path, &workspace.root);
            if has_ending(&file.path, &["cu"]) {
                extraction.notes.push(format!("`{name}` is compiled as Rust code does it: by NVRTC"));
                extraction.as_texts.push(file.path.clone());
                extraction.parts.extend(alone(workspace, builds, file));
            }
            continue;
        }
        match SourceFile::read(&file.path, &workspace.root) {
            Ok(source) => {
                let loaded = strings.loaded.get(&file.path).map_or(&[][..], Vec::as_slice);
                extraction.units.extend(units(workspace, builds, file, &source, loaded));
            }
            Err(error) => extraction.unread.push(unread(&file.path, &workspace.root, cannot_be_read(&error))),
        }
    }
    extraction.parts.extend(workspace.included.iter().flat_map(|file| alone(workspace, builds, file)));
    extraction
}

/// A part of other units as if it were none. Those that cannot read it say so.
fn alone(workspace: &Workspace, builds: &BuildFlags, file: &DiscoveredFile) -> Vec<TranslationUnit> {
    let source = SourceFile::read(&file.path, &workspace.root);
    source.map(|source| units(workspace, builds, file, &source, &[])).unwrap_or_default()
}

/// A machine-code file that the user named.
fn machine_code(workspace: &Workspace, file: &DiscoveredFile, extraction: &mut Extraction) {
    let source = SourceFile::without_text(&file.path, &workspace.root);
    let found = machine::read(&file.path, &Span::new(&source, 0..0));
    if found.codes.is_empty() {
        // It was asked for by name: with nothing of it read, nothing must look clean.
        let why = found.unresolved.first().map_or("it is empty", |unresolved| &unresolved.reason);
        extraction.unread.push(unread(&file.path, &workspace.root, why.to_string()));
        return;
    }
    extraction.unresolved.extend(found.unresolved);
    for (suffix, code) in found.codes {
        let use_site = Some(Span::new(&source, 0..0));
        let name = format!("{}{suffix}", source.display);
        extraction.units.push(TranslationUnit { name, use_site, ..unit(workspace, file, &source, code) });
    }
}

/// One unit for each compilation of a file: each set of build flags, with each set of driver options.
fn units(
    workspace: &Workspace,
    builds: &BuildFlags,
    file: &DiscoveredFile,
    source: &Arc<SourceFile>,
    loaded: &[DriverOptions],
) -> Vec<TranslationUnit> {
    if has_ending(&file.path, &["ptx"]) {
        let code = UnitCode::Ptx { text: MappedText::from_file(source), options: DriverOptions::default() };
        return vec![unit(workspace, file, source, code)];
    }
    // The manifest's configuration overrides the flags of the build.
    let extra = &workspace.extra_flags;
    let configured = flags_for(Some(&file.config), &file.path, &[]);
    let flags = match (configured.origin, builds.of(&file.path)) {
        (FlagOrigin::Assumed, built) if !built.is_empty() => {
            let with_extra =
                |flags: &NvccFlags| NvccFlags { arguments: [&flags.arguments[..], extra].concat(), ..flags.clone() };
            built.iter().map(with_extra).collect()
        }
        _ => vec![flags_for(Some(&file.config), &file.path, extra)],
    };
    let flags: Vec<NvccFlags> = flags.into_iter().flat_map(|flags| by_driver(flags, loaded)).collect();
    let names = names(&source.display, &flags);
    let cuda = |flags| UnitCode::CudaFile { file: Arc::clone(source), flags };
    let units = flags.into_iter().map(|flags| unit(workspace, file, source, cuda(flags)));
    units.zip(names).map(|(unit, name)| TranslationUnit { name, ..unit }).collect()
}

/// One set of flags for each set of driver options. Without PTX for the driver (machine code only), driver options have
/// no effect.
fn by_driver(flags: NvccFlags, loaded: &[DriverOptions]) -> Vec<NvccFlags> {
    let is_for_driver = flags.targets.is_empty() || flags.targets.iter().any(|target| target.architecture.is_none());
    match loaded {
        [] => vec![flags],
        _ if !is_for_driver => vec![flags],
        loaded => loaded.iter().map(|driver| NvccFlags { driver: driver.clone(), ..flags.clone() }).collect(),
    }
}

/// Unit names. If a file is compiled in several ways, each name gets the flags that not all of them share.
fn names(file: &str, ways: &[NvccFlags]) -> Vec<String> {
    let all: Vec<Vec<String>> = ways.iter().map(NvccFlags::all_arguments).collect();
    // Counted once, since there may be thousands of ways.
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for way in &all {
        let flags: HashSet<&str> = way.iter().map(String::as_str).collect();
        flags.into_iter().for_each(|flag| *counts.entry(flag).or_default() += 1);
    }
    let name = |way: &Vec<String>| {
        let is_own = |flag: &&str| counts.get(flag).is_none_or(|count| *count < all.len());
        let own: Vec<&str> = way.iter().map(String::as_str).filter(is_own).collect();
        if own.is_empty() { file.to_string() } else { format!("{file} [{}]", own.join(" ")) }
    };
    all.iter().map(name).collect()
}

fn unit(workspace: &Workspace, file: &DiscoveredFile, source: &Arc<SourceFile>, code: UnitCode) -> TranslationUnit {
    let package = workspace.package_of(file);
    let folder = file.path.parent().unwrap_or(Path::new(""));
    TranslationUnit {
        name: source.display.clone(),
        package: package.map(|package| package.name.clone()),
        base: package.map_or(folder, |package| &package.root).to_path_buf(),
        code,
        use_site: None,
        included_at: None,
        launches: Vec::new(),
        shared: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_compile_a_file_are_told_apart() {
        let way =
            |flags: &[&str]| NvccFlags::new(flags.iter().map(|flag| flag.to_string()).collect(), FlagOrigin::Captured);
        assert_eq!(names("a.cu", &[way(&["-O3", "-DX"])]), ["a.cu"]);
        let ways = [way(&["-O3"]), way(&["-O3", "-DX", "-DY=1"])];
        assert_eq!(names("a.cu", &ways), ["a.cu", "a.cu [-DX -DY=1]"]);
    }
}
