//! What was typed on the command line.

mod completions;
mod diff;
mod flags;
mod foreign;
mod manual;
mod measure;
mod output;
mod partition;
mod words;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use cuda_toolkit::command::ToolkitCommand;
use lmem_project::discover::Scope;

pub use completions::completions;
pub use diff::DiffArgs;
pub use foreign::{NotParsed, parsed};
pub use manual::manual;
pub use measure::MeasureArgs;
pub use output::{Output, targets};
pub use partition::Partition;
pub use words::{Mistyped, mistaken_word, normalized};

/// Entry for `cargo lmem …`: cargo runs `cargo-lmem lmem …`.
#[derive(Debug, Parser)]
#[command(name = "cargo", bin_name = "cargo", disable_help_subcommand = true)]
pub enum Cargo {
    Lmem(Lmem),
}

/// Find CUDA local memory and register spills, and say which variable, which line and why
///
/// Compiles the `.cu` files of the workspace and the kernel strings in its Rust code with NVIDIA's own
/// compilers, reads the machine code, and reports every byte of local memory. Needs no GPU; where no CUDA
/// toolkit is installed, it fetches the compilers itself.
#[derive(Debug, Parser)]
#[command(
    name = "cargo-lmem",
    bin_name = "cargo lmem",
    version = crate::version::short(),
    long_version = crate::version::long(),
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  cargo lmem                                 check the package or workspace of the current folder
  cargo lmem kernels/scan.cu --arch sm_90    check one file for one architecture
  cargo lmem --arch sm_80,sm_90 -D warnings  fail in CI when anything is found
  cargo lmem --message-format github         annotate a pull request
  cargo lmem explain dynamic_index           why it costs and what to do

Exit codes: 0 nothing at deny level, 1 findings at deny level, 2 usage or configuration,
3 no usable toolkit, 4 a kernel did not compile, 101 a bug in this tool, 130 interrupted."
)]
pub struct Lmem {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub check: CheckArgs,
}

/// The hidden command that becomes the guardian of a run.
pub const GUARDIAN: &str = "__guardian";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check kernels for local memory (this is what `cargo lmem` alone does)
    Check(Box<CheckArgs>),
    /// Run a program, and check the kernels that it has NVRTC compile
    Run(Box<RunArgs>),
    /// Show what kernels take beside an older revision: stack frames, spills, registers, occupancy
    Diff(Box<DiffArgs>),
    /// Time verified edits on this machine's GPU
    Measure(Box<MeasureArgs>),
    /// Explain a lint: what it finds, why it costs, what to do
    Explain(ExplainArgs),
    /// List, install, locate or remove CUDA toolkits
    Toolkit(ToolkitArgs),
    /// Show, prune or clear the cache of compiled kernels and findings
    Cache(CacheArgs),
    /// Show which settings hold here, and where they come from
    #[command(after_help = "\
Takes the options of a check, and shows what would hold with them. `--message-format json` prints all as one document.")]
    Config(Box<CheckArgs>),
    /// Serve editors that speak the language server protocol, on stdin and stdout
    #[command(after_help = "\
Checks when the editor opens a folder and at each save; findings come with the edits that were proven. Takes the options
of a check.")]
    Lsp(Box<CheckArgs>),
    /// Write the files that bring checks to CI, hooks and editors
    Init(InitArgs),
    /// Print completions for a shell
    #[command(after_help = "\
