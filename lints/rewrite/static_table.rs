//! Turns a table that is filled by assignments of constants into a constant table: `int days[12]; days[0] = 31; …`
//! becomes `static constexpr int days[12] = {31, …};`.

use std::collections::BTreeMap;
use std::ops::Range;

use cuda_syntax::ast::{Field, Kind, Node, Subscript};
use cuda_syntax::tree::{access_path, enclosing_function, last_name, role};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_frame::StackObject;

use super::Rewrite;
use super::facts::constness::reads_a_value;
use super::facts::narrowing::Element;
use super::facts::sites::located;
use super::shared::declaration::{Declared, declared};

/// Limit on the table's size; nobody writes a larger one by hand in one piece.
const MOST_ELEMENTS: i64 = 4096;
/// Line width for the values, in columns.
const LINE_WIDTH: usize = 100;

/// Replaces the declaration and its assignments by one `static constexpr` declaration with all values; `None` if
/// anything else writes to the table. If a write through a pointer was missed, the result does not compile, and the
/// recompilation shows that.
pub fn suggestion(object: &StackObject) -> Option<Suggestion> {
    let variable = object.variable.as_ref()?;
    let (tree, offset) = located(object, &variable.span)?;
    let rewrite = Rewrite::new(Applicability::MachineApplicable, Table::at(tree, offset)?.edits()?);
    let title =
        format!("declare `{}` with its values as `static constexpr` (one table for all threads)", variable.name);
    Some(rewrite.within_kernel(tree.is_within_kernel(offset)).suggestion(title))
}

struct Table<'v> {
    tree: &'v SyntaxTree,
    statement: Node<'v>,
    /// `days[12]`
    array: Node<'v>,
    type_node: Node<'v>,
    /// The assigned value of each element.
    values: BTreeMap<i64, String>,
    count: i64,
    /// The assignments.
    statements: Vec<Node<'v>>,
}

impl<'v> Table<'v> {
    fn at(tree: &'v SyntaxTree, offset: usize) -> Option<Self> {
        let declared = declared(tree, offset)?;
        let count = declared.elements(tree)?;
        let Declared { statement, array, name, initializer, is_of_pointers, .. } = declared;
        let is_alone = statement.fields(Field::Declarator).count() == 1;
        let is_fit = is_alone && initializer.is_none() && !is_of_pointers && (1..=MOST_ELEMENTS).contains(&count);
        let block = statement.parent().filter(|_| is_fit)?;
        let function = enclosing_function(statement)?;
        let all = tree.declarations(function);
        let own = all.iter().find(|declaration| declaration.range.0 == name.start_byte())?;
        let mut table = Self {
            tree,
            statement,
            array,
            type_node: statement.field(Field::Type)?,
            values: BTreeMap::new(),
            count,
            statements: Vec::new(),
        };
        let mut first_read = usize::MAX;
        for used in tree.names_of(function, &all, own) {
            let path = access_path(used);
            let (_, is_written, is_handed_on) = role(path);
            if is_written && !is_handed_on {
                table.assigned(path, block)?;
            } else if is_cast(tree, path) || !reads_a_value(tree, used) {
                return None;
            } else {
                first_read = first_read.min(used.start_byte());
            }
        }
        let is_filled_first = table.statements.iter().all(|statement| statement.end_byte() <= first_read);
        (is_filled_first && !table.values.is_empty()).then_some(table)
    }

    /// `days[3] = 30;` as a statement of the declaration's block.
    fn assigned(&mut self, path: Node<'v>, block: Node<'v>) -> Option<()> {
        let tree = self.tree;
        let assignment = path.parent().filter(|parent| parent.kind() == Kind::AssignmentExpression)?;
        let statement = assignment.parent().filter(|parent| parent.kind() == Kind::ExpressionStatement)?;
        let is_plain = assignment.operator()? == "=" && tree.is_plain(statement);
        let is_element = path.field(Field::Argument)?.kind() == Kind::Identifier;
        let is_fit = is_plain && is_element && statement.parent()?.id() == block.id();
        // A comment on a value would lose its context.
        let lines = tree.line_range(tree.line_of(statement.start_byte()))?.start
            ..tree.line_range(tree.line_of(statement.end_byte().saturating_sub(1)))?.end;
        if ["//", "/*", "*/"].iter().any(|mark| tree.text()[lines.clone()].contains(mark)) {
            return None;
        }
        let index = Subscript::of(path).and_then(Subscript::index).filter(|_| is_fit)?;
        let index = tree.value_of(index)?;
        let right = assignment.field(Field::Right)?;
        let value = constant(tree, right, tree.slice(self.type_node))?;
        if !tree.means_the_same(&value, right.start_byte(), self.statement.start_byte()) {
            return None;
        }
        let is_new = (0..self.count).contains(&index) && self.values.insert(index, value).is_none();
        self.statements.push(statement);
        is_new.then_some(())
    }

