//! Compilation databases: `compile_commands.json`, as CMake and Bear write it, with one command per file.
//!
//! The file is part of the workspace and not trusted, so its flags follow the rules of a manifest's: those that name a
//! program or write files are left out. Format: clang's "JSON Compilation Database Format Specification".

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use lmem_base::places::{self, Places, tree_of};
use lmem_base::source::{display_path, normalize};

use super::arguments::{Invocation, MAX_TARGETS};
use super::clang;
use super::record::ResponseFiles;
use crate::config::nvcc_flags;

/// Usual paths, relative to the folder of a package or workspace.
const PLACES: [&str; 2] = ["compile_commands.json", "build/compile_commands.json"];

/// Prefixes of the names that IDEs and people give build folders.
const BUILD_FOLDERS: [&str; 4] = ["build", "cmake-build", "out", "_build"];

/// Larger databases are not read.
const MAX_BYTES: u64 = 64 << 20;

/// One entry of the database.
#[derive(Debug, Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    command: Option<String>,
    arguments: Option<Vec<String>>,
}

/// The nvcc commands found in some folders, and remarks.
#[derive(Debug, Default)]
pub struct Commands {
    pub invocations: Vec<Invocation>,
    pub notes: Vec<String>,
    /// The databases that were read.
    pub databases: Vec<PathBuf>,
    /// Those of them that cannot be read, or have an entry without a command.
    pub unreadable: Vec<PathBuf>,
    /// Which of several builds was chosen.
    pub choices: Vec<String>,
    /// Files that clang compiles as CUDA.
    of_clang: Vec<PathBuf>,
}

/// The databases at the usual paths of a folder.
fn usual(folder: &Path) -> Vec<PathBuf> {
    PLACES.iter().map(|place| folder.join(place)).filter(|path| path.exists()).collect()
}

/// The databases of the build folders in a folder, by name.
fn of_builds(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_build = |name: &str| BUILD_FOLDERS.iter().any(|start| name.starts_with(start));
    let mut builds: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_build))
        .map(|entry| entry.path().join(PLACES[0]))
        .filter(|path| path.exists())
        .collect();
    builds.sort();
    builds
}

impl Commands {
    /// Reads the databases of some folders.
    pub fn read(folders: &[&Path]) -> Self {
        let mut commands = Self::default();
        let folders: BTreeSet<&Path> = folders.iter().copied().collect();
        for folder in folders {
            match usual(folder) {
                paths if paths.is_empty() => commands.add_one_of(&of_builds(folder), folder),
                paths => paths.iter().for_each(|path| commands.add(path)),
            }
        }
        if let [first, others @ ..] = commands.of_clang.as_slice() {
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            commands.notes.push(format!(
                "`{}`{more}: compiled by clang, and checked as nvcc compiles it with the options that both have",
                first.display()
            ));
        }
        commands
    }

    /// Reads one of several builds of the same sources: the first that is not for debugging, where each variable is in
    /// local memory.
    fn add_one_of(&mut self, paths: &[PathBuf], folder: &Path) {
        let builds = paths.iter().map(|path| {
            let mut build = Self::default();
            build.add(path);
            build
        });
        let mut builds: Vec<Self> = builds.collect();
        let release = builds.iter().position(|build| !build.is_debug()).unwrap_or(0);
        if builds.is_empty() {
            return;
        }
        let mut chosen = builds.swap_remove(release);
        if paths.len() > 1 {
            let name = |path: &PathBuf| format!("`{}`", display_path(path.parent().unwrap_or(path), folder));
            let names: Vec<String> = paths.iter().map(name).collect();
            let all = names.join(", ");
            let one = &names[release];
            self.choices
                .push(format!("{all} have compile commands: those of {one} are used; `-p FOLDER` takes others"));
        }
        self.invocations.append(&mut chosen.invocations);
        self.notes.append(&mut chosen.notes);
        self.of_clang.append(&mut chosen.of_clang);
        self.databases.append(&mut chosen.databases);
        // One that cannot be read may be what was chosen before, so that it counts wherever it is.
        self.unreadable.extend(builds.into_iter().chain([chosen]).flat_map(|build| build.unreadable));
    }

