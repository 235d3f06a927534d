//! Remarks: on compiler warnings, on comments and settings without effect, on text that was not checked. Remarks have
//! names and levels like lints, but concern the run, not a kernel's local memory.

use lmem_base::diagnostic::Severity;

/// A kind of remark.
pub struct Remark {
    pub name: &'static str,
    /// The default severity. An error cannot be lowered: the run failed.
    pub severity: Severity,
    /// The text of `cargo lmem explain`.
    pub documentation: &'static str,
}

/// The level name for all compiler warnings; each warning has its own code.
pub const COMPILER_WARNING: &str = "compiler_warning";

/// The remark on a baseline that allows more than there is.
pub const STALE_BASELINE: &str = "stale_baseline";

/// The remark on what a change hides.
pub const NO_LONGER_CHECKED: &str = "no_longer_checked";

/// The remark on settings of a change that ask for less.
pub const LOOSENED_SETTINGS: &str = "loosened_settings";

/// The remark on what was asked for and not checked.
pub const NOT_CHECKED: &str = "not_checked";

pub const ALL: [Remark; 14] = [
    Remark {
        name: "unused_allow",
        severity: Severity::Warning,
        documentation: "\
A `// lmem: allow(…)` comment silences nothing.

The finding that it was written for is gone, or lies elsewhere: a comment behind code holds for its line, one above code for the item or
statement below it, up to a blank line at the latest. The note says which lines it holds for.

What to do: take the comment away, or write it directly above the kernel or the declaration that the finding points to. Where the finding is there
for some architectures only, check with all of them. `--message-format json` lists in its last line what each comment silences.",
    },
    Remark {
        name: NO_LONGER_CHECKED,
        severity: Severity::Note,
        documentation: "\
A change hides something that the revision of `--changed-since` or `cargo lmem diff` checks.

A comment or a level silences a finding, `exclude` leaves a source out, the settings name fewer architectures, or a kernel is compiled no longer though
its file still has its name: inside a condition, or under a file name that no build knows. None of these counts as gone.

What to do: review the reason that stands at the comment. Where changes may not hide anything, `-D no_longer_checked` makes it an error.",
    },
    Remark {
        name: LOOSENED_SETTINGS,
        severity: Severity::Warning,
        documentation: "\
The settings ask for less than those of the revision of `--changed-since` or `cargo lmem diff`.

A change that brings a kernel may leave it out by `exclude`, lower the level of a lint, or take a budget away, all at once. Nothing would be said of that
kernel then. Only the command line decides on the level of this remark.

What to do: review the settings like code, and land them on their own: what the base branch has is not named.",
    },
    Remark {
        name: "unfulfilled_expect",
        severity: Severity::Warning,
        documentation: "\
A `// lmem: expect(…)` comment waits for a finding, and there is none.

`expect` is for findings that somebody means to mend: once they are gone, the comment has to go too.

What to do: take the comment away.",
    },
    Remark {
        name: "unused_budget",
        severity: Severity::Warning,
        documentation: "\
A `// lmem: budget(…)` comment holds for no kernel.

It holds for the kernel below it, up to a blank line at the latest; in Rust code, for the kernels of the string in what follows. A template that
nothing instantiates is no kernel. Kernels whose names a macro makes are found by words of the macro's call alone.

What to do: write it directly above the kernel, or name the kernel in a `[[package.metadata.lmem.budget]]` of the settings.",
    },
    Remark {
        name: "invalid_directive",
        severity: Severity::Warning,
        documentation: "\
A comment begins with `lmem:`, and is not understood or holds for nothing.

Known are `lmem: allow(LINT, …, reason = \"…\")`, `lmem: expect(…)`, `lmem: allow-file(…)` and `lmem: budget(stack = 0, registers <= 64, …)`,
behind `//` or inside `/* */`: in a `.cu` file, a header, the text of a kernel string, or beside one in Rust code.

What to do: mend the comment as the message says. Until then it has no effect.",
    },
    Remark {
        name: COMPILER_WARNING,
        severity: Severity::Warning,
        documentation: "\
A warning of nvcc, NVRTC, ptxas or the host compiler, with the compiler's own number.

What to do: what the compiler says. `-A compiler_warning` hides these warnings here; `-D warnings` makes errors of them, as of all that warns. To
silence one number in the build too, add `-diag-suppress NUMBER` to its nvcc flags.",
    },
    Remark {
        name: "unmatched_setting",
        severity: Severity::Warning,
        documentation: "\
A pattern of the settings names no file: `exclude`, the `path` of a `[[package.metadata.lmem.file]]`, or `--exclude`. Or it names no kernel: the
`kernel` of a `[[package.metadata.lmem.budget]]`.

It is mostly a typing error, by which flags are lost or files are checked that should not be. Patterns are relative to the folder of their
`Cargo.toml`; `*` stops at `/`, and `**` does not.

What to do: mend the pattern, or take it away.",
    },
    Remark {
        name: STALE_BASELINE,
        severity: Severity::Note,
        documentation: "\
The baseline allows more than there is: a finding is gone, or takes fewer bytes.

What improved may come back unseen, up to what the baseline has. A run that did not check everything says nothing.

What to do: `cargo lmem --write-baseline`, and commit it. `-D stale_baseline` makes that a must, so that a baseline only goes down.",
    },
    Remark {
        name: "not_analysed",
        severity: Severity::Note,
        documentation: "\
A kernel's text was found in Rust code, and its contents are not known without running the program.

Text is followed through constants, functions, `format!`, `concat!`, `include_str!` and more; the note says where that ended.

What to do: `cargo lmem run -- COMMAND` checks what a program really has compiled. `-D not_analysed` makes an error of it.",
    },
    Remark {
        name: NOT_CHECKED,
        severity: Severity::Warning,
        documentation: "\
Less was checked than the run was asked for.

A source of the tree is a link that leads elsewhere, a git submodule, or in a folder that cannot be read, or a build compiles it as CUDA under another
name than `.cu`. Or a `compile_commands.json` cannot be read in full, so that what it compiles is not known. Or the workspace has no kernel that is
compiled at all. Where settings allow this, a note says that something is not checked.

What to do: name what is to be checked too, and leave out with `exclude` what is not. `-A not_checked` says that all of it is meant to be so.",
    },
    Remark {
        name: "spill_marks",
        severity: Severity::Note,
        documentation: "\
The machine code marks more or fewer bytes as spills than ptxas reports.

What is said of the spills of that kernel may be incomplete. It comes with toolkits that this version does not know.

What to do: report it, with the kernel.",
    },
    Remark {
        name: "compile",
        severity: Severity::Error,
        documentation: "\
A file or kernel string does not compile, so that its kernels were not checked. The run ends with exit code 4.

What to do: the help below the compiler's messages names the next step. Flags, folders and defines that the real build has come from
`--capture`, or from `include-dirs`, `defines` and `nvcc-flags` in `[package.metadata.lmem]`.",
    },
    Remark {
        name: "read",
        severity: Severity::Error,
        documentation: "\
A kernel compiles, but what the compiler wrote cannot be read.

It is a bug in cargo-lmem, or a toolkit that it does not know yet.

What to do: choose another toolkit with `--toolkit VERSION`, and report it.",
    },
];

