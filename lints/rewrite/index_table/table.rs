//! Tables at namespace scope, and whether `const` changes nothing about one.
//!
//! The host may write to a `__constant__` or `__device__` table that is not `const`. Whether something does is read from all
//! mentions of its name: each must read an element in device code. With external linkage, another file may write it, too.

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Node};
use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::tree::{element, enclosing_function, resolve};
use lmem_base::diagnostic::Edit;
use lmem_base::source::normalize;
use lmem_unit::UnitCode;

use crate::framework::UnitContext;
use crate::rewrite::facts::linkage::{is_of_host, is_unnamed_namespace};
use crate::rewrite::facts::number::is_number_type;
use crate::rewrite::facts::sites::functions_named;
use crate::rewrite::facts::taken::{has_operators, may_keep_references, stays_alone};

/// What asks for the type of an element, which `const` changes.
const QUESTIONS: [&str; 4] = ["decltype", "typeof", "__typeof__", "__typeof"];

/// The words before the type of a table that are understood.
const WORDS: [&str; 5] = ["__constant__", "__device__", "static", "const", "constexpr"];

/// `__constant__ int perm[16] = {…};` at namespace scope.
pub struct Table<'t> {
    tree: &'t SyntaxTree,
    statement: Node<'t>,
    name: Node<'t>,
    type_node: Node<'t>,
    /// How many subscripts an element has.
    pub dimensions: usize,
    /// Whether the compiler knows that nothing writes it.
    pub is_constant: bool,
    /// What other files may do with it.
    pub reach: Reach,
}

/// Which files may name a table, from the fewest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Its own: it has internal linkage, and the file is a program, which no other one includes.
    Own,
    /// Files that include its own.
    Including,
    All,
}

/// All tables of numbers of a text.
pub fn tables(tree: &SyntaxTree) -> Vec<Table<'_>> {
    struct Declared(Vec<usize>);
    let ids = tree.kept(|tree| {
        let declarations = tree.nodes_of(&[Kind::Declaration]);
        Declared(declarations.filter(|node| Table::of(tree, *node).is_some()).map(Node::id).collect())
    });
    ids.0.iter().filter_map(|id| Table::of(tree, tree.node(*id)?)).collect()
}

impl<'t> Table<'t> {
    fn of(tree: &'t SyntaxTree, statement: Node<'t>) -> Option<Self> {
        if !is_at_namespace_scope(tree, statement) || statement.fields(Field::Declarator).count() != 1 {
            return None;
        }
        let initialized = statement.field(Field::Declarator).filter(|node| node.kind() == Kind::InitDeclarator)?;
        initialized.field(Field::Value).filter(|value| value.kind() == Kind::InitializerList)?;
        let type_node = statement.field(Field::Type)?;
        let mut name = initialized.field(Field::Declarator)?;
        let mut dimensions = 0;
        while name.kind() == Kind::ArrayDeclarator {
            dimensions += 1;
            name = name.field(Field::Declarator)?;
        }
        let head = tree.text().get(statement.start_byte()..initialized.start_byte())?;
        let behind = tree.text().get(type_node.end_byte()..initialized.start_byte())?;
        let before = tree.text().get(statement.start_byte()..type_node.start_byte())?;
        let words: Vec<&str> = identifiers(before).chain(identifiers(behind)).collect();
        let has = |word: &str| words.contains(&word);
        let is_plain = words.iter().all(|word| WORDS.contains(word)) && !head.contains(['(', '[', '/', '#']);
        let is_fit = is_plain
            && dimensions > 0
            && name.kind() == Kind::Identifier
            && (has("__constant__") || has("__device__") || has("constexpr"))
            && is_number_type(tree, tree.slice(type_node));
        is_fit.then(|| Self {
            tree,
            statement,
            name,
            type_node,
            dimensions,
            is_constant: has("const") || has("constexpr"),
            reach: match has("static") || statement.ancestors().any(|around| is_unnamed_namespace(tree, around)) {
                true if functions_named(tree, "main").is_empty() => Reach::Including,
                true => Reach::Own,
                false => Reach::All,
            },
        })
    }

