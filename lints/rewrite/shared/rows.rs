//! Moves a private variable to a row of shared memory, with the same name: the name becomes a reference to the row, and
//! all uses stay unchanged. This works for variables that methods, functions and pointers use as a whole, which
//! `columns` refuses.
//!
//! A row has an odd number of elements or words, so threads that access the same element of their rows have no bank
//! conflicts where an element is a word, and few where it is not. A row has only the alignment of its type. A cast to a type with a larger alignment is refused, because
//! only the compiler guaranteed that alignment for the variable.

use cuda_syntax::ast::{Call, Field, Kind, Node};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{enclosing_function, first_statement};
use cuda_syntax::{SyntaxTree, types};
use lmem_base::diagnostic::Edit;
use lmem_frame::StackObject;

use super::alignment::may_lie_anywhere;
use super::columns::{loops_over, zero};
use super::declaration::{BlockThreads, Declared, PrivateVariable, declared, is_type_asked};
use super::initial::first_values;
use crate::rewrite::facts::classes::is_copied_plainly;
use crate::rewrite::facts::destruction::is_destroyed_plainly;
use crate::rewrite::facts::named_type::named_type;
use crate::rewrite::facts::plain_type;

/// Counter names for loops that fill an array, one per dimension; more dimensions are refused.
const COUNTERS: [&str; 3] = ["element", "column", "layer"];
/// Limit on initializer elements that are assigned one by one.
const MOST_LISTED: usize = 8;
/// Width of a bank of shared memory.
const BANK_BYTES: u64 = 4;

