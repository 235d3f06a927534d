//! Entry point: from arguments to an exit code.

use std::io::{IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::CommandFactory;

use cargo_lmem::check::{CheckError, Outcome, Surroundings, check_in};
use cargo_lmem::cli::{
    CacheArgs, CacheCommand, Cargo, CheckArgs, ColorWhen, Command, DiffArgs, ExplainArgs, InitArgs, MeasureArgs,
    MessageFormat, NotParsed, RunArgs,
};
use cargo_lmem::init::{Fate, InitError};
use cargo_lmem::measure::{self, Bench};
use cargo_lmem::{cache, cli, compile, fix, git, in_force, init, lsp, report, run, with_check};
use cuda_toolkit::ToolkitError;
use lmem_base::diagnostic::Severity;
use lmem_base::source::display_path;
use lmem_base::{files, guardian, process, say, way};
use lmem_project::build_flags;

/// Exit codes; the numbers are documented in `--help` and the README.
#[derive(Clone, Copy)]
enum Exit {
    Clean = 0,
    Findings = 1,
    Usage = 2,
    NoToolkit = 3,
    NotCompiled = 4,
    /// The code that shells use for a program ended by Ctrl-C.
    Interrupted = 130,
}

fn main() -> ExitCode {
    let Cargo::Lmem(arguments) = match cli::parsed(&cli::normalized(std::env::args_os())) {
        Ok(arguments) => arguments,
        Err(NotParsed::Foreign(mistyped)) => return done(complain_of(&mistyped)),
        // It prints the mistake or the help, and ends the process.
        Err(NotParsed::Other(error)) => error.exit(),
    };
    // The worker is killed by its parent, and must start quickly.
    if let Some(Command::NvrtcWorker) = arguments.command {
        return done(compile::nvrtc_worker().map_or_else(|error| complain(&error, Exit::Usage), |()| Exit::Clean));
    }
    // As is this one, which may hang in a kernel.
    if let Some(Command::GpuWorker) = arguments.command {
        return done(measure::worker().map_or_else(|error| complain(&error, Exit::Usage), |()| Exit::Clean));
    }
    if let Some(Command::Guardian) = arguments.command {
        guardian::serve(std::io::stdin().lock());
        return done(Exit::Clean);
    }
    if let Some(Command::NvccStandIn { arguments }) = &arguments.command {
        // `stand_in` only returns if it fails.
        return done(complain(&build_flags::stand_in(arguments), Exit::Usage));
    }
    guardian::install(guardian_command);
    let cancel = Arc::new(AtomicBool::new(false));
    install_handler(&cancel);
    if let Some(exit) = cache_of_the_tree(arguments.command.as_ref(), &cancel) {
        return done(exit);
    }
    done(match arguments.command {
        None => match mistaken_word(&arguments.check) {
            Some(exit) => exit,
            None => run_check(&arguments.check, &cancel),
        },
        Some(Command::Check(arguments)) => run_check(&arguments, &cancel),
        Some(Command::Run(arguments)) => return run_program(&arguments, &cancel),
        Some(Command::Diff(arguments)) => run_diff(&arguments, &cancel),
        Some(Command::Measure(arguments)) => run_measure(&arguments, &cancel),
        Some(Command::Explain(arguments)) => explain(&arguments),
        Some(Command::Toolkit(arguments)) => {
            let current: Vec<_> = std::env::current_dir().into_iter().collect();
            let refuses = |folder: &Path| cache::refuse_toolkit(folder, &current, &cancel);
            cuda_toolkit::command::run(&arguments.command, None, Some(&refuses), &cancel)
                .map_or_else(|error| toolkit_error(&error), |()| Exit::Clean)
        }
        Some(Command::Cache(arguments)) => run_cache(&arguments),
        Some(Command::Config(arguments)) => show_config(&arguments),
        Some(Command::Lsp(arguments)) => {
            lsp::serve(&arguments, &cancel).map_or_else(|error| complain(&error, Exit::Usage), |()| Exit::Clean)
        }
        Some(Command::Init(arguments)) => initialize(&arguments),
        Some(Command::Completions { shell }) => write_text(&mut std::io::stdout().lock(), &cli::completions(shell)),
        Some(Command::Man { folder }) => write_manual(folder.as_deref()),
        Some(Command::NvrtcWorker | Command::GpuWorker | Command::NvccStandIn { .. } | Command::Guardian) => {
            Exit::Clean
        }
    })
}

/// Complains where compilers and results would come from the tree around the current folder. Checks ask for the trees that
/// they are given, too.
fn cache_of_the_tree(command: Option<&Command>, cancel: &AtomicBool) -> Option<Exit> {
    let uses_cache = matches!(command, Some(Command::Toolkit(_) | Command::Cache(_) | Command::Lsp(_)));
    let folder = std::env::current_dir().ok().filter(|_| uses_cache)?;
    let error = cache::check_place(&[folder], cancel).err()?;
    Some(check_error(&CheckError::Cache(error)))
}

/// This program as the guardian of its run; without a path to it there is none.
fn guardian_command() -> Option<std::process::Command> {
    let mut command = std::process::Command::new(std::env::current_exe().ok()?);
    process::harden(&mut command);
    command.args(["lmem", cli::GUARDIAN]);
    Some(command)
}

fn done(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}

/// Whether the run is over and its report is being written, maybe into a pipe that nobody empties.
static IS_REPORTING: AtomicBool = AtomicBool::new(false);

/// Time to end the compilers and to remove temporary files. The guardian does what is left.
const TIME_TO_END: Duration = Duration::from_secs(8);

/// The first Ctrl-C ends the compilers and then this process; the second ends it at once, as the first does where only the
/// report is left, or where reading takes longer than that should.
fn install_handler(cancel: &Arc<AtomicBool>) {
    let cancel = Arc::clone(cancel);
    let handler = move || {
        if cancel.swap(true, Ordering::Relaxed) || IS_REPORTING.load(Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
        std::thread::spawn(|| {
            std::thread::sleep(TIME_TO_END);
            std::process::exit(Exit::Interrupted as i32);
        });
    };
    // Without a handler, the system's default for Ctrl-C still ends the process.
    drop(ctrlc::set_handler(handler));
}

/// Runs a program and checks its kernels. The exit code is the check's; without findings it is the program's.
fn run_program(arguments: &RunArgs, cancel: &AtomicBool) -> ExitCode {
    let surroundings = Surroundings { program: Some(&arguments.command), ..Surroundings::default() };
    let (exit, ended) = checked(&arguments.check, surroundings, cancel);
    match (exit, ended) {
        (Exit::Clean, Some(status)) if !status.success() => {
            // The code that shells use for a program ended by a signal.
            let code = status.code().or(status.signal().map(|signal| 128 + signal));
            ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
        }
        (exit, _) => done(exit),
    }
}

fn mistaken_word(arguments: &CheckArgs) -> Option<Exit> {
    let folder = std::env::current_dir().ok()?;
    cli::mistaken_word(arguments, &folder).map(|mistyped| complain_of(&mistyped))
}

fn complain_of(cli::Mistyped { message, hint }: &cli::Mistyped) -> Exit {
    say::line(&format!("error: {message}"));
    say::line(&format!("hint: {hint}"));
    Exit::Usage
}

/// Reports an unwritable output file before the run instead of after it; `checked` are the folders and files named.
fn unwritable(output: &Path, checked: &[PathBuf]) -> Option<Exit> {
    if let Err(error) = way::stays_in_trees(output, &folders_of(checked.iter().map(PathBuf::as_path))) {
        let output = output.display();
        say::line(&format!("error: `--output {output}` cannot be written: {error}"));
        say::line("hint: name the file that it leads to");
        return Some(Exit::Usage);
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (problem, hint) = match (folder.is_dir(), output.is_dir()) {
        (true, false) => return None,
        (true, true) => ("it is a folder".to_string(), "name a file in it".to_string()),
        (false, _) => {
            let folder = folder.display();
            (format!("there is no folder `{folder}`"), format!("`mkdir -p {folder}` makes it"))
        }
    };
    say::line(&format!("error: `--output {}` cannot be written: {problem}", output.display()));
    say::line(&format!("hint: {hint}"));
    Some(Exit::Usage)
}

fn run_check(arguments: &CheckArgs, cancel: &AtomicBool) -> Exit {
    checked(arguments, Surroundings::default(), cancel).0
}

/// Shows what kernels take beside a revision. Findings are no failure: the table decides nothing.
fn run_diff(arguments: &DiffArgs, cancel: &AtomicBool) -> Exit {
    let check = match arguments.as_check() {
        Ok(check) => check,
        Err(message) => return check_error(&CheckError::Usage(message)),
    };
    let surroundings = Surroundings { compares_kernels: true, ..Surroundings::default() };
    match checked(&check, surroundings, cancel).0 {
        Exit::Findings => Exit::Clean,
        exit => exit,
    }
}

/// Checks for this machine's GPU, and times on it what was verified.
fn run_measure(arguments: &MeasureArgs, cancel: &AtomicBool) -> Exit {
    let mut check = match arguments.as_check() {
        Ok(check) => check,
        Err(message) => return check_error(&CheckError::Usage(message)),
    };
    let bench = match Bench::new(cancel) {
        Ok(bench) => bench,
        Err(error) => return with_hints(&error, Exit::Usage, &error.hints()),
    };
    if check.arch.is_empty() {
        check.arch = vec![bench.device.architecture.clone()];
    }
    checked(&check, Surroundings { bench: Some(&bench), ..Surroundings::default() }, cancel).0
}

fn checked(arguments: &CheckArgs, surroundings: Surroundings<'_>, cancel: &AtomicBool) -> (Exit, Option<ExitStatus>) {
    let start = Instant::now();
    set_color(arguments.color);
    let targets = cli::targets(&arguments.output, arguments.message_format);
    if targets.iter().filter(|(_, path)| path.is_none()).count() > 1 {
        say::line("error: `--output` names two formats for stdout");
        say::line("hint: `--output FORMAT=FILE` writes one of them to a file");
        return (Exit::Usage, None);
    }
    if arguments.kernels && !targets.iter().any(|(format, _)| format.has_kernels()) {
        say::line("error: `--kernels` needs the format `human`, `markdown` or `json`");
        say::line("hint: `--output markdown=FILE` writes one beside this");
        return (Exit::Usage, None);
    }
    if let Some(exit) = targets.iter().find_map(|(_, path)| unwritable((*path)?, &arguments.paths)) {
        return (exit, None);
    }
    let is_cargo_content = match arguments.with_check.then(|| with_check::run(arguments, cancel)) {
        None => true,
        Some(Ok(is_content)) => is_content,
        Some(Err(error)) => return (with_hints(&error, Exit::Usage, &[]), None),
    };
    let ended = match check_in(surroundings, arguments, cancel) {
        Ok(mut outcome) => {
            outcome.report.summary.cargo_failed = !is_cargo_content;
            (say(arguments, &outcome, start), outcome.ended)
        }
        Err(error) => (check_error(&error), None),
    };
    // The report is out: whoever reads it does not wait for what other machines will be glad of.
    if let Some(note) = cache::remote::settle().filter(|_| !arguments.quiet) {
        say::line(&format!("note: {note}"));
    }
    ended
}

fn say(arguments: &CheckArgs, outcome: &Outcome, start: Instant) -> Exit {
    IS_REPORTING.store(true, Ordering::Relaxed);
    if let Err(error) = write_report(arguments, outcome) {
        // The reader closed the pipe, as in `cargo lmem | head`.
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            return complain(&error, Exit::Usage);
        }
    }
    if !arguments.quiet && matches!(arguments.message_format, MessageFormat::Human | MessageFormat::Short) {
        let color = use_color(arguments.color, std::io::stderr().is_terminal());
        say::styled(&report::summary(&outcome.report.summary, start.elapsed(), color));
    } else if let Some(line) = report::not_shown(&outcome.report.summary) {
        say::line(&format!("note: {line}"));
    }
    exit_of(outcome)
}

fn exit_of(outcome: &Outcome) -> Exit {
    let is_denied = |diagnostic: &lmem_base::diagnostic::Diagnostic| diagnostic.severity == Severity::Error;
    if outcome.interrupted {
        return Exit::Interrupted;
    }
    match (outcome.failed, outcome.report.diagnostics.iter().any(is_denied)) {
        (true, _) => Exit::NotCompiled,
        (false, true) => Exit::Findings,
        // Cargo's own messages have explained it.
        (false, false) if outcome.report.summary.cargo_failed => Exit::NotCompiled,
        (false, false) => Exit::Clean,
    }
}

fn set_color(when: ColorWhen) {
    match when {
        ColorWhen::Auto => {}
        ColorWhen::Always => anstream::ColorChoice::Always.write_global(),
        ColorWhen::Never => anstream::ColorChoice::Never.write_global(),
    }
}

/// Whether to use color. `NO_COLOR` and similar variables apply unless the command line says otherwise.
fn use_color(when: ColorWhen, is_terminal: bool) -> bool {
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            let choice = anstream::AutoStream::choice(&std::io::stdout());
            match choice {
                anstream::ColorChoice::Never => false,
                anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => true,
                anstream::ColorChoice::Auto => is_terminal,
            }
        }
    }
}

