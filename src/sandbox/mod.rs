//! Sandbox for the compilers, which read untrusted text and print what they read.
//!
//! A text can include any file of the user's, and a compiler quotes lines that it does not understand. So compilers run
//! under Landlock, if the Linux kernel has it (5.13 and later). They can read the checked tree, the toolkit, the
//! system's folders, and paths from the user's environment or command line. They can write to a temporary folder, and
//! have no network. Memory, time and file sizes are limited on all systems.

pub mod host;
mod installed;
mod waiting;

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::process::{Resource, setrlimit};

use cuda_toolkit::Toolkit;
use installed::Installed;
use lmem_base::places::Places;
use lmem_base::process::{self, Output};
use waiting::Watch;

pub use waiting::Waits;

/// Devices that give endless data, or discard it.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/urandom", "/dev/random"];

/// Variables that nvcc adds to, and takes, as `nvcc.profile` beside it says (`INCLUDES += …`), and those of older profiles. They are
/// removed, and are no part of what is cached: nobody means nvcc by them, Makefiles export some for uses of their own, and what they name is
/// nothing that the sandbox lets a source read. `NVCC_APPEND_FLAGS` is the variable for flags.
const OF_PROFILE: [&str; 17] = [
    "INCLUDES",
    "SYSTEM_INCLUDES",
    "LIBRARIES",
    "CUDAFE_FLAGS",
    "PTXAS_FLAGS",
    "NVVM_FLAGS",
    "NVLINK_FLAGS",
    "NVASM_FLAGS",
    "NVDISASM_FLAGS",
    "LLVMC_FLAGS",
    "LLVMDIS_FLAGS",
    "OPENCC_FLAGS",
    "FATBINARY_FLAGS",
    "CICC_FLAGS",
    "CICC_PATH",
    "CICC_NEXT_PATH",
    "NVVMIR_LIBRARY_DIR",
];

/// Limit on the size of a file that a compiler writes, temporary files included.
const MAX_FILE_BYTES: u64 = 2 << 30;

/// Interval for looking at a compiler that runs.
const PAUSE: Duration = Duration::from_millis(50);

/// Restrictions for all compilers of a run; the default restricts nothing.
#[derive(Debug, Clone, Default)]
pub struct Sandbox {
    /// Readable paths.
    tree: Places,
    /// Readable and executable paths.
    programs: Places,
    /// The same, but none of a source's: a script that starts a compiler may have a token in it.
    started: Places,
    /// As `programs`, and possibly not there yet: headers are fetched when a file asks for them.
    fetched: Vec<PathBuf>,
    /// Limit on the address space of each process.
    memory: Option<Memory>,
    /// Whether the kernel enforces the restrictions (Landlock).
    is_on: bool,
    /// Whether there are any restrictions.
    restricts: bool,
}

/// Limit on the address space of a compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub bytes: u64,
    /// Whether this is a share of what all compilers may take together.
    is_share: bool,
}

impl Memory {
    /// The smaller of the limit for one compiler, where 0 is none, and its share of the limit for all. Both are in MiB,
    /// and `jobs` compilers run at the same time.
    pub fn new(one: u64, all: Option<u64>, jobs: usize) -> Option<Self> {
        let bytes = |mib: u64| mib.saturating_mul(1 << 20);
        let one = (one > 0).then(|| Self { bytes: bytes(one), is_share: false });
        let share = all.map(|all| Self { bytes: bytes(all) / jobs.max(1) as u64, is_share: true });
        one.into_iter().chain(share).min_by_key(|memory| memory.bytes)
    }

    /// The option that sets it, and what that limits.
    pub fn option(self) -> (&'static str, &'static str) {
        match self.is_share {
            true => ("--total-memory", "all compilers may take together, and fewer `--jobs` give each more"),
            false => ("--memory", "a compiler may take"),
        }
    }
}

/// Additional permissions for the compilers of one unit.
#[derive(Debug, Clone, Default)]
pub struct OfUnit {
    pub readable: Vec<PathBuf>,
    /// A temporary folder.
    pub writable: PathBuf,
}

