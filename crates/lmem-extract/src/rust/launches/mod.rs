//! Kernel launches in Rust code: the kernel by the name under which it is loaded, the block size, and the dynamic
//! shared memory.
//!
//! All function loads are collected, with every use of the loaded function. A load by an unknown name may be of any
//! kernel of its module; `modules.rs` finds the candidates.

mod configuration;
mod modules;
mod uses;

use std::collections::{BTreeSet, VecDeque};

use proc_macro2::TokenTree;
use serde::{Deserialize, Serialize};
use syn::Expr;

use lmem_base::source::Span;
use lmem_unit::RustLaunch;

use self::configuration::Configuration;
use self::uses::Use;
use super::fold::Folder;
use super::names::FunctionId;
use super::scan::Call;
use super::{Longer, MAX_WAYS, Way, longer_ways};
use crate::rust::fold::failure::FailureKind;
use crate::rust::fold::parse::parse_list;

pub(crate) use self::modules::{ModuleText, UnknownLoad};

/// Methods that load a function of a module by name: cudarc, cudarc up to 0.12, cust and rustacuda. With the number of
/// arguments, and the index of the name.
const LOADS: [Load; 3] =
    [Load::method("load_function", 1, 0), Load::method("get_func", 2, 1), Load::method("get_function", 1, 0)];

/// Functions of the driver API. Launches of their results are not followed.
const RAW_LOADS: [Load; 2] = [Load::raw("cuModuleGetFunction"), Load::raw("cuLibraryGetKernel")];

/// A function that loads a kernel by name.
struct Load {
    function: &'static str,
    arguments: usize,
    /// Index of the name argument.
    name: usize,
    is_raw: bool,
}

impl Load {
    const fn method(function: &'static str, arguments: usize, name: usize) -> Self {
        Self { function, arguments, name, is_raw: false }
    }

    const fn raw(function: &'static str) -> Self {
        Self { function, arguments: 3, name: 2, is_raw: true }
    }
}

/// Kernels that Rust code loads.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Launches {
    /// Sorted by file.
    pub known: Vec<KnownLoad>,
    /// Loads by unknown names.
    pub unknown: Vec<UnknownLoad>,
}

/// A launch, or a load without a known launch.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KnownLoad {
    pub launch: RustLaunch,
    /// The possible texts of its module, if known.
    pub module: Option<BTreeSet<ModuleText>>,
}

/// All launches in the workspace.
pub(super) fn launches(folder: &mut Folder<'_, '_>) -> Launches {
    for word in LOADS.iter().chain(&RAW_LOADS).map(|load| load.function).chain(["launch!"]) {
        folder.code.read_packages_with(word);
    }
    folder.follow_names();
    let mut found = Launches::default();
    for file in 0..folder.code.files.len() {
        let calls: Vec<Call> = folder.code.files[file].rust.calls.clone();
        for call in &calls {
            if let Some(load) = load_of(call).filter(|_| !folder.code.is_template(file, call.range.start)) {
                of_load(folder, file, call, load, &mut found);
            }
        }
        of_macros(folder, file, &mut found.known);
    }
    found
}

fn load_of(call: &Call) -> Option<&'static Load> {
    let name = call.path.last()?;
    let is_meant = |load: &&Load| load.function == name && (call.is_method || load.is_raw);
    LOADS.iter().chain(&RAW_LOADS).find(is_meant)
}

fn of_load(folder: &mut Folder<'_, '_>, file: usize, call: &Call, load: &Load, found: &mut Launches) {
    let arguments = parse_list(call.arguments.clone()).ok();
    if arguments.as_ref().is_some_and(|arguments| arguments.len() != load.arguments) {
        return;
    }
    let module = modules::module_texts(folder, file, call);
    let package = folder.code.files[file].package;
    let unknown = module.clone().map_or(UnknownLoad::InPackage(package), UnknownLoad::Of);
    let Some(arguments) = arguments else { return found.unknown.push(unknown) };
    let names = names(folder, file, call, &arguments[load.name]);
    let uses = match load.is_raw {
        true => vec![Use::unknown(folder.code.files[file].rust.span(call.range.clone()))],
        false => uses::of(folder, file, call),
    };
    for name in names {
        let Some((kernel, loaded_at)) = name else {
            found.unknown.push(unknown.clone());
            continue;
        };
        found.known.extend(uses.iter().map(|one| KnownLoad {
            launch: RustLaunch {
                kernel: kernel.clone(),
                block: one.configuration.block,
                dynamic_shared: one.configuration.dynamic_shared,
                loaded_at: loaded_at.clone(),
                span: one.span.clone(),
            },
            module: module.clone(),
        }));
    }
}

/// The names that reach a load, each with the call that passes it; `None` for an unknown name.
fn names(folder: &mut Folder<'_, '_>, file: usize, call: &Call, name: &Expr) -> Vec<Option<(String, Span)>> {
    let mut found = Vec::new();
    let mut ways = VecDeque::from([Way::default()]);
    let mut count = 0;
    while let Some(way) = ways.pop_front() {
        count += 1;
        folder.start(way.frames());
        let mut followed = BTreeSet::new();
        for name in folder.texts(file, name) {
            let failure = match name {
                Ok(name) => {
                    let (file, call) = way.0.last().map_or((file, call), |step| (step.file, &step.call));
                    let name = name.text.as_str().trim_end_matches('\0').to_string();
                    found.push(Some((name, folder.code.files[file].rust.span(call.range.clone()))));
                    continue;
                }
                Err(failure) => failure,
            };
            if let FailureKind::Parameter(function, index) = failure.kind {
                // Inside a library's own loading function, the name is a parameter; the calls of that function are
                // analysed instead.
                if !followed.insert((function, index)) || is_load(folder, function) {
                    continue;
                }
                let left = MAX_WAYS.saturating_sub(count + ways.len());
                if let Longer::Ways(more) = longer_ways(folder, &way, (function, index), left)
                    && !more.is_empty()
                {
                    ways.extend(more);
                    continue;
                }
            }
            found.push(None);
        }
    }
    found
}

/// Whether a function is the definition of a loading method.
fn is_load(folder: &Folder<'_, '_>, id: FunctionId) -> bool {
    let function = folder.code.function(id);
    let is_same = |load: &Load| {
        load.function == function.name && function.has_self && load.arguments == function.parameters.len()
    };
    LOADS.iter().any(is_same)
}

/// `launch!(module.kernel<<<grid, block, …>>>(…))`: the macro names the kernel.
fn of_macros(folder: &mut Folder<'_, '_>, file: usize, found: &mut Vec<KnownLoad>) {
    let rust = &folder.code.files[file].rust;
    let launches = rust.macros.iter().filter(|launch| launch.name == "launch");
    let named = launches.filter_map(|launch| {
        let tokens: Vec<TokenTree> = launch.arguments.clone().into_iter().take(3).collect();
        match tokens.as_slice() {
            [TokenTree::Ident(_), TokenTree::Punct(dot), TokenTree::Ident(kernel)] if dot.as_char() == '.' => {
                Some((kernel.to_string(), launch.arguments.clone(), rust.span(launch.range.clone())))
            }
            _ => None,
        }
    });
    let named: Vec<_> = named.collect();
    for (kernel, tokens, span) in named {
        let Configuration { block, dynamic_shared } = Configuration::of_macro(folder, file, tokens);
        let launch = RustLaunch { kernel, block, dynamic_shared, loaded_at: span.clone(), span };
        found.push(KnownLoad { launch, module: None });
    }
}