    fn is_debug(&self) -> bool {
        let is_flag = |flag: &String| matches!(flag.as_str(), "-G" | "--device-debug" | "-device-debug");
        self.invocations.iter().any(|invocation| invocation.flags.iter().any(is_flag))
    }

    fn add(&mut self, path: &Path) {
        if self.databases.iter().any(|known| known == path) {
            return;
        }
        self.databases.push(path.to_path_buf());
        let tree = Places::new(path.parent().map(tree_of));
        // The messages of parse errors quote the file, so only files of the checked tree are read.
        let text = match tree.hold(path) {
            true => places::read(path, MAX_BYTES).map_err(|error| error.to_string()),
            false => Err("it leads out of the workspace".to_string()),
        };
        let entries: Result<Vec<Entry>, String> =
            text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
        match entries {
            Ok(entries) => {
                if !entries.iter().all(|entry| self.take(entry, path, &tree)) {
                    self.unreadable.push(path.to_path_buf());
                }
            }
            Err(error) => {
                self.notes.push(format!("`{}` is not used: {error}", path.display()));
                self.unreadable.push(path.to_path_buf());
            }
        }
    }

    /// Whether the entry has a command; only those of nvcc and clang are of use.
    fn take(&mut self, entry: &Entry, path: &Path, tree: &Places) -> bool {
        let words = entry.arguments.clone().or_else(|| shlex::split(entry.command.as_deref()?));
        let Some((program, arguments)) = words.as_ref().and_then(|words| words.split_first()) else {
            self.notes.push(format!("`{}`: the command of `{}` cannot be read", path.display(), entry.file.display()));
            return false;
        };
        let folder = path.parent().unwrap_or(Path::new("")).join(&entry.directory);
        // The compiler may follow launchers: `ccache sccache nvcc …`, `env A=b nvcc …`.
        let is_compiler = |program: &str| is_nvcc(program) || clang::is_clang(program);
        let behind = arguments.iter().take(MAX_LAUNCHERS).position(|word| is_compiler(word));
        let before = behind.filter(|_| !is_compiler(program)).unwrap_or(0);
        let mut launcher = std::iter::once(program).chain(&arguments[..before]);
        let mut is_read = true;
        if let Some(setting) = launcher.find(|word| adds_flags(word)) {
            self.notes.push(format!("`{setting}` is not used: `{}` of `{}`", entry.file.display(), path.display()));
            is_read = false;
        }
        // Who gives the words has no shell act on them.
        let command = entry.command.as_deref().filter(|_| entry.arguments.is_none());
        let shell_text = command.and_then(shell_text);
        let (program, arguments) = match behind.filter(|_| !is_compiler(program)) {
            Some(at) => (&arguments[at], &arguments[at + 1..]),
            None => (program, arguments),
        };
        if !is_compiler(program) {
            let name = entry.file.display();
            if lmem_base::source::has_ending(&entry.file, &["cu"]) {
                self.notes.push(format!(
                    "`{name}` is compiled by `{program}`: its flags are not those of nvcc and are not used"
                ));
                let has_flags =
                    !is_of_host(program) && (shell_text.is_some() || arguments.iter().any(|it| changes_text(it)));
                return is_read && !has_flags && !may_compile_cuda(arguments);
            }
            let is_cuda = may_compile_cuda(arguments) || wraps_nvcc(program) || (program.contains(['$', '`']));
            if is_cuda {
                self.notes.push(format!("`{name}` may be compiled as CUDA, by `{program}`: that is not understood"));
            }
            return !is_cuda;
        }
        if let Some(text) = shell_text {
            let name = entry.file.display();
            self.notes.push(format!(
                "`{name}` is compiled by a command with text for a shell, which is not evaluated: `{text}`"
            ));
            is_read = false;
        }
        let mut files = ResponseFiles::new(&folder, Some(tree));
        let mut expanded = files.expanded(arguments);
        let of_file = |reason: String| format!("flags of `{}` are not used: {reason}", entry.file.display());
        let is_whole = files.refused.is_empty();
        self.notes.extend(files.refused.into_iter().map(of_file));
        let mut dropped = Vec::new();
        if clang::is_clang(program) {
            let Some(translated) = clang::as_nvcc(&expanded, &entry.file) else {
                // The language may be chosen for the front end alone, or in a file.
                let direct: Vec<String> = expanded.iter().filter(|word| *word != "-Xclang").cloned().collect();
                let is_cuda =
                    !is_whole || may_compile_cuda(&direct) || direct.iter().any(|word| word.starts_with("--config"));
                if is_cuda {
                    let name = entry.file.display();
                    self.notes
                        .push(format!("`{name}` may be compiled as CUDA, by `{program}`: that is not understood"));
                }
                return !is_cuda;
            };
            (expanded, dropped) = (translated.arguments, translated.dropped);
            self.of_clang.push(entry.file.clone());
        }
        // A shell may make the file's name, too. `[sm_80]` is in a value.
        let is_pattern = |word: &&String| {
            !word.starts_with('-')
                && !word.contains('=')
                && word.contains(['*', '?', '['])
                && !folder.join(word.as_str()).exists()
        };
        if let Some(pattern) = expanded.iter().find(is_pattern).filter(|_| command.is_some()) {
            let name = entry.file.display();
            self.notes.push(format!(
                "`{name}` is compiled by a command with a pattern for a shell, which is not evaluated: `{pattern}`"
            ));
            is_read = false;
        }
        let Some(mut invocation) = Invocation::parse(&expanded, &folder) else { return is_whole && is_read };
        let own = normalize(&folder.join(&entry.file));
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let is_own = |path: &PathBuf| normalize(path) == own || real(path).is_some_and(|path| real(&own) == Some(path));
        if !invocation.inputs.iter().any(is_own) {
            if is_read {
                let name = entry.file.display();
                self.notes.push(format!("`{name}` is not what its command compiles, in `{}`", path.display()));
            }
            is_read = false;
            invocation.inputs.push(own);
        }
        if invocation.targets.len() > MAX_TARGETS {
            let name = entry.file.display();
            self.notes
                .push(format!("`{name}` is compiled for {} architectures: the first count", invocation.targets.len()));
            invocation.targets.truncate(MAX_TARGETS);
            is_read = false;
        }
        let (allowed, mut refused) = nvcc_flags::allowed(&invocation.flags, &folder);
        is_read &= dropped.is_empty();
        refused.extend(dropped);
        if !refused.is_empty() {
            self.notes.push(format!(
                "`{}` is not used: `{}` of `{}`",
                refused.join(" "),
                entry.file.display(),
                path.display()
            ));
        }
        invocation.flags = allowed;
        self.invocations.push(invocation);
        let changes = |flag: &String| nvcc_flags::may_change_text(flag) || nvcc_flags::may_change_code(flag);
        is_read && is_whole && !refused.iter().any(changes)
    }
}