/// A remark by its name; `-` and the prefix `lmem::` are accepted. The number of a compiler warning finds the remark on
/// compiler warnings.
pub fn find(name: &str) -> Option<&'static Remark> {
    let is_compilers = ["nvcc", "nvrtc", "ptxas", "gcc", "cicc", "nvlink"]
        .iter()
        .any(|compiler| name.strip_prefix(compiler).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")));
    let name =
        if is_compilers { COMPILER_WARNING.to_string() } else { name.trim_start_matches("lmem::").replace('-', "_") };
    ALL.iter().find(|remark| remark.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_found_in_every_spelling() {
        for name in ["unused_allow", "unused-allow", "lmem::unused_allow"] {
            assert!(find(name).is_some_and(|remark| remark.name == "unused_allow"), "{name}");
        }
        for name in ["nvcc::177-D", "ptxas", "compiler_warning"] {
            assert!(find(name).is_some_and(|remark| remark.name == COMPILER_WARNING), "{name}");
        }
        assert!(find("nonsense").is_none() && find("nvccc").is_none());
    }

    #[test]
    fn every_remark_says_what_to_do() {
        for remark in &ALL {
            assert!(remark.documentation.contains("\n\nWhat to do: "), "{}", remark.name);
            assert!(crate::find(remark.name).is_none(), "{}", remark.name);
        }
    }
}
