//! Whether memory is written between a place and the uses of what was read there.
//!
//! Other threads may write it too, but not without a race where nothing in between waits for them: a barrier, an atomic operation and
//! a fence are calls, and every call counts that is not known to be without effect.

use std::cell::RefCell;
use std::collections::HashMap;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Call, Field, Kind, Node, Update};
use cuda_syntax::tree::{DeclarationKind, Declarations, enclosing_function, resolve};
use cuda_syntax::types;

use super::classes::is_copied_plainly;
use super::evaluation::is_in_lambda;
use super::named_type::{NamedType, named_type};
use super::purity::is_pure_call;
use super::sites::functions_named;
use super::taken::has_operators;

/// Limit on functions that call each other.
const MAX_CALLS: usize = 4;

/// Whether no memory is written, but for own variables, from the end of a declaration to the last of the uses of what it declares. `base` is
/// the variable that it was read through, of which elements count as memory. Helpers are defined in one of the `texts`.
pub fn stays_unwritten(
    tree: &SyntaxTree,
    declaration: Node<'_>,
    base: Node<'_>,
    uses: &[Node<'_>],
    texts: &[&SyntaxTree],
) -> bool {
    let Some(body) = enclosing_function(declaration).and_then(|function| function.field(Field::Body)) else {
        return false;
    };
    let jumps = |node: Node<'_>| matches!(node.kind(), Kind::GotoStatement | Kind::LambdaExpression);
    // Another build may have more in it.
    let differs = tree.differs_in_builds(&body.byte_range());
    if differs || has_operators(tree) || body.descendants().any(jumps) || uses.iter().any(|used| is_in_lambda(*used)) {
        return false;
    }
    let known = RefCell::new(HashMap::new());
    let own = Own { tree, texts, base: Some(tree.slice(base)), calls: MAX_CALLS, known: &known };
    own.effects(body).into_iter().all(|effect| {
        let from = happens_at(effect);
        let is_read_then = |used: &Node<'_>| used.start_byte() > from;
        let is_before = effect.start_byte() < declaration.start_byte();
        let is_within = |around: &Node<'_>, node: Node<'_>| around.byte_range().contains(&node.start_byte());
        // A loop around brings it before the uses of the next round.
        let mut loops = effect.ancestors().filter(|node| node.kind().is_loop());
        let comes_back =
            loops.any(|around| !is_within(&around, declaration) && uses.iter().any(|used| is_within(&around, *used)));
        !comes_back && (is_before || !uses.iter().any(is_read_then))
    })
}

/// Whether a region writes nothing but own variables of its function, so that what members have stays there.
pub fn writes_no_memory(tree: &SyntaxTree, region: Node<'_>) -> bool {
    let jumps = |node: Node<'_>| matches!(node.kind(), Kind::GotoStatement | Kind::LambdaExpression);
    let known = RefCell::new(HashMap::new());
    let own = Own { tree, texts: &[tree], base: None, calls: MAX_CALLS, known: &known };
    !tree.differs_in_builds(&region.byte_range())
        && !has_operators(tree)
        && !region.descendants().any(jumps)
        && own.effects(region).is_empty()
}

/// The offset from which on the effect of an expression is seen: an assignment that is a statement has it at the end.
fn happens_at(effect: Node<'_>) -> usize {
    let is_statement = effect.parent().is_some_and(|parent| parent.kind() == Kind::ExpressionStatement);
    match is_statement && effect.kind() == Kind::AssignmentExpression {
        true => effect.end_byte(),
        false => effect.start_byte(),
    }
}

struct Own<'a> {
    tree: &'a SyntaxTree,
    texts: &'a [&'a SyntaxTree],
    base: Option<&'a str>,
    calls: usize,
    /// Whether functions write nothing, by their names; one that is being looked at may.
    known: &'a RefCell<HashMap<String, bool>>,
}

