//! Parts of reads and writes: names, indices, elements, loops.

use std::ops::Range;

use cuda_syntax::ast::Node;
use cuda_syntax::identifiers::{FreshNames, identifiers, occurrences};
use cuda_syntax::tree::resolve;

use super::{Lines, Writer};
use crate::rewrite::facts::purity::is_name_path;
use crate::rewrite::select::holder::IndexedUse;

/// Names for the counters of loops over all elements.
const COUNTERS: [&str; 8] = ["k", "j", "i", "e", "m", "r", "element", "slot"];

impl Writer<'_> {
    /// The indices as expressions that are evaluated once and can be compared.
    pub(super) fn indices(
        &mut self,
        found: &IndexedUse<'_>,
        base: &str,
        replaced: &[(Range<usize>, String)],
        lines: &mut Lines,
    ) -> Vec<String> {
        let mut indices = Vec::new();
        for dimension in &found.dimensions {
            let text = self.text(dimension.index.byte_range(), replaced);
            let stands_in_loops = self.may_stand_in_loops(dimension.index);
            indices.push(self.index(dimension.index, text, stands_in_loops, base, lines));
        }
        indices
    }

    /// An index as it can be compared in loops: where it stands, or by a name for what it was before them.
    pub(super) fn index(
        &mut self,
        node: Node<'_>,
        text: String,
        stands_in_loops: bool,
        base: &str,
        lines: &mut Lines,
    ) -> String {
        if stands_in_loops {
            return if is_name_path(node) { text } else { format!("({text})") };
        }
        let name = self.fresh(&format!("{base}_index"));
        lines.push((0, format!("const auto {name} = {text};")));
        name
    }

    pub(super) fn loops(
        &self,
        found: &IndexedUse<'_>,
        counters: &[String],
        start: usize,
        body: &[String],
        lines: &mut Lines,
    ) {
        let last = counters.len() - 1;
        for (depth, (counter, dimension)) in counters.iter().zip(&found.dimensions).enumerate() {
            let (extent, has_block) = (&dimension.extent, depth < last || body.len() > 1);
            lines.push((depth, "#pragma unroll".to_string()));
            let header = format!("for (int {counter} = {start}; {counter} < {extent}; ++{counter})");
            lines.push((depth, if has_block { format!("{header} {{") } else { format!("{header} {}", body[0]) }));
        }
        if body.len() > 1 {
            lines.extend(body.iter().map(|line| (last + 1, line.clone())));
            lines.push((last, "}".to_string()));
        }
        lines.extend((0..last).rev().map(|depth| (depth, "}".to_string())));
    }

    /// The element expression with other indices.
    pub(super) fn element(
        &self,
        found: &IndexedUse<'_>,
        indices: &[String],
        replaced: &[(Range<usize>, String)],
    ) -> String {
        let mut all = replaced.to_vec();
        all.extend(Self::counted(found, indices));
        // Skips a replacement of the whole expression: its parts are needed here.
        all.retain(|(range, _)| *range != found.node.byte_range());
        self.text(found.node.byte_range(), &all)
    }

    /// The counters in place of the indices of a use.
    pub(super) fn counted(found: &IndexedUse<'_>, counters: &[String]) -> Vec<(Range<usize>, String)> {
        let own = found.dimensions.iter().zip(counters);
        own.map(|(dimension, counter)| (dimension.index.byte_range(), counter.clone())).collect()
    }

    /// The text of a range with replacements; only outermost replacements apply.
    pub(super) fn text(&self, range: Range<usize>, replaced: &[(Range<usize>, String)]) -> String {
        let mut inside: Vec<&(Range<usize>, String)> =
            replaced.iter().filter(|(part, _)| range.start <= part.start && part.end <= range.end).collect();
        inside.sort_by_key(|(part, _)| (part.start, std::cmp::Reverse(part.end)));
        let (mut text, mut at) = (String::new(), range.start);
        for (part, new) in inside {
            if part.start >= at {
                text.push_str(&self.tree.text()[at..part.start]);
                text.push_str(new);
                at = part.end;
            }
        }
        text.push_str(&self.tree.text()[at..range.end]);
        text
    }

    /// Counter names that the statement does not use.
    pub(super) fn counters(&self, found: &IndexedUse<'_>, indices: &[String]) -> Option<Vec<String>> {
        self.counters_beside(found, indices, self.tree.slice(found.statement))
    }

    /// Counter names that some statements do not use.
    pub(super) fn counters_beside(
        &self,
        found: &IndexedUse<'_>,
        indices: &[String],
        statements: &str,
    ) -> Option<Vec<String>> {
        let text = format!("{statements} {}", indices.join(" "));
        let extents = found.dimensions.iter().map(|dimension| dimension.extent.as_str());
        let used: Vec<&str> = extents.chain([text.as_str()]).flat_map(identifiers).collect();
        let declarations = self.tree.declarations(self.function);
        let is_shadowed = |name: &str| resolve(&declarations, name, found.node.start_byte()).is_some();
        let free = COUNTERS.iter().filter(|name| !used.contains(*name) && !is_shadowed(name));
        let mut counters: Vec<String> = free.take(found.dimensions.len()).map(ToString::to_string).collect();
        counters.reverse();
        (counters.len() == found.dimensions.len()).then_some(counters)
    }

    /// The last name before the index: `key` for `state.key[i]`. The whole path, `state_key`, where the function has the member of
    /// another object too: an edit for that may stand beside this one.
    pub(super) fn base_name(&self, found: &IndexedUse<'_>) -> String {
        let text = self.text(found.node.byte_range(), &[]);
        let before = text.split('[').next().unwrap_or("").trim_end();
        let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
        let function = self.tree.slice(self.function);
        let is_of_other = |at: usize| {
            let (path, rest) = function.split_at(at + name.len());
            rest.trim_start().starts_with('[') && path[..at].ends_with(['.', '>']) && !path.ends_with(before)
        };
        let name = match !name.is_empty() && occurrences(function, name).any(is_of_other) {
            true => identifiers(before).collect::<Vec<_>>().join("_"),
            false => name.to_string(),
        };
        name.trim_matches('_').to_string()
    }

    /// A name that does not occur in the file.
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        self.names.get_or_insert_with(|| FreshNames::beside(self.tree.words())).give(wanted)
    }

    /// A name that ended with its scope.
    pub(super) fn take_back(&mut self, name: &str) {
        if let Some(names) = &mut self.names {
            names.take_back(name);
        }
    }
}

pub(super) fn condition(counters: &[String], indices: &[String]) -> String {
    let parts = counters.iter().zip(indices).map(|(counter, index)| format!("{counter} == {index}"));
    parts.collect::<Vec<_>>().join(" && ")
}
