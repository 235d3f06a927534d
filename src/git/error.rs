//! Why git gives no answer, and what to do next.

use std::path::{Path, PathBuf};

/// Why git gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error("`{}` lies in no git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("there is no revision `{0}`")]
    UnknownRevision(String),
    #[error("there is no revision `{0}` in this shallow clone")]
    NotFetched(String),
    #[error("there is no commit yet")]
    NoCommit,
    #[error("no `Cargo.toml` or `lmem.toml` is staged in `{}` or above it", .0.display())]
    NoManifest(PathBuf),
    #[error("`{}` is not staged", .0.display())]
    NotStaged(PathBuf),
    #[error("`{0}` is a second revision")]
    SecondRevision(String),
    #[error("`{}` is gone since `{revision}`", path.display())]
    Gone { path: PathBuf, revision: String },
    #[error("`{0}`: the branches have no commit in common")]
    NoAncestor(String),
    #[error("{count} not merged yet: `{first}`", count = plural(*.count as u64, "file is", "files are"))]
    Unmerged { first: String, count: usize },
    #[error("`{0}` is staged, and cannot be checked: its name is no text (UTF-8)")]
    NoText(String),
    #[error("git cannot be asked: {0}")]
    Refused(String),
    #[error("`{0}` is too large to be checked as git has it")]
    TooLarge(String),
    #[error("the tree of `{what}` cannot be put into the cache: {message}")]
    Tree { what: String, message: String },
    #[error("interrupted")]
    Interrupted,
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

impl GitError {
    /// What to do next.
    pub fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NoRepository(_) => "`cargo lmem --baseline FILE` compares findings without a repository",
            Self::NotFetched(_) => {
                "`git fetch --unshallow` brings it; in CI, let the checkout fetch it (`fetch-depth: 0`)"
            }
            Self::UnknownRevision(name) if Path::new(name).exists() => {
                return vec![format!("it is a path: a revision stands before paths, as in `HEAD {name}`")];
            }
            Self::UnknownRevision(name) if is_range(name) => ONE_REVISION,
            Self::SecondRevision(_) => ONE_REVISION,
            Self::Gone { .. } => "name its folder: kernels that are gone are shown with the others of it",
            Self::UnknownRevision(_) => "`git fetch` brings branches of others, as `origin/main`",
            Self::NoCommit => "`--staged` and `cargo lmem diff` compare with an empty tree",
            Self::NoManifest(_) | Self::NotStaged(_) => "`git add` puts it into the next commit",
            Self::NoText(_) => "`git mv` gives it another name",
            Self::Unmerged { .. } => "`git add` them when they are",
            _ => return Vec::new(),
        };
        vec![hint.to_string()]
    }
}

const ONE_REVISION: &str = "the working tree is compared with one revision: check the other one out";

/// Whether the text is `A..B` or `A...B`. `A...` is a revision here: where the branch left `A`.
fn is_range(name: &str) -> bool {
    name.split_once("..").is_some_and(|(first, last)| !first.is_empty() && !last.trim_start_matches('.').is_empty())
}
