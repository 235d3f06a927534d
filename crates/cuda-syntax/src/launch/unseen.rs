//! Launches that do not name their kernel in `kernel<<<…>>>`: through the runtime's functions, pointers, nodes of a graph,
//! wrappers and macros.
//!
//! Any other mention of a kernel's name may lead to one. Nothing is known of its block, and of its dynamic shared memory
//! only where the call gives a constant.

use std::collections::BTreeSet;

use lmem_unit::DynamicShared;

use super::reader::{Reader, has_word};
use super::{base_name, split_at_commas};
use crate::ast::{Field, Kind, Node};
use crate::tree::{enclosing_function, resolve};

/// Functions that launch their first argument; the fifth has the bytes of dynamic shared memory.
const LAUNCHING: [&str; 2] = ["cudaLaunchKernel", "cudaLaunchCooperativeKernel"];
const BYTES_ARGUMENT: usize = 4;

/// What launches a kernel that is asked for by its name as a text.
const BY_NAME: [&str; 3] = ["cuLaunch", "cuGraph", "CUDA_KERNEL_NODE_PARAMS"];

/// What is known of launches that are not read.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// Kernels that may be launched with any block.
    pub kernels: BTreeSet<String>,
    /// Dynamic shared memory of such launches.
    pub shared: Vec<(String, DynamicShared)>,
}

/// What a mention of a kernel means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mention {
    /// Its declaration, a launch that is read, or a question to the runtime.
    Harmless,
    /// It sets how large the dynamic shared memory of launches may be.
    Limit,
    /// A launch whose block is not read.
    Launch(DynamicShared),
    /// Anything may launch it.
    Passed,
}

impl<'a> Reader<'a> {
    /// What the mentions of the kernels that the text defines say.
    pub(super) fn unseen(&self, nodes: &[Node<'a>], kernels: &BTreeSet<&str>) -> Unseen {
        let mut unseen = Unseen::default();
        let mut add = |kernel: &str, mention: Mention| {
            let shared = match mention {
                Mention::Harmless => return,
                Mention::Limit => DynamicShared::Unknown,
                Mention::Launch(bytes) => bytes,
                Mention::Passed => DynamicShared::Unknown,
            };
            unseen.shared.push((kernel.to_string(), shared));
            if mention != Mention::Limit {
                unseen.kernels.insert(kernel.to_string());
            }
        };
        for node in nodes {
            match node.kind() {
                Kind::Identifier | Kind::TypeIdentifier => {
                    let name = self.tree.slice(*node);
                    if kernels.contains(name) && !self.is_local(*node) {
                        add(name, self.mention(*node));
                    }
                }
                Kind::StringContent => {
                    let name = self.tree.slice(*node);
                    if kernels.contains(name) && BY_NAME.iter().any(|word| self.tree.text().contains(word)) {
                        add(name, Mention::Passed);
                    }
                }
                _ => {}
            }
        }
        let macros: Vec<&str> =
            nodes.iter().filter(|node| node.kind() == Kind::PreprocArg).map(|node| self.tree.slice(*node)).collect();
        for kernel in kernels {
            if macros.iter().any(|text| has_word(text, kernel) || adds_shared(text)) {
                add(kernel, Mention::Passed);
            } else if macros.iter().any(|text| text.contains("<<<")) {
                add(kernel, Mention::Launch(DynamicShared::Unseen));
            }
        }
        unseen
    }

    /// Whether the name is that of a variable here, which hides the kernel.
    fn is_local(&self, identifier: Node<'a>) -> bool {
        let Some(function) = enclosing_function(identifier) else { return false };
        let is_own_name = function.field(Field::Body).is_none_or(|body| identifier.start_byte() < body.start_byte());
        let declarations = self.tree.declarations(function);
        !is_own_name && resolve(&declarations, self.tree.slice(identifier), identifier.start_byte()).is_some()
    }

    fn mention(&self, identifier: Node<'a>) -> Mention {
        let mut node = identifier;
        while let Some(parent) = node.parent() {
            let is_field = |field: Field| parent.field(field) == Some(node);
            match parent.kind() {
                Kind::TemplateFunction
                | Kind::QualifiedIdentifier
                | Kind::ParenthesizedExpression
                | Kind::PointerExpression
                | Kind::CastExpression => node = parent,
                Kind::FunctionDeclarator if is_field(Field::Declarator) => return Mention::Harmless,
                Kind::CallExpression if is_field(Field::Function) && self.launch(parent).is_some() => {
                    return Mention::Harmless;
                }
                Kind::ArgumentList => return parent.parent().map_or(Mention::Passed, |call| self.passed(call, node)),
                _ => return Mention::Passed,
            }
        }
        Mention::Passed
    }

    /// A kernel that is an argument of a call.
    fn passed(&self, call: Node<'a>, argument: Node<'a>) -> Mention {
        let Some(function) = call.field(Field::Function) else { return Mention::Passed };
        let list = call.field(Field::Arguments).into_iter().flat_map(Node::named_children);
        let arguments: Vec<Node<'a>> = list.filter(|argument| !argument.is_extra()).collect();
        let name = base_name(self.tree.slice(function));
        if LAUNCHING.contains(&name) && arguments.first() == Some(&argument) {
            let bytes = arguments.get(BYTES_ARGUMENT);
            return Mention::Launch(bytes.map_or(DynamicShared::Bytes(0), |bytes| self.bytes(*bytes)));
        }
        if name == "cudaFuncSetAttribute" {
            // With more static shared memory, the limit may be more than there is.
            let attribute = arguments.get(1).map_or("", |attribute| self.tree.slice(*attribute));
            let is_named = base_name(attribute).starts_with("cudaFuncAttribute") && !attribute.contains("Dynamic");
            return if is_named { Mention::Harmless } else { Mention::Limit };
        }
        match name.starts_with("cudaFunc") || name.starts_with("cudaOccupancy") {
            true => Mention::Harmless,
            false => Mention::Passed,
        }
    }
}

/// Whether a macro has a launch whose dynamic shared memory is not written as zero.
fn adds_shared(text: &str) -> bool {
    text.split("<<<").skip(1).any(|behind| {
        let Some((configuration, _)) = behind.split_once(">>>") else { return true };
        split_at_commas(configuration).get(2).is_some_and(|bytes| *bytes != "0")
            // Arguments of the macro may hold further commas.
            || configuration.contains("__VA_ARGS__")
    })
}