Examples:
  source <(cargo lmem completions bash)                              bash, in ~/.bashrc after cargo's own
  cargo lmem completions zsh > ~/.zfunc/_cargo-lmem                  zsh, in a folder of $fpath
  cargo lmem completions fish > ~/.config/fish/completions/cargo-lmem.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write those of all commands
    Man {
        /// Folder to write a page for each command to
        folder: Option<PathBuf>,
    },
    /// Stand in for nvcc during a build (internal)
    #[command(hide = true, name = lmem_project::build_flags::NVCC_STAND_IN, disable_help_flag = true)]
    NvccStandIn {
        #[arg(last = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// End and remove what a run leaves behind when it is killed: records on stdin (internal)
    #[command(hide = true, name = GUARDIAN)]
    Guardian,
    /// Compile one kernel string with NVRTC: JSON in, JSON out (internal)
    #[command(hide = true, name = crate::compile::nvrtc::NVRTC_WORKER)]
    NvrtcWorker,
    /// Time a kernel on a GPU: JSON and buffers in, JSON out (internal)
    #[command(hide = true, name = crate::measure::GPU_WORKER)]
    GpuWorker,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  cargo lmem run -- cargo test              every kernel that the tests compile
  cargo lmem run --arch sm_90 -- ./server   with its true text and options

The program runs as it would; a library that is loaded before NVRTC writes down what is compiled. Findings lead to the
Rust literals and `.cu` files that the text was put together from, else to a copy of it. No GPU is needed for a program
that only compiles. The exit code is that of the check, else that of the program.")]
pub struct RunArgs {
    #[command(flatten)]
    pub check: CheckArgs,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("writes").args(["fix", "diff"]).multiple(true))]
#[command(group = clap::ArgGroup::new("edits").args(["fix", "add_allow"]).multiple(true))]
pub struct CheckArgs {
    /// Files and folders to check instead of packages; they need not belong to one
    #[arg(value_name = "PATHS")]
    pub paths: Vec<PathBuf>,

    /// Package to check (name or glob; may be repeated), or a build folder with `compile_commands.json`
    #[arg(short, long, value_name = "SPEC|BUILD_DIR", help_heading = "Packages")]
    pub package: Vec<String>,
    /// Check all packages of the workspace
    #[arg(long, help_heading = "Packages", conflicts_with = "paths")]
    pub workspace: bool,
    /// Leave a package out (with --workspace; may be repeated)
    #[arg(long, value_name = "SPEC", hide_short_help = true, help_heading = "Packages", requires = "workspace")]
    pub exclude: Vec<String>,
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH", hide_short_help = true, help_heading = "Packages")]
    pub manifest_path: Option<PathBuf>,
    /// Check the N-th of M parts of the files, for several machines; a file stays in its part when others come and go
    #[arg(long, value_name = "N/M", hide_short_help = true, help_heading = "Packages", conflicts_with_all = ["fix", "diff", "write_baseline"])]
    pub partition: Option<Partition>,

