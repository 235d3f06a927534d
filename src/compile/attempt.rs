//! The command line of a compilation, and what rescues change of it.

use std::path::PathBuf;

use cuda_toolkit::Library;
use lmem_base::gpu::Arch;
use lmem_project::config::is_safe_path;
use lmem_unit::{NvccFlags, declared_target};

use super::rescue::Rescue;
use super::unit::Target;

/// Limit on attempts; more failures in a row do not come from a missing flag.
pub const MAX_RESCUES: usize = 12;

/// Why a rescue did not change the command line.
pub enum NoRescue {
    /// It would fetch what is only fetched for who asks for it.
    Unasked,
    /// It was tried before, or failed for the reason in these words.
    Failed(Option<String>),
}

/// The command line with the changes of rescues.
pub struct Attempt {
    pub arguments: Vec<String>,
    pub architecture: String,
    pub rescues: Vec<String>,
}

impl Attempt {
    pub fn plain(target: &Target) -> Self {
        Self { arguments: Vec::new(), architecture: target.architecture.clone(), rescues: Vec::new() }
    }

    /// Raises the architecture to that of the PTX: ptxas, and the driver of such a GPU, reject PTX for a higher virtual
    /// architecture. The program is meant for a newer GPU.
    pub fn raise_to_virtual(&mut self, ptx: &str) {
        let Some(declared) = declared_target(ptx) else { return };
        let specific = declared.ends_with(|c: char| c.is_ascii_alphabetic());
        let higher = Arch::of(declared).number() > Arch::of(&self.architecture).number();
        if declared.starts_with("sm_") && (higher || (specific && declared != self.architecture)) {
            self.rescues.push(format!(
                "compiled for `{declared}` instead of `{}`: the kernel's own options ask for it",
                self.architecture
            ));
            self.architecture = declared.to_string();
        }
    }

    /// Raises the architecture to that of a PTX-only build, since no older GPU can run its PTX.
    pub fn raise_to_build(&mut self, flags: &NvccFlags) {
        let Some(declared) = flags.virtual_architecture(&self.architecture) else { return };
        let real = declared.replacen("compute_", "sm_", 1);
        let specific = declared.ends_with(|c: char| c.is_ascii_alphabetic());
        if Arch::of(declared).number() > Arch::of(&self.architecture).number() || specific {
            self.rescues.push(format!(
                "compiled for `{real}` instead of `{}`: the project's build asks for it",
                self.architecture
            ));
            self.architecture = real;
        }
    }

    pub fn apply(
        &mut self,
        rescue: Rescue,
        headers: impl FnOnce(Library) -> Result<Option<PathBuf>, String>,
    ) -> Result<(), NoRescue> {
        match rescue {
            Rescue::Flags { flags, note } => {
                self.arguments.extend(flags);
                self.rescues.push(note);
            }
            Rescue::Architecture { architecture, note } => {
                if Arch::of(&architecture).number() <= Arch::of(&self.architecture).number() {
                    return Err(NoRescue::Failed(None));
                }
                self.architecture = architecture;
                self.rescues.push(note);
            }
            Rescue::Library(library) => {
                let folder = headers(library).map_err(|words| NoRescue::Failed(Some(words)))?;
                let folder = folder.ok_or(NoRescue::Unasked)?;
                if !is_safe_path(&folder) {
                    let shown = folder.display();
                    return Err(NoRescue::Failed(Some(format!(
                        "`{shown}` holds a character that a shell would act on"
                    ))));
                }
                let flag = format!("-I{}", folder.display());
                if self.arguments.contains(&flag) {
                    return Err(NoRescue::Failed(None));
                }
                self.arguments.push(flag);
                self.rescues.push(format!("the headers of {library} were added"));
            }
        }
        Ok(())
    }
}