    fn edits(&self) -> Option<Vec<Edit>> {
        let tree = self.tree;
        let last = *self.values.keys().next_back()?;
        // An element without an assignment was undefined.
        let empty = if types::is_scalar(tree.slice(self.type_node)) { "0" } else { "{}" };
        let values: Vec<&str> = (0..=last).map(|index| self.values.get(&index).map_or(empty, String::as_str)).collect();
        let ending = tree.line_ending(self.statement.start_byte())?;
        let is_constant = self.statement.children().any(|child| tree.slice(child) == "const");
        let head = format!(
            "static constexpr {}{} = {{",
            tree.text().get(self.type_node.start_byte()..self.array.start_byte())?,
            tree.slice(self.array)
        );
        let lines = format!("{head}{}}};", broken(&values, head.len(), &format!("{ending}    ")));
        let mut edits = vec![tree.lines_instead(self.statement.byte_range(), &lines, &ending)?];
        for range in self.removed() {
            edits.push(tree.replacement(range, "")?);
        }
        (!is_constant).then_some(edits)
    }

    /// The ranges of the assignments; those with nothing but blanks between them are one range, so that no blank line
    /// stays where several stood on a line.
    fn removed(&self) -> Vec<Range<usize>> {
        let text = self.tree.text();
        let mut joined: Vec<Range<usize>> = Vec::new();
        for statement in &self.statements {
            // A second semicolon is an empty statement.
            let more = text[statement.end_byte()..].bytes().take_while(|byte| *byte == b';').count();
            let range = statement.start_byte()..statement.end_byte() + more;
            match joined.last_mut().filter(|last| text[last.end..range.start].trim().is_empty()) {
                Some(last) => last.end = range.end,
                None => joined.push(range),
            }
        }
        joined.into_iter().map(|range| self.tree.without_blanks(range)).collect()
    }
}

/// Whether an expression is cast, which may remove the `const`.
fn is_cast(tree: &SyntaxTree, path: Node<'_>) -> bool {
    let Some(parent) = path.parent() else { return true };
    let called = parent.parent().and_then(|call| call.field(Field::Function));
    match parent.kind() {
        Kind::CastExpression => true,
        Kind::ArgumentList => called.is_some_and(|called| last_name(tree.slice(called)).ends_with("_cast")),
        _ => false,
    }
}

/// Comma-separated values, broken into lines.
fn broken(values: &[&str], start: usize, ending: &str) -> String {
    let (mut text, mut width) = (String::new(), start);
    for (number, value) in values.iter().enumerate() {
        if number > 0 {
            text.push(',');
            let is_full = width + value.len() + 2 > LINE_WIDTH;
            text.push_str(if is_full { ending } else { " " });
            width = if is_full { 8 } else { width + 2 };
        }
        text.push_str(value);
        width += value.len();
    }
    text
}

/// A value that an initializer list may have for an element; a vector as a list of its own.
fn constant(tree: &SyntaxTree, node: Node<'_>, type_text: &str) -> Option<String> {
    if node.kind() != Kind::CallExpression {
        let is_kept = is_of_constants(tree, node) && Element::of(type_text)?.accepts(tree, node);
        return is_kept.then(|| tree.slice(node).to_string());
    }
    let vector = last_name(tree.slice(node.field(Field::Function)?)).strip_prefix("make_")?;
    let component = Element::of_component(vector).filter(|_| last_name(type_text) == vector)?;
    let parts: Vec<Node<'_>> = node.field(Field::Arguments)?.named_children().collect();
    let is_kept = parts.iter().all(|part| is_of_constants(tree, *part) && component.accepts(tree, *part));
    let texts: Vec<&str> = parts.iter().map(|part| tree.slice(*part)).collect();
    is_kept.then(|| format!("{{{}}}", texts.join(", ")))
}