    /// Architectures to compile for, separated by commas; `native` is this machine's GPU
    #[arg(long, value_name = "ARCH", value_delimiter = ',', help_heading = "Compilation")]
    pub arch: Vec<String>,
    /// Only kernels whose demangled or mangled name matches
    #[arg(long, value_name = "GLOB", help_heading = "Compilation")]
    pub kernel: Option<String>,
    /// Toolkit to use: a folder, a version such as `13.5`, or `managed`
    #[arg(long, value_name = "PATH|VERSION|managed", help_heading = "Compilation")]
    pub toolkit: Option<String>,
    /// Folder to look for headers of `.cu` files in (may be repeated)
    #[arg(short = 'I', long, value_name = "FOLDER", help_heading = "Compilation")]
    pub include_dir: Vec<PathBuf>,
    /// Flags for all `.cu` files, beside those of their builds: `"-O1 --use_fast_math"`
    #[arg(long, value_name = "FLAGS", help_heading = "Compilation", allow_hyphen_values = true)]
    pub nvcc_flags: Vec<String>,
    /// Never use the network: do not download a toolkit
    #[arg(long, help_heading = "Compilation")]
    pub offline: bool,
    /// Run the build scripts, and take the flags that they give to nvcc; later runs remember them
    #[arg(long, help_heading = "Build scripts", env = "CARGO_LMEM_CAPTURE", value_parser = clap::builder::FalseyValueParser::new())]
    pub capture: bool,
    /// Run `cargo check` first and pass its messages through, for editors that run one command
    #[arg(long, hide_short_help = true, help_heading = "Build scripts", conflicts_with_all = ["output", "diff"])]
    pub with_check: bool,
    #[command(flatten)]
    pub features: FeatureArgs,
    /// Compile everything again, and keep nothing
    #[arg(long, hide_short_help = true, help_heading = "Compilation")]
    pub no_cache: bool,
    /// Compilers that run at the same time [default: number of cores]
    #[arg(short, long, value_name = "N", help_heading = "Compilation", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Seconds after which one file or kernel string is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 600, hide_short_help = true, help_heading = "Compilation", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Seconds after which the whole run compiles nothing more
    #[arg(long, value_name = "SECONDS", default_value_t = 14400, hide_short_help = true, help_heading = "Compilation", value_parser = clap::value_parser!(u64).range(1..))]
    pub total_timeout: u64,
    /// MiB of memory that one compiler may take; 0 sets no limit
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 8192,
        hide_short_help = true,
        help_heading = "Compilation",
        env = "CARGO_LMEM_MEMORY"
    )]
    pub memory: u64,
    /// MiB of memory that all compilers of a run may take together: each gets an equal share [default: no limit]
    #[arg(long, value_name = "MIB", hide_short_help = true, help_heading = "Compilation", env = "CARGO_LMEM_TOTAL_MEMORY", value_parser = clap::value_parser!(u64).range(1..))]
    pub total_memory: Option<u64>,
    /// Program that starts `ptxas`, outside of the sandbox, with its own arguments: `sccache`, or the client of a compile farm
    #[arg(long, value_name = "COMMAND", hide_short_help = true, help_heading = "Compilation", env = crate::compile::PTXAS_WRAPPER)]
    pub ptxas_wrapper: Option<crate::compile::Wrapper>,
    /// Folder outside of the workspace that compilers may read (may be repeated)
    #[arg(
        long,
        value_name = "FOLDER",
        hide_short_help = true,
        help_heading = "Compilation",
        env = "CARGO_LMEM_ALLOW_READ",
        value_delimiter = ':'
    )]
    pub allow_read: Vec<PathBuf>,

    /// Silence a lint (`warnings` means all)
    #[arg(short = 'A', long, value_name = "LINT", help_heading = "Lints", action = clap::ArgAction::Append)]
    pub allow: Vec<String>,
    /// Report a lint
    #[arg(short = 'W', long, value_name = "LINT", help_heading = "Lints", action = clap::ArgAction::Append)]
    pub warn: Vec<String>,
    /// Report a lint and exit with 1; or define a macro for all `.cu` files, where it has a value or capital letters
    #[arg(short = 'D', long, value_name = "LINT|NAME[=VALUE]", help_heading = "Lints", action = clap::ArgAction::Append)]
    pub deny: Vec<String>,
    /// As --deny, and not to be allowed again
    #[arg(short = 'F', long, value_name = "LINT", hide_short_help = true, help_heading = "Lints", action = clap::ArgAction::Append)]
    pub forbid: Vec<String>,

    /// Known findings: new and worse ones are errors, and nothing else is shown
    #[arg(long, value_name = "FILE", help_heading = "Baseline")]
    pub baseline: Option<PathBuf>,
    /// Write the findings of this run to the baseline [default: lmem-baseline.json in the workspace]
    #[arg(long, help_heading = "Baseline", conflicts_with_all = ["fix", "diff", "kernel"])]
    pub write_baseline: bool,
    /// Show everything, whatever baseline Cargo.toml names
    #[arg(long, hide_short_help = true, help_heading = "Baseline", conflicts_with_all = ["baseline", "write_baseline"])]
    pub no_baseline: bool,

    /// Only what changed since a revision: findings that the working tree has and the revision does not, or that take more
    #[arg(long, value_name = "REV", help_heading = "Baseline", conflicts_with_all = ["write_baseline", "capture"])]
    pub changed_since: Option<String>,
    /// The same for the next commit: the staged files, compared with HEAD or with --changed-since
    #[arg(long, help_heading = "Baseline", conflicts_with_all = ["write_baseline", "capture", "fix", "diff"])]
    pub staged: bool,

    /// Write `// lmem: allow(…)` comments with a reason for what is found, so that it is silent from now on
    #[arg(long, value_name = "REASON", hide_short_help = true, help_heading = "Baseline", num_args = 0..=1, require_equals = true,
        default_missing_value = "known before, not judged yet", value_parser = reason,
        conflicts_with_all = ["fix", "diff", "write_baseline", "staged", "capture"])]
    pub add_allow: Option<String>,

    /// Write the proven suggestions that keep the meaning into the files, until nothing is left to be done
    #[arg(long, help_heading = "Suggestions", conflicts_with = "no_verify")]
    pub fix: bool,
    /// With --fix or --diff: also those that are proven to help and that a programmer must judge
    #[arg(long, help_heading = "Suggestions", requires = "writes")]
    pub unsafe_fixes: bool,
    /// Print what --fix would write first, as a patch, and write nothing
    #[arg(long, help_heading = "Suggestions", conflicts_with_all = ["no_verify", "message_format"])]
    pub diff: bool,
    /// Write though files have changes that are not committed
    #[arg(long, hide_short_help = true, help_heading = "Suggestions", requires = "edits")]
    pub allow_dirty: bool,
    /// Write though files have staged changes
    #[arg(long, hide_short_help = true, help_heading = "Suggestions", requires = "edits")]
    pub allow_staged: bool,
    /// Write though no version control system is found
    #[arg(long, hide_short_help = true, help_heading = "Suggestions", requires = "edits")]
    pub allow_no_vcs: bool,
    /// Show suggestions without compiling them first
    #[arg(long, help_heading = "Suggestions")]
    pub no_verify: bool,
    /// Compilations of small files that proving suggestions may cost, the costliest findings first; the next run goes on
    #[arg(
        long,
        value_name = "N",
        default_value_t = 200,
        hide_short_help = true,
        help_heading = "Suggestions",
        conflicts_with = "no_verify"
    )]
    pub verify_budget: u64,

    /// Format of the findings
    #[arg(long, value_enum, default_value_t = MessageFormat::Human, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: MessageFormat,
    /// Write the findings to a file: `sarif=FILE` beside what stdout gets, `FILE` in its place, in the format of its
    /// suffix; `github` alone is the format of stdout (may be repeated)
    #[arg(long, value_name = "[FORMAT=]FILE", help_heading = "Output")]
    pub output: Vec<Output>,
    /// Order of the findings: by what they cost, or by file and line
    #[arg(long, value_enum, default_value_t = SortBy::Severity, value_name = "ORDER", help_heading = "Output")]
    pub sort: SortBy,
    /// List each checked kernel, with findings or without: stack frame, spills, registers, occupancy (human, markdown, json)
    #[arg(long, help_heading = "Output")]
    pub kernels: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto, value_name = "WHEN", help_heading = "Output")]
    pub color: ColorWhen,
    /// Say only what was found
    #[arg(short, long, help_heading = "Output", conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say which toolkit, flags and commands are used; twice: commands of suggestions too, with times
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,
}

