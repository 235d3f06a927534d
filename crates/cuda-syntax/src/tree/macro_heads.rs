//! Macros that are a part of a statement: `FOR(i, n)` for the head of a loop, `REF` for the `&` of a declarator.
//!
//! The parser would take the first for a call, and the statement behind it for one without a beginning; the second, for the name of
//! the variable. It sees blanks in place of a head, and the operator in place of its macro. An edit in a function with such a head must be
//! within the block behind it: its loops are not in the tree.

use std::borrow::Cow;
use std::ops::Range;

use lmem_unit::{CompiledText, are_heads};

use crate::ast::{Kind, Node};
use crate::tree::counters::CounterSyntax;
use crate::tree::functions::enclosing_function;
use crate::tree::loops::is_loop;
use crate::tree::syntax_tree::SyntaxTree;

/// The loops of one head.
pub struct MacroLoop {
    /// The statement behind it.
    body: Range<usize>,
    /// Innermost first.
    counters: Vec<CounterSyntax>,
}

/// The invocations of macros that became heads of statements alone, in order.
pub fn heads(compiled: &CompiledText) -> Vec<Range<usize>> {
    let heads = compiled.differences().filter(|it| it.start < it.end && are_heads(&it.compiled));
    heads.map(|it| it.start..it.end).collect()
}

/// The text with the operator of a declarator in place of a macro that became one.
pub fn with_operators<'t>(text: &'t str, compiled: &CompiledText) -> Cow<'t, str> {
    let is_operator = |compiled: &str| matches!(compiled, "&" | "&&" | "*" | "* const" | "const &" | "const *");
    let mut parsed: Option<String> = None;
    for it in compiled.differences().filter(|it| is_operator(&it.compiled)) {
        let length = it.end.saturating_sub(it.start);
        let is_name = |own: &str| own.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if length < it.compiled.len() || !text.get(it.start..it.end).is_some_and(is_name) {
            continue;
        }
        let parsed = parsed.get_or_insert_with(|| text.to_string());
        parsed.replace_range(it.start..it.end, &format!("{:<length$}", it.compiled));
    }
    parsed.map_or(Cow::Borrowed(text), Cow::Owned)
}

impl SyntaxTree {
    /// The macros in a range that are heads of statements, which the tree does not have.
    pub(super) fn heads_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Range<usize>> {
        let (first, end) = (self.heads().partition_point(|head| head.end <= range.start), range.end);
        self.heads()[first..].iter().take_while(move |head| head.start < end)
    }

    /// Whether an offset is in the block that a head belongs to.
    pub(super) fn is_in_block_behind(&self, head: &Range<usize>, offset: usize) -> bool {
        let block = self.statement_behind(head).filter(|block| block.kind() == Kind::CompoundStatement);
        block.is_some_and(|block| block.start_byte() < offset && offset < block.end_byte())
    }

    /// Whether a macro writes the head of a loop, or of a branch, in the function around an offset.
    pub fn has_macro_head(&self, offset: usize) -> bool {
        let function = self.node_at(offset).and_then(enclosing_function).filter(|_| !self.heads().is_empty());
        function.is_some_and(|function| self.heads_in(&function.byte_range()).next().is_some())
    }

    /// Induction variables of the loops around an offset whose heads macros write, innermost first.
    pub(super) fn counters_in_macros(&self, offset: usize) -> Vec<CounterSyntax> {
        let all = self.memory.macro_loops.get_or_init(|| self.find_macro_loops());
        let around = all.iter().rev().filter(|found| found.body.contains(&offset));
        around.flat_map(|found| found.counters.iter().cloned()).collect()
    }

    fn find_macro_loops(&self) -> Vec<MacroLoop> {
        let mut compiled = self.compiled().differences().peekable();
        let loops = self.heads().iter().filter_map(|head| {
            while compiled.next_if(|it| it.start < head.start).is_some() {}
            let code = SyntaxTree::of_macro(&compiled.peek().filter(|it| it.start == head.start)?.compiled);
            let body = self.statement_behind(head)?;
            let loops: Vec<Node<'_>> = code.nodes().filter(|node| is_loop(*node)).collect();
            let counters = loops.into_iter().rev().flat_map(|it| code.counters_of(it));
            let counters = counters
                .map(|it| CounterSyntax { walk: it.walk.filter(|_| self.writes(body, &it.name) == 0), ..it })
                .collect();
            Some(MacroLoop { body: body.byte_range(), counters })
        });
        loops.collect()
    }

