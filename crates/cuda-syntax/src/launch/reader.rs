//! Finds launches in the host code of a text.

use std::collections::BTreeSet;

use crate::ast::{Field, Function, Kind, Node};
use lmem_base::gpu::MAX_BLOCK_THREADS;
use lmem_unit::DynamicShared;

use super::{Launch, Launches, base_name};
use crate::tree::access_path::access_path;
use crate::tree::role::role;
use crate::tree::syntax_tree::SyntaxTree;
use crate::types;

/// Limit on chains of variables that are initialized with other variables.
pub(super) const MAX_STEPS: usize = 8;

/// Extents of a block or a grid.
#[derive(Clone, Copy)]
pub(super) struct Extents {
    each: [i64; 3],
    /// Their product, and the number of dimensions.
    product: i64,
    axes: usize,
}

impl Extents {
    pub(super) fn product(self) -> i64 {
        self.product
    }

    fn counts(self) -> Option<[u32; 3]> {
        let [x, y, z] = self.each.map(|extent| u32::try_from(extent).ok().filter(|extent| *extent > 0));
        Some([x?, y?, z?])
    }
}

pub(super) struct Reader<'a> {
    pub tree: &'a SyntaxTree,
    /// Where values are for an estimate alone, the functions of the file that take references: a variable that is passed to another one
    /// counts as unchanged.
    pub estimating: Option<BTreeSet<&'a str>>,
}

impl<'a> Reader<'a> {
    pub fn read(&self) -> Launches {
        let mut launches = Launches::default();
        let Some(root) = self.tree.root() else { return launches };
        let nodes = all_nodes(root);
        let estimating = Reader { tree: self.tree, estimating: Some(self.taking_references(&nodes)) };
        let defined: BTreeSet<&str> = nodes.iter().filter_map(|node| self.defined_kernel(*node)).collect();
        for node in nodes.iter().filter(|node| node.kind() == Kind::CallExpression) {
            let Some((kernel, configuration)) = self.launch(*node) else { continue };
            let parts: Vec<Node<'a>> = configuration.named_children().filter(|part| !part.is_extra()).collect();
            // The kernel may be of a header: then its other launches are unknown, but not this one.
            launches.add_shared(kernel, parts.get(2).map_or(DynamicShared::Bytes(0), |bytes| self.bytes(*bytes)));
            if !defined.contains(kernel) {
                continue;
            }
            let span = self.tree.span(node.start_byte()..configuration.end_byte());
            match parts.get(1).and_then(|block| self.block(*block)) {
                Some((threads, axes, block)) => {
                    let grid = parts.first().and_then(|grid| estimating.product(*grid, MAX_STEPS)?.counts());
                    let (kernel, arguments) = (kernel.to_string(), estimating.arguments(*node));
                    let all = launches.known.entry(kernel.clone()).or_default();
                    all.extend(span.map(|span| Launch { kernel, threads, axes, block, grid, arguments, span }));
                }
                None => {
                    let hint = parts.get(1).and_then(|block| self.hint(*block));
                    let known = launches.hints.entry(kernel.to_string()).or_default();
                    *known = hint.max(*known);
                    launches.unknown.insert(kernel.to_string());
                }
            }
        }
        let unseen = self.unseen(&nodes, &defined);
        for (kernel, bytes) in unseen.shared {
            launches.add_shared(&kernel, bytes);
        }
        launches.unknown.extend(unseen.kernels);
        launches
    }

