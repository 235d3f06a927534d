//! What is installed on the machine that compilers read and start: the system's folders, the toolkit, the host compiler, and
//! what the user's environment names.

use std::path::{Path, PathBuf};

use cuda_toolkit::Toolkit;
use lmem_base::places::is_home_or_above;
use lmem_base::process;

use super::host::{self, Word};

/// Files and folders of the system that compilers, their libraries and their shell read and execute. `/etc` as a whole
/// and `/proc` are left out: `/proc/self/environ` contains the tokens of a CI job.
const SYSTEM: [&str; 15] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/alternatives",
    "/sys/devices/system/cpu",
    "/proc/cpuinfo",
    "/proc/meminfo",
];

/// Variables with lists of folders that compilers read headers and specifications from.
const FOLDER_LISTS: [&str; 4] = ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX"];

/// Variables with lists of folders that compilers start programs from. What else lies there, such as a script with a token, is
/// nothing that a source may include.
const PROGRAM_LISTS: [&str; 2] = ["PATH", "COMPILER_PATH"];

/// What compilers start, and what is put before them: parts of names such as `x86_64-linux-gnu-g++-13`.
const PROGRAMS: [&str; 18] = [
    "gcc", "g++", "cc", "c++", "clang", "clang++", "cc1", "cc1plus", "cpp", "collect2", "as", "ld", "lto", "nvcc",
    "ccache", "sccache", "distcc", "icecc",
];

/// Variables with lists of folders that libraries of programs are loaded from: of these folders, their files named `.so`.
const LIBRARY_LISTS: [&str; 1] = ["LD_LIBRARY_PATH"];

/// Limit on the entries of such a folder that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// Variables with nvcc flags: they are the user's own, so the paths in them may be read.
const FLAGS: [&str; 2] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"];

/// Host compilers that nvcc may start.
const HOST_COMPILERS: [&str; 5] = ["g++", "gcc", "c++", "cc", "clang++"];

/// What a compiler's installation has below its folder, of which one tells that it is one.
const OF_COMPILER: [&str; 5] = ["lib/gcc", "lib64/gcc", "libexec/gcc", "lib/clang", "lib64/clang"];

/// What an installation of NVIDIA's compilers has below its folder. `nvvm` has compilers too.
const OF_CUDA: [&str; 4] = ["nvvm", "libdevice", "bin/ptxas", "bin/nvc++"];

/// Absolute paths.
#[derive(Debug, Default)]
pub(super) struct Installed {
    /// What compilers read, as headers too, and start.
    pub folders: Vec<PathBuf>,
    /// Programs and libraries alone, of folders that may have all sorts of files.
    pub started: Vec<PathBuf>,
}

impl Installed {
    pub fn of(toolkit: &Toolkit) -> Self {
        let mut found = Self::default();
        found.folders.extend(folders(&FOLDER_LISTS));
        found.started.extend(folders(&PROGRAM_LISTS).iter().flat_map(|folder| entries(folder, &is_program)));
        found.started.extend(folders(&LIBRARY_LISTS).iter().flat_map(|folder| entries(folder, &is_library)));
        for flags in FLAGS.iter().filter_map(|name| std::env::var(name).ok()) {
            found.add_flags(&flags);
        }
        found.add_host(std::env::var_os("NVCC_CCBIN").map(PathBuf::from));
        HOST_COMPILERS.iter().filter_map(|name| process::on_path(name)).for_each(|path| found.add_compiler(&path));
        found.add_toolkit(toolkit);
        // No variable is meant to name a folder that contains all of the user's files.
        found.folders.retain(|path| path.is_absolute() && !is_home_or_above(&real(path)));
        found.folders.extend(SYSTEM.iter().map(PathBuf::from));
        found.started.retain(|path| path.is_absolute());
        found
    }

    /// What a text of flags names.
    fn add_flags(&mut self, flags: &str) {
        for word in host::words(flags) {
            match word {
                Word::Host(path) => self.add_host(Some(PathBuf::from(path))),
                Word::Other(word) => self.folders.extend(
                    word.split(['=', ','])
                        .map(|part| PathBuf::from(part.trim_start_matches("-I").trim_start_matches("-isystem"))),
                ),
            }
        }
    }

    /// A host compiler, or the folder that it lies in.
    fn add_host(&mut self, path: Option<PathBuf>) {
        match path.filter(|path| path.is_absolute()) {
            Some(folder) if folder.is_dir() => {
                self.started.extend(entries(&folder, &is_program));
                HOST_COMPILERS.iter().for_each(|name| self.add_compiler(&folder.join(name)));
            }
            Some(program) => self.add_compiler(&program),
            None => {}
        }
    }

    /// A host compiler, `/opt/gcc/bin/g++`, and what its installation has for it. A script in a folder of the user's own has
    /// none: what lies around it is theirs.
    fn add_compiler(&mut self, program: &Path) {
        self.started.push(program.to_path_buf());
        let Some(folder) = around(program, &OF_COMPILER) else { return };
        let is_target = |name: &str| name.contains("-linux-");
        self.folders.extend(OF_COMPILER.iter().map(|name| folder.join(name)));
        self.folders.extend([folder.join("include")]);
        self.folders.extend(entries(&folder, &is_target));
        self.started.extend(entries(&folder.join("bin"), &is_program));
        for libraries in ["lib", "lib64"] {
            self.started.extend(entries(&folder.join(libraries), &is_library));
        }
    }