    pub fn name(&self) -> &'t str {
        self.tree.slice(self.name)
    }

    /// The identifiers of a region that mean the table.
    pub fn mentions(&self, region: Node<'t>) -> impl Iterator<Item = Node<'t>> {
        self.tree.named(region, self.name()).filter(|name| *name != self.name && !self.is_hidden(*name))
    }

    /// Whether a local variable has the name there.
    fn is_hidden(&self, name: Node<'_>) -> bool {
        enclosing_function(name).is_some_and(|function| {
            resolve(&self.tree.declarations(function), self.name(), name.start_byte()).is_some()
        })
    }

    /// The edit that adds `const`; `None` unless each mention reads an element in device code.
    pub fn constant(&self, unit: &UnitContext<'_>) -> Option<Edit> {
        let is_kept = self.is_own(unit) && (self.reach != Reach::All || !unit.is_relocatable()) && self.is_read_only();
        is_kept.then(|| self.tree.insertion(self.type_node.start_byte(), "const "))?
    }

    /// Whether no other file of the unit has the name, and the table is of the file that the unit compiles: a header may be
    /// read by other files.
    fn is_own(&self, unit: &UnitContext<'_>) -> bool {
        let tree = self.tree;
        let others = unit.trees.all().into_iter().map(|id| unit.trees.tree(id));
        let is_alone = others.filter(|other| !std::ptr::eq(other.as_ref(), tree)).all(|other| {
            let mut differences = other.compiled().differences();
            !other.words().contains(self.name()) && !differences.any(|it| has(&it.compiled, self.name()))
        });
        let is_of_unit = |path: &std::path::Path| match &unit.unit.code {
            UnitCode::CudaFile { file, .. } => normalize(&file.path) == normalize(path),
            UnitCode::CudaText { .. } => true,
            UnitCode::Ptx { .. } | UnitCode::Machine(_) => false,
        };
        let span = tree.span(self.name.byte_range());
        // Rust code may ask for the table by its name.
        let is_only_there = |text: &str| {
            matches!(&unit.unit.code, UnitCode::CudaFile { .. })
                || occurrences(text, self.name()).count() == occurrences(tree.text(), self.name()).count()
        };
        is_alone && span.is_some_and(|span| is_of_unit(&span.file.path) && is_only_there(span.file.text()))
    }

    /// Whether each mention of the name in the text reads an element in device code, also in the code of macros.
    fn is_read_only(&self) -> bool {
        let (tree, name) = (self.tree, self.name());
        let Some(root) = tree.root() else { return false };
        let is_plain = tree.is_plain(self.statement) && !QUESTIONS.iter().any(|word| tree.words().contains(*word));
        let is_read = |at: usize| {
            let Some(node) = root.named_descendant_for_byte_range(at, at + name.len()) else { return false };
            let is_whole = node.byte_range() == (at..at + name.len());
            match node.kind() {
                Kind::Comment | Kind::FieldIdentifier => true,
                // What the macro's code does is read where the macro stands.
                Kind::PreprocArg => node.parent().is_some_and(Node::is_macro_definition),
                Kind::Identifier if is_whole => {
                    node == self.name || self.is_hidden(node) || self.is_read_in_macro(at) || self.reads(node)
                }
                _ => false,
            }
        };
        let mut hidden = tree.compiled().differences().filter(|it| has(&it.compiled, name));
        is_plain && occurrences(tree.text(), name).all(is_read) && hidden.all(|it| self.is_read_by(it.start..it.end))
    }

    /// Whether a place is in what a macro makes of its arguments, the name among them.
    fn is_read_in_macro(&self, at: usize) -> bool {
        let mut around = self.tree.compiled().differences().filter(|it| it.start <= at && at < it.end);
        around.any(|it| has(&it.compiled, self.name()))
    }

    /// Whether a mention in the text reads an element.
    fn reads(&self, name: Node<'t>) -> bool {
        let Some(element) = element(name, self.dimensions) else { return false };
        let is_written = element.parent().is_none_or(|parent| match parent.kind() {
            Kind::AssignmentExpression => parent.field(Field::Left) == Some(element),
            Kind::UpdateExpression => true,
            _ => false,
        });
        !is_written && is_of_device(self.tree, name) && stays_alone(self.tree, element, true)
    }

    /// Whether the code of a macro invocation only reads elements.
    fn is_read_by(&self, invocation: std::ops::Range<usize>) -> bool {
        let tree = self.tree;
        let region = tree.region(invocation.start);
        let expanded = region.map(|region| tree.expanded(region)).unwrap_or_default();
        let own = expanded.iter().find(|it| it.range == invocation);
        let is_plain = !has_operators(tree) && !may_keep_references(tree);
        let place = tree.node_at(invocation.start);
        is_plain
            && place.is_some_and(|place| is_of_device(tree, place))
            && own.is_some_and(|own| own.reads_elements(self.name(), self.dimensions))
    }
}

fn has(text: &str, name: &str) -> bool {
    occurrences(text, name).next().is_some()
}

/// Whether a node is in a function that the host does not execute.
fn is_of_device(tree: &SyntaxTree, node: Node<'_>) -> bool {
    enclosing_function(node).is_some_and(|function| !is_of_host(tree, function))
}