impl PrivateVariable {
    /// The edits for one row per thread; `None` if the declaration is not understood. `argument` returns the argument
    /// of a template parameter.
    pub fn rows(
        &self,
        object: &StackObject,
        bytes: u64,
        threads: &BlockThreads<'_>,
        argument: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Vec<Edit>> {
        let tree = &*self.tree;
        if let Some(edits) = self.row_of_parameter(object, bytes, threads, argument) {
            return Some(edits);
        }
        let declared = declared(tree, self.offset)?;
        let type_text = self.moved_type(object, &declared)?;
        let row = Row { tree, declared: &declared, threads, type_text, bytes: Some(bytes) };
        let is_number = types::is_scalar(&row.type_text) || declared.is_of_pointers;
        let lines = match (declared.extents.is_empty(), is_number) {
            (false, _) => row.of_array(argument)?,
            (true, true) => row.of_number()?,
            (true, false) => row.of_object(bytes, argument)?,
        };
        row.place(lines).map(|edit| vec![edit])
    }

    /// The edit for a variable that one thread of the block alone uses.
    pub fn for_one_thread(&self, object: &StackObject, argument: &dyn Fn(&str) -> Option<String>) -> Option<Vec<Edit>> {
        let declared = declared(&self.tree, self.offset)?;
        let type_text = self.moved_type(object, &declared)?;
        let threads = BlockThreads { count: "1", own: "0" };
        let row = Row { tree: &self.tree, declared: &declared, threads: &threads, type_text, bytes: None };
        row.place(row.of_one_thread(argument)?).map(|edit| vec![edit])
    }

    /// The edit for an array that one thread of several alone uses: a row for each of these threads.
    pub fn rows_of_leaders(
        &self,
        object: &StackObject,
        threads: &BlockThreads<'_>,
        argument: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Vec<Edit>> {
        let declared = declared(&self.tree, self.offset).filter(|declared| !declared.extents.is_empty())?;
        let type_text = self.moved_type(object, &declared)?;
        let row = Row { tree: &self.tree, declared: &declared, threads, type_text, bytes: None };
        row.place(row.of_array(argument)?).map(|edit| vec![edit])
    }

    /// Whether the file defines the variable's type, and a variable of it is constructed.
    pub fn is_constructed(&self) -> bool {
        declared(&self.tree, self.offset).is_some_and(|it| it.extents.is_empty() && self.has_constructors(&it))
    }

    /// The same for the elements of an array.
    pub fn has_constructed_elements(&self) -> bool {
        declared(&self.tree, self.offset)
            .is_some_and(|it| !it.extents.is_empty() && !it.is_of_pointers && self.has_constructors(&it))
    }

    fn has_constructors(&self, declared: &Declared<'_>) -> bool {
        let type_text = declared.statement.field(Field::Type).map_or("", |it| self.tree.slice(it));
        let is_known = named_type(&self.tree, type_text).is_some();
        is_known && !plain_type::is_plain(&self.tree, type_text, &|_| None)
    }

    /// The type of a variable that may be moved, as written; with `const` for pointers to constants.
    fn moved_type(&self, object: &StackObject, declared: &Declared<'_>) -> Option<String> {
        let tree = &*self.tree;
        let type_node = declared.statement.field(Field::Type)?;
        let is_named = type_node.field(Field::Body).is_none() && type_node.kind() != Kind::PlaceholderTypeSpecifier;
        let is_free = has_no_comments(declared.statement)
            && may_lie_anywhere(
                object,
                tree,
                declared.name,
                if declared.is_of_pointers { "size_t" } else { tree.slice(type_node) },
            );
        if !is_named || !is_free {
            return None;
        }
        let head = declared.statement.field(Field::Declarator)?.start_byte();
        Some(words_of(tree.text().get(declared.statement.start_byte()..head)?))
    }
}

impl PrivateVariable {
    /// The edits for a structure parameter: it becomes `State given` in the head, and `State &state` refers to the row
    /// in the body.
    fn row_of_parameter(
        &self,
        object: &StackObject,
        bytes: u64,
        threads: &BlockThreads<'_>,
        argument: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Vec<Edit>> {
        let tree = &*self.tree;
        let name = tree.root()?.named_descendant_for_byte_range(self.offset, self.offset + 1)?;
        let parameter = name.parent().filter(|parent| parent.kind() == Kind::ParameterDeclaration)?;
        let type_node = parameter.field(Field::Type)?;
        let type_text = words_of(tree.slice(type_node));
        let is_value =
            name.kind() == Kind::Identifier && parameter.named_child_count() == 2 && tree.is_plain(parameter);
        let is_object = !types::is_scalar(&type_text) && is_copied_plainly(tree, &type_text);
        if !is_value || !is_object || is_type_asked(tree, name) || !may_lie_anywhere(object, tree, name, &type_text) {
            return None;
        }
        let text = tree.slice(name);
        let given = tree.fresh(&format!("{text}_given"), &[]);
        let block = tree.fresh(&format!("{text}_of_block"), &[]);
        let first = first_statement(enclosing_function(name)?)?;
        let ending = tree.line_ending(first.start_byte())?;
        let mut lines = object_lines(tree, text, (&type_text, bytes), &block, threads, argument)?;
        lines.push(format!("{text} = {given};"));
        let lines = lines.join(&ending);
        let before = tree.line_before(first.start_byte(), &lines.replace(&ending, " "))?;
        let inserted = Edit { replacement: format!("{lines}{ending}"), ..before };
        Some(vec![tree.replacement(name.byte_range(), &given)?, inserted])
    }
}

/// An array of rows, and a reference to the object in the own row. `None` if the size of a row is not known to be free
/// of bank conflicts, or if the type has a constructor, which shared memory does not run.
fn object_lines(
    tree: &SyntaxTree,
    name: &str,
    (type_text, bytes): (&str, u64),
    block: &str,
    threads: &BlockThreads<'_>,
    argument: &dyn Fn(&str) -> Option<String>,
) -> Option<Vec<String>> {
    let alignment = plain_type::alignment(tree, type_text, argument)?;
    let (count, own) = (threads.count, threads.own);
    // In an odd number of words, threads that use the same member of their rows use different banks. An odd number of
    // double words is an even number of words.
    let comment = if alignment == BANK_BYTES { " /* no bank conflicts */" } else { "" };
    Some(match (bytes / alignment) % 2 == 1 || bytes < BANK_BYTES {
        true => {
            vec![format!("__shared__ {type_text} {block}[{count}];"), format!("{type_text} &{name} = {block}[{own}];")]
        }
        false => vec![
            format!(
                "__shared__ struct {{ {type_text} own; char gap[alignof({type_text})];{comment} }} {block}[{count}];"
            ),
            format!("{type_text} &{name} = {block}[{own}].own;"),
        ],
    })
}

/// The elements that a row of elements smaller than a word lacks for an odd number of words: then threads that use the same
/// element of their rows use different banks.
fn missing_elements(size: u64, elements: u64) -> u64 {
    let of_two = 2 * BANK_BYTES;
    let beyond = (size * elements + of_two - BANK_BYTES) % of_two;
    (of_two - beyond) % of_two / size
}

/// The parts of the new declaration.
struct Row<'r> {
    tree: &'r SyntaxTree,
    declared: &'r Declared<'r>,
    threads: &'r BlockThreads<'r>,
    type_text: String,
    /// The size of the variable; `None` where threads of a warp do not use rows beside each other.
    bytes: Option<u64>,
}

impl Row<'_> {
    fn name(&self) -> &str {
        self.tree.slice(self.declared.name)
    }

    /// The name of the array of rows.
    fn block(&self) -> String {
        self.tree.fresh(&format!("{}_of_block", self.name()), &[])
    }

    /// `__shared__ struct { int own[6]; int gap; } a_of_block[256];` and `auto &a = a_of_block[threadIdx.x].own;`
    fn of_array(&self, argument: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
        let Self { tree, declared, threads, type_text, .. } = self;
        let (name, block) = (self.name(), self.block());
        if !declared.is_of_pointers && !plain_type::is_plain(tree, type_text, argument) {
            return None;
        }
        let text = tree.text();
        let before = words_of(text.get(declared.declarator.start_byte()..declared.name.start_byte())?);
        let extents = words_of(text.get(declared.name.end_byte()..declared.array.end_byte())?);
        let elements = declared.extents.iter().try_fold(1, |all, extent| {
            let of_instance = || types::evaluate(tree.slice(*extent), &|name| argument(name));
            tree.value_of(*extent).or_else(of_instance).and_then(|count: i64| count.checked_mul(all))
        });
        let (count, own) = (threads.count, threads.own);
        // An object of words may have an even number of them: one word more, not one object more, makes the row odd.
        let is_number = declared.is_of_pointers || types::size_of(type_text).is_some();
        let alignment = if is_number { None } else { plain_type::alignment(tree, type_text, argument) };
        let words = self.bytes.filter(|_| alignment == Some(BANK_BYTES)).map(|bytes| bytes / BANK_BYTES);
        // Elements of a part of a word: as many more as make an odd number of words.
        let narrow = types::size_of(type_text).filter(|size| *size < BANK_BYTES && !declared.is_of_pointers);
        let missing = narrow.and_then(|size| {
            let counted = elements.and_then(|elements| u64::try_from(elements).ok());
            Some(missing_elements(size, counted.or_else(|| Some(self.bytes? / size))?))
        });
        let gap = match (words, missing) {
            (Some(_), _) => "float gap; /* no bank conflicts */".to_string(),
            (None, Some(more @ 2..)) => format!("{type_text} {before}gap[{more}]; /* no bank conflicts */"),
            (None, _) => format!("{type_text} {before}gap;"),
        };
        let is_odd = match (words, missing) {
            (Some(words), _) => words % 2 == 1,
            (None, Some(more)) => more == 0,
            (None, None) => elements.is_some_and(|elements| elements % 2 == 1),
        };
        let mut lines = match self.bytes.is_none() || is_odd {
            true => vec![
                format!("__shared__ {type_text} {before}{block}[{count}]{extents};"),
                format!("auto &{name} = {block}[{own}];"),
            ],
            false => vec![
                format!("__shared__ struct {{ {type_text} {before}own{extents}; {gap} }} {block}[{count}];"),
                format!("auto &{name} = {block}[{own}].own;"),
            ],
        };
        if let Some(initializer) = declared.initializer {
            lines.extend(self.filled(initializer)?);
        }
        Some(lines)
    }

    /// Assignments that replace an initializer.
    fn filled(&self, initializer: Node<'_>) -> Option<Vec<String>> {
        let (tree, extents) = (self.tree, &self.declared.extents);
        let name = self.name();
        if let Some(zero) = zero(tree, self.declared, initializer) {
            let counters = COUNTERS.get(..extents.len())?;
            let (loops, indices) = loops_over(tree, self.declared, counters)?;
            return (!counters.contains(&name)).then(|| vec![format!("{loops}{name}{indices} = {zero};")]);
        }
        if let Some(lines) = first_values(tree, self.declared, &|element| format!("{name}[{element}]")) {
            return (name != COUNTERS[0]).then_some(lines);
        }
        let [extent] = extents.as_slice() else { return None };
        let count = tree.value_of(*extent)?;
        let values: Vec<Node<'_>> = initializer.named_children().collect();
        let is_complete = usize::try_from(count) == Ok(values.len()) && values.len() <= MOST_LISTED;
        let is_simple = |value: &Node<'_>| !matches!(value.kind(), Kind::InitializerList | Kind::InitializerPair);
        if initializer.kind() != Kind::InitializerList || !is_complete || !values.iter().all(is_simple) {
            return None;
        }
        let first = tree.slice(*values.first()?);
        let is_number = |value: &Node<'_>| value.kind() == Kind::NumberLiteral && tree.slice(*value) == first;
        if values.len() > 1 && name != COUNTERS[0] && values.iter().all(is_number) {
            let (loops, indices) = loops_over(tree, self.declared, &COUNTERS[..1])?;
            return Some(vec![format!("{loops}{name}{indices} = {first};")]);
        }
        let assigned = values.iter().enumerate().map(|(at, value)| format!("{name}[{at}] = {};", tree.slice(*value)));
        Some(assigned.collect())
    }

    /// `__shared__ int a_of_block[256];` and `int &a = a_of_block[threadIdx.x];`
    fn of_number(&self) -> Option<Vec<String>> {
        let Self { tree, declared, threads, type_text, .. } = self;
        let (name, block, own) = (self.name(), self.block(), threads.own);
        if declared.is_of_pointers {
            return None;
        }
        let mut lines = vec![
            format!("__shared__ {type_text} {block}[{}];", threads.count),
            format!("{type_text} &{name} = {block}[{own}];"),
        ];
        match declared.initializer {
            Some(value) if matches!(value.kind(), Kind::InitializerList | Kind::ArgumentList) => return None,
            Some(value) => lines.push(format!("{name} = {};", tree.slice(value))),
            None => {}
        }
        Some(lines)
    }

    /// Rows with the structure of each thread, which gets its first value by assignment.
    fn of_object(&self, bytes: u64, argument: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
        let Self { tree, declared, threads, type_text, .. } = self;
        let (name, block) = (self.name(), self.block());
        let assigned = || {
            let mut lines = object_lines(tree, name, (type_text, bytes), &block, threads, argument)?;
            lines.extend(self.assigned(declared.initializer)?);
            Some(lines)
        };
        assigned().or_else(|| self.of_constructed(bytes, argument))
    }

    /// Rows of bytes, in which each thread constructs its object: shared memory runs no constructors.
    fn of_constructed(&self, bytes: u64, argument: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
        let Self { tree, declared, threads, type_text, .. } = self;
        let (name, block) = (self.name(), self.block());
        let is_of_text = |word: &str| identifiers(tree.text()).any(|it| it == word);
        // An allocation function of the user's would be called, and a destructor would not.
        let has_own_new =
            tree.is_declared_beside("operator") || (is_of_text("operator") && tree.text().contains("operator new"));
        let is_alone = !type_text.split_whitespace().any(|word| matches!(word, "const" | "volatile" | "static"));
        if has_own_new || !is_alone || !is_destroyed_plainly(tree, type_text, argument) {
            return None;
        }
        let alignment = plain_type::alignment_of(tree, type_text, argument)?;
        // Rows of an odd number of words, as for objects without constructors.
        let gap = if (bytes / alignment) % 2 == 1 { String::new() } else { format!(" + alignof({type_text})") };
        let arguments = match declared.initializer {
            None => String::new(),
            Some(value) if matches!(value.kind(), Kind::InitializerList | Kind::ArgumentList) => {
                words_of(tree.slice(value))
            }
            // `State state(a);`, which is parsed as the declaration of a function.
            Some(value) if value.kind() == Kind::ParameterList => {
                plain_type::has_constructors(tree, type_text).then(|| words_of(tree.slice(value)))?
            }
            Some(value) => {
                let call =
                    Call::of(value).filter(|call| call.function().is_some_and(|it| tree.slice(it) == *type_text))?;
                words_of(tree.slice(call.argument_list()?))
            }
        };
        let (count, own) = (threads.count, threads.own);
        Some(vec![
            format!("__shared__ alignas({type_text}) unsigned char {block}[{count}][sizeof({type_text}){gap}];"),
            format!("{type_text} &{name} = *new ({block}[{own}]) {type_text}{arguments};"),
        ])
    }

    /// The first value of a structure, as an assignment.
    fn assigned(&self, initializer: Option<Node<'_>>) -> Option<Option<String>> {
        let Self { tree, type_text, .. } = self;
        let name = self.name();
        match initializer {
            None => Some(None),
            // An assignment that a class defines is no initialization, and a constructor may keep the object's address.
            Some(_) if !is_copied_plainly(tree, type_text) || plain_type::has_constructors(tree, type_text) => None,
            // Only a constructor takes arguments in parentheses.
            Some(value) if matches!(value.kind(), Kind::ArgumentList | Kind::ParameterList) => None,
            Some(value) if value.kind() == Kind::InitializerList => {
                Some(Some(format!("{name} = {type_text}{};", words_of(tree.slice(value)))))
            }
            Some(value) => Some(Some(format!("{name} = {};", words_of(tree.slice(value))))),
        }
    }

    /// The declaration for one thread: `__shared__` in front of it, and the first values by assignment.
    fn of_one_thread(&self, argument: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
        let Self { tree, declared, type_text, .. } = self;
        if !declared.is_of_pointers && !plain_type::is_plain(tree, type_text, argument) {
            return None;
        }
        let text = tree.text();
        let declarator = match declared.extents.is_empty() {
            true => tree.slice(declared.name),
            false => text.get(declared.declarator.start_byte()..declared.array.end_byte())?,
        };
        let mut lines = vec![format!("__shared__ {type_text} {};", words_of(declarator))];
        match (declared.initializer, declared.extents.is_empty()) {
            (Some(initializer), false) => lines.extend(self.filled(initializer)?),
            (initializer, _) => lines.extend(self.assigned(initializer)?),
        }
        Some(lines)
    }

    /// Replaces the declaration by lines; other variables of the statement keep their order.
    fn place(&self, mut lines: Vec<String>) -> Option<Edit> {
        let Self { tree, declared, .. } = self;
        let (statement, whole) = (declared.statement, declared.whole);
        let text = tree.text();
        let declarators: Vec<Node<'_>> = statement.fields(Field::Declarator).collect();
        let position = declarators.iter().position(|node| *node == whole)?;
        let head = words_of(text.get(statement.start_byte()..declarators.first()?.start_byte())?);
        let listed = |nodes: &[Node<'_>]| {
            let range = nodes.first()?.start_byte()..nodes.last()?.end_byte();
            Some(format!("{head} {};", words_of(text.get(range)?)))
        };
        if let Some(before) = listed(&declarators[..position]) {
            lines.insert(0, before);
        }
        lines.extend(listed(&declarators[position + 1..]));
        let start = statement.start_byte();
        let line = text[..start].rsplit('\n').next().unwrap_or("");
        let ending = match line.trim().is_empty() {
            true => tree.line_ending(start)?,
            false => " ".to_string(),
        };
        tree.lines_instead(statement.byte_range(), &lines.join(&ending), &ending)
    }
}

fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the edit would remove no comment.
fn has_no_comments(statement: Node<'_>) -> bool {
    statement.descendants().all(|node| node.kind() != Kind::Comment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_syntax::Example;
    use cuda_syntax::identifiers::occurrences;
    use cuda_syntax::tree::DeclarationKind;
    use lmem_base::edit::apply;
    use lmem_base::source::{SourceFile, Span};
    use lmem_frame::Access;
    use lmem_frame::Place;
    use lmem_frame::StackObjectKind;
    use lmem_frame::{Address, FrameObject, Variable};
    use nv_code::dataflow::Provenance;
    use nv_code::{AccessKind, UnitFacts};

    const HEAD: &str = "template <int N> struct Stack { int items[N]; int top = 0; __device__ void push(int x); };
struct State { int key[3]; };
struct Pair { double sum; float *at; float last[4]; };
struct Body { float speed[3]; __device__ float pick(int k) const { return speed[k]; } __device__ void put(int k); };
struct Guard { int n; ~Guard(); };
struct Counted { int n = 0; };
template <int N, typename T> struct List { T items[N]; __device__ void push(T x) { items[0] = x; } };
struct Own { int n[3]; int *at; __device__ Own() {} __device__ Own(int k) : at(n + k) {} };
struct Copied { int n[3]; __device__ Copied &operator=(const Copied &other) { n[0] = other.n[0]; return *this; } };
__device__ int read(const int *p, int k) { return p[k]; }
__device__ int wide(const int *p, int k) { return reinterpret_cast<const int4 *>(p)[k].x; }
";

    /// The kernel with the variable `w` as a row of shared memory; it is accessed in the kernel and in a callee.
    fn rows_in(callee: &str, parameters: &str, body: &str) -> Option<String> {
        let start = format!("{HEAD}__global__ void k({parameters})\n{{\n");
        let text = format!("{start}{body}\n}}\n");
        let example = Example::new(&text);
        let (trees, facts) = (example.trees(), UnitFacts::default());
        let id = trees.id(Example::NAME)?;
        let tree = trees.tree(id);
        let kernel = HEAD.len();
        let offset = kernel + occurrences(&text[kernel..], "w").next()?;
        let mut object = FrameObject::new(StackObjectKind::Variable, 64);
        for at in [start.len(), text.find(&format!("{callee}(")).unwrap() + callee.len() + 20] {
            let line = u32::try_from(tree.line_of(at)).unwrap();
            let place = Place { tree: id, line, offset: at, function: None, callee: None };
            let address = Address::Computed(Provenance::default());
            object.accesses.push(Access::new(AccessKind::Load, address, [place].into_iter().collect()));
        }
        let bytes = if text[kernel..].contains("Pair w") { 32 } else { 12 };
        object.variable = Some(variable(bytes));
        let threads = BlockThreads { count: "256", own: "threadIdx.x" };
        let object = StackObject::new(&object, &facts, &trees);
        let edits = PrivateVariable::at(tree, offset)?.rows(&object, bytes, &threads, &|_| None)?;
        let edited = apply(&text, &edits.iter().collect::<Vec<_>>())?;
        Some(edited.strip_prefix(HEAD)?.strip_suffix("\n}\n")?.to_string())
    }

    /// A variable of some size.
    fn variable(bytes: u64) -> Variable {
        Variable {
            name: "w".to_string(),
            type_text: String::new(),
            kind: DeclarationKind::Aggregate,
            is_parameter: false,
            volatility: None,
            initializer: None,
            bytes: Some(bytes),
            span: Span::new(&SourceFile::from_text("a.cu", "w"), 0..1),
            sharing: Vec::new(),
            members: Vec::new(),
        }
    }

    fn rows(body: &str) -> Option<String> {
        let edited = rows_in("read", "int n", body)?;
        Some(words_of(edited.strip_prefix("__global__ void k(int n)\n{\n")?))
    }

    #[test]
    fn arrays_are_rows_of_odd_length() {
        for (before, after) in [
            (
                "  int w[6];\n  read(w, n);",
                "__shared__ struct { int own[6]; int gap; } w_of_block[256]; auto &w = w_of_block[threadIdx.x].own; read(w, n);",
            ),
            (
                "unsigned char w[25]; read(w, n);",
                "__shared__ struct { unsigned char own[25]; unsigned char gap[3]; /* no bank conflicts */ } w_of_block[256]; auto &w = w_of_block[threadIdx.x].own; read(w, n);",
            ),
            (
                "short w[6]; read(w, n);",
                "__shared__ short w_of_block[256][6]; auto &w = w_of_block[threadIdx.x]; read(w, n);",
            ),
            (
                "float4 w[5]; read(w, n);",
                "__shared__ float4 w_of_block[256][5]; auto &w = w_of_block[threadIdx.x]; read(w, n);",
            ),
            (
                "const float *w[2]; read(w[n], n);",
                "__shared__ struct { const float *own[2]; const float *gap; } w_of_block[256]; auto &w = w_of_block[threadIdx.x].own; read(w[n], n);",
            ),
            (
                "int w[3][3] = {}; read(w[n], n);",
                "__shared__ int w_of_block[256][3][3]; auto &w = w_of_block[threadIdx.x]; for (int element = 0; element < 3; ++element) for (int column = 0; column < 3; ++column) w[element][column] = 0; read(w[n], n);",
            ),
            (
                "State w[3]; int m = 0; read(w[n].key, m);",
                "__shared__ State w_of_block[256][3]; auto &w = w_of_block[threadIdx.x]; int m = 0; read(w[n].key, m);",
            ),
            (
                "int w[3] = {n, 2, read(a, n)}; read(w, n);",
                "__shared__ int w_of_block[256][3]; auto &w = w_of_block[threadIdx.x]; w[0] = n; w[1] = 2; w[2] = read(a, n); read(w, n);",
            ),
        ] {
            assert_eq!(rows(before).unwrap_or_default(), after);
        }
    }

    #[test]
    fn objects_are_rows_of_odd_length() {
        for (before, after) in [
            (
                "State w; w.key[n] = 1;",
                "__shared__ State w_of_block[256]; State &w = w_of_block[threadIdx.x]; w.key[n] = 1;",
            ),
            ("Body w;", "__shared__ Body w_of_block[256]; Body &w = w_of_block[threadIdx.x];"),
            ("List<3, int> w;", "__shared__ List<3, int> w_of_block[256]; List<3, int> &w = w_of_block[threadIdx.x];"),
            (
                "List<3, int> w{};",
                "__shared__ List<3, int> w_of_block[256]; List<3, int> &w = w_of_block[threadIdx.x]; w = List<3, int>{};",
            ),
            ("Own w;", "__shared__ Own w_of_block[256]; Own &w = w_of_block[threadIdx.x];"),
            ("Copied w;", "__shared__ Copied w_of_block[256]; Copied &w = w_of_block[threadIdx.x];"),
            ("State w = a[n];", "__shared__ State w_of_block[256]; State &w = w_of_block[threadIdx.x]; w = a[n];"),
            ("State w = {n};", "__shared__ State w_of_block[256]; State &w = w_of_block[threadIdx.x]; w = State{n};"),
            (
                "Pair w{};",
                "__shared__ struct { Pair own; char gap[alignof(Pair)]; } w_of_block[256]; Pair &w = w_of_block[threadIdx.x].own; w = Pair{};",
            ),
        ] {
            assert_eq!(rows(&format!("{before} read(&w, n);")), Some(format!("{after} read(&w, n);")));
        }
        assert_eq!(
            rows("int w = n; read(&w, 0);").as_deref(),
            Some("__shared__ int w_of_block[256]; int &w = w_of_block[threadIdx.x]; w = n; read(&w, 0);")
        );
    }

    #[test]
    fn constructors_do_not_run_in_shared_memory() {
        let is_constructed = |declared: &str| {
            let text = format!("{HEAD}__global__ void k(int n)\n{{ {declared} f(w); }}\n");
            let tree = std::rc::Rc::new(cuda_syntax::SyntaxTree::example("a.cu", &text));
            let offset = text.rfind("w;").unwrap();
            PrivateVariable::at(&tree, offset).unwrap().is_constructed()
        };
        assert!(is_constructed("Counted w;") && is_constructed("List<3, Counted> w;"));
        assert!(!is_constructed("State w;") && !is_constructed("List<3, int> w;") && !is_constructed("Unknown w;"));
    }

    #[test]
    fn elements_with_constructors_are_known() {
        let has_constructed = |declared: &str| {
            let text = format!("{HEAD}__global__ void k(int n)\n{{ {declared} f(w); }}\n");
            let tree = std::rc::Rc::new(cuda_syntax::SyntaxTree::example("a.cu", &text));
            let offset = text.rfind("w[").or_else(|| text.rfind("w;")).unwrap();
            PrivateVariable::at(&tree, offset).unwrap().has_constructed_elements()
        };
        assert!(has_constructed("Counted w[3];"));
        assert!(
            !has_constructed("State w[3];") && !has_constructed("Counted w;") && !has_constructed("Counted *w[3];")
        );
    }

    #[test]
    fn objects_with_constructors_are_constructed_in_their_rows() {
        for (declared, type_text, arguments) in [
            ("Stack<8> w;", "Stack<8>", ""),
            ("Counted w;", "Counted", ""),
            ("List<3, Counted> w;", "List<3, Counted>", ""),
            ("Copied w{};", "Copied", "{}"),
            ("Own w = Own(2);", "Own", "(2)"),
            ("Own w = {2};", "Own", "{2}"),
            ("Own w(n, 2);", "Own", "(n, 2)"),
        ] {
            let row = format!("__shared__ alignas({type_text}) unsigned char w_of_block[256][sizeof({type_text})];");
            let own = format!("{type_text} &w = *new (w_of_block[threadIdx.x]) {type_text}{arguments};");
            assert_eq!(
                rows(&format!("{declared} read(&w, n);")),
                Some(format!("{row} {own} read(&w, n);")),
                "{declared}"
            );
        }
    }

    #[test]
    fn variables_beside_it_keep_their_order() {
        let edited = rows("int a = n, w[3], b = a + 1;");
        let row = "__shared__ int w_of_block[256][3]; auto &w = w_of_block[threadIdx.x];";
        assert_eq!(edited, Some(format!("int a = n; {row} int b = a + 1;")));
    }

    #[test]
    fn parameters_get_another_name() {
        assert_eq!(
            rows_in("read", "State w, int n", "  // note\n  w.key[n] = 1;").as_deref(),
            Some(
                "__global__ void k(State w_given, int n)\n{\n  // note\n  __shared__ State w_of_block[256];\n  State &w = w_of_block[threadIdx.x];\n  w = w_given;\n  w.key[n] = 1;"
            )
        );
        for parameters in ["const State w, int n", "State &w, int n", "int w, int n", "State *w, int n"] {
            assert_eq!(rows_in("read", parameters, "  f(w);"), None, "{parameters}");
        }
    }

    #[test]
    fn what_counts_on_more_is_left_alone() {
        for body in [
            "int w[4]; reinterpret_cast<int4 *>(w)[0] = v;",
            "int w[4]; auto p = w; *(float4 *)p = v;",
            "int w[4]; asm(\"\" :: \"l\"(w));",
            "static int w[4]; f(w);",
            "const Stack<8> w = a;",
            "auto w = a[n];",
            "struct { int a[4]; } w; f(w);",
            "Guard w; f(w);",
            // An assignment that does something else.
            "Copied w = a[n]; f(w);",
            // A constructor that is explicit would run where the copy has none.
            "Stack<8> w = n; f(w);",
            "State w(a, n); f(w);",
            "int w[4] /* four */; f(w);",
            "int w[4] = {1, {2}}; f(w);",
            "int w[] = {1, 2}; f(w);",
        ] {
            assert_eq!(rows(body), None, "{body}");
        }
        assert_eq!(rows_in("wide", "int n", "int w[4]; wide(w, n);"), None);
        // A cast to a smaller alignment, or of another variable.
        assert!(rows("int w[4]; reinterpret_cast<short *>(w)[n] = 0;").is_some());
        assert!(rows("int w[4]; f(w, reinterpret_cast<int4 *>(in)[n]);").is_some());
    }
}
