use std::collections::BTreeSet;

use lmem_base::diagnostic::FlagOrigin;
use lmem_project::discover::Remember as _;
use lmem_unit::NvccFlags;

use super::*;
use crate::compile::Absent;
use crate::compile::{CompileError, Failure};

struct Workspace {
    folder: tempfile::TempDir,
    header: PathBuf,
}

fn workspace() -> Workspace {
    let folder = tempfile::tempdir().unwrap();
    let header = folder.path().join("a.cuh");
    fs_err::write(&header, "int x;").unwrap();
    Workspace { folder, header }
}

impl Workspace {
    fn cache(&self) -> Cache {
        Cache::new(self.folder.path().join("cache"), self.folder.path())
    }

    fn artifacts(&self) -> Artifacts {
        let dependencies = vec![self.header.clone(), PathBuf::from("/etc/hostname")];
        Artifacts { cubin: vec![1, 2, 255], ptx: "x".into(), dependencies, ..Default::default() }
    }

    fn put(&self, artifacts: &Artifacts) {
        self.put_of(&self.unit("int main_unit;", &[]), artifacts);
    }

    fn put_of(&self, unit: &TranslationUnit, artifacts: &Artifacts) {
        self.cache().put(origin(&key(), unit), artifacts, later()).unwrap();
    }

    fn unit(&self, text: &str, arguments: &[&str]) -> TranslationUnit {
        let path = self.folder.path().join("a.cu");
        fs_err::write(&path, text).unwrap();
        let file = SourceFile::read(&path, self.folder.path()).unwrap();
        let arguments = arguments.iter().map(|argument| argument.to_string()).collect();
        TranslationUnit {
            name: "a.cu".into(),
            package: None,
            base: self.folder.path().to_path_buf(),
            code: UnitCode::CudaFile { file, flags: NvccFlags::new(arguments, FlagOrigin::Config) },
            use_site: None,
            included_at: None,
            launches: Vec::new(),
            shared: Vec::new(),
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, text).unwrap();
        path
    }
}

fn origin<'a>(key: &'a Key, unit: &'a TranslationUnit) -> Origin<'a> {
    Origin { key, unit, toolkit: Path::new("/toolkit") }
}

fn key() -> Key {
    Key::of(["abcdef"])
}

/// A time after all changes in these tests.
fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(60)
}

#[test]
fn what_was_put_comes_back_while_dependencies_are_the_same() {
    let workspace = workspace();
    workspace.put(&workspace.artifacts());
    assert_eq!(workspace.cache().get(&key()), Some(workspace.artifacts()));
    fs_err::write(&workspace.header, "int y;").unwrap();
    assert_eq!(workspace.cache().get(&key()), None);
    let other = Artifacts { ptx: "y".into(), ..workspace.artifacts() };
    workspace.put(&other);
    assert_eq!(workspace.cache().get(&key()), Some(other));
    fs_err::write(&workspace.header, "int x;").unwrap();
    assert_eq!(workspace.cache().get(&key()), Some(workspace.artifacts()));
    fs_err::remove_file(&workspace.header).unwrap();
    assert_eq!(workspace.cache().get(&key()), None);
}

#[test]
fn what_was_read_with_more_rights_is_no_answer_for_less() {
    let workspace = workspace();
    let unit = workspace.unit("int main_unit;", &[]);
    let target = Target { toolkit: Arc::new(Toolkit::absent()), architecture: "sm_90".into() };
    let key =
        |allowed: &[&str]| workspace.cache().allowing(allowed.iter().map(PathBuf::from).collect()).key(&unit, &target);
    assert_ne!(key(&[]), key(&["/outside"]));
    assert_ne!(key(&["/other"]), key(&["/outside"]));
    assert_eq!(key(&["/outside"]), key(&["/outside"]));
}

#[test]
fn files_that_change_during_a_compilation_leave_no_entry() {
    let workspace = workspace();
    let before = SystemTime::now() - Duration::from_secs(60);
    let unit = workspace.unit("", &[]);
    workspace.cache().put(origin(&key(), &unit), &workspace.artifacts(), before).unwrap();
    assert_eq!(workspace.cache().get(&key()), None);
}