    /// The kernel's name, if the node is a kernel definition.
    fn defined_kernel(&self, node: Node<'a>) -> Option<&'a str> {
        let name = Function::of(node)?.declarator()?.declared_name();
        let head = self.tree.text().get(node.start_byte()..name.start_byte())?;
        head.contains("__global__").then(|| self.tree.slice(name))
    }

    /// The launched kernel, and its `<<<…>>>` node.
    pub(super) fn launch(&self, call: Node<'a>) -> Option<(&'a str, Node<'a>)> {
        let configuration = call.children().find(|child| child.kind() == Kind::KernelCallSyntax)?;
        let function = call.field(Field::Function)?;
        Some((base_name(self.tree.slice(function)), configuration))
    }

    /// The arguments of a launch that are integer constants.
    fn arguments(&self, call: Node<'a>) -> Vec<Option<i64>> {
        let arguments = call.field(Field::Arguments).into_iter().flat_map(|all| all.children().collect::<Vec<_>>());
        let arguments = arguments.filter(|child| child.is_named() && !child.is_extra());
        arguments.map(|argument| self.value(argument, MAX_STEPS)).collect()
    }

    /// The block size of an expression, an integer or a `dim3`: threads, dimensions and their extents.
    fn block(&self, expression: Node<'a>) -> Option<(u32, usize, [u32; 3])> {
        let block = self.product(expression, MAX_STEPS)?;
        let threads = u32::try_from(block.product).ok().filter(|threads| (1..=MAX_BLOCK_THREADS).contains(threads))?;
        Some((threads, block.axes, block.counts()?))
    }

    pub(super) fn product(&self, expression: Node<'a>, steps: usize) -> Option<Extents> {
        let steps = steps.checked_sub(1)?;
        match expression.kind() {
            Kind::Identifier => match self.variable(expression, self.tree.slice(expression))? {
                Some(value) => self.product(value, steps),
                None => self.line(expression, steps),
            },
            Kind::ParenthesizedExpression => self.product(expression.named_child(0)?, steps),
            Kind::CallExpression => {
                let function = self.tree.slice(expression.field(Field::Function)?);
                let arguments = expression.field(Field::Arguments)?;
                (base_name(function) == "dim3").then(|| self.product(arguments, steps))?
            }
            Kind::CompoundLiteralExpression => {
                let type_name = expression.field(Field::Type).map_or("", |node| self.tree.slice(node));
                let value = expression.field(Field::Value)?;
                matches!(type_name, "" | "dim3").then(|| self.product(value, steps))?
            }
            // tree-sitter parses `dim3 block(X, Y)` as a function declaration.
            Kind::ArgumentList | Kind::InitializerList | Kind::ParameterList => {
                let values = expression.children().filter(|child| child.is_named() && !child.is_extra());
                let values: Vec<i64> = values.take(4).map(|value| self.value(value, steps)).collect::<Option<_>>()?;
                let product = values.iter().try_fold(1i64, |product, value| product.checked_mul(*value))?;
                let last = values.iter().rposition(|value| *value != 1).unwrap_or(0);
                let each = [0, 1, 2].map(|axis| values.get(axis).copied().unwrap_or(1));
                Some(Extents { each, product, axes: (last + 1).min(3) })
            }
            _ => self.line(expression, steps),
        }
    }

    /// A one-dimensional block size, given as an integer.
    fn line(&self, expression: Node<'a>, steps: usize) -> Option<Extents> {
        let product = self.value(expression, steps)?;
        Some(Extents { each: [product, 1, 1], product, axes: 1 })
    }

    /// The third part of `<<<grid, block, bytes>>>`.
    pub(super) fn bytes(&self, expression: Node<'a>) -> DynamicShared {
        let bytes = self.product(expression, MAX_STEPS).filter(|value| value.axes == 1);
        let bytes = bytes.and_then(|value| u64::try_from(value.product).ok());
        bytes.map_or(DynamicShared::Unknown, DynamicShared::Bytes)
    }

    /// The value of an expression in the compiled text.
    fn value(&self, at: Node<'a>, steps: usize) -> Option<i64> {
        let steps = steps.checked_sub(1)?;
        let text = self.tree.compiled().compiled(self.tree.text(), at.byte_range())?;
        if at.kind() == Kind::QualifiedIdentifier {
            return self.tree.evaluate(&text, at.start_byte());
        }
        types::evaluate(with_vector_sizes(&text).trim(), &|name| {
            let value = match self.variable(at, name)? {
                Some(value) => self.value(value, steps)?,
                None => self.tree.evaluate(name, at.start_byte())?,
            };
            Some(format!("({value})"))
        })
    }

    /// The initializer of the variable that a name refers to at a node. The outer option is `None` if the initializer
    /// is unknown or the variable may change; the inner one is `None` if no such variable is in scope.
    #[allow(clippy::option_option, reason = "an unknown variable is not a missing one")]
    fn variable(&self, at: Node<'a>, name: &str) -> Option<Option<Node<'a>>> {
        let mut node = at;
        while let Some(parent) = node.parent() {
            if parent.kind() == Kind::TemplateDeclaration || parent.kind() == Kind::FunctionDefinition {
                // Parameters of the function, or of its template.
                let end =
                    if parent.kind() == Kind::TemplateDeclaration { node.start_byte() } else { body_start(parent) };
                let head = self.tree.text().get(parent.start_byte()..end).unwrap_or("");
                if has_word(head, name) {
                    return None;
                }
            }
            if matches!(
                parent.kind(),
                Kind::LambdaExpression | Kind::ForRangeLoop | Kind::ForStatement | Kind::IfStatement
            ) {
                let head = self.tree.text().get(parent.start_byte()..node.start_byte()).unwrap_or("");
                let declares = parent.kind() != Kind::IfStatement && has_word(head, name);
                if declares && node != at {
                    return None;
                }
            }
            let earlier = parent.children().take_while(|child| child.start_byte() < node.start_byte());
            let declaration = earlier.filter_map(|child| self.declares(child, name)).last();
            if let Some((value, is_constant)) = declaration {
                // Other files may change a variable outside of functions, and members of a class hide it.
                let is_local = parent.enclosing(Kind::FunctionDefinition).is_some();
                let is_kept = || is_local && !self.changes(parent, name);
                let is_it = is_local || !self.tree.may_be_hidden(name, at.start_byte());
                let value = value.filter(|_| is_it && (is_constant || is_kept()));
                return value.map(Some);
            }
            node = parent;
        }
        Some(None)
    }

    /// The initializer of a variable, if the node declares that variable, and whether the variable is constant.
    fn declares(&self, node: Node<'a>, name: &str) -> Option<(Option<Node<'a>>, bool)> {
        if node.kind() != Kind::Declaration {
            return None;
        }
        let is_constant = node.children().any(|child| matches!(self.tree.slice(child), "const" | "constexpr"));
        node.fields(Field::Declarator).find_map(|declarator| {
            let inner = declarator.field(Field::Declarator).unwrap_or(declarator);
            if self.tree.slice(inner) != name {
                // Pointers, references, arrays and structured bindings of that name are not followed.
                return has_word(self.tree.slice(inner), name).then_some((None, false));
            }
            let is_dim3 = node.field(Field::Type).is_some_and(|kind| self.tree.slice(kind) == "dim3");
            let value = match declarator.kind() {
                Kind::InitDeclarator => declarator.field(Field::Value),
                Kind::FunctionDeclarator if is_dim3 => declarator.field(Field::Parameters),
                _ => None,
            };
            Some((value, is_constant))
        })
    }

    /// Whether a variable is written after its declaration, or passed to a function that may write it.
    fn changes(&self, scope: Node<'a>, name: &str) -> bool {
        let identifiers = all_nodes(scope).into_iter().filter(|node| node.kind() == Kind::Identifier);
        identifiers.filter(|node| self.tree.slice(*node) == name).any(|node| {
            let whole = access_path(node);
            let is_declarator = whole.parent().is_some_and(|parent| {
                matches!(parent.kind(), Kind::InitDeclarator | Kind::FunctionDeclarator)
                    && parent.field(Field::Declarator) == Some(whole)
            });
            !is_declarator && role(whole).1 && !self.is_copied(whole)
        })
    }

    /// Whether an expression is an argument of a function that, for all that the file shows, takes it by value.
    fn is_copied(&self, argument: Node<'a>) -> bool {
        let Some((taking_references, parent)) = self.estimating.as_ref().zip(argument.parent()) else { return false };
        match parent.kind() {
            // `std::vector<float> host(n);`, which is parsed as a function's declaration.
            Kind::ParameterDeclaration => true,
            Kind::ArgumentList | Kind::InitializerList => {
                let called = parent.parent().and_then(|call| call.field(Field::Function));
                called.is_none_or(|called| !taking_references.contains(base_name(self.tree.slice(called))))
            }
            _ => false,
        }
    }

    fn taking_references(&self, nodes: &[Node<'a>]) -> BTreeSet<&'a str> {
        let heads = nodes.iter().filter_map(|node| Function::of(*node)?.declarator());
        let heads = heads.filter(|head| self.tree.slice(*head).contains('&'));
        heads.map(|head| self.tree.slice(head.declared_name())).collect()
    }
}

/// A text with numbers in place of the sizes of the toolkit's vectors: `64 * sizeof(float4)`.
fn with_vector_sizes(text: &str) -> String {
    let mut parts = text.split("sizeof");
    let mut result = parts.next().unwrap_or("").to_string();
    for part in parts {
        let operand = part.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let is_word = result.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let sized = operand.and_then(|(name, rest)| {
            let is_vector = name.trim().ends_with(|c: char| matches!(c, '2'..='4'));
            Some((types::size_of(name.trim()).filter(|_| is_vector && !is_word)?, rest))
        });
        match sized {
            Some((bytes, rest)) => result.push_str(&format!("{bytes}UL{rest}")),
            None => result.push_str(&format!("sizeof{part}")),
        }
    }
    result
}

fn body_start(function: Node<'_>) -> usize {
    function.field(Field::Body).map_or(function.start_byte(), |body| body.start_byte())
}

pub(super) fn all_nodes(root: Node<'_>) -> Vec<Node<'_>> {
    root.descendants().collect()
}

pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|part| part == word)
}