impl Sandbox {
    /// Restrictions for the checked tree, and for paths that the user allows in addition.
    pub fn new(
        tree: &Places,
        allowed: &[PathBuf],
        toolkit: &Toolkit,
        fetched: Vec<PathBuf>,
        memory: Option<Memory>,
    ) -> Self {
        let installed = Installed::of(toolkit);
        Self {
            tree: tree.and(allowed.iter().cloned()),
            programs: Places::new(installed.folders),
            started: Places::new(installed.started),
            fetched,
            memory,
            is_on: enforced::is_available(),
            restricts: true,
        }
    }

    /// Whether this kernel can enforce read restrictions.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    pub fn memory(&self) -> Option<Memory> {
        self.memory
    }

    /// All paths that the compilers of a unit may read, and whose content may be shown in their messages.
    pub fn readable(&self, unit: &OfUnit) -> Places {
        if !self.restricts {
            return Places::new([PathBuf::from("/")]);
        }
        let of_unit = unit.readable.iter().chain([&unit.writable]).cloned();
        self.tree.with(&self.programs).and(self.fetched.iter().cloned()).and(of_unit)
    }

    /// Paths that may be read and executed, with what has been fetched by now.
    fn executable(&self) -> Places {
        self.programs.with(&self.started).and(self.fetched.iter().cloned())
    }

    /// Runs a compiler to its end, or until it waits for a pipe.
    ///
    /// # Errors
    /// It cannot be started, the restrictions cannot be enforced, or it waits ([`Waits`]).
    pub fn run(
        &self,
        command: &mut Command,
        unit: &OfUnit,
        input: &[u8],
        limit: Duration,
        cancel: &AtomicBool,
    ) -> io::Result<Output> {
        command.env("TMPDIR", &unit.writable);
        for name in OF_PROFILE {
            command.env_remove(name);
        }
        bound(command, self.memory, Some(limit));
        let program = Path::new(command.get_program()).to_path_buf();
        let (stop, group) = (AtomicBool::new(false), AtomicU32::new(0));
        let mut watch = Watch::new(self.tree.folders().iter().chain(&unit.readable));
        // Landlock restricts a thread for good, so each compiler is started, and waited for, on a thread of its own.
        std::thread::scope(|scope| {
            let (done, ended) = mpsc::channel();
            let mut run = || {
                if self.is_on {
                    enforced::restrict(&self.tree, &self.executable(), unit, &program)?;
                }
                process::run_told(command, input, limit, &stop, |leader| group.store(leader, Ordering::Relaxed))
            };
            // Nobody listens any more only where this function has ended.
            let thread = std::thread::Builder::new().spawn_scoped(scope, move || drop(done.send(run())))?;
            let output = loop {
                match ended.recv_timeout(PAUSE) {
                    Ok(output) => break output,
                    Err(RecvTimeoutError::Disconnected) => break Err(io::Error::other("a thread ended early")),
                    Err(RecvTimeoutError::Timeout) => {
                        if cancel.load(Ordering::Relaxed) || watch.waits(group.load(Ordering::Relaxed)) {
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                }
            };
            // A thread that panicked has sent nothing.
            drop(thread.join());
            watch.found().map_or(output, |waits| Err(io::Error::other(waits)))
        })
    }

    /// Runs a program of the user's own to its end, without restrictions on what it reads. A server that it starts, and that stays, has no limit
    /// on its time, and keeps its files where it wants.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run_outside(&self, command: &mut Command, limit: Duration, cancel: &AtomicBool) -> io::Result<Output> {
        bound(command, self.memory, None);
        process::run(command, b"", limit, cancel)
    }
}

/// Sets resource limits, which a process passes on to its children.
fn bound(command: &mut Command, memory: Option<Memory>, time: Option<Duration>) {
    let memory = memory.map(|memory| (Resource::As, memory.bytes));
    // A process that outlives this one ends at its CPU time limit.
    let time = time.map(|time| (Resource::Cpu, time.as_secs().saturating_add(5)));
    let others = [(Resource::Fsize, MAX_FILE_BYTES), (Resource::Core, 0)];
    let all: Vec<_> = memory
        .into_iter()
        .chain(time)
        .chain(others)
        .map(|(resource, most)| (resource, process::at_most(resource, most)))
        .collect();
    let limits = move || all.iter().try_for_each(|(resource, limit)| Ok(setrlimit(*resource, *limit)?));
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(limits) };
}

