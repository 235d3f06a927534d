//! Questions to the syntax tree: what stands at a line and column, which variables it mentions, how they are
//! declared.
//!
//! The tree is of the text before macros; where it cannot answer, nothing is claimed.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use tree_sitter::Node;

use super::counter_syntax::CounterSyntax;
use super::types;
use super::view::SourceView;

/// Answers that many accesses ask for; they depend on the text alone.
#[derive(Default)]
pub struct Memory {
    constants: OnceCell<HashMap<String, Option<String>>>,
    /// By the bytes of the region.
    mentions: Answers<(usize, usize), Mention>,
    /// By the start of the function.
    assignments: Answers<usize, Assignment>,
    /// By offset.
    pub(super) counters: Answers<usize, CounterSyntax>,
}

/// `next = other`: the name, and the bytes of the value.
struct Assignment {
    name: String,
    value: (usize, usize),
}

type Answers<Question, Answer> = RefCell<HashMap<Question, Rc<[Answer]>>>;

/// Size of a pointer on all GPUs that CUDA still knows.
const POINTER_BYTES: u64 = 8;

/// Aliases are followed this far: `float* p = a; float* q = p + 1;`.
const MAX_ALIASES: usize = 4;

/// How a variable is declared, as far as it matters where it can live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeclarationKind {
    Array,
    /// Anything of a type that is no number: a struct, a vector, a fragment.
    Aggregate,
    Scalar,
    /// A pointer or reference: its own value is small, what it points to is another variable.
    Alias,
}

impl DeclarationKind {
    /// Whether a variable of this kind may be written in parts.
    pub fn has_parts(self) -> bool {
        matches!(self, Self::Array | Self::Aggregate)
    }
}

/// A local variable or parameter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Declaration {
    pub name: String,
    /// The identifier where it is declared.
    pub range: (usize, usize),
    pub kind: DeclarationKind,
    /// As the source writes it: `float[W][4]`.
    pub type_text: String,
    /// Its size, where all extents are constants that can be read off the source.
    pub bytes: Option<u64>,
    pub is_parameter: bool,
    /// Whether the variable itself is `volatile`; what it may point to does not count.
    pub volatility: Option<Volatility>,
    /// Members of a structure, where the front end tells: path, type and bytes.
    pub members: Vec<(String, String, u64)>,
    /// Where the name may be used.
    pub(super) scope: (usize, usize),
    /// What it is initialised with; an alias is made from that.
    pub(super) initializer: Option<(usize, usize)>,
}

/// What `volatile` makes volatile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Volatility {
    /// `volatile float x`
    Value,
    /// `float* volatile p`: the pointer, and not what it points to.
    Pointer,
    /// A member of its type, by name.
    Member(String),
}

impl Declaration {
    /// A variable that the text does not show, as one that a macro declares.
    pub fn hidden(name: &str, range: Range<usize>) -> Self {
        Self {
            name: name.to_string(),
            range: (range.start, range.end),
            kind: DeclarationKind::Aggregate,
            type_text: String::new(),
            bytes: None,
            is_parameter: false,
            volatility: None,
            members: Vec::new(),
            scope: (range.start, usize::MAX),
            initializer: None,
        }
    }

    /// Whether the name may be used at an offset of its text.
    pub fn is_in_scope(&self, offset: usize) -> bool {
        (self.scope.0..self.scope.1).contains(&offset)
    }
}

/// A variable that an alias stands for, and the indices that lead to its part of it.
type Target = (Declaration, Vec<Range<usize>>);

/// A use of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    pub declaration: Declaration,
    /// The name that stands there, which may be that of an alias.
    pub identifier: Range<usize>,
    /// Bytes of the whole expression: `window[k]`, or the name alone.
    pub range: Range<usize>,
    /// Bytes of each index: two for `a[i][j]`.
    pub indices: Vec<Range<usize>>,
    /// For a use by another name what that was made with: `s` of `Biquad& q = section[s]`, `4 * k` of `float* p = a + 4 * k`.
    pub outer: Vec<Range<usize>>,
    pub is_read: bool,
    pub is_written: bool,
    /// Handed to a function or taken the address of, as itself.
    pub is_passed: bool,
    /// An operand of arithmetic or a comparison, as a whole.
    pub is_operand: bool,
}

impl Mention {
    /// Whether an alias stands for the variable.
    pub fn is_by_other_name(&self, text: &str) -> bool {
        text.get(self.identifier.clone()) != Some(self.declaration.name.as_str())
    }
}

/// A loop of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopSyntax {
    /// From the keyword to the end of the header.
    pub range: Range<usize>,
    pub condition: Option<Range<usize>>,
    /// The `#pragma unroll …` before it.
    pub pragma: Option<Range<usize>>,
}

/// A parameter in the list of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSyntax {
    pub name: String,
    pub type_text: String,
    /// The name.
    pub range: Range<usize>,
}

/// A function: its name, and its launch bounds where it has some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSyntax {
    pub name: Range<usize>,
    pub launch_bounds: Option<Range<usize>>,
    /// `__maxnreg__(n)`
    pub max_registers: Option<Range<usize>>,
    /// Offset of the brace that opens its body.
    pub body: Option<usize>,
    /// Names of template parameters, in order.
    pub template_parameters: Vec<String>,
}