/// Limit on the words of launchers before a compiler.
const MAX_LAUNCHERS: usize = 8;

/// Whether a word sets a variable by which compilers find headers, or nvcc flags: its profile adds to some of the environment.
fn adds_flags(word: &str) -> bool {
    const NAMES: [&str; 11] = [
        "CPATH",
        "C_INCLUDE_PATH",
        "CPLUS_INCLUDE_PATH",
        "OBJC_INCLUDE_PATH",
        "NVCC_PREPEND_FLAGS",
        "NVCC_APPEND_FLAGS",
        "INCLUDES",
        "SYSTEM_INCLUDES",
        "CUDAFE_FLAGS",
        "PTXAS_FLAGS",
        "NVVM_FLAGS",
    ];
    word.split_once('=').is_some_and(|(name, _)| NAMES.contains(&name))
}

/// The first text of a command by which a shell gives the compiler other words than stand there: variables, commands in the place of
/// words, home folders, and other commands before it, which may set variables or change the folder.
fn shell_text(command: &str) -> Option<&str> {
    let mut in_double = false;
    let mut before = ' ';
    let mut letters = command.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map_or(' ', |(_, next)| *next);
        let acts = match letter {
            '\\' => {
                letters.next();
                false
            }
            '\'' if !in_double => {
                letters.find(|(_, letter)| *letter == '\'');
                false
            }
            '"' => {
                in_double = !in_double;
                false
            }
            '`' => true,
            '$' => next.is_ascii_alphanumeric() || "_{(@*#?!-".contains(next) || (!in_double && "'\"".contains(next)),
            ';' | '|' | '&' | '\n' => !in_double,
            '~' => !in_double && before.is_whitespace(),
            _ => false,
        };
        if acts {
            let rest = &command[at..];
            return Some(rest.split_whitespace().next().unwrap_or(rest));
        }
        before = letter;
    }
    None
}

