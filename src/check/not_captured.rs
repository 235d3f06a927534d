//! Reports `.cu` files that no build script was seen to compile, if build flags were requested.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lmem_base::diagnostic::FlagOrigin;
use lmem_base::places;
use lmem_base::source::display_path;
use lmem_extract::Extraction;
use lmem_project::build_flags::BuildFlags;
use lmem_project::discover::{NotChecked, Package, Unchecked, Workspace};
use lmem_unit::{TranslationUnit, UnitCode};

use super::unit_flags::flag_origin;

/// Limit on the size of a build script, which normally has a few thousand bytes.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

const WAYS_OUT: &str =
    "`nvcc-flags` for the file in `[[package.metadata.lmem.file]]`, or a `compile_commands.json`, says them";

/// A note for each package, and one for all files outside of packages with a build script.
pub(super) fn notes(extraction: &Extraction, workspace: &Workspace, builds: &BuildFlags) -> Vec<String> {
    let units = extraction.units.iter().filter(|unit| matches!(unit.code, UnitCode::CudaFile { .. }));
    let mut files: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
    for unit in units.filter(|unit| flag_origin(unit) == FlagOrigin::Assumed) {
        let package = unit.package.as_deref().filter(|name| builds.scripts.contains(*name));
        files.entry(package).or_default().push(&unit.name);
    }
    let note = |(package, files): (Option<&str>, Vec<&str>)| {
        let package = package.and_then(|name| workspace.packages.iter().find(|package| package.name == name));
        of_files(package, &files)
    };
    files.into_iter().map(note).collect()
}

/// A note on files that builds compile and that lie outside of the workspace: they are not checked.
pub(super) fn elsewhere<'f>(workspace: &Workspace, compiled: impl Iterator<Item = &'f Path>) -> Option<String> {
    let is_checked = |path: &Path| workspace.file(path).is_some();
    let is_inside = |path: &Path| {
        let packages = workspace.packages.iter().map(|package| package.root.as_path());
        packages.chain([workspace.root.as_path()]).any(|root| path.starts_with(root))
    };
    let files: Vec<&Path> = compiled.filter(|path| !is_inside(path) && !is_checked(path)).collect();
    let (first, more) = files.split_first()?;
    let first = display_path(first, &workspace.root);
    let (others, verb, them) = match more.len() {
        0 => (String::new(), "lies", "it"),
        count => (format!(" and {}", lmem_base::words::plural(count as u64, "other file")), "lie", "them"),
    };
    Some(format!(
        "`{first}`{others} of your builds {verb} outside of the workspace and {} not checked: `cargo lmem PATH` checks {them}",
        if more.is_empty() { "is" } else { "are" }
    ))
}

/// What to do about assumed flags: `summary` says how many files have some.
pub(super) fn advice(workspace: &Workspace, builds: &BuildFlags) -> String {
    let database = builds.databases.first().map(|path| display_path(path, &workspace.root));
    match (workspace.packages.iter().any(Package::has_build_script), database) {
        (true, _) => "`--capture` takes those of your build scripts".to_string(),
        (false, Some(name)) => format!("not in `{name}`, which CMake writes again when it is run"),
        (false, None) => {
            let place = if workspace.packages.is_empty() { "`lmem.toml`" } else { "`[package.metadata.lmem]`" };
            format!("a `compile_commands.json`, or `nvcc-flags` and `defines` in {place}, says them")
        }
    }
}

/// A note on files that are not in the compilation database, though others are: a new file, probably.
pub(super) fn not_in_database(extraction: &Extraction, workspace: &Workspace, builds: &BuildFlags) -> Option<String> {
    let [database] = builds.databases.as_slice() else { return None };
    // A file may be in it with a command that was not understood, which is said.
    if !builds.unreadable.is_empty() {
        return None;
    }
    let files = || extraction.units.iter().filter(|unit| matches!(unit.code, UnitCode::CudaFile { .. }));
    let is_assumed = |unit: &&TranslationUnit| flag_origin(unit) == FlagOrigin::Assumed;
    let is_known = |unit: &TranslationUnit| flag_origin(unit) == FlagOrigin::CompileCommands;
    let names: Vec<&str> = files().filter(is_assumed).map(|unit| unit.name.as_str()).collect();
    let named = named(&names).filter(|_| files().any(is_known))?;
    let verb = if names.len() == 1 { "is" } else { "are" };
    let name = display_path(database, &workspace.root);
    Some(format!("{named} {verb} not in `{name}`: run cmake again, else the flags are assumed"))
}

