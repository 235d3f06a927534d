//! What a run compiles with: toolkit, sandbox and cache.

use std::path::Path;
use std::sync::Arc;

use cuda_toolkit::{Toolkit, ToolkitError};
use lmem_base::way;
use lmem_extract::Extraction;
use lmem_project::discover::Workspace;

use super::Talk;
use super::jobs::is_compiled;
use super::request::Request;
use super::start::Start;
use crate::cache::{self, Cache, CargoMemory};
use crate::cli::CheckArgs;
use crate::sandbox::{Memory, Sandbox};

/// The toolkit of a run whose stages before needed none. Units that are machine code need none either.
///
/// # Errors
/// There is no toolkit, and none can be fetched.
pub(super) fn toolkit_for(
    extraction: &Extraction,
    request: &Request<'_>,
    workspace: &Workspace,
) -> Result<Toolkit, ToolkitError> {
    match extraction.units.iter().chain(&extraction.parts).all(is_compiled) {
        true => Ok(Toolkit::absent()),
        false => select_toolkit(request, workspace),
    }
}

/// The toolkit that the command line, the settings or the machine choose.
///
/// # Errors
/// There is no toolkit, and none can be fetched.
pub(super) fn select_toolkit(request: &Request<'_>, workspace: &Workspace) -> Result<Toolkit, ToolkitError> {
    let Request { arguments, cancel, talk, .. } = *request;
    let configured = workspace.files.iter().find_map(|file| file.config.toolkit.as_deref());
    let named = request.surroundings.named(arguments).unwrap_or_default();
    let refuses = |folder: &Path| cache::refuse_toolkit(folder, &named, cancel);
    let choice = cuda_toolkit::Request {
        choice: arguments.toolkit.as_deref(),
        configured,
        offline: arguments.offline,
        quiet: arguments.quiet,
        refuses: Some(&refuses),
    };
    let selection = cuda_toolkit::select(choice, cancel)?;
    selection.notes.iter().for_each(|note| talk.note(note));
    let toolkit = selection.toolkit;
    talk.detail(&format!("toolkit: {} in {} ({})", toolkit.number, toolkit.root.display(), toolkit.found));
    Ok(toolkit)
}

/// The number of compilations at a time.
pub(super) fn threads(arguments: &CheckArgs) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    arguments.jobs.map_or_else(all, usize::from)
}

/// What the compilers of a run may read and take. Says where less is kept from them than users may expect.
pub(super) fn sandbox(request: &Request<'_>, start: &Start, toolkit: &Toolkit, threads: usize) -> Sandbox {
    let Request { arguments, talk, .. } = *request;
    let typed = arguments.allow_read.iter().chain(&arguments.include_dir);
    let mut allowed: Vec<_> = typed.map(|path| start.current.join(path)).collect();
    allowed.retain(|path| is_named_freely(path, &start.current, talk));
    let memory = Memory::new(arguments.memory, arguments.total_memory, threads);
    let sandbox = Sandbox::new(&start.workspace.places, &allowed, toolkit, cuda_toolkit::fetched_folders(), memory);
    if !request.is_recorded() && !sandbox.is_on() {
        talk.note("this kernel has no Landlock: compilers may read all that you may; check no tree of strangers here");
    }
    if let Some(name) = lmem_base::process::relative_compiler() {
        talk.note(&format!("`{name}` is not used: a relative path could lead into the checked tree"));
    }
    sandbox
}

/// Whether a path that was typed leads where its words say, and through no link of a tree.
fn is_named_freely(path: &Path, current: &Path, talk: &Talk) -> bool {
    let stays = way::stays_in_own_tree(path, current);
    if let Err(error) = &stays {
        talk.note(&format!("{error}: it is not read; name what it leads to, if that is meant"));
    }
    stays.is_ok()
}

/// Output of cargo from earlier runs in this folder.
pub(super) fn cargo_memory(arguments: &CheckArgs, current: &Path) -> Option<Arc<CargoMemory>> {
    cache_of(arguments, current).map(|cache| Arc::new(CargoMemory::new(cache)))
}

/// The results of earlier runs, unless the command line does without.
pub(super) fn cache_of(arguments: &CheckArgs, root: &Path) -> Option<Cache> {
    let folder = cuda_toolkit::cache_root().ok().filter(|_| !arguments.no_cache)?;
    Some(Cache::new(cache::folder(&folder), root))
}