impl Own<'_> {
    /// The expressions and declarations of a region that may write memory.
    fn effects<'t>(&self, region: Node<'t>) -> Vec<Node<'t>> {
        let all = enclosing_function(region).map(|function| self.tree.declarations(function)).unwrap_or_default();
        region.descendants().filter(|node| self.may_write(*node, &all)).collect()
    }

    fn may_write(&self, node: Node<'_>, all: &Declarations) -> bool {
        let target = || match Assignment::of(node) {
            Some(assignment) => assignment.left(),
            None => Update::of(node).and_then(Update::operand),
        };
        match node.kind() {
            Kind::AssignmentExpression | Kind::UpdateExpression => !target().is_some_and(|it| self.is_own(it, all)),
            Kind::CallExpression => !self.is_harmless(node),
            Kind::NewExpression | Kind::DeleteExpression | Kind::ThrowStatement => true,
            Kind::Declaration => !self.is_plain_declaration(node),
            _ => node.is_assembly() || node.is_error(),
        }
    }

    /// Whether an expression is a local variable, its member, or its element; none of what pointers and references lead to.
    fn is_own(&self, target: Node<'_>, all: &Declarations) -> bool {
        let (mut node, mut subscripts, mut members) = (target.without_parentheses(), 0, 0);
        loop {
            match node.kind() {
                Kind::Identifier => break,
                Kind::SubscriptExpression => subscripts += 1,
                Kind::FieldExpression if node.field(Field::Operator).is_some_and(|it| it.is_token(".")) => members += 1,
                _ => return false,
            }
            let Some(inner) = node.field(Field::Argument) else { return false };
            node = inner;
        }
        let name = self.tree.slice(node);
        let Some(own) = resolve(all, name, node.start_byte()).filter(|_| self.base != Some(name)) else { return false };
        let dimensions = own.type_text.matches('[').count();
        match own.kind {
            DeclarationKind::Scalar => subscripts == 0 && members == 0,
            DeclarationKind::Array => {
                subscripts == dimensions && !own.is_parameter && !own.type_text.contains(['*', '&']) && members == 0
            }
            // A member may be a pointer, or the class one to something else.
            DeclarationKind::Aggregate => subscripts == 0,
            DeclarationKind::Alias => false,
        }
    }

    /// Whether a call writes nothing: one of the toolkit, or of a function whose text shows it.
    fn is_harmless(&self, node: Node<'_>) -> bool {
        if is_pure_call(self.tree, node) {
            return true;
        }
        let harmless = || {
            let called = Call::of(node)?.function().filter(|called| called.kind() == Kind::Identifier)?;
            let name = self.tree.slice(called);
            let all = self.tree.declarations(enclosing_function(node)?);
            let calls = self.calls.checked_sub(1).filter(|_| resolve(&all, name, node.start_byte()).is_none())?;
            if let Some(known) = self.known.borrow().get(name) {
                return Some(*known);
            }
            self.known.borrow_mut().insert(name.to_string(), false);
            let found = self.texts.iter().flat_map(|text| {
                functions_named(text, name).into_iter().map(|definition| (*text, definition)).collect::<Vec<_>>()
            });
            let found: Vec<(&SyntaxTree, Node<'_>)> = found.collect();
            let [(text, definition)] = found.as_slice() else { return None };
            let body = definition.field(Field::Body)?;
            let is_free = text.is_plain(body)
                && definition.enclosing(Kind::FieldDeclarationList).is_none()
                && !text.is_declared_beside(name)
                && !text.differs_in_builds(&definition.byte_range())
                && !has_operators(text);
            let inner = Own { tree: text, texts: self.texts, base: None, calls, known: self.known };
            let is_harmless = is_free && inner.effects(body).is_empty();
            self.known.borrow_mut().insert(name.to_string(), is_harmless);
            Some(is_harmless)
        };
        harmless().unwrap_or(false)
    }

    /// Whether nothing but a copy is made where variables are declared.
    fn is_plain_declaration(&self, node: Node<'_>) -> bool {
        let Some(type_node) = node.field(Field::Type) else { return false };
        let text = self.tree.slice(type_node);
        let is_number = types::size_of(text).is_some() || text == "auto";
        // Constructors may write through what they get.
        let is_plain = || is_copied_plainly(self.tree, text) && !has_constructor(self.tree, text);
        is_number || type_node.kind() == Kind::PlaceholderTypeSpecifier || is_plain()
    }
}