/// What an editor does that saves while a check runs: the new version is older than the compiler's start.
#[test]
fn files_that_were_replaced_before_the_compiler_read_them_leave_no_entry() {
    let workspace = workspace();
    let unit = workspace.unit("int main_unit;", &[]);
    workspace.write("a.cu", "int other;");
    workspace.put_of(&unit, &workspace.artifacts());
    assert_eq!(workspace.cache().get(&key()), None);
    // The header was hashed for another unit before.
    workspace.write("a.cu", "int main_unit;");
    let cache = workspace.cache();
    assert!(cache.hashes.of(&workspace.header).is_some());
    let new = workspace.write("new.cuh", "int y;");
    fs_err::rename(new, &workspace.header).unwrap();
    cache.put(origin(&key(), &unit), &workspace.artifacts(), later()).unwrap();
    assert_eq!(workspace.cache().get(&key()), None);
    workspace.put_of(&unit, &workspace.artifacts());
    assert_eq!(workspace.cache().get(&key()), Some(workspace.artifacts()));
}

#[test]
fn a_cache_moves_with_its_workspace() {
    let old = workspace();
    let ptx = format!(".file 1 \"{}/a.cuh\"", old.folder.path().display());
    old.put(&Artifacts { ptx, ..old.artifacts() });
    let new = workspace();
    let moved = Cache::new(old.folder.path().join("cache"), new.folder.path());
    let found = moved.get(&key()).unwrap();
    assert_eq!(found.dependencies[0], new.header);
    assert!(found.ptx.contains(new.folder.path().to_str().unwrap()), "{}", found.ptx);
}

#[test]
fn results_hold_while_what_was_asked_for_is_the_same() {
    let workspace = workspace();
    let cache = workspace.cache();
    let file = SourceFile::read(&workspace.header, workspace.folder.path()).unwrap();
    let span = lmem_base::source::Span::new(&file, 4..5);
    let none = workspace.folder.path().join("none.cuh");
    let key = cache.result_key("test", &span).unwrap();
    cache.keep_result(&key, None, &vec![span.clone()], [none.clone()], later()).unwrap();
    let found = || workspace.cache().result::<Vec<lmem_base::source::Span>>(&key, None);
    assert_eq!(found(), Some(vec![span]));
    fs_err::write(&none, "").unwrap();
    assert_eq!(found(), None);
    fs_err::remove_file(&none).unwrap();
    assert!(found().is_some());
    fs_err::write(&workspace.header, "int y;").unwrap();
    assert_eq!(found(), None);
}

/// A compiler finds a new file before those that it found, or by a question that had no answer.
#[test]
fn a_file_that_was_sought_in_vain_is_an_input() {
    let cases: [(&str, &str); 9] = [
        ("#include \"b/z.cuh\"\n", "b/z.cuh"),
        ("#include <z.cuh>\n", "one/z.cuh"),
        ("#if __has_include(\"x.h\")\n#endif\n", "x.h"),
        ("#if __has_include(<x.h>)\n#endif\n", "one/x.h"),
        ("#if __has_include(\"new/../two/z.cuh\")\n#endif\n", "new/README"),
        ("#define H \"x.h\"\n#if __has_include(H)\n#endif\n", "x.h"),
        ("#define STRING(x) #x\n#include STRING(z.cuh)\n", "one/z.cuh"),
        // The toolkit's and the system's own headers ask in these folders, too.
        ("#include <vector>\n", "one/bits/types.h"),
        ("#include <vector>\n", "one/toolkit.h"),
    ];
    for (text, new) in cases {
        let (workspace, system) = (workspace(), workspace());
        let toolkit = system.write("toolkit/toolkit.h", "");
        let read = vec![workspace.write("two/z.cuh", "// found"), system.write("include/bits/types.h", "")];
        workspace.write("one/other.h", "");
        let unit = workspace.unit(text, &["-Ione", "-I", "two"]);
        let artifacts = Artifacts { dependencies: read, ..workspace.artifacts() };
        workspace.put_of(&unit, &artifacts);
        let found = || {
            let cache = workspace.cache();
            cache.inputs.add_toolkit(&[toolkit.parent().unwrap().to_path_buf()]);
            cache.get(&key()).is_some()
        };
        workspace.put_of(&unit, &artifacts);
        // Where macros make the name, each new file counts, and the cache lies in the same folder here.
        if !text.contains("STRING") {
            workspace.write("elsewhere/z.cuh", "");
            workspace.write("one/unrelated.h", "");
            assert!(found(), "{text}");
        }
        let path = workspace.write(new, "");
        assert!(!found(), "{text}");
        fs_err::remove_file(path).unwrap();
    }
}

