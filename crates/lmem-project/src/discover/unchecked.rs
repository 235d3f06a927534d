//! Sources that lie in a checked tree and are not checked.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A source, or a folder with some, that is not checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotChecked {
    pub why: Unchecked,
    pub path: PathBuf,
}

/// Why a source is not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Unchecked {
    LeadsOut,
    LeadsNowhere,
    LeadsToOtherKind,
    LeadsToLeftOut,
    Submodule,
    Unreadable,
    /// A pipe, a socket or a device.
    Special,
    /// Git tracks it, and its name or that of a folder above begins with a dot.
    Hidden,
    /// Git tracks it in a folder that looks like a build's.
    BuildOutput,
    /// A build compiles it as CUDA, and its name or folder is none that is looked at.
    OtherName,
    /// A manifest, `#[path]` or `include!` names it, and it has words that kernels come with.
    OtherRustName,
    /// Rust code names it.
    RustElsewhere,
    /// Rust code whose modules and included files are not all known.
    Unfollowed,
    /// Compile commands, which say what a build compiles.
    Commands,
    /// A repository whose index git does not read: what is tracked in hidden folders is not known.
    Repository,
    /// Its flags are those of a debug build, and its settings allow that.
    Debug,
    /// A `.cu` file is taken for a part of others, and no unit that was compiled has code of it.
    InNoUnit,
    /// It defines device functions that other files call, and is compiled as if none did.
    CalledElsewhere,
    /// Git knows it, and the working tree has it not: a sparse checkout.
    Absent,
}

impl Unchecked {
    /// What it is, after "it is".
    pub fn what(self) -> &'static str {
        match self {
            Self::LeadsOut => "a link that leads out of the workspace",
            Self::LeadsNowhere => "a link that leads nowhere",
            Self::LeadsToOtherKind => "a link to a file of another kind",
            Self::LeadsToLeftOut => "a link to what is left out",
            Self::Submodule => "a git submodule with CUDA sources",
            Self::Unreadable => "a folder that cannot be read",
            Self::Special => "neither a file nor a folder",
            Self::Hidden => "a source that git tracks, and hidden",
            Self::BuildOutput => "a source that git tracks, in a folder of build outputs (`CACHEDIR.TAG`, `target`)",
            Self::OtherName => "compiled as CUDA, and not named `.cu` or in a hidden folder",
            Self::OtherRustName => "compiled as Rust, may have kernels, and is not named `.rs`",
            Self::RustElsewhere => "compiled as Rust, and outside of the workspace",
            Self::Commands => "a list of compile commands that cannot be read in full",
            Self::Repository => "a repository whose index cannot be read: sources in hidden folders are not known",
            Self::Unfollowed => "Rust code that includes files, and not all of them are known",
            Self::Debug => "compiled for debugging, which the settings or comments allow",
            Self::InNoUnit => "part of other sources by their text, and of none as they are compiled",
            Self::Absent => "changed, and not in the working tree (a sparse checkout, `skip-worktree`)",
            Self::CalledElsewhere => {
                "a source whose device functions others call, compiled without `-rdc=true`, which drops them"
            }
        }
    }

    /// What to do.
    pub fn help(self) -> &'static str {
        match self {
            Self::LeadsOut | Self::LeadsToLeftOut => "name what it leads to, or leave it out with `exclude`",
            Self::Submodule => "name its folder to check it, or leave it out with `exclude`",
            Self::LeadsNowhere | Self::Unreadable | Self::Special => "mend it, or leave it out with `exclude`",
            Self::Absent => "`--staged` checks what git has; `git sparse-checkout disable` brings it",
            Self::LeadsToOtherKind => "put the file in the place of the link, or leave it out with `exclude`",
            Self::CalledElsewhere => "add `-rdc=true` to `nvcc-flags`, or capture the build's flags with `--capture`",
            Self::Debug => "take `-G` from its flags, or leave it out with `exclude`",
            Self::Hidden | Self::BuildOutput | Self::InNoUnit => "name it to check it, or leave it out with `exclude`",
            Self::OtherName => "give it a name that ends with `.cu`, or leave it out with `exclude`",
            Self::OtherRustName => "give it a name that ends with `.rs`, or leave it out with `exclude`",
            Self::RustElsewhere => "put it into the workspace: what lies elsewhere is not read",
            Self::Commands => "write it again, as `cmake` does, or remove it: what it compiles is not known",
            Self::Repository => "see what `git ls-files` says there",
            Self::Unfollowed => "write the path of `include!` as a literal, or with `concat!` and `CARGO_MANIFEST_DIR`",
        }
    }
}
