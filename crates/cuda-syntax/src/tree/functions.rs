//! Function heads: name, launch bounds, parameters.

use std::ops::Range;

use lmem_unit::is_word;

use crate::ast::{Field, Kind, Node};
use crate::tree::syntax_tree::SyntaxTree;

/// A function with its name and, if present, launch bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSyntax {
    pub name: Range<usize>,
    pub launch_bounds: Option<Range<usize>>,
    /// `__maxnreg__(n)`
    pub max_registers: Option<Range<usize>>,
    /// Where the text of both stands.
    pub bounds_place: BoundsPlace,
    /// Whether directives stand in the head, so that not all of its text is compiled.
    pub is_conditional: bool,
    /// Offset of the opening brace of the body.
    pub body: Option<usize>,
    /// Names of template parameters, in order.
    pub template_parameters: Vec<String>,
}

/// Where a function's launch bounds are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BoundsPlace {
    #[default]
    Head,
    /// A macro that no other code of the text uses.
    OwnMacro,
    SharedMacro,
    /// On a declaration, or in one of several branches of conditional compilation.
    Elsewhere,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSyntax {
    pub name: String,
    pub type_text: String,
    /// The name.
    pub range: Range<usize>,
}

impl SyntaxTree {
    /// The function whose definition holds an offset.
    pub fn function_at(&self, offset: usize) -> Option<FunctionSyntax> {
        let end = (offset + 1).min(self.text().len());
        let node = self.root()?.named_descendant_for_byte_range(offset, end)?;
        let function = enclosing_function(node)?;
        let name = function.field(Field::Declarator)?.declared_name();
        let child = |kind: Kind| function.children().find(|node| node.kind() == kind);
        let start = function.start_byte();
        let max_registers = self.text().get(start..name.start_byte()).and_then(|head| {
            let at = head.find("__maxnreg__")?;
            let end = head[at..].find(')').map(|end| at + end + 1)?;
            Some(start + at..start + end)
        });
        let name = self.own_name(name.byte_range());
        let launch_bounds = child(Kind::LaunchBounds).map(|bounds| self.launch_bounds_range(bounds, function));
        let in_macro = |keyword: &str| self.head_macro(start..name.start, keyword);
        let bounds_macro = if launch_bounds.is_none() { in_macro("__launch_bounds__") } else { None };
        let registers_macro = if max_registers.is_none() { in_macro("__maxnreg__") } else { None };
        let bounds_place = match (&bounds_macro, &registers_macro) {
            (None, None) => BoundsPlace::Head,
            (one, other) if one.iter().chain(other).all(|found| found.is_sole) => BoundsPlace::OwnMacro,
            _ => BoundsPlace::SharedMacro,
        };
        let head = self.text().get(start..name.start).unwrap_or("");
        let is_conditional = head.lines().any(|line| line.trim_start().starts_with("#"));
        Some(FunctionSyntax {
            name,
            launch_bounds: launch_bounds.or(bounds_macro.map(|found| found.attribute)),
            max_registers: max_registers.or(registers_macro.map(|found| found.attribute)),
            bounds_place,
            is_conditional,
            body: function.field(Field::Body).map(|body| body.start_byte()),
            template_parameters: self.template_parameters(function),
        })
    }

    /// The name without macros that the grammar takes for a part of it: `KERNEL_BOUNDS step`.
    fn own_name(&self, range: Range<usize>) -> Range<usize> {
        let text = self.text().get(range.clone()).unwrap_or_default();
        let is_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
        let last = text.trim_end_matches(is_word).len();
        let before = &text[..last];
        let are_words = before.ends_with(char::is_whitespace)
            && before.chars().all(|character| is_word(character) || character.is_whitespace())
            && before.split_whitespace().all(|word| word != "operator");
        if are_words && last < text.len() { range.start + last..range.end } else { range }
    }

    fn launch_bounds_range(&self, bounds: Node<'_>, function: Node<'_>) -> Range<usize> {
        // The grammar's node may leave out the `__launch_bounds__` keyword.
        let head = self.text().get(function.start_byte()..bounds.end_byte()).unwrap_or("");
        let start = head.rfind("__launch_bounds__").map_or(bounds.start_byte(), |at| function.start_byte() + at);
        start..bounds.end_byte()
    }

    /// The names of the parameters of a template, which a function or class is; none if it is no template.
    pub fn template_parameters(&self, function: Node<'_>) -> Vec<String> {
        let template = function.parent().filter(|parent| parent.kind() == Kind::TemplateDeclaration);
        let Some(list) = template.and_then(|template| template.field(Field::Parameters)) else {
            return Vec::new();
        };
        let parameters = list.named_children();
        parameters
            .map(|parameter| {
                let name = parameter.field(Field::Declarator).or_else(|| parameter.field(Field::Name));
                let name =
                    name.or_else(|| parameter.named_child(parameter.named_child_count().saturating_sub(1) as u32));
                name.map_or(String::new(), |name| self.slice(name).to_string())
            })
            .collect()
    }