fn write_report(arguments: &CheckArgs, outcome: &Outcome) -> std::io::Result<()> {
    let root = &outcome.workspace.root;
    let packages: Vec<report::PackageInfo> = outcome.workspace.packages.iter().filter_map(package_info).collect();
    let prefix = report::repository_prefix(root);
    for (format, path) in cli::targets(&arguments.output, arguments.message_format) {
        let is_terminal = path.is_none() && std::io::stdout().is_terminal();
        let cx = report::Context {
            packages: &packages,
            root,
            repository_prefix: &prefix,
            lint_docs: lmem_lints::documentation,
            color: match path {
                Some(_) => arguments.color == ColorWhen::Always,
                None => use_color(arguments.color, is_terminal),
            },
            width: if is_terminal { report::terminal_width() } else { report::DEFAULT_WIDTH },
            full: arguments.verbose > 0,
            limit: (is_terminal && arguments.verbose == 0).then_some(report::TERMINAL_LIMIT),
        };
        let mut text = Vec::new();
        match arguments.diff {
            true => text.extend(fix::patch(&outcome.fixes.files, root).into_bytes()),
            false => report::render(&outcome.report, format, &cx, &mut text)?,
        }
        write_to(path, root, &text)?;
    }
    Ok(())
}

/// The folders of what is checked: of a file, the one that it is in. No link of the trees around them may lead an output out of one.
fn folders_of<'a>(checked: impl Iterator<Item = &'a Path>) -> Vec<&'a Path> {
    let above = |path: &'a Path| path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = |path: &'a Path| if path.is_dir() { path } else { above(path).unwrap_or(Path::new(".")) };
    checked.map(folder).chain([Path::new(".")]).collect()
}