#[cfg(target_os = "linux")]
mod enforced {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
        RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    };

    use rustix::fs::{FileType, Mode, OFlags};

    use super::{DEVICES, OfUnit};
    use lmem_base::places::{GIT_FOLDER, Places};

    /// The newest Landlock ABI that was tested; an older kernel enforces the part that it supports.
    const NEWEST: ABI = ABI::V6;

    /// Whether the kernel has Landlock. Checked once, on a separate thread, because the check restricts that thread.
    pub(super) fn is_available() -> bool {
        static AVAILABLE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        let ask = || {
            let status = ruleset().and_then(RulesetCreated::restrict_self);
            status.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
        };
        // Without a thread to ask on, the answer is yes: `restrict` then fails where the kernel has none.
        *AVAILABLE.get_or_init(|| std::thread::Builder::new().spawn(ask).map_or(true, |it| it.join().unwrap_or(true)))
    }

    fn ruleset() -> Result<RulesetCreated, RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            .handle_access(AccessNet::from_all(NEWEST))?
            .scope(Scope::from_all(NEWEST))?
            .create()
    }

    /// Restricts this thread and the processes that it starts.
    pub(super) fn restrict(tree: &Places, programs: &Places, unit: &OfUnit, program: &Path) -> io::Result<()> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let run = read | AccessFs::Execute;
        let rules = || -> Result<RulesetStatus, RulesetError> {
            let mut rules = ruleset()?;
            for folder in tree.folders().iter().chain(&unit.readable) {
                rules = allow_tree(rules, folder, read)?;
            }
            for path in programs.folders() {
                rules = allow(rules, path, run)?;
            }
            rules = allow(rules, program, run)?;
            for device in DEVICES {
                rules = allow(rules, Path::new(device), AccessFs::ReadFile | AccessFs::WriteFile)?;
            }
            rules = allow(rules, &unit.writable, AccessFs::from_all(NEWEST) & !AccessFs::Execute)?;
            Ok(rules.restrict_self()?.ruleset)
        };
        match rules() {
            Ok(RulesetStatus::NotEnforced) => Err(io::Error::other("the kernel does not keep it from reading")),
            Ok(_) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Adds rules for a tree. A repository's own folder is none of it, so that its other entries have a rule each. A link
    /// among them has none: it leads into another rule, or out.
    fn allow_tree(
        mut rules: RulesetCreated,
        tree: &Path,
        access: BitFlags<AccessFs>,
    ) -> Result<RulesetCreated, RulesetError> {
        if std::fs::symlink_metadata(tree.join(GIT_FOLDER)).is_err() {
            return allow(rules, tree, access);
        }
        for entry in std::fs::read_dir(tree).into_iter().flatten().flatten() {
            let kept = (entry.file_name() != GIT_FOLDER).then(|| open_no_link(&entry.path())).flatten();
            if let Some((place, is_folder)) = kept {
                let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
                rules = rules.add_rule(PathBeneath::new(place, access))?;
            }
        }
        Ok(rules)
    }

    /// A file or folder, and which of both it is.
    fn open_no_link(path: &Path) -> Option<(OwnedFd, bool)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = rustix::fs::open(path, flags, Mode::empty()).ok()?;
        match FileType::from_raw_mode(rustix::fs::fstat(&place).ok()?.st_mode) {
            FileType::Directory => Some((place, true)),
            FileType::RegularFile => Some((place, false)),
            _ => None,
        }
    }

    /// Adds a rule; a missing path needs none.
    fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
        let Ok(place) = PathFd::new(path) else { return Ok(rules) };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        rules.add_rule(PathBeneath::new(place, access))
    }
}

#[cfg(not(target_os = "linux"))]
mod enforced {
    use super::OfUnit;
    use lmem_base::places::Places;

    pub(super) fn is_available() -> bool {
        false
    }

    pub(super) fn restrict(_: &Places, _: &Places, _: &OfUnit, _: &std::path::Path) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::process::End;