/// Whether an expression has only numbers and names of constants.
pub(super) fn is_of_constants(tree: &SyntaxTree, node: Node<'_>) -> bool {
    match node.kind() {
        Kind::NumberLiteral | Kind::CharLiteral | Kind::True | Kind::False => true,
        Kind::UnaryExpression | Kind::ParenthesizedExpression | Kind::BinaryExpression => {
            node.named_children().all(|part| is_of_constants(tree, part))
        }
        Kind::Identifier => tree.is_constant(tree.slice(node), node.start_byte()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lmem_base::edit::apply;
    use lmem_base::source::SourceFile;
    use lmem_unit::MappedText;
    use lmem_unit::{CompiledText, Difference};

    const HELPER: &str = "__device__ int g(const uchar4* t, int n) { return t[n].x; }\n";

    fn edited(body: &str) -> Option<String> {
        let text = format!("{HELPER}__device__ int f(int n) {{\n{body}\n}}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let edits = Table::at(&tree, HELPER.len() + text[HELPER.len()..].find(" t[")? + 1)?.edits()?;
        apply(&text, &edits.iter().collect::<Vec<_>>())
    }

    #[test]
    fn indices_are_what_was_compiled() {
        let of = |compiled: &str| {
            let text =
                "__device__ int f(int n) {\n    int t[4];\n    t[FIRST] = 31;\n    t[1] = 28;\n    return t[n];\n}\n";
            let start = text.find("FIRST").unwrap();
            let difference = Difference { start, end: start + 5, compiled: compiled.to_string() };
            let file = MappedText::from_file(&SourceFile::from_text("a.cu", text));
            let tree = SyntaxTree::new(file, CompiledText::Known(vec![difference]));
            let edits = Table::at(&tree, text.find(" t[")? + 1)?.edits()?;
            apply(text, &edits.iter().collect::<Vec<_>>())
        };
        let values = |text: String| text.lines().find(|line| line.contains("constexpr")).unwrap().trim().to_string();
        assert_eq!(of("3").map(values).as_deref(), Some("static constexpr int t[4] = {0, 28, 0, 31};"));
        assert_eq!(of("0").map(values).as_deref(), Some("static constexpr int t[4] = {31, 28};"));
        assert_eq!(of("n"), None);
        assert_eq!(
            edited("    int t[2];\n    t[0] = 1;\n    { constexpr int Z = 1; t[Z] = 2; }\n    return t[n];"),
            None
        );
    }

    #[test]
    fn assignments_become_a_list() {
        let body = "    int t[4];\n    t[0] = 3;;\n    t[1] = -'a';\n    t[3] = 2 * 8;\n    return t[n];";
        let expected = "    static constexpr int t[4] = {3, -'a', 0, 2 * 8};\n    return t[n];";
        assert_eq!(edited(body), Some(format!("{HELPER}__device__ int f(int n) {{\n{expected}\n}}\n")));
        let body = "    uchar4 t[2];\n    t[0] = make_uchar4(1, 0, 0, 0);\n    t[1] = make_uchar4(2, 0, 0, 0);\n    return g(t, n);";
        let expected = "    static constexpr uchar4 t[2] = {{1, 0, 0, 0}, {2, 0, 0, 0}};\n    return g(t, n);";
        assert_eq!(edited(body), Some(format!("{HELPER}__device__ int f(int n) {{\n{expected}\n}}\n")));
    }

    #[test]
    fn no_blank_lines_stay() {
        let expected = "    static constexpr int t[4] = {1, 2, 3, 4};\n    return t[n];";
        for body in [
            "    int t[4];\n    t[0] = 1; t[1] = 2;\n    t[2] = 3; t[3] = 4;\n    return t[n];",
            "    int t[4];\n    t[0] = 1;\n\n    t[1] = 2; t[2] = 3; t[3] = 4;\n    return t[n];",
        ] {
            assert_eq!(edited(body), Some(format!("{HELPER}__device__ int f(int n) {{\n{expected}\n}}\n")), "{body}");
        }
        let one = edited("    int t[2]; t[0] = 1; t[1] = 2; return t[n];").unwrap();
        assert!(one.contains("    static constexpr int t[2] = {1, 2}; return t[n];"), "{one}");
        let end = edited("    int t[2];\n    if (n < 0) n = 0; t[0] = 1; t[1] = 2;\n    return t[n];").unwrap();
        assert!(end.contains("\n    if (n < 0) n = 0;\n    return"), "{end}");
    }

    #[test]
    fn other_tables_stay() {
        for body in [
            "    int t[2];\n    t[0] = 1;\n    t[1] = n;\n    return t[n];",
            "    int t[2];\n    t[0] = 1;\n    t[0] = 2;\n    return t[n];",
            "    int t[2];\n    t[0] = 1;\n    if (n) t[1] = 2;\n    return t[n];",
            "    int t[2];\n    t[0] = 1;\n    n = t[n];\n    t[1] = 2;\n    return t[n];",
            "    int t[2];\n    t[0] = 1;\n    ((int*)t)[n] = 3;\n    return t[n];",
            "    int t[2], u;\n    t[0] = 1;\n    return t[n];",
            "    int t[2];\n    t[n] = 1;\n    return t[n];",
            "    int t[2];\n    t[0] = 1; // first\n    return t[n];",
            "    int t[2];\n    t[0] = 1;; // first\n    return t[n];",
            // Narrowing in braces.
            "    signed char t[2];\n    t[0] = 200;\n    return t[n];",
            "    float t[2];\n    t[0] = 16777217;\n    return t[n];",
            "    uchar4 t[1];\n    t[0] = make_uchar4(1, 256, 0, 0);\n    return t[n].x;",
        ] {
            assert_eq!(edited(body), None, "{body}");
        }
    }

    #[test]
    fn long_lists_are_broken() {
        let values = vec!["123456789"; 12];
        let lines = broken(&values, 20, "\n    ");
        assert_eq!(lines.lines().count(), 2);
        assert!(lines.lines().all(|line| line.len() <= LINE_WIDTH));
    }
}
