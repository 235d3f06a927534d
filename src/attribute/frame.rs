//! The stack frame of one kernel as a sum of objects.

use std::path::Path;

use super::contents::{self, Contents};
use super::mark;
use super::name::{self, Variable};
use super::objects::{self, Access, Escape, RawObject};
use super::place::Place;
use super::reinterpret::{self, Reinterpretation};
use super::spill::{self, Limit, Spills};
use super::syntax::FunctionSyntax;
use super::view::Views;
use crate::compile::{Artifacts, architecture_number};
use crate::diagnostic::ResourceUsage;
use crate::extract::TranslationUnit;
use crate::read::{KernelFacts, PtxFunction, PtxasLog, UnitFacts};
use crate::source::Span;

/// Alignment adds at most this many bytes to a frame.
const MAX_PADDING: u64 = 15;

/// A kernel, or a function with a frame of its own, and what its frame is made of.
#[derive(Clone)]
pub struct KernelFrame {
    /// Demangled, without parameters: `running_mean<32>`.
    pub name: String,
    pub mangled: String,
    pub is_entry: bool,
    pub usage: ResourceUsage,
    /// ptxas cannot tell the size of the stack.
    pub stack_is_unknown: bool,
    /// The name in the source, where that is in the user's files.
    pub span: Option<Span>,
    pub launch_bounds: LaunchBounds,
    /// Registers that a thread may use; known where the PTX of the function is.
    pub limit: Option<Limit>,
    /// For a kernel that spills: its figures when compiled without the limit.
    pub unlimited: Option<ResourceUsage>,
    /// And when it may spill to shared memory, where that was tried.
    pub shared_spilling: Option<ResourceUsage>,
    /// The brace that opens its body.
    pub body: Option<Span>,
    /// Their bytes add up to the frame.
    pub objects: Vec<StackObject>,
}

/// The attributes that limit registers, as the source writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    pub span: Option<Span>,
    /// `__maxnreg__(n)`
    pub max_registers_span: Option<Span>,
}

/// A part of the frame with one owner.
#[derive(Clone)]
pub struct StackObject {
    pub kind: StackObjectKind,
    /// Bytes of the frame; padding counts with the object before it.
    pub bytes: u64,
    pub variable: Option<Variable>,
    pub accesses: Vec<Access>,
    pub escapes: Vec<Escape>,
    pub contents: Contents,
    /// The cast through which the variable is accessed as another type.
    pub reinterpretation: Option<Reinterpretation>,
    /// Demangled name of the function that owns it, where that is not the kernel itself.
    pub function: Option<String>,
    /// For memory of the math library: the call that it belongs to.
    pub math_function: Option<MathFunction>,
}

/// A call such as `sinf(x)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MathFunction {
    /// As the source calls it; `None` where the call is hidden in a macro or a header.
    pub name: Option<String>,
    /// The call, else the statement that holds it.
    pub span: Option<Span>,
}

#[derive(Debug, Clone)]
pub enum StackObjectKind {
    /// A variable of the source, or what the compiler made of one.
    Variable,
    /// All spill slots of the kernel.
    Spills(Box<Spills>),
    /// What is left: nothing says what it is for.
    Unknown,
}

impl StackObject {
    /// The access to blame: the one with the run-time index, deepest and most frequent.
    pub fn guilty(&self) -> Option<&Access> {
        self.accesses.iter().max_by_key(|access| access.guilt())
    }

    /// Machine instructions of a kind.
    pub fn count(&self, kind: crate::read::AccessKind) -> u64 {
        self.accesses.iter().filter(|access| access.kind == kind).map(|access| access.count).sum()
    }
}

/// Attributes all local memory of a unit. `root` is the folder that holds the user's files.
pub fn attribute(
    unit: &TranslationUnit,
    facts: &UnitFacts,
    artifacts: &Artifacts,
    root: &Path,
    flag: Option<(u32, String)>,
) -> Vec<KernelFrame> {
    let views = Views::new(unit, &artifacts.folder, root, &artifacts.front_end);
    let architecture = architecture_number(&artifacts.architecture);
    let unlimited = PtxasLog::parse(&artifacts.unlimited_log);
    let shared = PtxasLog::parse(artifacts.shared_log.as_deref().unwrap_or(""));
    let frame = |kernel: &KernelFacts| {
        let shared_spilling = shared.functions.get(&kernel.name).map(|function| function.usage);
        KernelFrame { shared_spilling, ..frame(kernel, facts, &unlimited, &views, architecture, flag.clone()) }
    };
    facts.kernels.iter().map(frame).collect()
}