#[test]
fn a_link_of_an_include_folder_is_an_input() {
    let workspace = workspace();
    let root = workspace.folder.path();
    for folder in ["one/below", "two/below"] {
        fs_err::create_dir_all(root.join(folder)).unwrap();
    }
    let turn = |to: &str| std::os::unix::fs::symlink(to, root.join("link")).unwrap();
    turn("one/below");
    let unit = workspace.unit("#if __has_include(<z.cuh>)\n#endif\n", &["-Ilink/.."]);
    let artifacts = Artifacts { dependencies: Vec::new(), ..workspace.artifacts() };
    workspace.put_of(&unit, &artifacts);
    assert!(workspace.cache().get(&key()).is_some());
    workspace.write("two/z.cuh", "");
    fs_err::remove_file(root.join("link")).unwrap();
    turn("two/below");
    assert!(workspace.cache().get(&key()).is_none());
}

#[test]
fn a_folder_in_the_place_of_an_empty_file_is_a_change() {
    let workspace = workspace();
    let place = workspace.folder.path().join("x");
    fs_err::create_dir(&place).unwrap();
    workspace.put_of(&workspace.unit("#if __has_include(\"x\")\n#endif\n", &[]), &workspace.artifacts());
    assert!(workspace.cache().get(&key()).is_some());
    fs_err::remove_dir(&place).unwrap();
    fs_err::write(&place, "").unwrap();
    assert!(workspace.cache().get(&key()).is_none());
}

/// As a new version of the program does, whose run looks for files that are not there, and lists folders.
#[test]
fn a_result_of_kept_artifacts_is_kept() {
    let workspace = workspace();
    let unit = workspace.unit("#include \"a.cuh\"\n", &[]);
    workspace.put_of(&unit, &workspace.artifacts());
    let cache = workspace.cache();
    assert!(cache.get(&key()).is_some());
    let result = cache.result_key("test", &"derived").unwrap();
    let asked =
        [workspace.header.clone(), workspace.folder.path().join("none.cuh"), workspace.folder.path().join("two")];
    fs_err::create_dir(&asked[2]).unwrap();
    cache.keep_result(&result, Some(origin(&key(), &unit)), &"derived", asked, later()).unwrap();
    let found = || workspace.cache().result::<String>(&result, Some(&key()));
    assert_eq!(found().as_deref(), Some("derived"));
    workspace.write("none.cuh", "");
    assert_eq!(found(), None);
}

#[test]
fn a_text_that_asks_for_its_own_path_holds_for_one_place() {
    for (text, holds) in [("auto path = __FILE__;\n", false), ("int x;\n", true)] {
        let (old, new) = (workspace(), workspace());
        old.put_of(&old.unit(text, &[]), &old.artifacts());
        let moved = Cache::new(old.folder.path().join("cache"), new.folder.path());
        assert_eq!((moved.get(&key()).is_some(), old.cache().get(&key()).is_some()), (holds, true), "{text}");
    }
}

/// A revision's files lie in another folder: what lies beside that is not what lies beside the user's.
#[test]
fn a_name_that_leads_out_of_the_workspace_holds_for_one_place() {
    for (text, argument, holds) in [
        ("#if __has_include(\"../beside/k.h\")\n#endif\n", "-DA", false),
        ("#if __has_include(\"WHOLE/k.h\")\n#endif\n", "-DA", false),
        ("#if __has_include(<k.h>)\n#endif\n", "-I../beside", false),
        ("#if __has_include(\"one/../k.h\")\n#endif\n", "-Ione/..", true),
        ("#if __has_include(\"/usr/none/k.h\")\n#endif\n", "-I/usr/none", true),
    ] {
        let (old, new) = (workspace(), workspace());
        let text = text.replace("WHOLE", &old.folder.path().to_string_lossy());
        old.put_of(&old.unit(&text, &[argument]), &old.artifacts());
        let moved = Cache::new(old.folder.path().join("cache"), new.folder.path());
        assert_eq!((moved.get(&key()).is_some(), old.cache().get(&key()).is_some()), (holds, true), "{text}");
    }
}

#[test]
fn damage_of_any_kind_is_a_miss() {
    let workspace = workspace();
    workspace.put(&workspace.artifacts());
    let folder = workspace.folder.path().join("cache");
    let files = || -> Vec<PathBuf> {
        let walk = walkdir::WalkDir::new(&folder).min_depth(2).into_iter().filter_map(Result::ok);
        walk.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
    };
    let (all, whole): (Vec<PathBuf>, Vec<Vec<u8>>) =
        files().into_iter().map(|path| (path.clone(), fs_err::read(path).unwrap())).unzip();
    assert!(all.len() >= 3, "{all:?}");
    for (index, path) in all.iter().enumerate() {
        let other = &whole[(index + 1) % whole.len()];
        let mut flipped = whole[index].clone();
        flipped[10] ^= 1;
        for damaged in [&whole[index][..10], &flipped, other, b"".as_slice()] {
            fs_err::write(path, damaged).unwrap();
            assert_eq!(workspace.cache().get(&key()), None, "{}", path.display());
            fs_err::write(path, &whole[index]).unwrap();
            assert!(workspace.cache().get(&key()).is_some());
        }
    }
    for path in &all {
        fs_err::remove_file(path).unwrap();
        fs_err::create_dir(path).unwrap();
    }
    assert_eq!(workspace.cache().get(&key()), None);
    workspace.put(&workspace.artifacts());
    assert_eq!(workspace.cache().get(&key()), Some(workspace.artifacts()));
}