/// Whether a program compiles for the host alone, so that its flags are of no kernel.
fn is_of_host(program: &str) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or("");
    let name = name.trim_end_matches(".exe").trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    // `clang-cl` compiles CUDA as well.
    name == "cl" || ["gcc", "g++", "cc", "c++"].iter().any(|host| name == *host || name.ends_with(&format!("-{host}")))
}

/// Whether an argument of an unknown compiler may change the text that is compiled.
fn changes_text(argument: &str) -> bool {
    const STARTS: [&str; 14] = [
        "-D",
        "/D",
        "-U",
        "/U",
        "-I",
        "/I",
        "/FI",
        "@",
        "-isystem",
        "-iquote",
        "-idirafter",
        "-imacros",
        "-include",
        "-X",
    ];
    nvcc_flags::may_change_text(argument) || STARTS.iter().any(|start| argument.starts_with(start))
}

/// Whether a program is a wrapper around nvcc, which may compile all that it is given as CUDA (`nvcc_wrapper` of Kokkos).
fn wraps_nvcc(program: &str) -> bool {
    Path::new(program).file_name().is_some_and(|name| name.to_string_lossy().to_ascii_lowercase().contains("nvcc"))
}

/// Whether a program is nvcc; a version may be part of its name: `nvcc-13`.
fn is_nvcc(program: &str) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or("");
    let rest = name.strip_prefix("nvcc").map(|rest| rest.trim_end_matches(".exe"));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte == b'-' || byte == b'.' || byte.is_ascii_digit()))
}

