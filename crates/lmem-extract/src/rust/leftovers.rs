//! Kernels that reach no call that is known: strings, and files that are included as strings. Such a call may be a function
//! value, a function of another crate, or made by a macro.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;

use proc_macro2::TokenStream;

use lmem_base::source::{Span, has_ending};
use lmem_unit::{NvrtcOptions, Unresolved, machine};

use super::fold::failure::{Failure, FailureKind};
use super::fold::{Folded, Folder, Origin};
use super::scan::MacroCall;
use super::sinks::INCLUDING;
use super::{Compiled, Extractor, FoundText, marker};

impl Extractor<'_> {
    /// Texts with a kernel that no known call compiles: CUDA C++ may be complete as it stands, and is compiled with
    /// assumed options; PTX is reported. Machine code that is included is checked, whatever loads it. `reached` has the literals that others account for.
    pub fn leftovers(&mut self, file: usize, reached: &BTreeSet<(PathBuf, usize)>) {
        let (joined, mut unclaimed): (Vec<Range<usize>>, Vec<(Span, Folded)>) =
            self.joined(file, reached).into_iter().map(|(range, span, folded)| (range, (span, folded))).unzip();
        let rust = &self.code.files[file].rust;
        let mut included = Vec::new();
        for literal in &rust.literals {
            let span = rust.span(literal.clone());
            let is_part = || {
                let before = joined.partition_point(|whole| whole.start <= literal.start);
                before.checked_sub(1).is_some_and(|whole| literal.end <= joined[whole].end)
            };
            if reached.contains(&(span.file.path.clone(), span.start)) || is_part() {
                continue;
            }
            let escaped = span.text().contains('\\').then(|| rust.decode(literal.clone())).flatten();
            let is_kernel = match &escaped {
                Some(text) => marker::may_have_kernel(text.as_str().as_bytes()),
                None => marker::may_have_kernel(span.text().as_bytes()),
            };
            let names_file = !is_kernel && is_included(&span);
            if !is_kernel && !names_file {
                continue;
            }
            let Some(text) = escaped.or_else(|| rust.decode(literal.clone())) else { continue };
            if names_file {
                included.push((span, text.as_str().to_string()));
            } else {
                let origin = Some(Origin::Literal(span.clone()));
                unclaimed.push((span, Folded { text, origin, ..Folded::default() }));
            }
        }
        let mut folder = Folder::new(&mut self.code);
        let mut images = Vec::new();
        for (span, path) in included {
            // Others check CUDA sources of the workspace, and say what is wrong with a file.
            match folder.include(file, &path, span.clone()) {
                Ok(folded) if folded.files.iter().all(|file| !has_ending(file, &["cu", "rs"])) => {
                    unclaimed.push((span, folded));
                }
                Err(Failure { kind: FailureKind::Machine(path, span), .. }) if machine::is_of_gpu(&path) => {
                    images.push((path, span));
                }
                _ => {}
            }
        }
        images.into_iter().for_each(|(path, span)| self.machine(file, &path, &span));
        for (span, folded) in unclaimed {
            self.unclaimed(file, span, folded);
        }
    }

    /// The texts of `concat!` whose parts make a kernel together, in the order of the file.
    fn joined(&mut self, file: usize, reached: &BTreeSet<(PathBuf, usize)>) -> Vec<(Range<usize>, Span, Folded)> {
        let rust = &self.code.files[file].rust;
        let mut literals: Vec<&Range<usize>> = rust.literals.iter().collect();
        literals.sort_by_key(|literal| literal.start);
        let mut calls: Vec<&MacroCall> = rust.macros.iter().filter(|call| call.name == CONCATENATING).collect();
        calls.sort_by_key(|call| call.range.start);
        let mut wholes: Vec<(Range<usize>, TokenStream)> = Vec::new();
        for call in calls {
            let from = literals.partition_point(|literal| literal.start < call.range.start);
            let parts = || literals[from..].iter().take_while(|literal| literal.end <= call.range.end);
            let is_within = wholes.last().is_some_and(|(outer, _)| call.range.end <= outer.end);
            // What a macro was expanded to has its place where it is written.
            let place = |literal: &Range<usize>| {
                let span = rust.span(literal.clone());
                (span.file.path.clone(), span.start)
            };
            if is_within || parts().any(|literal| reached.contains(&place(literal))) {
                continue;
            }
            // Numbers among them make no word of a kernel.
            let decoded = parts().filter_map(|literal| rust.decode((*literal).clone()));
            let text: String = decoded.map(|text| text.as_str().to_string()).collect();
            if marker::may_have_kernel(text.as_bytes()) {
                wholes.push((call.range.clone(), call.arguments.clone()));
            }
        }
        let mut folder = Folder::new(&mut self.code);
        let of_whole = |(range, arguments): (Range<usize>, TokenStream)| {
            let span = folder.code.files[file].rust.span(range.clone());
            let folded = folder.concatenated(file, arguments)?;
            let origin = folded.origin.clone().or_else(|| Some(Origin::Literal(span.clone())));
            Some((range, span, Folded { origin, ..folded }))
        };
        wholes.into_iter().filter_map(of_whole).collect()
    }

    fn unclaimed(&mut self, file: usize, span: Span, folded: Folded) {
        if folded.files.iter().any(|file| self.strings.files.contains(file)) {
            return;
        }
        let reason = match folded.files.is_empty() {
            true => "no known compile call uses this string".to_string(),
            false => "no known compile call uses the text of this file".to_string(),
        };
        if marker::is_kernel(folded.text.as_str()) {
            let options = NvrtcOptions { unresolved: Some(reason), is_unclaimed: true, ..NvrtcOptions::default() };
            self.unit(file, FoundText { folded, code: Compiled::ByNvrtc(options), use_span: span });
        } else if marker::is_ptx(folded.text.as_str()) {
            self.strings.unresolved.push(Unresolved { span, reason });
        }
    }
}

/// The macro that makes one text of several.
const CONCATENATING: &str = "concat";

/// Whether a literal is the argument of a macro that includes a file as text.
fn is_included(literal: &Span) -> bool {
    let before = literal.file.text().get(..literal.start).unwrap_or("").trim_end();
    let named = before.strip_suffix(['(', '[', '{']).map(str::trim_end).and_then(|before| before.strip_suffix('!'));
    named.is_some_and(|named| INCLUDING.iter().any(|name| named.trim_end().ends_with(name)))
}