/// No folder of the workspace has a header that is missing.
fn nowhere(_: &str) -> Option<PathBuf> {
    None
}

fn refused(workspace: &Workspace) -> Failure {
    let place = workspace.folder.path().join("a.cu").to_string_lossy().into_owned();
    let text = format!("{place}(2): error: identifier \"y\" is undefined");
    Failure {
        error: CompileError::Refused { architecture: "sm_90".into() },
        messages: lmem_unit::parse_messages(&text, "nvcc"),
        rescues: vec!["a note".into()],
        ptx: Some("x".into()),
        read: Some(vec![workspace.header.clone()]),
        absent: None,
    }
}

#[test]
fn a_failure_comes_back_while_its_files_are_the_same() {
    let workspace = workspace();
    let failure = refused(&workspace);
    let unit = workspace.unit("", &[]);
    workspace.cache().put_failure(origin(&key(), &unit), &failure, later(), &nowhere).unwrap();
    let found = workspace.cache().failure(&key(), &nowhere).unwrap();
    assert_eq!((&found.messages, &found.rescues, &found.ptx), (&failure.messages, &failure.rescues, &failure.ptx));
    assert!(matches!(found.error, CompileError::Refused { architecture } if architecture == "sm_90"));
    assert_eq!(workspace.cache().get(&key()), None);
    fs_err::write(&workspace.header, "int y;").unwrap();
    assert!(workspace.cache().failure(&key(), &nowhere).is_none());
    fs_err::write(&workspace.header, "int x;").unwrap();
    assert!(workspace.cache().failure(&key(), &nowhere).is_some());
}

#[test]
fn a_failure_for_want_of_a_header_comes_back_until_there_is_one() {
    let workspace = workspace();
    let place = workspace.header.with_file_name("mpi.h");
    let text = format!("{}:1:10: fatal error: mpi.h: No such file or directory", workspace.header.display());
    let absent = Absent { names: vec!["mpi.h".into()], places: vec![place.clone(), "/opt/mpi/mpi.h".into()] };
    let failure =
        Failure { messages: lmem_unit::parse_messages(&text, "gcc"), absent: Some(absent), ..refused(&workspace) };
    let unit = workspace.unit("", &[]);
    let put = |folder_with: &dyn Fn(&str) -> Option<PathBuf>| {
        workspace.cache().put_failure(origin(&key(), &unit), &failure, later(), folder_with).unwrap();
    };
    put(&nowhere);
    assert!(workspace.cache().failure(&key(), &nowhere).is_some());
    let elsewhere = |_: &str| Some(workspace.folder.path().join("third_party"));
    assert!(workspace.cache().failure(&key(), &elsewhere).is_none());
    fs_err::write(&place, "").unwrap();
    assert!(workspace.cache().failure(&key(), &nowhere).is_none());
    // It came to be while the compiler ran.
    put(&nowhere);
    assert!(workspace.cache().failure(&key(), &nowhere).is_none());
}

#[test]
fn a_failure_for_want_of_time_is_not_kept() {
    let workspace = workspace();
    let timed_out = CompileError::TimedOut { program: "nvcc".into(), seconds: 60 };
    let failure = Failure { error: timed_out, ..refused(&workspace) };
    let unit = workspace.unit("", &[]);
    workspace.cache().put_failure(origin(&key(), &unit), &failure, later(), &nowhere).unwrap();
    assert!(workspace.cache().failure(&key(), &nowhere).is_none());
}

#[test]
fn what_cargo_printed_holds_for_every_build_of_the_program() {
    let workspace = workspace();
    let of_build = |build: &str| {
        let cache = workspace.cache();
        cache.program.set(Some(build.to_string())).unwrap();
        cache
    };
    let paths = || BTreeSet::from([workspace.header.clone()]);
    CargoMemory::new(of_build("one")).keep("metadata", "{}", paths(), later());
    let result = of_build("one").result_key("claims", &"a");
    assert_ne!(result, of_build("two").result_key("claims", &"a"));
    assert_eq!(CargoMemory::new(of_build("two")).known("metadata").as_deref(), Some("{}"));
    assert_eq!(CargoMemory::new(of_build("two")).known("other"), None);
    fs_err::write(&workspace.header, "int y;").unwrap();
    assert_eq!(CargoMemory::new(of_build("two")).known("metadata"), None);
}

