//! Launches of kernels in Rust code: which kernel, by the name that it is loaded by, and how large a block.
//!
//! All loads of functions are looked at, and every mention of what they give. A single load by a name that is not known
//! ends it all: it may be of any kernel.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::{Expr, Member};

use super::fold::{Folder, Frames, parse, parse_list, path_names};
use super::scan::{Call, RustFile, split_at_commas};
use crate::extract::RustLaunch;
use crate::source::Span;

/// Methods that give a function of a module by its name: cudarc, cudarc up to 0.12, cust and rustacuda. With the number
/// of arguments, and which is the name.
const LOADS: [(&str, usize, usize); 3] = [("load_function", 1, 0), ("get_func", 2, 1), ("get_function", 1, 0)];

/// The libraries' own functions, which are not followed.
const RAW_LOADS: [&str; 3] = ["cuModuleGetFunction", "cuLibraryGetKernel", "cuKernelGetFunction"];

/// Threads along each axis of a block of cudarc's `LaunchConfig::for_num_elems`, from 0.9 to 0.19.
const FOR_NUM_ELEMS: [u32; 3] = [1024, 1, 1];

/// The launches of the workspace, in the order of files; none where one may be of any kernel.
pub(super) fn launches(folder: &mut Folder<'_, '_>) -> Vec<RustLaunch> {
    for word in LOADS.iter().map(|(name, ..)| *name).chain(RAW_LOADS).chain(["launch!"]) {
        folder.code.read_packages_with(word);
    }
    let mut found = Vec::new();
    for file in 0..folder.code.files.len() {
        let rust = &folder.code.files[file].rust;
        let is_raw = |call: &&Call| call.path.last().is_some_and(|name| RAW_LOADS.contains(&name.as_str()));
        if rust.calls.iter().any(|call| is_raw(&call)) {
            return Vec::new();
        }
        let calls: Vec<Call> = rust.calls.clone();
        for call in &calls {
            match load(folder, file, call, &mut found) {
                Ok(()) => {}
                Err(NameIsUnknown) => return Vec::new(),
            }
        }
        of_macros(folder, file, &mut found);
    }
    found
}

struct NameIsUnknown;

fn load(
    folder: &mut Folder<'_, '_>,
    file: usize,
    call: &Call,
    found: &mut Vec<RustLaunch>,
) -> Result<(), NameIsUnknown> {
    let known =
        LOADS.iter().find(|(name, ..)| call.is_method && call.path.first().is_some_and(|called| called == name));
    let Some((_, count, position)) = known else { return Ok(()) };
    let arguments = parse_list(call.arguments.clone()).map_err(|_| NameIsUnknown)?;
    if arguments.len() != *count {
        return Ok(());
    }
    folder.start(Frames::default());
    let names: Result<Vec<String>, NameIsUnknown> = folder
        .texts(file, &arguments[*position])
        .into_iter()
        .map(|name| name.map(|name| name.text.as_str().trim_end_matches('\0').to_string()).map_err(|_| NameIsUnknown))
        .collect();
    let blocks = blocks_of(folder, file, call);
    for kernel in names? {
        found.extend(blocks.iter().map(|(block, span)| RustLaunch {
            kernel: kernel.clone(),
            block: *block,
            span: span.clone(),
        }));
    }
    Ok(())
}

/// The blocks that the function is launched with that a call gives; an unknown one where it is used in other ways.
fn blocks_of(folder: &mut Folder<'_, '_>, file: usize, load: &Call) -> Vec<(Option<[u32; 3]>, Span)> {
    let rust = &folder.code.files[file].rust;
    let unknown = vec![(None, rust.span(load.range.clone()))];
    let Some(function) = rust.function_around(load.range.start).map(|index| &rust.functions[index]) else {
        return unknown;
    };
    let mentions: Vec<usize> = match rust.variable_made_at(load.range.start) {
        Some((name, visible)) => {
            let all = mentions(rust, &function.tokens, &name);
            let own: Vec<usize> = all.into_iter().filter(|at| visible.contains(at)).collect();
            // A builder's variable is made with the function in it.
            if own.is_empty() { vec![load.range.start] } else { own }
        }
        None => vec![load.range.start],
    };
    let is_launch = |call: &&Call| {
        let name = call.path.first().map_or("", String::as_str);
        call.is_method && matches!(name, "launch" | "launch_cooperative") && function.body.contains(&call.range.start)
    };
    let mut covered = BTreeSet::new();
    let mut launches = Vec::new();
    for call in rust.calls.iter().filter(is_launch) {
        let mut inside = vec![call.receiver.clone()];
        if let Some(TokenTree::Ident(builder)) = only_token(&call.receiver) {
            let at = rust.range(builder.span()).start;
            inside.extend(rust.values(&builder.to_string(), at).cloned());
        }
        let places: BTreeSet<usize> = inside.into_iter().flat_map(|tokens| starts(rust, tokens)).collect();
        let mine: Vec<usize> = mentions.iter().copied().filter(|at| places.contains(at)).collect();
        if !mine.is_empty() {
            covered.extend(mine);
            launches.push((call.arguments.clone(), rust.span(call.range.clone())));
        }
    }
    let in_macros: Vec<usize> = rust
        .macros
        .iter()
        .filter(|launch| launch.name == "launch")
        .filter_map(|launch| launch.arguments.clone().into_iter().next().map(|first| rust.range(first.span()).start))
        .collect();
    covered.extend(mentions.iter().copied().filter(|at| in_macros.contains(at)));
    let macros: Vec<(TokenStream, Span)> = rust
        .macros
        .iter()
        .filter(|launch| launch.name == "launch")
        .filter(|launch| {
            let first = launch.arguments.clone().into_iter().next();
            first.is_some_and(|first| mentions.contains(&rust.range(first.span()).start))
        })
        .map(|launch| (launch.arguments.clone(), rust.span(launch.range.clone())))
        .collect();
    if covered.len() < mentions.len() {
        return unknown;
    }
    let mut blocks: Vec<(Option<[u32; 3]>, Span)> = launches
        .into_iter()
        .map(|(arguments, span)| {
            let arguments = parse_list(arguments).unwrap_or_default();
            (arguments.first().and_then(|config| block_of(folder, file, config)), span)
        })
        .collect();
    for (tokens, span) in macros {
        blocks.push((block_of_macro(folder, file, tokens), span));
    }
    blocks
}