/// Whether a declaration is one of the file or of a namespace.
fn is_at_namespace_scope(tree: &SyntaxTree, statement: Node<'_>) -> bool {
    let is_scope = |around: Node<'_>| {
        matches!(around.kind(), Kind::TranslationUnit | Kind::DeclarationList)
            || around.is_conditional_text()
            || ["namespace", "inline"].iter().any(|word| tree.slice(around).starts_with(word))
    };
    statement.ancestors().skip(1).all(is_scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read_only(text: &str) -> bool {
        let tree = SyntaxTree::example("a.cu", text);
        let all = tables(&tree);
        all.iter().any(|table| table.name() == "perm" && table.is_read_only())
    }

    const TABLE: &str = "__constant__ int perm[4] = {2, 0, 3, 1};\n";
    const KERNEL: &str = "__global__ void k(int* p, int n) { int w[4]; w[perm[n]] += 1; const int at = perm[n + 1]; p[at] = w[perm[0]] << perm[1]; }\n";

    #[test]
    fn elements_are_read_by_threads() {
        assert!(is_read_only(&format!("{TABLE}{KERNEL}")));
        for table in [
            "static __constant__ unsigned char perm[2][2] = {{1, 0}, {0, 1}};\n",
            "namespace n { __device__ int perm[4] = {1}; }\n",
            "typedef unsigned char BYTE;\n__device__ __constant__ BYTE perm[4] = {1};\n",
        ] {
            let is_wide = table.contains("[2][2]");
            let kernel = if is_wide { KERNEL.replace("perm[", "perm[n][") } else { KERNEL.to_string() };
            assert!(is_read_only(&format!("{table}{kernel}")), "{table}");
        }
        let with_macro = "#define STEP(k) do { s += w[perm[k]]; } while (0)\n__global__ void k(int* p, int n) { int w[4], s = 0; for (int i = 0; i < 4; ++i) { STEP(i); } p[0] = s; }\n";
        assert!(is_read_only(&format!("{TABLE}// perm is a table\n{with_macro}")));
    }

    #[test]
    fn only_programs_are_included_by_no_other_file() {
        let reach = |text: &str| tables(&SyntaxTree::example("a.cu", text)).first().map(|table| table.reach);
        let main = "int main() { return 0; }\n";
        assert_eq!(reach(TABLE), Some(Reach::All));
        assert_eq!(reach(&format!("{TABLE}{main}")), Some(Reach::All));
        assert_eq!(reach(&format!("static {TABLE}")), Some(Reach::Including));
        assert_eq!(reach(&format!("static {TABLE}{main}")), Some(Reach::Own));
        assert_eq!(reach(&format!("namespace {{ namespace n {{ {TABLE} }} }}\n{main}")), Some(Reach::Own));
    }

    #[test]
    fn whatever_else_has_the_name_may_write_it() {
        for rest in [
            "void host(int* p) { cudaMemcpyToSymbol(perm, p, 16); }\n",
            "void host() { use(perm[0]); }\n",
            "#if LATER\nvoid host(int* p) { cudaMemcpyToSymbol(perm, p, 16); }\n#endif\n",
            "#define SAVE(p) cudaMemcpyToSymbol(perm, p, 16)\nvoid host(int* p) { SAVE(p); }\n",
            "void host() { cuModuleGetGlobal(nullptr, nullptr, module, \"perm\"); }\n",
            "extern __constant__ int perm[4];\n",
            "const int* const other = perm;\n",
            "__device__ int f() { int* p = const_cast<int*>(perm); return *p; }\n",
            "__device__ void g(int* p);\n__device__ void f() { g(perm); }\n",
            "__device__ void g(int& x);\n__device__ void f() { g(perm[1]); }\n",
            "__device__ int& f() { return perm[1]; }\n",
            "__device__ void f() { int& x = perm[1]; }\n",
            "__device__ void f() { perm[1] = 0; }\n",
            "__device__ void f() { ++perm[1]; }\n",
            "__device__ void f() { atomicAdd(&perm[1], 1); }\n",
            "__device__ void f() { for (int& x : perm) x = 0; }\n",
            "__device__ void f() { auto g = [&] { return perm; }; }\n",
            "template <const int* P> __device__ int at() { return P[0]; }\n__device__ int f() { return at<perm>(); }\n",
            "__device__ void f() { decltype(perm[0]) x = y; }\n",
            "__host__ __device__ int f(int i) { return perm[i]; }\n",
            "__device__ void f() { asm(\"ld.const.u32 %0, [perm];\" : \"=r\"(x)); }\n",
        ] {
            assert!(!is_read_only(&format!("{TABLE}{KERNEL}{rest}")), "{rest}");
        }
        for table in [
            "__constant__ int perm[4];\n",
            "__constant__ volatile int perm[4] = {1};\n",
            "__constant__ int perm[4] = {1}, other[4] = {2};\n",
            "extern \"C\" { __constant__ int perm[4] = {1}; }\n",
            "extern \"C\" __constant__ int perm[4] = {1};\n",
            "inline __constant__ int perm[4] = {1};\n",
            "__managed__ int perm[4] = {1};\n",
            "struct S { int perm[4] = {1}; };\n",
            "template <int N> __constant__ int perm[4] = {N};\n",
            "__constant__ int* perm[4] = {nullptr};\n",
            "int perm[4] = {1};\n",
        ] {
            assert!(!is_read_only(&format!("{table}{KERNEL}")), "{table}");
        }
    }
}
