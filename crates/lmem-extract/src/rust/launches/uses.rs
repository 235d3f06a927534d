//! Uses of a loaded function within the same Rust function: its launches.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use lmem_base::source::Span;

use super::configuration::Configuration;
use crate::rust::fold::Folder;
use crate::rust::fold::parse::parse_list;
use crate::rust::scan::{Call, MacroCall, RustFile};

/// A launch, or a use that is not understood.
pub(super) struct Use {
    pub configuration: Configuration,
    pub span: Span,
}

impl Use {
    pub fn unknown(span: Span) -> Self {
        Self { configuration: Configuration::default(), span }
    }
}

/// The launches of a loaded function; an unknown launch if it is used in any other way.
pub(super) fn of(folder: &mut Folder<'_, '_>, file: usize, load: &Call) -> Vec<Use> {
    let rust = &folder.code.files[file].rust;
    let unknown = vec![Use::unknown(rust.span(load.range.clone()))];
    let Some(function) = rust.function_around(load.range.start).map(|index| &rust.functions[index]) else {
        return unknown;
    };
    let mentions: Vec<usize> = match rust.variable_made_at(load.range.start) {
        Some((name, visible)) => {
            let all = names_in(rust, function.tokens.clone(), |word| word == name);
            let own: Vec<usize> = all.into_iter().filter(|at| visible.contains(at)).collect();
            // The load is inside a builder expression, and no later name refers to it.
            if own.is_empty() { vec![load.range.start] } else { own }
        }
        None => vec![load.range.start],
    };
    let is_launch = |call: &&Call| {
        let name = call.path.first().map_or("", String::as_str);
        call.is_method && matches!(name, "launch" | "launch_cooperative")
    };
    let mut covered = BTreeSet::new();
    let mut launches = Vec::new();
    for call in rust.calls_in(&function.body).filter(is_launch) {
        let mut inside = vec![call.receiver.clone()];
        if let Some(TokenTree::Ident(builder)) = only_token(&call.receiver) {
            let at = rust.range(builder.span()).start;
            inside.extend(rust.values(&builder.to_string(), at).cloned());
        }
        let places: BTreeSet<usize> = inside.into_iter().flat_map(|tokens| names_in(rust, tokens, |_| true)).collect();
        let mine: Vec<usize> = mentions.iter().copied().filter(|at| places.contains(at)).collect();
        if !mine.is_empty() {
            covered.extend(mine);
            launches.push((call.arguments.clone(), rust.span(call.range.clone())));
        }
    }
    let first =
        |launch: &MacroCall| launch.arguments.clone().into_iter().next().map(|first| rust.range(first.span()).start);
    let mut macros = Vec::new();
    for launch in rust.macros.iter().filter(|launch| launch.name == "launch") {
        if let Some(at) = first(launch).filter(|at| mentions.contains(at)) {
            covered.insert(at);
            macros.push((launch.arguments.clone(), rust.span(launch.range.clone())));
        }
    }
    if covered.len() < mentions.len() {
        return unknown;
    }
    let mut found = Vec::new();
    for (arguments, span) in launches {
        let arguments = parse_list(arguments).unwrap_or_default();
        let configuration = arguments.first().map(|config| Configuration::of_structure(folder, file, config));
        found.push(Use { configuration: configuration.unwrap_or_default(), span });
    }
    for (tokens, span) in macros {
        found.push(Use { configuration: Configuration::of_macro(folder, file, tokens), span });
    }
    found
}

fn only_token(tokens: &TokenStream) -> Option<TokenTree> {
    let mut tokens = tokens.clone().into_iter();
    tokens.next().filter(|_| tokens.next().is_none())
}

/// Offsets of the matching names in tokens.
fn names_in(rust: &RustFile, tokens: TokenStream, is_meant: impl Fn(&str) -> bool) -> Vec<usize> {
    let mut found = Vec::new();
    let mut waiting = vec![tokens];
    while let Some(tokens) = waiting.pop() {
        for token in tokens {
            match token {
                TokenTree::Ident(word) if is_meant(&word.to_string()) => found.push(rust.range(word.span()).start),
                TokenTree::Group(group) => waiting.push(group.stream()),
                _ => {}
            }
        }
    }
    found
}