/// Files of the workspace that builds compile as CUDA and that are not checked: their names do not end with `.cu`, or
/// they lie in folders that are left out.
pub(super) fn not_looked_at(workspace: &Workspace, builds: &BuildFlags) -> Vec<NotChecked> {
    let files = workspace.files.iter().chain(&workspace.included);
    let checked: BTreeSet<&Path> = files.map(|file| file.path.as_path()).collect();
    let is_excluded = |path: &Path| workspace.files.iter().any(|file| file.config.is_excluded(path));
    let others = builds.files().filter(|path| path.starts_with(&workspace.root) && !checked.contains(path));
    let others = others.filter(|path| places::is_regular(path) && !is_excluded(path));
    others.map(|path| NotChecked { why: Unchecked::OtherName, path: path.to_path_buf() }).collect()
}

/// The first file and the number of the others; `None` without any.
fn named(files: &[&str]) -> Option<String> {
    let (first, more) = files.split_first()?;
    Some(match more.len() {
        0 => format!("`{first}`"),
        count => format!("`{first}` and {}", lmem_base::words::plural(count as u64, "other file")),
    })
}

fn of_files(package: Option<&Package>, files: &[&str]) -> String {
    let names = named(files).unwrap_or_default();
    let their = if files.len() > 1 { "their" } else { "its" };
    let verb = if files.len() > 1 { "were" } else { "was" };
    let Some(package) = package else {
        return format!("{names} {verb} compiled by no build script: {their} flags are assumed");
    };
    let texts: Vec<String> = package.build_scripts().filter_map(read).collect();
    let reason = texts.iter().find_map(|text| reason(text)).map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!(
        "the build script of `{}` was not seen to compile {names}{reason}: {their} flags are assumed; {WAYS_OUT}",
        package.name
    )
}

fn read(path: &Path) -> Option<String> {
    String::from_utf8(places::read(path, MAX_SCRIPT_BYTES).ok()?).ok()
}

/// Why the compiler calls of a build script could not be seen. The text is only searched, not executed, and the message
/// only quotes the literal that matched.
fn reason(script: &str) -> Option<String> {
    let literals: Vec<&str> = script.split('"').skip(1).step_by(2).collect();
    let is_path_of_nvcc = |text: &&&str| text.starts_with('/') && text.ends_with("/nvcc");
    if let Some(path) = literals.iter().find(is_path_of_nvcc) {
        return Some(format!(
            "it names `{path}`, and only an nvcc found by `PATH`, `NVCC`, `CUDACXX` or `CUDA_HOME` is seen"
        ));
    }
    let is_clang = |text: &&&str| matches!(text.rsplit('/').next(), Some("clang" | "clang++"));
    literals.iter().find(is_clang).map(|name| format!("it names `{name}`, and only nvcc is seen"))
}

#[cfg(test)]
mod tests {
    use lmem_base::source::SourceFile;
    use lmem_unit::NvccFlags;

    use super::*;