/// Two machines with a folder that both know.
fn shared_by_two() -> (tempfile::TempDir, [Workspace; 2]) {
    (tempfile::tempdir().unwrap(), [workspace(), workspace()])
}

impl Workspace {
    fn shared(&self, folder: &tempfile::TempDir) -> (Cache, Arc<remote::Remote>) {
        let remote = remote::Remote::open(&format!("file://{}", folder.path().display()), true).unwrap();
        (self.cache().shared(Some(Arc::clone(&remote))), remote)
    }

    /// Has the artifacts of a header with this text written here, and sent.
    fn share(&self, folder: &tempfile::TempDir, header: &str, artifacts: &Artifacts) {
        fs_err::write(&self.header, header).unwrap();
        let (cache, remote) = self.shared(folder);
        assert_eq!(cache.get(&key()), None);
        cache.put(origin(&key(), &self.unit("", &[])), artifacts, later()).unwrap();
        assert_eq!(remote.settle(Duration::from_secs(60)), None);
    }
}

#[test]
fn what_one_machine_made_another_one_has() {
    let (folder, [one, two]) = shared_by_two();
    one.share(&folder, "int x;", &one.artifacts());
    assert_eq!(two.cache().get(&key()), None);
    assert_eq!(two.shared(&folder).0.get(&key()), Some(two.artifacts()));
    // From then on it is here.
    assert_eq!(two.cache().get(&key()), Some(two.artifacts()));
}

#[test]
fn machines_that_read_other_files_know_each_others_lists() {
    let (folder, [one, two]) = shared_by_two();
    one.share(&folder, "int x;", &one.artifacts());
    // The other machine has an entry for the same key that read one file more.
    let more = Artifacts { ptx: "y".into(), ..two.artifacts() };
    let further = two.folder.path().join("further.cuh");
    fs_err::write(&further, "").unwrap();
    let more = Artifacts { dependencies: [more.dependencies.clone(), vec![further]].concat(), ..more };
    two.share(&folder, "int y;", &more);
    fs_err::write(&two.header, "int x;").unwrap();
    assert_eq!(two.cache().get(&key()), None);
    let found = two.shared(&folder).0.get(&key());
    assert_eq!(found, Some(two.artifacts()), "by the list that the first machine has made");
    fs_err::write(&two.header, "int y;").unwrap();
    assert_eq!(two.cache().get(&key()), Some(more));
}

#[test]
fn damaged_and_swapped_entries_of_the_remote_cache_are_no_answers() {
    let (folder, [one, two]) = shared_by_two();
    one.share(&folder, "int x;", &one.artifacts());
    let files: Vec<PathBuf> = walkdir::WalkDir::new(folder.path())
        .into_iter()
        .filter_map(|entry| entry.ok().filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path))
        .collect();
    assert!(files.len() > 2, "{files:?}");
    for (index, path) in files.iter().enumerate() {
        let whole = fs_err::read(path).unwrap();
        let other = fs_err::read(&files[(index + 1) % files.len()]).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for wrong in [Vec::new(), whole[..whole.len() - 1].to_vec(), flipped, other] {
            fs_err::write(path, wrong).unwrap();
            assert_eq!(two.shared(&folder).0.get(&key()), None, "{}", path.display());
            drop(clear(&two.folder.path().join("cache")));
        }
        fs_err::write(path, whole).unwrap();
    }
    assert_eq!(two.shared(&folder).0.get(&key()), Some(two.artifacts()));
}

#[test]
fn an_older_cache_is_shared_as_soon_as_there_is_a_place() {
    let (folder, [one, two]) = shared_by_two();
    one.put(&one.artifacts());
    let (cache, remote) = one.shared(&folder);
    cache.put(origin(&key(), &one.unit("", &[])), &one.artifacts(), later()).unwrap();
    assert_eq!(remote.settle(Duration::from_secs(60)), None);
    assert_eq!(two.shared(&folder).0.get(&key()), Some(two.artifacts()));
}

#[test]
fn refusals_and_notes_of_a_machine_stay_there() {
    let (folder, [one, _]) = shared_by_two();
    let (cache, remote) = one.shared(&folder);
    cache.put_failure(origin(&key(), &one.unit("", &[])), &refused(&one), later(), &nowhere).unwrap();
    cache.finish();
    assert_eq!(remote.settle(Duration::from_secs(60)), None);
    assert!(cache.failure(&key(), &nowhere).is_some());
    assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 0);
}