fn frame(
    kernel: &KernelFacts,
    facts: &UnitFacts,
    unlimited: &PtxasLog,
    views: &Views<'_>,
    architecture: u32,
    flag: Option<(u32, String)>,
) -> KernelFrame {
    let name = demangle(&kernel.name);
    let mut frame = KernelFrame {
        mangled: kernel.name.clone(),
        is_entry: kernel.is_entry,
        usage: kernel.usage,
        stack_is_unknown: kernel.stack_is_unknown,
        span: None,
        launch_bounds: LaunchBounds::default(),
        limit: None,
        unlimited: unlimited.functions.get(&kernel.name).map(|function| function.usage),
        shared_spilling: None,
        body: None,
        objects: Vec::new(),
        name,
    };
    if !kernel.has_local_memory() {
        return frame;
    }
    let function = facts.ptx.function(&kernel.name);
    let syntax = function.and_then(|function| describe(function, facts, views, &mut frame));
    frame.limit = function.map(|function| spill::limit(function, flag, architecture));
    let mut objects: Vec<StackObject> = spilled(kernel, facts, views).into_iter().collect();
    let gathered = objects::gather(kernel, facts, views);
    let mut parameters = function.map(|function| contents::parameters(function, facts, views)).unwrap_or_default();
    for parameter in parameters.iter_mut().flatten() {
        let names = syntax.as_ref().map_or(&[][..], |syntax| &syntax.template_parameters);
        parameter.type_text = bind(&parameter.type_text, names, &template_arguments(&frame.name));
    }
    for (key, mut raw) in gathered.objects {
        raw.contents.name(&parameters);
        let owner = (key.function != kernel.name).then(|| demangle(&key.function));
        objects.push(variable_object(raw, owner, syntax.as_ref(), &frame.name, views));
    }
    frame.objects = balance(objects, gathered.stray, kernel.usage.stack_frame);
    frame
}

/// Finds the kernel's own lines in the source.
fn describe(
    function: &PtxFunction,
    facts: &UnitFacts,
    views: &Views<'_>,
    frame: &mut KernelFrame,
) -> Option<FunctionSyntax> {
    let location = function.locations.iter().find(|location| location.inlined_at.is_none() && location.line > 0)?;
    let view = views.get(facts.ptx.files.get(&location.file)?)?;
    let range = view.line_range(location.line as usize)?;
    let syntax = view
        .function_at(range.end.saturating_sub(1).max(range.start))
        .or_else(|| view.function_at(view.offset(location.line, 0)?));
    frame.span = syntax
        .as_ref()
        .and_then(|syntax| view.span(syntax.name.clone()))
        .or_else(|| view.line_span(location.line as usize));
    let syntax = syntax?;
    frame.body = syntax.body.and_then(|at| view.span(at..at + 1));
    frame.launch_bounds.span = syntax.launch_bounds.clone().and_then(|range| view.span(range));
    frame.launch_bounds.max_registers_span = syntax.max_registers.clone().and_then(|range| view.span(range));
    Some(syntax)
}

fn spilled(kernel: &KernelFacts, facts: &UnitFacts, views: &Views<'_>) -> Option<StackObject> {
    let spills = spill::spills(kernel, facts, views)?;
    Some(StackObject {
        bytes: spills.slot_bytes,
        kind: StackObjectKind::Spills(Box::new(spills)),
        variable: None,
        accesses: Vec::new(),
        escapes: Vec::new(),
        contents: Contents::default(),
        reinterpretation: None,
        function: None,
        math_function: None,
    })
}

fn variable_object(
    mut raw: RawObject,
    owner: Option<String>,
    syntax: Option<&FunctionSyntax>,
    kernel: &str,
    views: &Views<'_>,
) -> StackObject {
    let mut variable = name::name(&mut raw, views);
    mark::mark_loops(&mut raw.accesses, views);
    if let (Some(variable), Some(syntax), None) = (&mut variable, syntax, &owner) {
        variable.type_text = bind(&variable.type_text, &syntax.template_parameters, &template_arguments(kernel));
    }
    let reinterpretation = variable.as_ref().and_then(|variable| reinterpret::find(variable, &raw.accesses));
    let math_function = if raw.is_library { math_function(&raw) } else { None };
    StackObject {
        math_function,
        kind: StackObjectKind::Variable,
        bytes: raw.bytes,
        variable,
        accesses: raw.accesses,
        escapes: raw.escapes,
        contents: raw.contents,
        reinterpretation,
        function: owner,
    }
}

/// The call that the library's own memory belongs to, where the source shows one.
fn math_function(raw: &RawObject) -> Option<MathFunction> {
    let place = raw.accesses.iter().find_map(|access| access.places.first());
    let called = place.and_then(|place| {
        let region = place.view.region(place.offset)?;
        let (name, range) = place.view.calls(region).into_iter().find(|(name, _)| has_slow_path(name))?;
        Some(MathFunction { name: Some(name), span: place.view.span(range) })
    });
    called.or_else(|| Some(MathFunction { name: None, span: place.and_then(Place::span) }))
}

/// Functions that reduce large arguments with an array.
fn has_slow_path(name: &str) -> bool {
    let name = name.trim_start_matches("cuda::").trim_start_matches("std::").trim_start_matches("::");
    matches!(
        name.strip_suffix('f').unwrap_or(name),
        "sin" | "cos" | "tan" | "sincos" | "j0" | "j1" | "jn" | "y0" | "y1" | "yn"
    )
}