/// `launch!(module.kernel<<<grid, block, …>>>(…))`, where the kernel is named in the macro.
fn of_macros(folder: &mut Folder<'_, '_>, file: usize, found: &mut Vec<RustLaunch>) {
    let rust = &folder.code.files[file].rust;
    let launches: Vec<(String, TokenStream, Span)> = rust
        .macros
        .iter()
        .filter(|launch| launch.name == "launch")
        .filter_map(|launch| {
            let tokens: Vec<TokenTree> = launch.arguments.clone().into_iter().take(3).collect();
            match tokens.as_slice() {
                [TokenTree::Ident(_), TokenTree::Punct(dot), TokenTree::Ident(kernel)] if dot.as_char() == '.' => {
                    let span = rust.span(launch.range.clone());
                    Some((kernel.to_string(), launch.arguments.clone(), span))
                }
                _ => None,
            }
        })
        .collect();
    for (kernel, tokens, span) in launches {
        let block = block_of_macro(folder, file, tokens);
        found.push(RustLaunch { kernel, block, span });
    }
}

/// The second part of `<<<grid, block, shared, stream>>>`.
fn block_of_macro(folder: &mut Folder<'_, '_>, file: usize, tokens: TokenStream) -> Option<[u32; 3]> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_open = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '<');
    let start = tokens.windows(3).position(|three| three.iter().all(is_open))? + 3;
    let parts = split_at_commas(&tokens[start..]);
    let block = parse(parts.get(1)?.iter().cloned().collect()).ok()?;
    folder.start(Frames::default());
    let (file, block) = folder.behind_names(file, &block).ok()?;
    match &block {
        Expr::Tuple(_) => threads(folder, file, &block),
        other => Some([u32::try_from(folder.integer(file, other)?).ok()?, 1, 1]),
    }
}

/// The block of a `LaunchConfig`.
fn block_of(folder: &mut Folder<'_, '_>, file: usize, config: &Expr) -> Option<[u32; 3]> {
    folder.start(Frames::default());
    let (file, config) = folder.behind_names(file, config).ok()?;
    match &config {
        Expr::Struct(structure) if path_names(&structure.path).last()? == "LaunchConfig" => {
            let is_block = |name: &Member| matches!(name, Member::Named(name) if name == "block_dim");
            let block = structure.fields.iter().find(|field| is_block(&field.member))?;
            threads(folder, file, &block.expr)
        }
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) if path_names(&path.path).ends_with(&["LaunchConfig".into(), "for_num_elems".into()]) => {
                Some(FOR_NUM_ELEMS)
            }
            _ => None,
        },
        _ => None,
    }
}

fn threads(folder: &mut Folder<'_, '_>, file: usize, block: &Expr) -> Option<[u32; 3]> {
    let (file, block) = folder.behind_names(file, block).ok()?;
    let Expr::Tuple(axes) = &block else { return None };
    let mut threads = [1; 3];
    if axes.elems.len() > threads.len() {
        return None;
    }
    for (axis, written) in threads.iter_mut().zip(&axes.elems) {
        *axis = u32::try_from(folder.integer(file, written)?).ok().filter(|threads| *threads > 0)?;
    }
    Some(threads)
}

fn only_token(tokens: &TokenStream) -> Option<TokenTree> {
    let mut tokens = tokens.clone().into_iter();
    tokens.next().filter(|_| tokens.next().is_none())
}

/// Where a name stands in tokens.
fn mentions(rust: &RustFile, tokens: &TokenStream, name: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut waiting = vec![tokens.clone()];
    while let Some(tokens) = waiting.pop() {
        for token in tokens {
            match token {
                TokenTree::Ident(word) if word == name => found.push(rust.range(word.span()).start),
                TokenTree::Group(group) => waiting.push(group.stream()),
                _ => {}
            }
        }
    }
    found
}

/// Where names begin in tokens.
fn starts(rust: &RustFile, tokens: TokenStream) -> Vec<usize> {
    let mut found = Vec::new();
    let mut waiting = vec![tokens];
    while let Some(tokens) = waiting.pop() {
        for token in tokens {
            match token {
                TokenTree::Ident(word) => found.push(rust.range(word.span()).start),
                TokenTree::Group(group) => waiting.push(group.stream()),
                _ => {}
            }
        }
    }
    found
}
