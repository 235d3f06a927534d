//! Type punning: casts through which a variable is accessed as another type, `reinterpret_cast<__half*>(&v)[k]`.
//!
//! Two conditions must hold. The source must contain the cast, and in a statement that uses it the PTX must access
//! elements of a different size than the variable's.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use cuda_syntax::ast::Node;

use cuda_syntax::tree::{Declaration, Declarations, enclosing_function, resolve};
use cuda_syntax::{SyntaxTree, SyntaxTrees, TreeId, types};
use lmem_base::source::Span;

use super::access::Access;
use crate::place::Place;
use crate::symbolize::name::Variable;

/// Limit on chains of names that are initialized from a cast.
const MAX_ALIASES: usize = 4;

/// A variable that is accessed as another type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reinterpretation {
    /// The cast's pointee type as written: `float4`.
    pub type_text: String,
    pub span: Span,
    /// The access with the run-time index uses the cast.
    pub is_indexed: bool,
}

/// A cast whose operand is the variable.
struct Cast {
    range: Range<usize>,
    type_text: String,
}

/// The casts of one variable in its function.
struct Casts<'t> {
    tree: &'t SyntaxTree,
    declarations: Rc<Declarations>,
    casts: Vec<Cast>,
    /// Names initialized from a cast, with the cast's index.
    aliases: Vec<(Declaration, usize)>,
}

/// The cast that the accesses of a variable use, if their element size differs from the variable's.
pub fn find(variable: &Variable, accesses: &[Access], trees: &SyntaxTrees<'_>) -> Option<Reinterpretation> {
    let (component, whole) = types::shape(variable.type_text.split('[').next()?)?;
    let guilty = accesses.iter().max_by_key(|access| access.guilt()).filter(|access| access.is_computed())?;
    let (id, node) =
        accesses.iter().flat_map(|access| &access.places).find_map(|place| declared_at(place, variable, trees))?;
    let tree = trees.tree(id);
    let casts = Casts::new(tree, node)?;
    // `float` in a `float4` is not another type, unless it is reached through a cast.
    let indexed = casts.of(guilty, id, trees).filter(|cast| {
        let is_same = casts.shape(*cast).is_some_and(|(_, other)| other == whole);
        !is_same && guilty.elements.iter().any(|bytes| *bytes != whole)
    });
    // The compiler vectorizes `float` accesses by two and four on its own: the component type of the cast must differ
    // too.
    let punned = accesses
        .iter()
        .filter(|access| access.elements.iter().any(|bytes| *bytes != component))
        .filter_map(|access| casts.of(access, id, trees))
        .find(|cast| casts.shape(*cast).is_some_and(|(other, _)| other != component));
    let cast = casts.casts.get(indexed.or(punned)?)?;
    Some(Reinterpretation {
        type_text: cast.type_text.clone(),
        span: tree.span(cast.range.clone())?,
        is_indexed: indexed.is_some(),
    })
}

/// The syntax tree that declares the variable, and an offset in the declaring function.
fn declared_at(place: &Place, variable: &Variable, trees: &SyntaxTrees<'_>) -> Option<(TreeId, usize)> {
    let tree = place.tree(trees);
    let region = tree.region(place.offset)?;
    let mentions = tree.mentions(region);
    let is_it = |range: (usize, usize)| tree.span(range.0..range.1).as_ref() == Some(&variable.span);
    let mention = mentions.iter().find(|mention| is_it(mention.declaration.range))?;
    Some((place.tree, mention.declaration.range.0))
}

impl<'t> Casts<'t> {
    fn new(tree: &'t SyntaxTree, declared: usize) -> Option<Self> {
        let node = tree.root()?.named_descendant_for_byte_range(declared, declared + 1)?;
        let function = enclosing_function(node)?;
        let declarations = tree.declarations(function);
        let own = declarations.iter().find(|declaration| declaration.range.0 == declared)?.clone();
        let mut found = Self { tree, declarations, casts: Vec::new(), aliases: Vec::new() };
        for node in function.descendants() {
            found.casts.extend(found.cast(node, &own));
        }
        for _ in 0..MAX_ALIASES {
            found.follow();
        }
        Some(found)
    }