    /// The parameters of the function whose definition holds an offset, up to a parameter pack.
    pub fn parameters_at(&self, offset: usize) -> Vec<ParameterSyntax> {
        let end = (offset + 1).min(self.text().len());
        let node = self.root().and_then(|root| root.named_descendant_for_byte_range(offset, end));
        let Some(function) = node.and_then(enclosing_function) else { return Vec::new() };
        let mut declarator = function.field(Field::Declarator);
        while let Some(current) = declarator.filter(|current| current.kind() != Kind::FunctionDeclarator) {
            declarator = current.field(Field::Declarator);
        }
        let list = declarator.and_then(|declarator| declarator.field(Field::Parameters));
        let parameters = list.into_iter().flat_map(Node::named_children);
        parameters
            .filter(|node| node.kind() != Kind::Comment)
            .take_while(|node| matches!(node.kind(), Kind::ParameterDeclaration | Kind::OptionalParameterDeclaration))
            .map(|node| self.parameter(node))
            .collect()
    }

    fn parameter(&self, node: Node<'_>) -> ParameterSyntax {
        let name = node.declared_name();
        let is_named = name.kind() == Kind::Identifier;
        let type_text = node.field(Field::Type).map_or("", |node| self.slice(node));
        ParameterSyntax {
            name: if is_named { self.slice(name).to_string() } else { String::new() },
            type_text: type_text.split_whitespace().collect::<Vec<_>>().join(" "),
            range: name.byte_range(),
        }
    }

    /// The names of kernels that are templates, in order. One whose head the grammar does not understand has no name.
    pub fn kernel_templates(&self) -> Vec<&str> {
        let functions =
            self.root().into_iter().flat_map(Node::descendants).filter(|node| node.kind() == Kind::FunctionDefinition);
        let templates = functions.filter(|node| node.parent().is_some_and(|it| it.kind() == Kind::TemplateDeclaration));
        let named = templates.filter_map(|node| {
            let function = self.function_at(node.start_byte())?;
            let head = self.text().get(node.start_byte()..function.name.start)?;
            let name = self.text().get(function.name).filter(|name| name.bytes().all(is_word))?;
            head.contains("__global__").then_some(name)
        });
        named.collect()
    }
}

pub fn enclosing_function(node: Node<'_>) -> Option<Node<'_>> {
    node.enclosing(Kind::FunctionDefinition)
}

/// The first statement of a function's body.
pub fn first_statement(function: Node<'_>) -> Option<Node<'_>> {
    let body = function.field(Field::Body)?;
    body.children().find(|child| child.is_named() && child.kind() != Kind::Comment)
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use crate::tree::syntax_tree::SyntaxTree;

    #[test]
    fn a_head_with_a_limit_of_registers_is_whole() {
        let text = "int a;\n__global__ void __maxnreg__(32) k(int n) { n; }\n__device__ void f(int m) { m; }\n";
        let tree = SyntaxTree::example("a.cu", text);
        let limit = |at: &str| tree.function_at(text.find(at).unwrap()).unwrap().max_registers;
        assert_eq!(limit("n;").map(|range| &text[range]), Some("__maxnreg__(32)"));
        assert_eq!(limit("m;"), None);
        assert!(tree.is_within_kernel(text.find("n;").unwrap()) && !tree.is_within_kernel(text.find("m;").unwrap()));
    }

    #[test]
    fn a_kernel_template_is_named() {
        let names = |text: &str| SyntaxTree::example("a.cu", text).kernel_templates().join(" ");
        let kernel = "template <int N>\n__global__ void __launch_bounds__(64) acc(float* a) { a[0] = N; }\n";
        assert_eq!(
            names(&format!("// template\nnamespace n {{ {kernel} }}{}", kernel.replace("acc", "sum"))),
            "acc sum"
        );
        let torn = "template <int N> __global__ void\n#if X < 2\n__launch_bounds__(N)\n#else\n__launch_bounds__(N, 6)\n#endif\n\
                    scale(\n    const int* from,\n    int* to\n) { to[0] = N; }\n";
        assert_eq!(names(torn), "");
        let in_macro = kernel.replace("__launch_bounds__(64)", "BOUNDS_OF_KERNEL");
        assert_eq!(names(&format!("#define BOUNDS_OF_KERNEL __launch_bounds__(64)\n{in_macro}")), "acc");
        assert_eq!(names("template <int N> __device__ void f() {}\n__global__ void k() {}\n"), "");
        assert_eq!(names("// template <int N> __global__ void k() {}\n"), "");
    }

    #[test]
    fn functions_are_found() {
        let tree = tree();
        let function = tree.function_at(tree.offset(8, 5).unwrap()).unwrap();
        assert_eq!(&tree.text()[function.name], "kernel");
        assert_eq!(&tree.text()[function.launch_bounds.unwrap()], "__launch_bounds__(1024, 2)");
        assert_eq!(function.template_parameters, ["T", "W"]);
    }
}