/// Validates a reason for a comment, where it stands in quotation marks.
fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a reason is missing".to_string()),
        text if text.contains(['"', '\\', '{', '}', '\n', '\r']) || text.contains("*/") => {
            Err("a reason is text without quotation marks, backslashes, braces and line breaks".to_string())
        }
        text => Ok(text.to_string()),
    }
}

impl CheckArgs {
    /// The selection of files, relative to `current_folder`, which is absolute.
    pub fn scope(&self, current_folder: &Path) -> Scope {
        Scope {
            paths: self.paths.clone(),
            packages: self.builds_and_packages(current_folder).1,
            workspace: self.workspace,
            exclude: self.exclude.clone(),
            manifest_path: self.manifest_path.clone(),
            current_folder: current_folder.to_path_buf(),
            memory: None,
        }
    }
}

/// Features that build scripts are run with.
#[derive(Debug, Clone, Default, Args)]
pub struct FeatureArgs {
    /// With --capture or --with-check: features to build with
    #[arg(short = 'f', long = "features", value_name = "FEATURES", hide_short_help = true, help_heading = "Build scripts", action = clap::ArgAction::Append)]
    pub names: Vec<String>,
    /// With --capture or --with-check: build with all features
    #[arg(long, hide_short_help = true, help_heading = "Build scripts")]
    pub all_features: bool,
    /// With --capture or --with-check: build without the default features
    #[arg(long, hide_short_help = true, help_heading = "Build scripts")]
    pub no_default_features: bool,
}