    fn add_toolkit(&mut self, toolkit: &Toolkit) {
        let programs = [toolkit.nvcc.clone(), Some(toolkit.ptxas.clone()), Some(toolkit.root.join("nvvm/bin/cicc"))];
        self.started.extend(programs.iter().flatten().cloned().chain(std::env::current_exe()));
        self.folders.extend(programs.iter().flatten().filter_map(|program| around(program, &OF_CUDA)));
        self.folders.extend(toolkit.nvrtc.as_ref().and_then(|library| real(library).parent().map(Path::to_path_buf)));
        self.folders.extend([toolkit.root.clone()].into_iter().chain(toolkit.include_dirs()));
    }
}

fn folders(variables: &[&str]) -> Vec<PathBuf> {
    let lists = variables.iter().filter_map(std::env::var_os);
    lists.flat_map(|list| std::env::split_paths(&list).collect::<Vec<_>>()).collect()
}

/// The entries of a folder with names of some kind. Folders of the system are readable anyway.
fn entries(folder: &Path, is_it: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    if !folder.is_absolute() || SYSTEM.iter().any(|system| folder.starts_with(system)) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(MAX_ENTRIES).flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(is_it)).map(|entry| entry.path()).collect()
}

fn is_program(name: &str) -> bool {
    name.split(['-', '.']).any(|part| PROGRAMS.contains(&part))
}

fn is_library(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.")
}

fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The installation folder of a program, if it has what such a folder has: `/opt/gcc` for `/opt/gcc/bin/g++`.
fn around(program: &Path, marks: &[&str]) -> Option<PathBuf> {
    if !program.is_absolute() || !program.is_file() {
        return None;
    }
    let folder = real(program).parent()?.parent()?.to_path_buf();
    (marks.iter().any(|mark| folder.join(mark).exists()) && !is_home_or_above(&folder)).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_folders_with_programs_only_compilers_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["g++", "x86_64-linux-gnu-gcc-13", "ld.gold", "deploy", "libc.so.6", "token", "g++x"] {
            fs_err::write(folder.path().join(name), "").unwrap();
        }
        let of = |is_it: &dyn Fn(&str) -> bool| {
            let mut names = entries(folder.path(), is_it);
            names.sort();
            let names = names.iter().filter_map(|path| path.file_name()?.to_str());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(&is_program), "g++ ld.gold x86_64-linux-gnu-gcc-13");
        assert_eq!(of(&is_library), "libc.so.6");
        assert!(entries(Path::new("/usr/bin"), &is_program).is_empty());
    }

    #[test]
    fn around_a_script_is_no_installation() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| fs_err::canonicalize(root.path()).unwrap().join(name);
        for name in
            ["own/bin", "own/share", "gcc/bin", "gcc/libexec/gcc", "gcc/x86_64-linux-gnu/lib", "gcc/lib", "gcc/home"]
        {
            fs_err::create_dir_all(path(name)).unwrap();
        }
        for name in ["own/bin/g++", "gcc/bin/g++", "gcc/bin/as", "gcc/lib/libmpc.so.3", "gcc/lib/token"] {
            fs_err::write(path(name), "").unwrap();
        }
        let of = |name: &str| {
            let mut found = Installed::default();
            found.add_compiler(&path(name));
            let mut all: Vec<_> = found.folders.iter().chain(&found.started).filter(|path| path.exists()).collect();
            all.sort();
            all.dedup();
            all.iter()
                .map(|path| path.strip_prefix(path.ancestors().nth(2).unwrap()).unwrap().display().to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(of("own/bin/g++"), "bin/g++");
        assert_eq!(of("gcc/bin/g++"), "bin/as bin/g++ lib/libmpc.so.3 libexec/gcc gcc/x86_64-linux-gnu");
    }

    #[test]
    fn flags_name_headers_and_compilers() {
        let root = tempfile::tempdir().unwrap();
        let bin = fs_err::canonicalize(root.path()).unwrap().join("bin");
        fs_err::create_dir(&bin).unwrap();
        ["g++", "token"].iter().for_each(|name| fs_err::write(bin.join(name), "").unwrap());
        let program = bin.join("g++").display().to_string();
        let of = |words: &[&str]| {
            let mut found = Installed::default();
            found.add_flags(&words.join(" "));
            found.folders.retain(|path| path.is_absolute());
            found.started.retain(|path| path.is_file());
            found.started.dedup();
            (found.folders, found.started)
        };
        for words in [
            &["-ccbin", &program][..],
            &[&format!("-ccbin={program}")],
            &[&format!("-ccbin{program}")],
            &["-ccbin", &bin.display().to_string()],
        ] {
            assert_eq!(of(words), (Vec::new(), vec![bin.join("g++")]), "{words:?}");
        }
        let headers = of(&["-I/opt/a", "-include", "/opt/b.h", "-Xcompiler", "-isystem,/opt/c", "-isystem=/opt/d"]);
        let folders = ["/opt/a", "/opt/b.h", "/opt/c", "/opt/d"].map(PathBuf::from).to_vec();
        assert_eq!(headers, (folders, Vec::new()));
    }
}