    #[test]
    fn files_that_builds_compile_and_nobody_checks_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a.cu", "main.cpp", ".old.cu"] {
            fs_err::write(at(name), "").unwrap();
        }
        let command = |name: &str| serde_json::json!({ "directory": folder.path(), "file": name, "command": format!("nvcc -x cu -c {name}") });
        let database =
            serde_json::json!([command("a.cu"), command("main.cpp"), command(".old.cu"), command("gone.cpp")]);
        fs_err::write(at("compile_commands.json"), database.to_string()).unwrap();
        fs_err::write(at("lmem.toml"), "").unwrap();
        let scope = lmem_project::discover::Scope { current_folder: folder.path().to_path_buf(), ..Default::default() };
        let workspace = lmem_project::discover::discover(&scope).unwrap();
        let builds = lmem_project::build_flags::known(&workspace, None);
        let found = not_looked_at(&workspace, &builds);
        let names: Vec<String> = found.iter().map(|found| display_path(&found.path, &workspace.root)).collect();
        assert_eq!(names, [".old.cu", "main.cpp"]);
        assert!(found.iter().all(|found| found.why == Unchecked::OtherName));
    }

    #[test]
    fn a_file_that_is_missing_in_the_database_is_named_beside_others_that_are_there() {
        let unit = |name: &str, origin: FlagOrigin| TranslationUnit {
            name: name.to_string(),
            package: None,
            base: ".".into(),
            code: UnitCode::CudaFile {
                file: SourceFile::from_text(name, ""),
                flags: NvccFlags::new(Vec::new(), origin),
            },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        };
        let workspace = Workspace { root: "/w".into(), ..Workspace::default() };
        let mut builds = BuildFlags::default();
        builds.databases.push("/w/build/compile_commands.json".into());
        let note = |units: Vec<TranslationUnit>, builds: &BuildFlags| {
            not_in_database(&Extraction { units, ..Extraction::default() }, &workspace, builds)
        };
        let (known, new) = (unit("a.cu", FlagOrigin::CompileCommands), unit("b.cu", FlagOrigin::Assumed));
        let said = note(vec![known.clone(), new.clone()], &builds).unwrap();
        assert_eq!(said, "`b.cu` is not in `build/compile_commands.json`: run cmake again, else the flags are assumed");
        assert_eq!(note(vec![known], &builds), None);
        assert_eq!(note(vec![new.clone()], &builds), None);
        assert_eq!(note(vec![new], &BuildFlags::default()), None);
        assert_eq!(
            advice(&workspace, &builds),
            "not in `build/compile_commands.json`, which CMake writes again when it is run"
        );
        assert!(advice(&workspace, &BuildFlags::default()).contains("`lmem.toml`"));
    }

    #[test]
    fn files_that_builds_compile_outside_of_the_workspace_are_told() {
        let workspace = Workspace { root: "/w/app".into(), ..Workspace::default() };
        let note = |files: &[&str]| elsewhere(&workspace, files.iter().map(Path::new));
        assert_eq!(note(&["/w/app/kernels/a.cu"]), None);
        let one = note(&["/w/app/kernels/a.cu", "/w/shared/b.cu"]).unwrap();
        assert!(one.starts_with("`/w/shared/b.cu` of your builds lies outside"), "{one}");
        let two = note(&["/w/shared/b.cu", "/w/shared/c.cu"]).unwrap();
        assert!(two.starts_with("`/w/shared/b.cu` and 1 other file of your builds lie outside"), "{two}");
    }

    #[test]
    fn scripts_that_go_past_the_stand_in_are_told() {
        let of_path = reason(r#"fn main() { Command::new("/usr/local/cuda/bin/nvcc").arg("-ptx"); }"#).unwrap();
        assert!(of_path.starts_with("it names `/usr/local/cuda/bin/nvcc`"), "{of_path}");
        let of_clang = reason(r#"cc::Build::new().compiler("clang++").file("k.cu")"#).unwrap();
        assert_eq!(of_clang, "it names `clang++`, and only nvcc is seen");
        assert_eq!(reason(r#"Command::new("nvcc"); println!("cargo:warning=no /nvcc");"#), None);
    }

    #[test]
    fn files_without_a_script_are_said_as_before() {
        assert_eq!(of_files(None, &["a.cu"]), "`a.cu` was compiled by no build script: its flags are assumed");
        assert_eq!(
            of_files(None, &["a.cu", "b.cu", "c.cu"]),
            "`a.cu` and 2 other files were compiled by no build script: their flags are assumed"
        );
    }
}