fn write_to(path: Option<&Path>, root: &Path, text: &[u8]) -> std::io::Result<()> {
    let Some(path) = path else {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text)?;
        return stdout.flush();
    };
    let has_twin = files::has_other_names(path);
    // Only now the root of the workspace is known, and what lies there may have changed.
    files::write_output(path, text, &folders_of(std::iter::once(root))).map_err(|error| {
        std::io::Error::new(error.kind(), format!("`{}` cannot be written: {error}", path.display()))
    })?;
    if has_twin {
        say::line(&format!("note: `{}` has another name (a hard link), which keeps the old text", path.display()));
    }
    Ok(())
}

fn package_info(package: &lmem_project::discover::Package) -> Option<report::PackageInfo> {
    let library = package.targets.iter().find(|target| target.is_lib());
    Some(report::PackageInfo {
        name: package.name.clone(),
        id: package.id.clone(),
        manifest_path: package.manifest_path.clone(),
        target: library.or(package.targets.first())?.clone(),
    })
}

fn explain(arguments: &ExplainArgs) -> Exit {
    match cargo_lmem::explain::explain(arguments.lint.as_deref()) {
        Ok(text) => write_text(&mut anstream::stdout().lock(), text.as_bytes()),
        Err(error) => with_hints(&error, Exit::Usage, &["`cargo lmem explain` lists all of them".to_string()]),
    }
}