    fn run(sandbox: &Sandbox, folder: &Path, script: &str) -> Output {
        let unit = OfUnit { readable: Vec::new(), writable: folder.to_path_buf() };
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).current_dir("/");
        sandbox.run(&mut command, &unit, b"", Duration::from_secs(20), &AtomicBool::new(false)).unwrap()
    }

    /// cuRAND's headers come in the middle of a run.
    #[test]
    fn what_is_fetched_later_may_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs_err::create_dir(path("tree")).unwrap();
        fs_err::create_dir(path("tmp")).unwrap();
        let fetched = vec![path("cache/components")];
        let sandbox = Sandbox::new(&Places::new([path("tree")]), &[], &Toolkit::absent(), fetched, None);
        fs_err::create_dir_all(path("cache/components")).unwrap();
        fs_err::write(path("cache/components/header"), "fetched").unwrap();
        fs_err::write(path("cache/other"), "other").unwrap();
        let unit = OfUnit { readable: Vec::new(), writable: path("tmp") };
        assert!(sandbox.readable(&unit).hold_file(&path("cache/components/header")));
        assert!(!sandbox.readable(&unit).hold_file(&path("cache/other")));
        if sandbox.is_on() {
            let output =
                run(&sandbox, &path("tmp"), &format!("cd {0}; cat components/header other", path("cache").display()));
            assert_eq!(String::from_utf8_lossy(&output.stdout), "fetched", "{}", output.text());
        }
        assert!(cuda_toolkit::fetched_folders().iter().any(|folder| folder.ends_with("components")));
    }

    #[test]
    fn files_elsewhere_are_not_read_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        ["tree", "tmp", "out"].iter().for_each(|name| fs_err::create_dir(path(name)).unwrap());
        fs_err::write(path("tree/a"), "inside").unwrap();
        fs_err::write(path("out/b"), "outside").unwrap();
        std::os::unix::fs::symlink(path("out/b"), path("tree/link")).unwrap();
        fs_err::write(path("tree/evil"), "#!/bin/sh\necho executed\n").unwrap();
        fs_err::set_permissions(path("tree/evil"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let sandbox = Sandbox::new(&Places::new([path("tree")]), &[], &Toolkit::absent(), Vec::new(), None);
        if !sandbox.is_on() {
            return;
        }
        let all = format!(
            "cd {0}; cat tree/a; cat out/b tree/link /proc/self/environ; tree/evil; echo x > tree/a; echo x > out/b; echo x > tmp/c; cat tmp/c",
            folder.path().display()
        );
        let output = run(&sandbox, &path("tmp"), &all);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "insidex\n", "{}", output.text());
        assert_eq!(fs_err::read_to_string(path("out/b")).unwrap(), "outside");
        assert_eq!(fs_err::read_to_string(path("tree/a")).unwrap(), "inside");
    }

    #[test]
    fn a_pipe_that_nobody_writes_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs_err::create_dir_all(path("tree/deep")).unwrap();
        fs_err::create_dir(path("tmp")).unwrap();
        let pipe = path("tree/deep/header.h");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let sandbox = Sandbox::new(&Places::new([path("tree")]), &[], &Toolkit::absent(), Vec::new(), None);
        let unit = OfUnit { readable: Vec::new(), writable: path("tmp") };
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "cat \"$0\" | cat"]).arg(&pipe).current_dir("/");
        let start = std::time::Instant::now();
        let limit = Duration::from_secs(120);
        let error = sandbox.run(&mut command, &unit, b"", limit, &AtomicBool::new(false)).unwrap_err();
        assert_eq!(error.downcast::<Waits>().unwrap().0, fs_err::canonicalize(&pipe).unwrap());
        assert!(start.elapsed() < limit / 2);
        // One that sleeps reads none of them.
        let output = run(&sandbox, &path("tmp"), "sleep 4; echo done");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    }

    #[test]
    fn the_smaller_limit_counts() {
        let of = |one, all, jobs| Memory::new(one, all, jobs).map(|memory| (memory.bytes >> 20, memory.option().0));
        assert_eq!(of(0, None, 8), None);
        assert_eq!(of(8192, None, 8), Some((8192, "--memory")));
        assert_eq!(of(8192, Some(16384), 8), Some((2048, "--total-memory")));
        assert_eq!(of(1024, Some(16384), 8), Some((1024, "--memory")));
        assert_eq!(of(0, Some(100), 0), Some((100, "--total-memory")));
    }

    #[test]
    fn memory_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        let sandbox = Sandbox { memory: Memory::new(64, None, 1), ..Sandbox::default() };
        let output = run(&sandbox, folder.path(), "x=$(head -c 200000000 /dev/zero | tr '\\0' a); echo done");
        assert!(output.end != End::Exit(0) || !output.text().contains("done"), "{}", output.text());
    }
}
