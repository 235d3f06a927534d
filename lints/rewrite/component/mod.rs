//! Replaces a dynamically indexed part of a vector, `reinterpret_cast<const __half *>(&packed)[lane]`, by a select of
//! its component and a shift. The vector then needs no address, and the undefined behaviour of the cast is gone.

mod number;

use std::collections::BTreeMap;
use std::rc::Rc;

use cuda_syntax::ast::{Field, Kind, Node, Subscript};
use cuda_syntax::tree::{Declaration, DeclarationKind, Declarations, enclosing_function, resolve, role};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_frame::StackObject;

use self::number::{Number, NumberKind, number};
use crate::rewrite::Rewrite;
use crate::rewrite::facts::evaluation::{is_value_argument, site};
use crate::rewrite::facts::number::is_number;
use crate::rewrite::facts::purity::{is_arithmetic, is_name_path, is_pure, is_pure_call};
use crate::rewrite::facts::sites::{located, without_declaration};
use crate::rewrite::facts::steady::may_write;
use crate::rewrite::facts::volatile_reads::may_read_volatile;
use crate::rewrite::select::place::{place, shares_line};

/// A longer chain of selects would cost more than the loads that it saves.
const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// Replaces a computed index into a vector by a select over its components, and a shift.
pub fn suggestion(object: &StackObject) -> Option<Suggestion> {
    let name = &object.variable.as_ref()?.name;
    let title = format!("select the component of `{name}` and extract the part with a shift");
    Some(Rewrite::new(Applicability::MaybeIncorrect, selects(object)?).suggestion(title))
}

/// Selects and shifts for all reads at a run-time index; `None` if there is any other access with a computed index.
fn selects(object: &StackObject) -> Option<Vec<Edit>> {
    let (tree, offset) = located(object, &object.variable.as_ref()?.span)?;
    let vector = Vector::at(tree, offset)?;
    let mut reads = vector.reads()?;
    // A read with a constant index costs nothing.
    reads.retain(|read| tree.value_of(read.index).is_none());
    let lines: Vec<(usize, usize)> = reads
        .iter()
        .map(|read| (tree.line_of(read.statement.start_byte()), tree.line_of(read.statement.end_byte())))
        .collect();
    let is_known = |line: usize| lines.iter().any(|(first, last)| (*first..=*last).contains(&line));
    let mut computed = object.accesses.iter().filter(|access| access.is_computed());
    let is_covered = computed.all(|access| {
        !access.in_callee
            && access
                .places
                .iter()
                .any(|place| Rc::ptr_eq(object.tree(place), tree) && is_known(tree.line_of(place.offset)))
    });
    let is_fit = !reads.is_empty() && is_covered && object.escapes().is_empty();
    match is_fit {
        true => vector.edits(&reads),
        false => None,
    }
}

/// A variable of a vector type, or a single number.
struct Vector<'v> {
    tree: &'v SyntaxTree,
    own: Declaration,
    all: Rc<Declarations>,
    function: Node<'v>,
    /// The components in source syntax: `packed.x`.
    components: Vec<String>,
    component: Number,
}

/// `half[lane]`
struct Read<'v> {
    whole: Node<'v>,
    index: Node<'v>,
    /// The type of the read, as written in the source.
    type_text: String,
    number: Number,
    statement: Node<'v>,
}

impl<'v> Vector<'v> {
    fn at(tree: &'v SyntaxTree, offset: usize) -> Option<Self> {
        let name = tree.root()?.named_descendant_for_byte_range(offset, offset + 1)?;
        let function = enclosing_function(name)?;
        let all = tree.declarations(function);
        let own = all.iter().find(|declaration| declaration.range.0 == offset)?.clone();
        let type_text = own.type_text.as_str();
        let (component_bytes, whole) = types::shape(type_text)?;
        let count = usize::try_from(whole / component_bytes).ok()?;
        let element = match types::is_scalar(type_text) {
            true => type_text,
            false => type_text.strip_suffix(|c: char| c.is_ascii_digit())?,
        };
        let component = number(element)?;
        let components = match (types::is_scalar(type_text), COMPONENTS.get(..count)) {
            (true, _) => vec![own.name.clone()],
            (false, Some(names)) => names.iter().map(|name| format!("{}.{name}", own.name)).collect(),
            (false, None) => return None,
        };
        let is_fit = component.bytes == component_bytes && component.bytes >= 4 && !own.type_text.contains(['*', '[']);
        is_fit.then_some(Self { tree, own, all, function, components, component })
    }