fn write_text(out: &mut dyn Write, text: &[u8]) -> Exit {
    match out.write_all(text).and_then(|()| out.flush()) {
        // The reader closed the pipe, as in `cargo lmem explain | head`.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => complain(&Unwritten(error), Exit::Usage),
        _ => Exit::Clean,
    }
}

/// Output that has no place, such as on a full disk.
#[derive(Debug, thiserror::Error)]
#[error("stdout cannot be written")]
struct Unwritten(#[source] std::io::Error);

/// Shows the settings. clap's matches for the same command line know where each value comes from.
fn show_config(arguments: &CheckArgs) -> Exit {
    let matches = Cargo::command().try_get_matches_from(cli::normalized(std::env::args_os()));
    let matches =
        matches.ok().and_then(|mut all| all.remove_subcommand()?.1.remove_subcommand()).map(|(_, below)| below);
    let Some(matches) = matches else { return Exit::Usage };
    let folder = match std::env::current_dir() {
        Ok(folder) => folder,
        Err(error) => return complain(&CheckError::Folder(error), Exit::Usage),
    };
    let everything = match in_force::everything(arguments, &matches, &folder) {
        Ok(everything) => everything,
        Err(error) => return check_error(&error),
    };
    let text = match arguments.message_format {
        MessageFormat::Json => in_force::json(&everything),
        _ => Ok(in_force::human(&everything)),
    };
    match text {
        Ok(text) => write_text(&mut anstream::stdout().lock(), text.as_bytes()),
        Err(error) => complain(&error, Exit::Usage),
    }
}

fn initialize(arguments: &InitArgs) -> Exit {
    match std::env::current_dir().map_err(InitError::Folder).and_then(|folder| initialize_in(arguments, &folder)) {
        Ok(exit) => exit,
        Err(error) => complain(&error, Exit::Usage),
    }
}

fn initialize_in(arguments: &InitArgs, folder: &Path) -> Result<Exit, InitError> {
    let mut exit = Exit::Clean;
    for planned in init::plan(arguments, folder)? {
        let shown = display_path(&planned.path, folder);
        if arguments.dry_run {
            write_text(&mut anstream::stdout().lock(), format!("--- {shown}\n{}\n", planned.text).as_bytes());
            continue;
        }
        let mut may_replace = |path: &Path| arguments.force || init::ask(path);
        match init::write(&planned, &mut may_replace)? {
            Fate::Same => say::line(&format!("`{shown}` is there already")),
            Fate::Written if planned.next.is_empty() => say::line(&format!("wrote `{shown}`")),
            Fate::Written => say::line(&format!("wrote `{shown}`: {}", planned.next)),
            Fate::Kept => {
                exit = Exit::Usage;
                say::line(&format!("error: `{shown}` is there with other contents, and stays as it is"));
                if !planned.merge.is_empty() {
                    say::line(&format!("hint: {}", planned.merge));
                }
                say::line("hint: `--dry-run` prints what would be written, `--force` replaces the file");
            }
        }
    }
    Ok(exit)
}

fn write_manual(folder: Option<&Path>) -> Exit {
    let pages = match cli::manual() {
        Ok(pages) => pages,
        Err(error) => return complain(&error, Exit::Usage),
    };
    let Some(folder) = folder else {
        return pages.first().map_or(Exit::Clean, |(_, page)| write_text(&mut std::io::stdout().lock(), page));
    };
    let written = way::stays_in_trees(folder, &[Path::new(".")])
        .and_then(|_| fs_err::create_dir_all(folder))
        .and_then(|()| pages.iter().try_for_each(|(name, page)| files::write_output(&folder.join(name), page, &[])));
    written.map_or_else(|error| complain(&error, Exit::Usage), |()| Exit::Clean)
}

fn run_cache(arguments: &CacheArgs) -> Exit {
    let root = match cuda_toolkit::cache_root() {
        Ok(root) => root,
        Err(error) => return toolkit_error(&error),
    };
    let folder = cache::folder(&root);
    match arguments.command {
        CacheCommand::Info => {
            let (entries, bytes) = cache::usage(&folder);
            let limit = cache::limit() >> 20;
            let own = format!("{}\n{entries} entries, {:.1} of {limit} MiB\n", folder.display(), mib(bytes));
            let all = mib(cache::bytes_below(&root));
            let text = format!("{own}{}\n{all:.1} MiB in all, with toolkits and captured flags\n", root.display());
            write_text(&mut anstream::stdout().lock(), text.as_bytes())
        }
        CacheCommand::Prune { max_size } => {
            let limit = max_size.map_or_else(cache::limit, |mib| mib.saturating_mul(1 << 20));
            let (entries, bytes) = cache::prune(&folder, limit);
            let text = format!("removed {entries} entries, {:.1} MiB\n", mib(bytes));
            write_text(&mut anstream::stdout().lock(), text.as_bytes())
        }
        CacheCommand::Clear => {
            // Records of builds and texts of programs can be recreated like compilations, so they are removed too.
            let (entries, bytes) = cache::usage(&folder);
            let builds = build_flags::folder(&root);
            let had_builds = builds.exists();
            let mut folders = [folder, builds, run::folder(&root), git::folder(&root)].into_iter();
            if let Err(error) = folders.try_for_each(|folder| cache::clear(&folder)) {
                return complain(&error, Exit::Usage);
            }
            let captured =
                if had_builds { "; captured flags too: `cargo lmem --capture` takes them again" } else { "" };
            let text = format!("removed {entries} entries, {:.1} MiB{captured}\n", mib(bytes));
            write_text(&mut anstream::stdout().lock(), text.as_bytes())
        }
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1048576.0
}

fn check_error(error: &CheckError) -> Exit {
    match error {
        CheckError::Toolkit(toolkit) => with_hints(error, toolkit_exit(toolkit), &error.hints()),
        CheckError::Interrupted => complain(error, Exit::Interrupted),
        error => with_hints(error, Exit::Usage, &error.hints()),
    }
}

fn with_hints(error: &dyn std::error::Error, exit: Exit, hints: &[String]) -> Exit {
    let exit = complain(error, exit);
    for hint in hints {
        say::line(&format!("hint: {hint}"));
    }
    exit
}

fn toolkit_error(error: &ToolkitError) -> Exit {
    with_hints(error, toolkit_exit(error), &error.hints())
}

fn toolkit_exit(error: &ToolkitError) -> Exit {
    if error.is_usage() { Exit::Usage } else { Exit::NoToolkit }
}

fn complain(error: &dyn std::error::Error, exit: Exit) -> Exit {
    say::line(&format!("error: {error}"));
    let mut cause = error.source();
    while let Some(error) = cause {
        say::line(&format!("  caused by: {error}"));
        cause = error.source();
    }
    exit
}