    /// The statement that a head belongs to.
    fn statement_behind(&self, head: &Range<usize>) -> Option<Node<'_>> {
        let rest = self.text().get(head.end..)?;
        let at = self.behind_head(head.end + rest.len() - rest.trim_start().len());
        let mut node = self.root()?.named_descendant_for_byte_range(at, at + 1)?;
        while let Some(parent) = node.parent().filter(|parent| parent.start_byte() == at) {
            node = parent;
        }
        (node.start_byte() == at).then_some(node)
    }

    /// The offset of the statement behind, for one in the head that a macro wrote or in an attribute: the compiler gives a statement on the
    /// line of its head the head's position.
    pub(super) fn behind_head(&self, offset: usize) -> usize {
        let mut at = offset;
        let hidden_at = |at: usize| {
            let next = self.attributes().partition_point(|hidden| hidden.end <= at);
            self.attributes().get(next).filter(|hidden| hidden.start <= at)
        };
        while let Some(hidden) = hidden_at(at) {
            let rest = self.text().get(hidden.end..).unwrap_or("");
            let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            if rest.is_empty() || rest[blank..].starts_with(['\n', '\r']) {
                return offset;
            }
            at = hidden.end + blank;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::Kind;
    use crate::tree::functions::enclosing_function;
    use crate::tree::syntax_tree::SyntaxTree;

    const MACROS: &str = "#define FOR(i, n) for (int i = 0; i < (n); ++i)\n#define REF &\n#define ONE if (threadIdx.x == 0)\n\
                          #define ALL(i) FOR(i, n) FOR(j, n)\n#define UNTIL(i) for (int i = 0; c[i]; ++i)\n";

    fn tree(body: &str) -> (String, SyntaxTree) {
        let text = format!("{MACROS}__global__ void k(float* out, int n) {{\n{body}\n}}\n");
        (text.clone(), SyntaxTree::example("a.cu", &text))
    }

    #[test]
    fn a_statement_behind_the_head_that_a_macro_writes_is_one() {
        for body in ["FOR(i, n) w[i] = 1;", "ALL(i) w[i] = j;", "ONE w[0] = 1;", "FOR(i, 3) ONE w[i] += 2;"] {
            let (text, tree) = tree(body);
            assert!(!tree.root().unwrap().has_error(), "{body}");
            let line = text.find(body).unwrap();
            let at = tree.offset(tree.line_of(line) as u32, 1).unwrap();
            let region = tree.region(at).unwrap();
            assert_eq!(region.kind(), Kind::ExpressionStatement, "{body}");
            assert!(tree.slice(region).starts_with("w["), "{body}");
            let inside = text.find("w[").unwrap();
            assert!(tree.insertion(inside, "g(); ").is_none() && tree.line_before(inside, "g();").is_none(), "{body}");
            let statement = inside..inside + text[inside..].find(';').unwrap();
            assert!(tree.replacement(statement, "w[0] = 2").is_none(), "{body}");
            assert!(tree.neutral_line_before(inside, "#pragma unroll").is_none(), "{body}");
        }
    }

    #[test]
    fn the_loops_of_heads_have_counters() {
        let counters = |body: &str| {
            let (text, tree) = tree(body);
            let all = tree.counters_around(text.rfind("w[").unwrap());
            all.iter().map(|it| format!("{} {:?}", it.name, it.walk)).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(counters("FOR(i, n) w[i] = 1;"), "i Some(FromConstant)");
        assert_eq!(counters("FOR(i, 8)\n  w[i] = 1;"), "i Some(Constant)");
        assert_eq!(counters("ALL(i) { w[i] = j; }"), "j Some(FromConstant), i Some(FromConstant)");
        assert_eq!(counters("FOR(i, n) { w[i] = 1; i += n; }"), "i None");
        assert_eq!(counters("FOR(i, n) out[i] = 1; w[n] = 1;"), "");
        assert_eq!(
            counters("FOR(i, 4) for (int j = 0; j < n; ++j) w[i] = 1;"),
            "i Some(Constant), j Some(FromConstant)"
        );
    }

    #[test]
    fn a_head_with_a_subscript_stays() {
        assert!(tree("UNTIL(i) w[i] = 1;").1.heads().is_empty());
    }

    #[test]
    fn the_name_in_a_declarator_is_that_of_the_variable() {
        let (text, tree) = tree("  const Eight REF o = load(out);\n  out[0] = o.t[n];");
        let function = enclosing_function(tree.node_at(text.find("load").unwrap()).unwrap()).unwrap();
        let names: Vec<String> = tree.declarations(function).iter().map(|one| one.name.clone()).collect();
        assert_eq!(names, ["out", "n", "o"]);
    }
}