impl FeatureArgs {
    /// The options in the form that cargo takes.
    pub fn for_cargo(&self) -> Vec<String> {
        let names = self.names.iter().flat_map(|names| ["--features".to_string(), names.clone()]);
        let all = self.all_features.then(|| "--all-features".to_string());
        let none = self.no_default_features.then(|| "--no-default-features".to_string());
        names.chain(all).chain(none).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Source excerpts with labels
    Human,
    /// One line each: `file:line:column: level: message [lint]`
    Short,
    /// One JSON object a line, as cargo and rustc print them
    Json,
    /// A SARIF 2.1.0 document
    Sarif,
    /// Workflow commands that GitHub shows as annotations
    Github,
    /// A code quality report for GitLab
    Gitlab,
    /// JUnit's XML
    Junit,
    /// A page, as for the summary of a job
    Markdown,
    /// Diagnostics for reviewdog
    Rdjson,
}

impl MessageFormat {
    /// Whether a report in this format has the figures of kernels without findings, or of kernels before and after.
    pub fn has_kernels(self) -> bool {
        matches!(self, Self::Human | Self::Markdown | Self::Json)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SortBy {
    /// Errors first, then the costliest
    Severity,
    /// By file, line and column
    File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  cargo lmem init --github --pre-commit   a workflow, and a hook of pre-commit.com
  cargo lmem init --vscode --dry-run      what would be written

A file that is there with other contents stays: on a terminal it is asked for, else `--force` replaces it.")]
#[command(group = clap::ArgGroup::new("targets").required(true).multiple(true))]
pub struct InitArgs {
    /// A workflow for GitHub Actions: .github/workflows/lmem.yml
    #[arg(long, group = "targets")]
    pub github: bool,
    /// A job for GitLab: .gitlab/lmem.yml
    #[arg(long, group = "targets")]
    pub gitlab: bool,
    /// A hook of pre-commit.com: .pre-commit-config.yaml
    #[arg(long, group = "targets")]
    pub pre_commit: bool,
    /// A hook of git alone, before each commit
    #[arg(long, group = "targets")]
    pub git_hook: bool,
    /// Checks in place of `cargo check` in editors: rust-analyzer.toml
    #[arg(long, group = "targets")]
    pub rust_analyzer: bool,
    /// Tasks with a problem matcher for Visual Studio Code: .vscode/tasks.json
    #[arg(long, group = "targets")]
    pub vscode: bool,
    /// Replace files that are there
    #[arg(long)]
    pub force: bool,
    /// Print what would be written, and write nothing
    #[arg(long, conflicts_with = "force")]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Name of the lint; all of them are listed without one
    pub lint: Option<String>,
}

#[derive(Debug, Args)]
pub struct ToolkitArgs {
    #[command(subcommand)]
    pub command: ToolkitCommand,
}

#[derive(Debug, Args)]
pub struct CacheArgs {
    #[command(subcommand)]
    pub command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Where the cache lies, and how much it holds
    Info,
    /// Remove everything from it, captured flags too
    Clear,
    /// Remove what was not used for the longest time
    Prune {
        /// MiB that may be left [default: what the cache may hold]
        #[arg(long, value_name = "MIB")]
        max_size: Option<u64>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Cargo::command().debug_assert();
        Lmem::command().debug_assert();
    }
}