impl SourceView {
    /// The statement, or the part of a loop's or branch's header, that starts or stands at an offset.
    pub fn region(&self, offset: usize) -> Option<Node<'_>> {
        let end = (offset + 1).min(self.text().len());
        let mut node = self.root()?.named_descendant_for_byte_range(offset, end)?;
        loop {
            if is_statement(node) {
                return Some(node);
            }
            let parent = node.parent()?;
            if has_header(parent) && parent.child_by_field_name("body").is_none_or(|body| body.id() != node.id()) {
                // A part of the header; the keyword itself belongs to the whole header.
                return Some(node);
            }
            if node.kind() == "function_definition"
                || matches!(parent.kind(), "compound_statement" | "translation_unit" | "declaration_list")
            {
                return Some(node);
            }
            node = parent;
        }
    }

    /// Uses of local variables and parameters in a region, aliases resolved to what they stand for.
    pub fn mentions(&self, region: Node<'_>) -> Rc<[Mention]> {
        let range = (region.start_byte(), region.end_byte());
        if let Some(known) = self.memory.mentions.borrow().get(&range) {
            return Rc::clone(known);
        }
        let mentions: Rc<[Mention]> = self.find_mentions(region).into();
        self.memory.mentions.borrow_mut().insert(range, Rc::clone(&mentions));
        mentions
    }

    fn find_mentions(&self, region: Node<'_>) -> Vec<Mention> {
        let declarations = enclosing_function(region).map(|function| self.declarations(function)).unwrap_or_default();
        let mut mentions = Vec::new();
        for identifier in self.identifiers(region).into_iter().filter(|identifier| !is_parameter_name(*identifier)) {
            let Some(declaration) = resolve(&declarations, self.slice(identifier), identifier.start_byte()) else {
                continue;
            };
            let mut usage = self.usage(identifier);
            // `p[i] = 1` reads the pointer, whatever it does to what `p` points to.
            if declaration.volatility == Some(Volatility::Pointer) && usage.range != identifier.byte_range() {
                (usage.is_read, usage.is_written, usage.indices) = (true, false, Vec::new());
            }
            for (target, outer) in self.targets(declaration, &declarations, MAX_ALIASES) {
                mentions.push(Mention { declaration: target, outer, ..usage.clone() });
            }
        }
        mentions
    }

    /// The variable whose initialiser stands at an offset.
    pub fn initialized_at(&self, offset: usize) -> Option<Declaration> {
        let function = enclosing_function(self.root()?.named_descendant_for_byte_range(offset, offset)?)?;
        let holds = |declaration: &Declaration| {
            declaration.initializer.is_some_and(|(start, end)| (start..end).contains(&offset))
        };
        // Of nested functions the innermost declares it.
        self.declarations(function).into_iter().filter(holds).max_by_key(|declaration| declaration.range.0)
    }

    /// The declaration of a name where it is used.
    pub fn declaration_of(&self, identifier: &Range<usize>) -> Option<Declaration> {
        let node = self.root()?.named_descendant_for_byte_range(identifier.start, identifier.end)?;
        let declarations = self.declarations(enclosing_function(node)?);
        resolve(&declarations, self.slice(node), identifier.start).cloned()
    }

    /// Uses of the name of a declaration that the tree does not have.
    pub fn uses_of(&self, region: Node<'_>, declaration: &Declaration) -> Vec<Mention> {
        let identifiers = self.identifiers(region).into_iter().filter(|node| self.slice(*node) == declaration.name);
        identifiers.map(|node| Mention { declaration: declaration.clone(), ..self.usage(node) }).collect()
    }

    /// Whether the function around an offset declares a name where the tree shows it.
    pub fn is_declared(&self, offset: usize, name: &str) -> bool {
        let node = self.root().and_then(|root| root.named_descendant_for_byte_range(offset, offset));
        let function = node.and_then(enclosing_function);
        function.is_some_and(|function| self.declarations(function).iter().any(|declaration| declaration.name == name))
    }

    /// Calls in a region by the function's name, with the bytes of the whole call.
    pub fn calls(&self, region: Node<'_>) -> Vec<(String, Range<usize>)> {
        let identifiers = self.identifiers(region).into_iter();
        let calls = identifiers.filter_map(|identifier| {
            let mut function = identifier;
            while let Some(parent) =
                function.parent().filter(|parent| matches!(parent.kind(), "qualified_identifier" | "template_function"))
            {
                function = parent;
            }
            let call = function.parent().filter(|parent| parent.kind() == "call_expression")?;
            let is_callee = call.child_by_field_name("function").is_some_and(|node| node.id() == function.id());
            is_callee.then(|| (self.slice(function).to_string(), call.byte_range()))
        });
        calls.collect()
    }

    /// Bytes of one argument of the only call of a function in a region. A method's first argument is its object, which
    /// the source writes before the dot.
    pub fn argument(&self, region: Node<'_>, function: &str, index: usize, count: usize) -> Option<Range<usize>> {
        let base = function.rsplit("::").next()?;
        let base = base.split('<').next()?;
        // A lambda is called by the name of the variable that holds it.
        let variables = match base.starts_with("operator()") {
            true => enclosing_function(region).map(|function| self.declarations(function)).unwrap_or_default(),
            false => Vec::new(),
        };
        let is_variable = |called: Node<'_>| resolve(&variables, self.slice(called), called.start_byte()).is_some();
        let is_called = |called: &Node<'_>| last_name(self.slice(*called)) == base || is_variable(*called);
        let mut found = None;
        let mut open = vec![region];
        while let Some(node) = open.pop() {
            let called = node.child_by_field_name("function").filter(|_| node.kind() == "call_expression");
            if let Some(called) = called.filter(is_called) {
                // Calls of one lambda have the same object.
                let is_other = |(_, known): (Node<'_>, Node<'_>)| {
                    index > 0 || variables.is_empty() || self.slice(known) != self.slice(called)
                };
                if found.is_some_and(is_other) {
                    return None;
                }
                found = Some((node, called));
            }
            open.extend(children(node));
        }
        let (call, called) = found?;
        argument_of(call, called, index, count)
    }

    /// The variable itself, or for an alias the variables that its initialiser mentions, with the indices there.
    pub(super) fn targets(&self, declaration: &Declaration, all: &[Declaration], depth: usize) -> Vec<Target> {
        // An array of pointers is a variable of its own, and stands for what they point to.
        let is_itself = declaration.kind == DeclarationKind::Array && declaration.type_text.contains('*');
        if depth == 0 || !(declaration.kind == DeclarationKind::Alias || is_itself) {
            return vec![(declaration.clone(), Vec::new())];
        }
        let node_at = |(start, end): (usize, usize)| self.root()?.named_descendant_for_byte_range(start, end);
        // A pointer may be set to something else later.
        let assigned = self.assigned(declaration);
        let sources = declaration.initializer.into_iter().chain(assigned).filter_map(node_at);
        let mut targets: Vec<Target> = Vec::new();
        for identifier in sources.flat_map(|source| self.identifiers(source)) {
            let named = resolve(all, self.slice(identifier), identifier.start_byte());
            let Some(named) = named.filter(|it| it.range != declaration.range && it.kind != DeclarationKind::Scalar)
            else {
                continue;
            };
            let distance = distance(identifier);
            let found = self.targets(named, all, depth - 1).into_iter();
            targets.extend(found.map(|(target, outer)| (target, outer.into_iter().chain(distance.clone()).collect())));
        }
        targets.dedup();
        if targets.is_empty() || is_itself {
            targets.insert(0, (declaration.clone(), Vec::new()));
        }
        targets
    }

    /// What is assigned to a variable after its declaration, as the bytes of each right side.
    fn assigned(&self, declaration: &Declaration) -> Vec<(usize, usize)> {
        if declaration.is_parameter || declaration.kind != DeclarationKind::Alias {
            return Vec::new();
        }
        let Some(root) = self.root() else { return Vec::new() };
        let at = root.named_descendant_for_byte_range(declaration.range.0, declaration.range.1);
        let Some(function) = at.and_then(enclosing_function) else { return Vec::new() };
        let key = function.start_byte();
        let known = self.memory.assignments.borrow().get(&key).cloned();
        let assignments = known.unwrap_or_else(|| {
            let found: Rc<[Assignment]> = self.assignments(function).into();
            self.memory.assignments.borrow_mut().insert(key, Rc::clone(&found));
            found
        });
        let is_to = |assignment: &&Assignment| {
            assignment.name == declaration.name && declaration.is_in_scope(assignment.value.0)
        };
        assignments.iter().filter(is_to).map(|assignment| assignment.value).collect()
    }

    /// All plain assignments to names in a function.
    fn assignments(&self, function: Node<'_>) -> Vec<Assignment> {
        let mut found = Vec::new();
        let mut open = vec![function];
        while let Some(node) = open.pop() {
            let left = node.child_by_field_name("left").filter(|left| left.kind() == "identifier");
            let is_plain = node.child_by_field_name("operator").is_none_or(|operator| operator.kind() == "=");
            if let (Some(left), Some(right), true) = (left, node.child_by_field_name("right"), is_plain)
                && node.kind() == "assignment_expression"
            {
                let value = (right.start_byte(), right.end_byte());
                found.push(Assignment { name: self.slice(left).to_string(), value });
            }
            open.extend(children(node));
        }
        found.sort_by_key(|assignment| assignment.value);
        found
    }

    /// Identifiers of a region in order.
    pub(super) fn identifiers<'t>(&self, region: Node<'t>) -> Vec<Node<'t>> {
        let mut found = Vec::new();
        let mut open = vec![region];
        while let Some(node) = open.pop() {
            if node.kind() == "identifier" {
                found.push(node);
            }
            open.extend(children(node).into_iter().rev().filter(|child| !is_separate_block(node, *child)));
        }
        found.sort_by_key(|node| node.start_byte());
        found
    }

    fn usage(&self, identifier: Node<'_>) -> Mention {
        let whole = access_path(identifier);
        let indices = subscripts(identifier).filter_map(index_range).collect();
        let (is_read, is_written, is_passed) = role(whole);
        Mention {
            declaration: Declaration {
                name: String::new(),
                range: (0, 0),
                kind: DeclarationKind::Scalar,
                type_text: String::new(),
                bytes: None,
                is_parameter: false,
                volatility: None,
                members: Vec::new(),
                scope: (0, 0),
                initializer: None,
            },
            identifier: identifier.byte_range(),
            range: whole.byte_range(),
            indices,
            outer: Vec::new(),
            is_read,
            is_written,
            is_passed,
            is_operand: is_operand(whole),
        }
    }

    /// All local variables and parameters of a function.
    pub(super) fn declarations(&self, function: Node<'_>) -> Vec<Declaration> {
        let mut declarations = Vec::new();
        let mut open = vec![function];
        while let Some(node) = open.pop() {
            match node.kind() {
                "declaration" | "parameter_declaration" | "optional_parameter_declaration" => {
                    self.declared(node, function, &mut declarations)
                }
                "for_range_loop" => self.declared(node, function, &mut declarations),
                _ => {}
            }
            open.extend(children(node).into_iter().rev());
        }
        declarations
    }

    fn declared(&self, node: Node<'_>, function: Node<'_>, declarations: &mut Vec<Declaration>) {
        let Some(type_node) = node.child_by_field_name("type") else { return };
        let is_shared = children(node)
            .into_iter()
            .any(|child| matches!(self.slice(child), "__shared__" | "__constant__" | "static" | "extern"));
        if is_shared {
            return;
        }
        let scope = scope_of(node, function);
        let is_volatile = children(node).into_iter().any(|child| self.slice(child) == "volatile");
        let is_parameter = node.kind().contains("parameter");
        let mut cursor = node.walk();
        for declarator in node.children_by_field_name("declarator", &mut cursor) {
            let right = node.child_by_field_name("right").filter(|_| node.kind() == "for_range_loop");
            let declaration = self.declarator(declarator, type_node, scope, right, is_parameter);
            declarations.extend(declaration.map(|declaration| self.qualified(declaration, declarator, is_volatile)));
        }
    }

    /// Tells what is volatile. A pointer that is itself volatile is a variable as others are, and no alias.
    fn qualified(&self, declaration: Declaration, declarator: Node<'_>, is_volatile: bool) -> Declaration {
        let mut innermost = None;
        let mut node = Some(declarator);
        while let Some(current) = node {
            if matches!(current.kind(), "pointer_declarator" | "reference_declarator") {
                innermost = Some(current);
            }
            node = current.child_by_field_name("declarator");
        }
        let is_volatile_pointer =
            innermost.is_some_and(|pointer| children(pointer).into_iter().any(|child| self.slice(child) == "volatile"));
        match (is_volatile_pointer, innermost.is_some() || declaration.kind == DeclarationKind::Alias) {
            (true, _) if declaration.kind == DeclarationKind::Alias => Declaration {
                volatility: Some(Volatility::Pointer),
                kind: DeclarationKind::Scalar,
                bytes: Some(POINTER_BYTES),
                type_text: format!("{} volatile", declaration.type_text),
                ..declaration
            },
            (false, false) if is_volatile => Declaration { volatility: Some(Volatility::Value), ..declaration },
            _ => declaration,
        }
    }

    fn declarator(
        &self,
        declarator: Node<'_>,
        type_node: Node<'_>,
        scope: (usize, usize),
        right: Option<Node<'_>>,
        is_parameter: bool,
    ) -> Option<Declaration> {
        let mut extents = Vec::new();
        let mut is_alias = false;
        let mut has_pointers = false;
        let mut initializer = right;
        let mut node = declarator;
        while node.kind() != "identifier" {
            match node.kind() {
                "init_declarator" => initializer = node.child_by_field_name("value"),
                "array_declarator" => {
                    extents.insert(0, node.child_by_field_name("size").map(|size| self.slice(size).to_string()));
                    // `float* rows[4]` is an array; `float (*rows)[4]` is a pointer.
                    has_pointers = std::mem::take(&mut is_alias);
                }
                "pointer_declarator" | "reference_declarator" => is_alias = true,
                "parenthesized_declarator" | "attributed_declarator" => {}
                // Functions, bindings and what else may stand here.
                _ => return None,
            }
            node = node.child_by_field_name("declarator").or_else(|| node.named_child(0))?;
        }
        let type_text = self.slice(type_node).split_whitespace().collect::<Vec<_>>().join(" ");
        let is_array = !extents.is_empty() && !is_parameter;
        let kind = match (is_array, is_alias || (is_parameter && !extents.is_empty())) {
            (true, false) => DeclarationKind::Array,
            (_, true) => DeclarationKind::Alias,
            (false, false) if types::is_scalar(&type_text) => DeclarationKind::Scalar,
            // What a lambda captures is a structure.
            (false, false) if initializer.is_some_and(|value| value.kind() == "lambda_expression") => {
                DeclarationKind::Aggregate
            }
            (false, false) if type_text == "auto" => DeclarationKind::Alias,
            (false, false) => DeclarationKind::Aggregate,
        };
        let count = self.element_count(&extents, initializer);
        let element = if has_pointers { Some(POINTER_BYTES) } else { types::size_of(&type_text) };
        Some(Declaration {
            name: self.slice(node).to_string(),
            range: (node.start_byte(), node.end_byte()),
            kind,
            type_text: array_type(&type_text, &extents, count, is_alias || has_pointers),
            bytes: count.zip(element).and_then(|(count, element)| count.checked_mul(element)).filter(|_| !is_alias),
            is_parameter,
            volatility: None,
            members: Vec::new(),
            scope,
            initializer: initializer.map(|node| (node.start_byte(), node.end_byte())),
        })
    }

    /// The product of all extents; `[]` counts what the initialiser lists.
    fn element_count(&self, extents: &[Option<String>], initializer: Option<Node<'_>>) -> Option<u64> {
        extents.iter().try_fold(1u64, |product, extent| {
            let count = match extent {
                Some(text) => u64::try_from(types::evaluate(text, &|name| self.constant(name))?).ok()?,
                None => initializer
                    .filter(|list| list.kind() == "initializer_list")
                    .map(|list| list.named_child_count() as u64)?,
            };
            product.checked_mul(count)
        })
    }

    /// The value of a `#define`, or of a constant variable, where all of that name in the text have the same.
    pub(super) fn constant(&self, name: &str) -> Option<String> {
        self.memory.constants.get_or_init(|| self.constants()).get(name)?.clone()
    }

    /// All names with a value; `None` for those with several, and for variables that may change.
    fn constants(&self) -> HashMap<String, Option<String>> {
        let mut constants: HashMap<String, Option<String>> = HashMap::new();
        let mut open: Vec<Node<'_>> = self.root().into_iter().collect();
        while let Some(node) = open.pop() {
            if let Some((name, value)) = self.defined(node) {
                constants
                    .entry(name.to_string())
                    .and_modify(|known| *known = known.take().filter(|known| Some(known) == value.as_ref()))
                    .or_insert(value);
            }
            open.extend(children(node));
        }
        constants
    }

    /// The name that a node defines, with its value where that is constant.
    fn defined(&self, node: Node<'_>) -> Option<(&str, Option<String>)> {
        let value = || {
            node.child_by_field_name("value")
                .map(|value| self.slice(value).trim_matches(['{', '}', ' ']).trim().to_string())
        };
        match node.kind() {
            "preproc_def" => Some((self.slice(node.child_by_field_name("name")?), value())),
            "init_declarator" => {
                let qualifiers = node.parent().map(children).unwrap_or_default();
                let is_constant =
                    qualifiers.into_iter().any(|child| matches!(self.slice(child), "const" | "constexpr"));
                Some((self.slice(node.child_by_field_name("declarator")?), value().filter(|_| is_constant)))
            }
            _ => None,
        }
    }

    /// Loops around an offset, innermost first, within its function.
    pub fn loops_around(&self, offset: usize) -> Vec<LoopSyntax> {
        let mut loops = Vec::new();
        let mut node = self.root().and_then(|root| root.named_descendant_for_byte_range(offset, offset));
        while let Some(current) = node {
            if is_loop(current) {
                loops.extend(self.loop_syntax(current));
            }
            if matches!(current.kind(), "function_definition" | "lambda_expression") {
                break;
            }
            node = current.parent();
        }
        loops
    }

    fn loop_syntax(&self, node: Node<'_>) -> Option<LoopSyntax> {
        let body = node.child_by_field_name("body")?;
        let header_end = if node.kind() == "do_statement" { node.start_byte() + 2 } else { body.start_byte() };
        let header = self.text().get(node.start_byte()..header_end)?.trim_end().len();
        let pragma = node.prev_named_sibling().filter(|before| self.slice(*before).trim_start().starts_with("#pragma"));
        let pragma = pragma.filter(|pragma| self.slice(*pragma).contains("unroll"));
        Some(LoopSyntax {
            range: node.start_byte()..node.start_byte() + header,
            condition: node.child_by_field_name("condition").map(|condition| condition.byte_range()),
            pragma: pragma.map(|pragma| {
                let text = self.slice(pragma);
                pragma.start_byte()..pragma.start_byte() + text.trim_end().len()
            }),
        })
    }

    /// The function whose definition holds an offset.
    pub fn function_at(&self, offset: usize) -> Option<FunctionSyntax> {
        let end = (offset + 1).min(self.text().len());
        let node = self.root()?.named_descendant_for_byte_range(offset, end)?;
        let function = enclosing_function(node)?;
        let mut name = function.child_by_field_name("declarator")?;
        while let Some(inner) = name.child_by_field_name("declarator") {
            name = inner;
        }
        let child = |kind: &str| children(function).into_iter().find(|node| node.kind() == kind);
        let start = head_start(function);
        let max_registers = self.text().get(start..name.start_byte()).and_then(|head| {
            let at = head.find("__maxnreg__")?;
            let end = head[at..].find(')').map(|end| at + end + 1)?;
            Some(start + at..start + end)
        });
        Some(FunctionSyntax {
            name: name.byte_range(),
            launch_bounds: child("launch_bounds").map(|bounds| self.launch_bounds_range(bounds, function)),
            max_registers,
            body: function.child_by_field_name("body").map(|body| body.start_byte()),
            template_parameters: self.template_parameters(function),
        })
    }

    /// The first `volatile` member of a structure that the text defines.
    pub fn volatile_member(&self, type_name: &str) -> Option<String> {
        let mut open: Vec<Node<'_>> = self.root().into_iter().collect();
        while let Some(node) = open.pop() {
            let is_it = matches!(node.kind(), "struct_specifier" | "class_specifier" | "union_specifier")
                && node.child_by_field_name("name").is_some_and(|name| self.slice(name) == type_name);
            if let Some(body) = node.child_by_field_name("body").filter(|_| is_it) {
                let mut members = children(body).into_iter().filter(|member| member.kind() == "field_declaration");
                return members.find_map(|member| self.volatile_name(member));
            }
            open.extend(children(node));
        }
        None
    }

    /// The name that a member's declaration makes volatile itself.
    fn volatile_name(&self, member: Node<'_>) -> Option<String> {
        let has_qualifier = |node: Node<'_>| children(node).into_iter().any(|child| self.slice(child) == "volatile");
        let mut cursor = member.walk();
        let mut declarators = member.children_by_field_name("declarator", &mut cursor);
        declarators.find_map(|declarator| {
            let mut node = declarator;
            let mut pointer = None;
            while let Some(inner) = node.child_by_field_name("declarator") {
                pointer = (node.kind() == "pointer_declarator").then_some(node).or(pointer);
                node = inner;
            }
            has_qualifier(pointer.unwrap_or(member)).then(|| self.slice(node).to_string())
        })
    }

    /// The parameters of the function whose definition holds an offset, up to a pack.
    pub fn parameters_at(&self, offset: usize) -> Vec<ParameterSyntax> {
        let end = (offset + 1).min(self.text().len());
        let node = self.root().and_then(|root| root.named_descendant_for_byte_range(offset, end));
        let Some(function) = node.and_then(enclosing_function) else { return Vec::new() };
        let mut declarator = function.child_by_field_name("declarator");
        while let Some(current) = declarator.filter(|current| current.kind() != "function_declarator") {
            declarator = current.child_by_field_name("declarator");
        }
        let list = declarator.and_then(|declarator| declarator.child_by_field_name("parameters"));
        let parameters = list.map(children).unwrap_or_default().into_iter().filter(Node::is_named);
        parameters
            .filter(|node| node.kind() != "comment")
            .take_while(|node| matches!(node.kind(), "parameter_declaration" | "optional_parameter_declaration"))
            .map(|node| self.parameter(node))
            .collect()
    }

    fn parameter(&self, node: Node<'_>) -> ParameterSyntax {
        let mut name = node;
        while let Some(inner) = name.child_by_field_name("declarator") {
            name = inner;
        }
        let is_named = name.kind() == "identifier";
        let type_text = node.child_by_field_name("type").map_or("", |node| self.slice(node));
        ParameterSyntax {
            name: if is_named { self.slice(name).to_string() } else { String::new() },
            type_text: type_text.split_whitespace().collect::<Vec<_>>().join(" "),
            range: name.byte_range(),
        }
    }

    fn launch_bounds_range(&self, bounds: Node<'_>, function: Node<'_>) -> Range<usize> {
        // The grammar's node may leave out the keyword.
        let head = self.text().get(function.start_byte()..bounds.end_byte()).unwrap_or("");
        let start = head.rfind("__launch_bounds__").map_or(bounds.start_byte(), |at| function.start_byte() + at);
        start..bounds.end_byte()
    }

    /// Whether a word is a number, a constant, or a parameter of a template around an offset.
    pub fn is_fixed(&self, word: &str, offset: usize) -> bool {
        if types::evaluate(word, &|name| self.constant(name)).is_some() {
            return true;
        }
        let mut node = self.root().and_then(|root| root.named_descendant_for_byte_range(offset, offset));
        while let Some(current) = node {
            if self.template_parameters(current).iter().any(|parameter| parameter == word) {
                return true;
            }
            node = current.parent();
        }
        false
    }

    fn template_parameters(&self, function: Node<'_>) -> Vec<String> {
        let template = function.parent().filter(|parent| parent.kind() == "template_declaration");
        let Some(list) = template.and_then(|template| template.child_by_field_name("parameters")) else {
            return Vec::new();
        };
        let parameters = children(list).into_iter().filter(Node::is_named);
        parameters
            .map(|parameter| {
                let name =
                    parameter.child_by_field_name("declarator").or_else(|| parameter.child_by_field_name("name"));
                let name =
                    name.or_else(|| parameter.named_child(parameter.named_child_count().saturating_sub(1) as u32));
                name.map_or(String::new(), |name| self.slice(name).to_string())
            })
            .collect()
    }
}