/// Whether a class is constructed by functions of its own, or may be.
fn has_constructor(tree: &SyntaxTree, type_text: &str) -> bool {
    let Some(NamedType::Class(class)) = named_type(tree, type_text.trim_start_matches("const ")) else { return true };
    let constructs =
        |node: Node<'_>| node.kind() == Kind::FunctionDeclarator && tree.slice(node.declared_name()) == class.name;
    class.node.descendants().any(constructs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "struct Node { float w[12]; int kids[4]; };\n\
        struct View { float *data; };\n\
        struct Guarded { float *p; __device__ Guarded(float *p) : p(p) { *p = 1; } };\n\
        __device__ float sum(const Node &n, int i) { float s = 0; for (int k = 0; k < i; ++k) s += n.w[k]; return s; }\n\
        __device__ float store(float *p, float v) { *p = v; return v; }\n\
        __device__ float outer(const Node &n, int i) { return sum(n, i) * 2; }\n";

    fn is_unwritten(body: &str) -> bool {
        let text = format!("{HEAD}__global__ void k(Node *in, float *out, View view, int i) {{ {body} }}\n");
        let tree = SyntaxTree::example("a.cu", &text);
        let root = tree.root().unwrap();
        let at = text.find(" node = ").unwrap() + 1;
        let name = root.named_descendant_for_byte_range(at, at + 4).unwrap();
        let declaration = name.enclosing(Kind::Declaration).unwrap();
        let base = text[at..].find(['=']).map(|gap| at + gap + 2).unwrap();
        let base = root.named_descendant_for_byte_range(base, base + 2).unwrap();
        let uses = super::super::variables::uses_of(&tree, name).unwrap();
        stays_unwritten(&tree, declaration, base, &uses, &[&tree])
    }

    #[test]
    fn writes_behind_the_last_use_change_nothing() {
        for body in [
            "Node node = in[i]; out[i] = node.w[i];",
            "out[1] = 2; Node node = in[i]; float a[4]; a[i & 3] = 1; int n = 0; n += 2; ++n; out[i] = node.w[n] + a[0];",
            "for (int k = 0; k < i; ++k) { Node node = in[k]; out[k] = sum(node, i) + outer(node, 2); __syncthreads(); }",
            "Node node = in[i]; if (node.w[0] > 0) { out[i] = fmaxf(node.w[i], 1.0f); return; }",
        ] {
            assert!(is_unwritten(body), "{body}");
        }
    }

    #[test]
    fn writes_before_the_last_use_may_change_it() {
        for body in [
            "Node node = in[i]; out[i] = 1; out[i + 1] = node.w[i];",
            "Node node = in[i]; for (int k = 0; k < 4; ++k) out[k] = node.w[k];",
            "Node node = in[i]; in[i].w[0] = 2; out[i] = node.w[i];",
            "Node node = in[i]; out[i] = store(out, 1) + node.w[i];",
            "Node node = in[i]; (out[i] = 1) + node.w[i];",
            "Node node = in[i]; out[i]++; out[0] = node.w[i];",
            "Node node = in[i]; *out = 2; out[i] = node.w[i];",
            "Node node = in[i]; view.data[0] = 2; out[i] = node.w[i];",
            "Node node = in[i]; float *p = out; p[0] = 2; out[i] = node.w[i];",
            "Node node = in[i]; __syncthreads(); out[i] = node.w[i];",
            "Node node = in[i]; atomicAdd(out, 1.0f); out[i] = node.w[i];",
            "Node node = in[i]; Guarded g(out); out[i] = node.w[i];",
            "Node node = in[i]; asm(\"membar.gl;\"); out[i] = node.w[i];",
            "Node node = in[i]; float &r = out[0]; r = 3; out[i] = node.w[i];",
            "Node node = in[i]; again: out[i] = node.w[i]; if (i) goto again;",
            "Node node = in[i]; auto f = [&] { out[0] = 1; }; f(); out[i] = node.w[i];",
            "Node all[2]; Node node = all[i]; all[0] = in[0]; out[i] = node.w[i];",
        ] {
            assert!(!is_unwritten(body), "{body}");
        }
    }
}