    /// All reads through pointers to the variable; `None` if such a pointer is used in any other way.
    fn reads(&self) -> Option<Vec<Read<'v>>> {
        let tree = self.tree;
        let mut reads = Vec::new();
        for node in self.function.descendants() {
            let is_pointer =
                matches!(node.kind(), Kind::CastExpression | Kind::CallExpression | Kind::PointerExpression);
            let Some(type_text) = is_pointer.then(|| self.pointed(node)).flatten() else { continue };
            // `&packed` in a cast is handled with the cast.
            if node.parent().is_some_and(|parent| self.pointed(outer(parent)).is_some()) {
                continue;
            }
            let parent = node.with_parentheses().parent()?;
            match parent.kind() {
                Kind::SubscriptExpression => reads.push(self.read(parent, &type_text)?),
                Kind::InitDeclarator => reads.extend(self.reads_of_alias(parent, &type_text)?),
                // `*reinterpret_cast<…>(&packed)` always reads the first part.
                Kind::PointerExpression if tree.slice(parent).starts_with('*') => {}
                _ => return None,
            }
        }
        Some(reads)
    }

    /// The pointee type of a pointer to the variable: `__half` for `reinterpret_cast<__half *>(&packed)`.
    fn pointed(&self, node: Node<'_>) -> Option<String> {
        let tree = self.tree;
        if node.kind() == Kind::PointerExpression {
            let place = node.field(Field::Argument).filter(|_| tree.slice(node).starts_with('&'))?;
            let is_first = self.components.iter().take(1).any(|first| first == tree.slice(place));
            let is_whole = tree.slice(place) == self.own.name;
            let base = tree.identifiers_below(place).into_iter().next()?;
            let is_own =
                resolve(&self.all, tree.slice(base), base.start_byte()).is_some_and(|it| it.range == self.own.range);
            let type_text = if is_whole { self.own.type_text.clone() } else { self.component.text()?.to_string() };
            return ((is_first || is_whole) && is_own).then_some(type_text);
        }
        let is_macro = node.field(Field::Function).is_some_and(|called| called.kind() == Kind::Identifier);
        let (type_text, mut operand) = tree.cast(node).filter(|_| !is_macro)?;
        while operand.kind() == Kind::ParenthesizedExpression {
            operand = operand.named_child(0)?;
        }
        self.pointed(operand).map(|_| type_text)
    }

    /// Reads through a pointer variable.
    fn reads_of_alias(&self, declarator: Node<'v>, type_text: &str) -> Option<Vec<Read<'v>>> {
        let mut name = declarator.field(Field::Declarator)?;
        let is_pointer = name.kind() == Kind::PointerDeclarator;
        while let Some(inner) = name.field(Field::Declarator) {
            name = inner;
        }
        let alias =
            self.all.iter().find(|declaration| declaration.range.0 == name.start_byte()).filter(|_| is_pointer)?;
        let uses = self.tree.names_of(self.function, &self.all, alias).into_iter();
        let subscript = |used: Node<'v>| used.parent().filter(|parent| parent.kind() == Kind::SubscriptExpression);
        uses.map(|used| self.read(subscript(used)?, type_text)).collect()
    }

    /// Removes the declarations of pointers that are unused after the edits, with their lines.
    fn unused_names(&self, reads: &[Read<'v>]) -> Vec<Edit> {
        let tree = self.tree;
        let mut edits = Vec::new();
        for alias in self.all.iter().filter(|it| it.kind == DeclarationKind::Alias && !it.is_parameter) {
            let is_base = |read: &Read<'_>, node: &Node<'_>| read.whole.field(Field::Argument) == Some(*node);
            let uses = tree.names_of(self.function, &self.all, alias);
            let is_unused = uses.iter().all(|node| reads.iter().any(|read| is_base(read, node)));
            if is_unused && !uses.is_empty() {
                edits.extend(without_declaration(tree, alias.range));
            }
        }
        edits
    }

    fn read(&self, whole: Node<'v>, type_text: &str) -> Option<Read<'v>> {
        let tree = self.tree;
        let index = Subscript::of(whole).and_then(Subscript::index)?;
        let (statement, is_conditional) = site(whole)?;
        let (_, is_written, _) = role(whole);
        let list = whole.parent().filter(|parent| parent.kind() == Kind::ArgumentList);
        let is_value = list.is_some_and(|list| is_value_argument(tree, list));
        let names = tree.identifiers_below(index);
        let is_steady = names.iter().all(|name| !may_write(tree, statement, tree.slice(*name)));
        let is_fit = is_pure(tree, index)
            && is_number(tree, index)
            && !may_read_volatile(tree, index)
            && is_steady
            && (is_arithmetic(tree, index) || !(is_conditional || has_effects(tree, statement)))
            && (!is_written || is_value)
            && tree.is_plain(whole);
        let number = number(type_text)?;
        let is_part = number.bytes <= self.component.bytes;
        (is_fit && is_part).then(|| Read { whole, index, type_text: type_text.to_string(), number, statement })
    }

    /// Inserts lines before the statements that select the components, and replaces the reads by the extracted parts.
    fn edits(&self, reads: &[Read<'v>]) -> Option<Vec<Edit>> {
        let (mut edits, mut given) = (self.unused_names(reads), Vec::new());
        let statements: BTreeMap<usize, Node<'v>> =
            reads.iter().map(|read| (read.statement.start_byte(), read.statement)).collect();
        for statement in statements.into_values() {
            // A statement gets its lines at once; reads of one element in it get one value.
            let (mut lines, mut own) = (Vec::new(), Vec::new());
            let mut values: Vec<(&Read<'v>, String)> = Vec::new();
            for read in reads.iter().filter(|read| read.statement == statement) {
                let is_alike = |other: &Read<'_>| {
                    other.type_text == read.type_text && self.tree.slice(other.index) == self.tree.slice(read.index)
                };
                let known = values.iter().find(|(other, _)| is_alike(other)).map(|(_, value)| value.clone());
                let value = match known {
                    Some(value) => value,
                    None => {
                        let (more, value) = self.value(read, &mut given)?;
                        lines.extend(more);
                        values.push((read, value.clone()));
                        value
                    }
                };
                own.push(self.tree.replacement(read.whole.byte_range(), &value)?);
            }
            edits.extend(match lines.is_empty() {
                true => own,
                // A pointer that goes may be declared on the line.
                false if shares_line(self.tree, statement) => return None,
                false => place(self.tree, statement, &lines, own, false)?,
            });
        }
        edits.sort();
        (!edits.is_empty()).then_some(edits)
    }

    /// The extracted part, and the lines before the statement that it needs.
    fn value(&self, read: &Read<'v>, given: &mut Vec<String>) -> Option<(Vec<(usize, String)>, String)> {
        let tree = self.tree;
        let mut name = |wanted: &str| {
            let name = tree.fresh(&format!("{}_{wanted}", self.own.name), given);
            given.push(name.clone());
            name
        };
        let mut lines = Vec::new();
        let index = match is_name_path(read.index) {
            true => tree.slice(read.index).to_string(),
            false => {
                let lane = name("lane");
                lines.push((0, format!("const auto {lane} = {};", tree.slice(read.index))));
                lane
            }
        };
        let parts = self.component.bytes / read.number.bytes;
        let (last, others) = self.components.split_last()?;
        let mut selected: String = (1u64..)
            .zip(others)
            .map(|(number, component)| match parts {
                1 => format!("{index} == {} ? {component} : ", number - 1),
                _ => format!("{index} < {} ? {component} : ", number * parts),
            })
            .collect();
        selected.push_str(last);
        let is_same = read.number == self.component;
        let word_type = match self.component.bytes {
            _ if is_same => read.type_text.as_str(),
            4 => "unsigned",
            _ => "unsigned long long",
        };
        let bits = match (is_same, self.component.kind, self.component.bytes) {
            (false, NumberKind::Float, 4) => format!("__float_as_uint({selected})"),
            (false, NumberKind::Float, _) => format!("__double_as_longlong({selected})"),
            _ => selected,
        };
        let word = match others.is_empty() && !bits.contains('(') {
            true => bits,
            false => {
                let word = name("word");
                lines.push((0, format!("const {word_type} {word} = {bits};")));
                word
            }
        };
        let value = if is_same { word } else { read.taken_out(&word, &index, parts, others.is_empty())? };
        Some((lines, value))
    }
}

impl Read<'_> {
    /// Extracts the part at `index` from a word of `parts` parts.
    fn taken_out(&self, word: &str, index: &str, parts: u64, is_whole: bool) -> Option<String> {
        let bits = 8 * self.number.bytes;
        let position = match (parts, is_whole) {
            (1, _) => String::new(),
            (_, true) => format!(" >> ({bits} * {index})"),
            (_, false) => format!(" >> ({bits} * ({index} & {}))", parts - 1),
        };
        let type_text = &self.type_text;
        Some(match (self.number.kind, self.number.bytes) {
            (NumberKind::Signed | NumberKind::Unsigned, _) => format!("static_cast<{type_text}>({word}{position})"),
            (NumberKind::Half, _) => format!("__ushort_as_half(static_cast<unsigned short>({word}{position}))"),
            (NumberKind::Brain, _) => format!("__ushort_as_bfloat16(static_cast<unsigned short>({word}{position}))"),
            (NumberKind::Float, 4) => format!("__uint_as_float(static_cast<unsigned>({word}{position}))"),
            (NumberKind::Float, _) => format!("__longlong_as_double({word}{position})"),
        })
    }
}

/// The node outside all parentheses and argument lists around a node.
fn outer(mut node: Node<'_>) -> Node<'_> {
    while let Some(parent) =
        node.parent().filter(|_| matches!(node.kind(), Kind::ParenthesizedExpression | Kind::ArgumentList))
    {
        node = parent;
    }
    node
}

/// Whether a statement calls a function with unknown side effects.
fn has_effects(tree: &SyntaxTree, statement: Node<'_>) -> bool {
    let mut calls = statement.descendants().filter(|node| node.kind() == Kind::CallExpression);
    calls.any(|call| tree.cast(call).is_none() && !is_pure_call(tree, call))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;

    fn edited(declaration: &str, body: &str) -> Option<String> {
        let text =
            format!("__global__ void k(const int *lane, float *out, int n) {{\n    {declaration}\n    {body}\n}}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let vector = Vector::at(&tree, text.find(declaration)? + declaration.find(" v")? + 1)?;
        let edits = vector.edits(&vector.reads()?)?;
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>())?;
        Some(edited.lines().skip(2).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn parts_are_taken_out_of_components() {
        assert_eq!(
            edited("uint4 v = in[0];", "out[0] = __half2float(reinterpret_cast<const __half *>(&v)[lane[n] & 7]);")
                .as_deref(),
            Some(
                "const auto v_lane = lane[n] & 7; \
                 const unsigned v_word = v_lane < 2 ? v.x : v_lane < 4 ? v.y : v_lane < 6 ? v.z : v.w; \
                 out[0] = __half2float(__ushort_as_half(static_cast<unsigned short>(v_word >> (16 * (v_lane & 1)))));"
            )
        );
        assert_eq!(edited("float4 v;", "float *p = &v.x; out[n] = p[n];").as_deref(), None, "two statements of a line");
        assert_eq!(
            edited("float4 v;", "float *p = &v.x;\n    out[n] = p[n];").as_deref(),
            Some("const float v_word = n == 0 ? v.x : n == 1 ? v.y : n == 2 ? v.z : v.w; out[n] = v_word;")
        );
        let index = "const int *at = lane + 1;\n    float *p = &v.x;\n    out[n] = p[at[n]];";
        assert!(
            edited("float4 v;", index)
                .is_some_and(|text| text.starts_with("const int *at = lane + 1; const auto v_lane"))
        );
        assert_eq!(
            edited("unsigned v = n;", "out[n] = ((unsigned char *)&v)[n];").as_deref(),
            Some("out[n] = static_cast<unsigned char>(v >> (8 * n));")
        );
        // A statement that reads twice gets its lines once, and one value for one element.
        assert_eq!(
            edited("float4 v;", "float *p = &v.x;\n    if (n) out[n] = p[n] + p[3 - n] * p[n];").as_deref(),
            Some(
                "if (n) { const float v_word = n == 0 ? v.x : n == 1 ? v.y : n == 2 ? v.z : v.w; const auto v_lane = 3 - n; \
                 const float v_word_2 = v_lane == 0 ? v.x : v_lane == 1 ? v.y : v_lane == 2 ? v.z : v.w; \
                 out[n] = v_word + v_word_2 * v_word;"
            )
        );
        assert_eq!(
            edited("float2 v;", "out[n] = reinterpret_cast<short *>(&v)[n];").as_deref(),
            Some(
                "const unsigned v_word = __float_as_uint(n < 2 ? v.x : v.y); \
                 out[n] = static_cast<short>(v_word >> (16 * (n & 1)));"
            )
        );
    }

    #[test]
    fn other_uses_are_left_alone() {
        for body in [
            "reinterpret_cast<float *>(&v)[n] = 1;",
            "fill(&v);",
            "float *p = &v.x;\n    fill(p);",
            "float *p = &v.y;\n    out[0] = p[n];",
            "float *p = &v.x;\n    ++p;\n    out[0] = p[n];",
            "out[n++] = reinterpret_cast<float *>(&v)[n];",
        ] {
            assert!(edited("float4 v;", body).is_none_or(|text| text == body.replace("\n    ", " ")), "{body}");
        }
    }
}