/// `float[W][4]`; a single extent that is known is shown as its number.
fn array_type(element: &str, extents: &[Option<String>], count: Option<u64>, is_alias: bool) -> String {
    let mut text = element.to_string();
    if is_alias {
        text.push('*');
    }
    match (extents, count) {
        ([_], Some(count)) => text.push_str(&format!("[{count}]")),
        (extents, _) => {
            extents.iter().for_each(|extent| text.push_str(&format!("[{}]", extent.as_deref().unwrap_or(""))))
        }
    }
    text
}

pub(super) fn resolve<'d>(declarations: &'d [Declaration], name: &str, at: usize) -> Option<&'d Declaration> {
    declarations
        .iter()
        .filter(|declaration| declaration.name == name && declaration.range.0 <= at)
        .filter(|declaration| declaration.scope.0 <= at && at < declaration.scope.1)
        .min_by_key(|declaration| (declaration.scope.1 - declaration.scope.0, std::cmp::Reverse(declaration.range.0)))
}

pub fn enclosing_function(node: Node<'_>) -> Option<Node<'_>> {
    let mut current = Some(node);
    while let Some(node) = current {
        if node.kind() == "function_definition" {
            return Some(node);
        }
        current = node.parent();
    }
    None
}

/// What a function does first; comments may stand before it.
pub(super) fn first_statement(function: Node<'_>) -> Option<Node<'_>> {
    let body = function.child_by_field_name("body")?;
    children(body).into_iter().find(|child| child.is_named() && child.kind() != "comment")
}

/// Where the head of a function starts. The grammar does not know `__maxnreg__(32)`, and ends a declaration there.
pub(super) fn head_start(function: Node<'_>) -> usize {
    let before = function.prev_sibling().filter(|node| node.kind() == "declaration");
    let torn = before.filter(|node| children(*node).last().is_some_and(Node::is_missing));
    torn.unwrap_or(function).start_byte()
}

fn scope_of(node: Node<'_>, function: Node<'_>) -> (usize, usize) {
    let mut current = node;
    if current.kind() == "for_range_loop" {
        return (current.start_byte(), current.end_byte());
    }
    while let Some(parent) = current.parent() {
        if matches!(
            parent.kind(),
            "compound_statement" | "for_statement" | "if_statement" | "while_statement" | "lambda_expression"
        ) {
            return (parent.start_byte(), parent.end_byte());
        }
        if parent.id() == function.id() {
            break;
        }
        current = parent;
    }
    (function.start_byte(), function.end_byte())
}

/// Blocks are regions of their own. A body without braces is not: the compiler gives it the place of its loop or branch;
/// nor is a block on one line, whose statements the compiler does not tell apart.
pub fn is_separate_block(parent: Node<'_>, child: Node<'_>) -> bool {
    let is_long = child.start_position().row != child.end_position().row;
    child.kind() == "compound_statement" && is_long && parent.kind() != "lambda_expression"
}

/// All children; asking for them one by one would cost the square of their number.
pub fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

pub(super) fn is_loop(node: Node<'_>) -> bool {
    matches!(node.kind(), "for_statement" | "while_statement" | "do_statement" | "for_range_loop")
}

fn has_header(node: Node<'_>) -> bool {
    is_loop(node) || node.kind() == "switch_statement"
}

fn is_statement(node: Node<'_>) -> bool {
    let is_for_part = node.parent().is_some_and(has_header);
    match node.kind() {
        "expression_statement"
        | "return_statement"
        | "throw_statement"
        | "if_statement"
        | "switch_statement"
        | "case_statement" => true,
        "declaration" => !is_for_part,
        _ => is_loop(node),
    }
}

/// `f` of `a::f<int>`, `x.f`, `p->f`.
pub fn last_name(called: &str) -> &str {
    let called = called.split('<').next().unwrap_or(called);
    called.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or(called)
}

/// The subscripts applied to an identifier, outermost name first: `a[i]`, `a[i][j]`, `s.a[i]`, `(*p)[i]`.
fn subscripts(identifier: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut current = identifier;
    std::iter::from_fn(move || {
        loop {
            let parent = current.parent()?;
            if !continues_path(parent, current) {
                return None;
            }
            current = parent;
            if parent.kind() == "subscript_expression" {
                return Some(parent);
            }
        }
    })
}

/// The longest expression that names a part of the variable: `s.a[i].x`.
pub(super) fn access_path(identifier: Node<'_>) -> Node<'_> {
    let mut current = identifier;
    while let Some(parent) = current.parent().filter(|parent| continues_path(*parent, current)) {
        current = parent;
    }
    current
}

fn continues_path(parent: Node<'_>, child: Node<'_>) -> bool {
    let is_argument = parent.child_by_field_name("argument").is_some_and(|argument| argument.id() == child.id());
    match parent.kind() {
        "subscript_expression" | "field_expression" => is_argument,
        "parenthesized_expression" => true,
        "pointer_expression" => is_argument && parent.child(0).is_some_and(|operator| operator.kind() == "*"),
        _ => false,
    }
}

/// One of `count` arguments of a call; a method has one that stands before the dot.
pub(super) fn argument_of(call: Node<'_>, called: Node<'_>, index: usize, count: usize) -> Option<Range<usize>> {
    let list: Vec<Node<'_>> =
        children(call.child_by_field_name("arguments")?).into_iter().filter(Node::is_named).collect();
    if list.len() == count {
        return list.get(index).map(Node::byte_range);
    }
    match (list.len() + 1 == count, index.checked_sub(1)) {
        (true, Some(index)) => list.get(index).map(Node::byte_range),
        (true, None) => Some(called.byte_range()),
        (false, _) => None,
    }
}

/// How far behind a variable a pointer to it points: the indices, or what is added to it.
fn distance(identifier: Node<'_>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = subscripts(identifier).filter_map(index_range).collect();
    let mut node = access_path(identifier);
    let is_pointer = found.is_empty();
    while let Some(sum) = node.parent().filter(|parent| is_pointer && parent.kind() == "binary_expression") {
        let (left, right) = (sum.child_by_field_name("left"), sum.child_by_field_name("right"));
        let is_sum = sum.child_by_field_name("operator").is_some_and(|operator| matches!(operator.kind(), "+" | "-"));
        let other = if left.is_some_and(|left| left.id() == node.id()) { right } else { left };
        let (true, Some(other)) = (is_sum, other) else { break };
        found.push(other.byte_range());
        node = sum;
    }
    found
}

fn index_range(subscript: Node<'_>) -> Option<Range<usize>> {
    let indices = subscript.child_by_field_name("indices").or_else(|| subscript.child_by_field_name("index"))?;
    let inner = indices.named_child(0).unwrap_or(indices);
    Some(inner.byte_range())
}

/// Whether an identifier is the name of a parameter in the head of a function that is one region with its body.
fn is_parameter_name(identifier: Node<'_>) -> bool {
    let mut node = identifier;
    while let Some(parent) = node.parent().filter(|parent| parent.kind().ends_with("declarator")) {
        node = parent;
    }
    let is_name =
        |parent: Node<'_>| parent.child_by_field_name("declarator").is_some_and(|name| name.id() == node.id());
    node.parent().is_some_and(|parent| parent.kind().ends_with("parameter_declaration") && is_name(parent))
}

/// Whether arithmetic or a comparison uses an expression, through casts too.
fn is_operand(whole: Node<'_>) -> bool {
    let mut node = whole;
    while let Some(parent) = node.parent() {
        match parent.kind() {
            "binary_expression" | "unary_expression" => return true,
            "cast_expression" | "parenthesized_expression" => node = parent,
            _ => return false,
        }
    }
    false
}

/// Whether an expression is the left side of an assignment.
fn is_assigned(whole: Node<'_>) -> bool {
    whole.parent().is_some_and(|parent| {
        let left = parent.child_by_field_name("left").filter(|_| parent.kind() == "assignment_expression");
        left.is_some_and(|left| left.id() == whole.id())
    })
}

/// Whether an expression is read, written, or handed on.
pub(super) fn role(whole: Node<'_>) -> (bool, bool, bool) {
    let Some(parent) = whole.parent() else { return (true, false, false) };
    let is_field = |name: &str| parent.child_by_field_name(name).is_some_and(|node| node.id() == whole.id());
    match parent.kind() {
        "assignment_expression" if is_field("left") => {
            let is_plain = parent.child_by_field_name("operator").is_none_or(|operator| operator.kind() == "=");
            (!is_plain, true, false)
        }
        "update_expression" => (true, true, false),
        "init_declarator" if is_field("declarator") => (false, true, false),
        "array_declarator" | "declaration" | "pointer_declarator" | "reference_declarator" => (false, true, false),
        // `strength(s)` in the head of a constructor gives a member its value.
        "argument_list" if parent.parent().is_some_and(|parent| parent.kind() == "field_initializer") => {
            (true, false, false)
        }
        "argument_list" | "pointer_expression" | "initializer_list" => (true, true, true),
        "for_range_loop" => (true, true, false),
        // `line.at(k) = x`
        "call_expression" if is_field("function") && is_assigned(parent) => (true, true, false),
        _ => (true, false, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::MappedText;
    use crate::source::SourceFile;

    const TEXT: &str = "#define N 4
constexpr int M = 8;
template <typename T, int W>
__global__ void __launch_bounds__(1024, 2) kernel(const float* in, State s, int n) {
  float window[W];
  float acc[N * M], other[2][3];
  for (int j = 0; j < n; ++j) {
    acc[j] = in[j];
    acc[s.key[j]] += window[3];
  }
  float* p = acc + 1;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) foo(p[k]);
  if (acc[n] > 2) { return; }
}
";

    fn view() -> SourceView {
        SourceView::new(MappedText::from_file(&SourceFile::from_text("a.cu", TEXT)))
    }

    fn mentions_at(line: u32, column: u32) -> Vec<(String, Option<String>, bool, bool)> {
        let view = view();
        let region = view.region(view.offset(line, column).unwrap()).unwrap();
        view.mentions(region)
            .iter()
            .filter(|mention| mention.declaration.kind != DeclarationKind::Scalar)
            .map(|m| {
                (
                    m.declaration.name.clone(),
                    m.indices.first().map(|range| view.text()[range.clone()].to_string()),
                    m.is_read,
                    m.is_written,
                )
            })
            .collect()
    }

    #[test]
    fn statements_mention_variables() {
        let row = |name: &str, index: &str, read, written| (name.to_string(), Some(index.to_string()), read, written);
        assert_eq!(mentions_at(8, 5), [row("acc", "j", false, true), row("in", "j", true, false)]);
        assert_eq!(
            mentions_at(9, 5),
            [row("acc", "s.key[j]", true, true), row("s", "j", true, false), row("window", "3", true, false)]
        );
        assert_eq!(mentions_at(14, 3), [row("acc", "n", true, false)]);
    }

    #[test]
    fn a_head_that_the_grammar_tears_apart_is_one() {
        let text = "int a;\n__global__ void __maxnreg__(32) k(int n) { n; }\n__device__ void f(int m) { m; }\n";
        let view = SourceView::new(MappedText::from_file(&SourceFile::from_text("a.cu", text)));
        let limit = |at: &str| view.function_at(text.find(at).unwrap()).unwrap().max_registers;
        assert_eq!(limit("n;").map(|range| &text[range]), Some("__maxnreg__(32)"));
        assert_eq!(limit("m;"), None);
        assert!(view.is_within_kernel(text.find("n;").unwrap()) && !view.is_within_kernel(text.find("m;").unwrap()));
    }

    #[test]
    fn functions_on_one_line_are_one_region() {
        let text = "__global__ void dbl(double* p) { volatile int acc = 0; p[threadIdx.x] = sin(p[acc]); }\nint a;\n";
        let view = SourceView::new(MappedText::from_file(&SourceFile::from_text("a.cu", text)));
        for column in [1, 56] {
            let region = view.region(view.offset(1, column).unwrap()).unwrap();
            let calls: Vec<String> = view.calls(region).into_iter().map(|(name, _)| name).collect();
            let names: Vec<String> =
                view.mentions(region).iter().map(|mention| mention.declaration.name.clone()).collect();
            assert_eq!(
                (calls, names.contains(&"acc".to_string())),
                (vec!["sin".to_string()], true),
                "column {column}: {}",
                view.slice(region)
            );
        }
    }

    #[test]
    fn aliases_stand_for_what_they_point_to() {
        assert_eq!(mentions_at(13, 31), [("acc".to_string(), Some("k".to_string()), true, true)]);
    }

    #[test]
    fn declarations_know_type_and_size() {
        let view = view();
        let region = view.region(view.offset(6, 3).unwrap()).unwrap();
        let found: Vec<_> =
            view.mentions(region).iter().cloned().map(|m| (m.declaration.type_text, m.declaration.bytes)).collect();
        assert_eq!(found, [("float[32]".to_string(), Some(128)), ("float[2][3]".to_string(), Some(24))]);
        let region = view.region(view.offset(5, 3).unwrap()).unwrap();
        assert_eq!(view.mentions(region)[0].declaration.bytes, None);
        assert_eq!(view.mentions(region)[0].declaration.type_text, "float[W]");
    }

    #[test]
    fn loops_and_functions_are_found() {
        let view = view();
        let loops = view.loops_around(view.offset(13, 31).unwrap());
        assert_eq!(&view.text()[loops[0].range.clone()], "for (int k = 0; k < 4; ++k)");
        assert_eq!(&view.text()[loops[0].pragma.clone().unwrap()], "#pragma unroll 1");
        let function = view.function_at(view.offset(8, 5).unwrap()).unwrap();
        assert_eq!(&view.text()[function.name], "kernel");
        assert_eq!(&view.text()[function.launch_bounds.unwrap()], "__launch_bounds__(1024, 2)");
        assert_eq!(function.template_parameters, ["T", "W"]);
    }
}