/// Keeps what is in the frame, and adds the remainder so that the bytes add up.
fn balance(objects: Vec<StackObject>, stray: Vec<Access>, frame: u64) -> Vec<StackObject> {
    let mut left = frame;
    let mut kept = Vec::new();
    // Accesses prove an object; one whose address only escapes may have been promoted, and must fit.
    let (proven, escaped): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|object| !object.accesses.is_empty() || is_spills(object));
    for mut object in proven {
        object.bytes = object.bytes.min(left);
        left -= object.bytes;
        kept.push(object);
    }
    for object in escaped {
        if object.bytes > 0 && object.bytes <= left {
            left -= object.bytes;
            kept.push(object);
        }
    }
    // Objects without a byte are not in the frame: their accesses are told with what is left.
    let (empty, mut kept): (Vec<_>, Vec<_>) =
        kept.into_iter().partition(|object| object.bytes == 0 && !is_spills(object));
    let stray: Vec<Access> = stray.into_iter().chain(empty.into_iter().flat_map(|object| object.accesses)).collect();
    if let Some(last) = kept.last_mut().filter(|_| left <= MAX_PADDING) {
        last.bytes += left;
        left = 0;
    }
    if left > 0 || (kept.is_empty() && !stray.is_empty()) {
        kept.push(unknown(left, stray));
    }
    kept
}

fn is_spills(object: &StackObject) -> bool {
    matches!(object.kind, StackObjectKind::Spills(_))
}

fn unknown(bytes: u64, accesses: Vec<Access>) -> StackObject {
    StackObject {
        kind: StackObjectKind::Unknown,
        bytes,
        variable: None,
        accesses,
        escapes: Vec::new(),
        contents: Contents::default(),
        reinterpretation: None,
        function: None,
        math_function: None,
    }
}

/// `running_mean<32>` of `_Z12running_meanILi32EEvPKfPfi`; the name itself where it is not mangled.
pub fn demangle(name: &str) -> String {
    // `f` alone is a mangled name too: that of the type `float`.
    if !name.starts_with("_Z") {
        return name.to_string();
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let symbol = cpp_demangle::Symbol::new(name).ok();
    symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok()).unwrap_or_else(|| name.to_string())
}

/// The arguments of the last `<…>` of a demangled name.
fn template_arguments(name: &str) -> Vec<String> {
    let Some(inner) = name.strip_suffix('>') else { return Vec::new() };
    let mut depth = 0usize;
    let mut arguments = vec![String::new()];
    for character in inner.chars().rev() {
        match character {
            '>' | ')' => depth += 1,
            '<' if depth == 0 => break,
            '<' | '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (character, depth) {
            (',', 0) => arguments.push(String::new()),
            _ => {
                if let Some(last) = arguments.last_mut() {
                    last.insert(0, character);
                }
            }
        }
    }
    arguments.iter().rev().map(|argument| argument.trim().to_string()).collect()
}

/// `float[W]` → `float[32]`
fn bind(type_text: &str, parameters: &[String], arguments: &[String]) -> String {
    let mut text = type_text.to_string();
    for (parameter, argument) in parameters.iter().zip(arguments) {
        // `(int)32` in some manglings.
        let value = argument.rsplit(')').next().unwrap_or(argument);
        if text == *parameter {
            text = value.to_string();
        }
        text = text.replace(&format!("[{parameter}]"), &format!("[{value}]"));
        if let Some(rest) = text.strip_prefix(&format!("{parameter}[")) {
            text = format!("{value}[{rest}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(bytes: u64, accesses: usize) -> StackObject {
        let mut object = unknown(bytes, Vec::new());
        object.kind = StackObjectKind::Variable;
        object.accesses = (0..accesses).map(|_| objects::tests::access()).collect();
        object
    }

    fn sum(objects: &[StackObject]) -> u64 {
        objects.iter().map(|object| object.bytes).sum()
    }

    #[test]
    fn bytes_always_add_up() {
        for frame in [0, 8, 64, 72, 80, 100, 200] {
            for objects in [vec![], vec![object(64, 1)], vec![object(64, 1), object(64, 0)], vec![object(16, 0)]] {
                for stray in [vec![], vec![objects::tests::access()]] {
                    assert_eq!(sum(&balance(objects.clone(), stray, frame)), frame);
                }
            }
        }
    }

    #[test]
    fn padding_counts_with_the_object_before_it() {
        let objects = balance(vec![object(64, 1)], Vec::new(), 72);
        assert_eq!((objects.len(), objects[0].bytes), (1, 72));
        let objects = balance(vec![object(64, 1)], Vec::new(), 104);
        assert!(matches!(objects[1].kind, StackObjectKind::Unknown));
    }

    #[test]
    fn names_of_kernels() {
        assert_eq!(demangle("_Z12running_meanILi32EEvPKfPfi"), "running_mean<32>");
        assert_eq!((demangle("plain").as_str(), demangle("f").as_str()), ("plain", "f"));
        assert_eq!(template_arguments("f<A<1, 2>, 32>"), ["A<1, 2>", "32"]);
        assert_eq!(bind("T", &["T".into()], &["Large".into()]), "Large");
        assert_eq!(bind("T[W][4]", &["T".into(), "W".into()], &["float".into(), "32".into()]), "float[32][4]");
    }
}