    /// The cast at a node, if its operand is the variable.
    fn cast(&self, node: Node<'_>, own: &Declaration) -> Option<Cast> {
        let (type_text, operand) = self.tree.cast(node)?;
        let identifier = self.tree.address_base(operand)?;
        let named = resolve(&self.declarations, self.tree.slice(identifier), identifier.start_byte())?;
        let is_it = self.tree.targets(named, &self.declarations, MAX_ALIASES).iter().any(|(target, _)| target == own);
        is_it.then(|| Cast { range: node.byte_range(), type_text })
    }

    /// Adds names whose initializer contains a cast, or such a name.
    fn follow(&mut self) {
        let known: BTreeSet<(usize, usize)> = self.aliases.iter().map(|(alias, _)| alias.range).collect();
        let more: Vec<(Declaration, usize)> = self
            .declarations
            .iter()
            .filter(|declaration| {
                declaration.kind == cuda_syntax::tree::DeclarationKind::Alias && !known.contains(&declaration.range)
            })
            .filter_map(|declaration| {
                let (start, end) = declaration.initializer?;
                Some((declaration.clone(), self.within(start..end)?))
            })
            .collect();
        self.aliases.extend(more);
    }

    /// The first cast in a range, directly or through a name.
    fn within(&self, range: Range<usize>) -> Option<usize> {
        let direct = self.casts.iter().position(|cast| range.start <= cast.range.start && cast.range.end <= range.end);
        direct.or_else(|| {
            let node = self.tree.root()?.named_descendant_for_byte_range(range.start, range.end)?;
            self.tree.identifiers(node).into_iter().filter(|node| range.contains(&node.start_byte())).find_map(|node| {
                let named = resolve(&self.declarations, self.tree.slice(node), node.start_byte())?;
                self.aliases.iter().find(|(alias, _)| alias.range == named.range).map(|(_, cast)| *cast)
            })
        })
    }

    /// Size of a component, and of the cast's whole pointee type.
    fn shape(&self, cast: usize) -> Option<(u64, u64)> {
        types::shape(&self.casts.get(cast)?.type_text)
    }

    /// The cast in the statement of an access, at any inlining level inside the function.
    fn of(&self, access: &Access, tree: TreeId, trees: &SyntaxTrees<'_>) -> Option<usize> {
        access.places.iter().filter(|place| place.tree == tree).find_map(|place| {
            let region = place.tree(trees).region(place.offset)?;
            self.within(region.byte_range())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#define FLOAT4(x) (reinterpret_cast<const float4*>(&(x))[0])
__global__ void k(const float4* in, float* out) {
  float4 v = in[0];
  const __half* h = reinterpret_cast<const __half*>(&v);
  auto g = h + 1;
  float a[8];
  FLOAT4(a[4]) = ((float4 *)in)[1];
  out[0] = *(float*)(a + 1) + (float)a[0];
  out[1] = g[2];
}
";

    fn casts(name: &str) -> Vec<String> {
        let tree = SyntaxTree::example("a.cu", TEXT);
        let at = TEXT.find(&format!("{name}[8]")).or_else(|| TEXT.find(&format!("{name} ="))).unwrap();
        let casts = Casts::new(&tree, at).unwrap();
        let aliases = casts.aliases.iter().map(|(alias, _)| alias.name.clone());
        casts.casts.iter().map(|cast| cast.type_text.clone()).chain(aliases).collect()
    }

    #[test]
    fn casts_of_a_variable_are_found() {
        assert_eq!(casts("v"), ["__half", "h", "g"]);
        assert_eq!(casts("a"), ["float4", "float"]);
    }
}