/// Whether a command of an unknown program may compile CUDA: it starts nvcc, as a shell does, or chooses the language.
fn may_compile_cuda(arguments: &[String]) -> bool {
    let words = || arguments.iter().flat_map(|argument| argument.split_whitespace());
    let is_language = |word: &str| matches!(word, "cu" | "cuda");
    let follows = |first: &str, second: &str| matches!(first, "-x" | "--x" | "--language") && is_language(second);
    let is_chosen = |word: &str| {
        matches!(word, "-cuda" | "-stdpar=gpu" | "-stdpar")
            || word.starts_with("/clang:-xcuda")
            || ["-x", "-x=", "--x=", "--language="].iter().any(|name| word.strip_prefix(name).is_some_and(is_language))
    };
    words().any(|word| is_chosen(word) || (!word.starts_with('-') && is_nvcc(word)))
        || words().zip(words().skip(1)).any(|(first, second)| follows(first, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_builds_the_one_that_is_not_for_debugging_is_taken_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let build = |name: &str, flags: &str| {
            let text = format!(r#"[{{"directory": "/w", "file": "a.cu", "command": "nvcc {flags} -c a.cu"}}]"#);
            fs_err::create_dir_all(folder.path().join(name)).unwrap();
            fs_err::write(folder.path().join(name).join(PLACES[0]), text).unwrap();
        };
        let read = |folders: &[&Path]| {
            let commands = Commands::read(folders);
            let flags = commands.invocations.iter().map(|found| found.flags.join(" ")).collect::<Vec<_>>();
            (flags, commands.choices)
        };
        build("build-debug", "-G");
        assert_eq!(read(&[folder.path()]), (vec!["-G".to_string()], Vec::new()));
        build("build-release", "-O3 -DNDEBUG");
        let (flags, choices) = read(&[folder.path()]);
        assert_eq!(flags, ["-O3 -DNDEBUG"]);
        assert_eq!(
            choices,
            [
                "`build-debug`, `build-release` have compile commands: those of `build-release` are used; `-p FOLDER` takes others"
            ]
        );
        assert_eq!(read(&[&folder.path().join("build-debug")]), (vec!["-G".to_string()], Vec::new()));
        build("build", "-O1");
        assert_eq!(read(&[folder.path()]), (vec!["-O1".to_string()], Vec::new()));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PLACES[0]);
        let unreadable = |text: &str| {
            fs_err::write(&path, text).unwrap();
            Commands::read(&[folder.path()]).unreadable == [path.clone()]
        };
        let one = r#"{"directory": ".", "file": "k.cpp", "command": "nvcc -x cu -c k.cpp"}"#;
        assert!(!unreadable(&format!("[{one}]")) && !unreadable("[]"));
        let quote = one.replace("-c k", "-c 'k");
        for text in [format!("[{one}"), format!("[{one}] x"), "{}".into(), format!("[5, {one}]"), format!("[{quote}]")]
        {
            assert!(unreadable(&text), "{text}");
        }
        for entry in
            [r#"{"directory": ".", "file": "k.cpp"}"#, r#"{"directory": ".", "file": "k.cpp", "arguments": []}"#]
        {
            assert!(unreadable(&format!("[{one}, {entry}]")), "{entry}");
        }
        // Commands that may compile CUDA, and are not understood.
        let command = |words: &str| one.replace("nvcc -x cu -c k.cpp", words);
        fs_err::write(folder.path().join("o.rsp"), "-x cuda -DX").unwrap();
        for words in [
            "sh -c \\\"nvcc -x cu k.cpp\\\"",
            "hipcc -x cu k.cpp",
            "nvc++ -cuda k.cpp",
            "cc -xcuda k.cpp",
            "./nvcc_wrapper -c k.cpp",
            "clang++ --config o.rsp k.cpp",
            "clang++ -Xclang -x -Xclang cuda k.cpp",
            "nvc++ -stdpar=gpu k.cpp",
            "clang-cl /clang:-xcuda k.cpp",
            "clang++ @none.rsp k.cpp",
            "env CPATH=inc nvcc -x cu k.cpp",
            "nvcc -x cu -Xcompiler -Iinc k.cpp",
            "nvcc -x cu -Xcompiler -include,e.h k.cpp",
            "clang++ -x cuda -imacros e.h k.cpp",
            "clang++ -x cuda -cxx-isystem inc k.cpp",
            "nvcc -x cu @none.rsp k.cpp",
        ] {
            assert!(unreadable(&format!("[{}]", command(words))), "{words}");
        }
        for words in [
            "g++ -DNVCC=/usr/bin/nvcc -I/opt/nvcc -c k.cpp",
            "cc -x c++ k.cpp",
            "env A=b nvcc-13 -x cu k.cpp",
            "clang++ @o.rsp k.cpp",
            "clang++ -Xclang -x -Xclang c++ k.cpp",
            "clang++ --language cuda k.cpp",
        ] {
            assert!(!unreadable(&format!("[{}]", command(words))), "{words}");
        }
    }

    #[test]
    fn text_for_a_shell_is_not_read_as_flags() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("k.cu"), "").unwrap();
        let is_read = |command: &str| {
            let entry = serde_json::json!([{ "directory": ".", "file": "k.cu", "command": command }]);
            fs_err::write(folder.path().join(PLACES[0]), entry.to_string()).unwrap();
            let commands = Commands::read(&[folder.path()]);
            assert!(commands.unreadable.is_empty() || !commands.notes.is_empty(), "{command}");
            commands.unreadable.is_empty()
        };
        for command in [
            "NVCC_APPEND_FLAGS=-DX nvcc -c k.cu",
            "A=b CPATH=inc nvcc -c k.cu",
            "INCLUDES=-Iinc nvcc -c k.cu",
            "nvcc $FLAGS -c k.cu",
            "nvcc \"${FLAGS}\" -c k.cu",
            "nvcc `cat flags` -c k.cu",
            "nvcc $(cat flags) -c k.cu",
            "$NVCC -DX -c k.cu",
            "nvcc -DX -c $PWD/k.cu",
            "nvcc -DX -c k.c*",
            "nvcc -I ~/inc -c k.cu",
            "cd sub && nvcc -c k.cu",
            ". ./env; nvcc -c k.cu",
            "nvcc -c other.cu",
            "nvcc_wrapper -DX -c k.cu",
            "clang-cl /DX k.cu",
            "nvc++ -DX -c k.cu",
            "hipcc @k.rsp k.cu",
        ] {
            assert!(!is_read(command), "{command}");
        }
        for command in [
            "A=b nvcc -DX \"-DY=a;b\" -c ./k.cu",
            "nvcc --generate-code=arch=compute_80,code=[sm_80] -c k.cu",
            "nvcc -c sub/../k.cu",
            "g++ -DX -c k.cu",
            "aarch64-linux-gnu-g++-13 -Iinc k.cu",
            "hipcc -O3 k.cu",
        ] {
            assert!(is_read(command), "{command}");
        }
        // What a shell leaves alone may still be refused as a flag: nvcc hands its own to a shell.
        for command in ["nvcc -DX='$A' -DY=\\\"b\\\" -D'Z=`c`' -DC=a\\;b -c k.cu", "nvcc -DX=~ -DY=$ -c k.cu"] {
            assert_eq!(shell_text(command), None, "{command}");
        }
    }

    #[test]
    fn commands_of_nvcc_are_taken_and_dangerous_flags_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let build = folder.path().join("build");
        fs_err::create_dir_all(&build).unwrap();
        fs_err::write(build.join("i.rsp"), "-isystem=/inc").unwrap();
        let text = r#"[
            {"directory": ".", "file": "/w/a.cu", "command": "/usr/bin/nvcc --options-file i.rsp -DX=\\\"a\\\" -DY=1 -ccbin ./evil -O3 --generate-code=arch=compute_80,code=[sm_80] -x cu -c /w/a.cu -o a.o"},
            {"directory": "/w", "file": "b.cu", "arguments": ["sccache", "nvcc", "-c", "b.cu", "-use_fast_math"]},
            {"directory": "/w", "file": "c.cu", "arguments": ["icpx", "-c", "c.cu"]},
            {"directory": "/w", "file": "e.cpp", "arguments": ["ccache", "clang++-18", "-x", "cuda", "-DE", "-ccbin", "./evil", "-c", "e.cpp"]},
            {"directory": "/w", "file": "f.cpp", "arguments": ["clang++", "-DF", "-c", "f.cpp"]},
            {"directory": "/w", "file": "d.cpp", "arguments": ["g++", "-c", "d.cpp"]}]"#;
        fs_err::write(build.join("compile_commands.json"), text).unwrap();
        fs_err::write(folder.path().join("compile_commands.json"), "[{]").unwrap();
        let commands = Commands::read(&[folder.path()]);
        let flags: Vec<String> = commands.invocations.iter().map(|found| found.flags.join(" ")).collect();
        assert_eq!(flags, ["-isystem /inc -DX=\"a\" -DY=1 -O3", "-use_fast_math", "-DE"]);
        assert_eq!(commands.invocations[2].inputs, [Path::new("/w/e.cpp")]);
        assert_eq!(commands.invocations[0].targets[0].architecture.as_deref(), Some("sm_80"));
        assert_eq!(commands.notes.len(), 4, "{:?}", commands.notes);
        let notes = commands.notes.join("\n");
        assert!(
            notes.contains("/evil` is not used") && notes.contains("`icpx`") && notes.contains("key must be"),
            "{notes}"
        );
        assert!(notes.contains("`e.cpp`: compiled by clang, and checked"), "{notes}");
    }
}
