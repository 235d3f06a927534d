//! cudarc's `CompileOptions` in Rust code, translated to NVRTC arguments.

use syn::{Expr, ExprStruct, FieldValue, Lit, Member};

use lmem_base::source::Span;
use lmem_project::config::nvcc_flags::is_ptxas_option;
use lmem_unit::{IneffectiveKind, IneffectiveOption, NvrtcOptions};

use super::fold::{Folder, Origin};
use super::scan::Call;
use crate::rust::fold::parse::{parse_list, path_names};

/// Limit on chains of `..base`.
const MAX_BASES: usize = 8;

/// The fields of `CompileOptions` in cudarc 0.19.10.
#[derive(Debug, Default)]
struct Fields {
    ftz: Option<bool>,
    prec_sqrt: Option<bool>,
    prec_div: Option<bool>,
    fmad: Option<bool>,
    options: Vec<(String, Span)>,
    use_fast_math: Option<bool>,
    maxrregcount: Option<usize>,
    include_paths: Vec<String>,
    arch: Option<String>,
    name: Option<String>,
    unresolved: Vec<String>,
    /// Fields that do not have the effect that their names promise.
    ineffective: Vec<IneffectiveOption>,
}

/// The options of an expression. Options that cannot be read are named in `unresolved`.
pub(super) fn cudarc(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr) -> NvrtcOptions {
    let mut fields = Fields::default();
    if read(folder, file, expression, &mut fields, 0).is_none() {
        fields.unresolved.push("the options are put together when the program runs".to_string());
    }
    fields.into_options()
}

/// Options in a list that is passed to another function or method, next to the call that takes the text.
pub(super) fn of_list(
    folder: &mut Folder<'_, '_>,
    file: usize,
    program: &Call,
    name: &str,
    is_method: bool,
    argument: usize,
) -> NvrtcOptions {
    let mut fields = Fields::default();
    let list = compiling_call(folder, file, program, name, is_method)
        .and_then(|arguments| texts(folder, file, arguments.get(argument)?));
    match list {
        Some(list) => fields.options = list,
        None => fields.unresolved.push("the options are put together when the program runs".to_string()),
    }
    fields.into_options()
}

/// Options of the library's own function, which takes a count and pointers: no options if the count is 0.
pub(super) fn of_pointers(folder: &mut Folder<'_, '_>, file: usize, program: &Call, name: &str) -> NvrtcOptions {
    let mut fields = Fields::default();
    let count = compiling_call(folder, file, program, name, false)
        .or_else(|| compiling_call(folder, file, program, name, true))
        .and_then(|arguments| folder.integer(file, arguments.get(1)?));
    if count != Some(0) {
        fields.unresolved.push("the options are handed over by pointers".to_string());
    }
    let headers = parse_list(program.arguments.clone()).ok().and_then(|arguments| {
        // A method of a library's table of functions may have the same arguments.
        folder.integer(file, arguments.get(HEADER_COUNT)?)
    });
    if headers != Some(0) {
        fields.unresolved.push("headers are handed over in memory, and are not read".to_string());
    }
    fields.into_options()
}

/// The argument of `nvrtcCreateProgram` that counts the headers which it is given as texts.
const HEADER_COUNT: usize = 3;

/// The arguments of the only call of a function within the same enclosing function.
fn compiling_call(
    folder: &Folder<'_, '_>,
    file: usize,
    program: &Call,
    name: &str,
    is_method: bool,
) -> Option<Vec<Expr>> {
    let rust = &folder.code.files[file].rust;
    let function = rust.function_around(program.range.start);
    let is_meant = |call: &&Call| {
        call.is_method == is_method
            && call.path.last().is_some_and(|last| last == name)
            && rust.function_around(call.range.start) == function
    };
    let place = function.map_or(0..rust.text().len(), |index| rust.functions[index].body.clone());
    let mut calls = rust.calls_in(&place).filter(is_meant);
    let call = calls.next().filter(|_| calls.next().is_none())?;
    parse_list(call.arguments.clone()).ok()
}

impl Fields {
    /// Mirrors `CompileOptions::build` in `src/nvrtc/safe.rs` of cudarc 0.19.10 exactly: there, `use_fast_math` becomes
    /// `--fmad=true`, and `Some(false)` adds no argument.
    fn into_options(mut self) -> NvrtcOptions {
        let mut arguments = Vec::new();
        let flag = |name: &str, value: Option<String>| value.map(|value| format!("--{name}={value}"));
        arguments.extend(flag("ftz", self.ftz.map(|value| value.to_string())));
        arguments.extend(flag("prec-sqrt", self.prec_sqrt.map(|value| value.to_string())));
        arguments.extend(flag("prec-div", self.prec_div.map(|value| value.to_string())));
        arguments.extend(flag("fmad", self.fmad.map(|value| value.to_string())));
        arguments.extend(flag("fmad", self.use_fast_math.filter(|value| *value).map(|value| value.to_string())));
        arguments.extend(flag("maxrregcount", self.maxrregcount.map(|value| value.to_string())));
        arguments.extend(self.include_paths.into_iter().filter_map(|path| flag("include-path", Some(path))));
        arguments.extend(flag("gpu-architecture", self.arch));
        for (option, span) in self.options {
            self.ineffective.extend(ineffective(&option).map(|kind| IneffectiveOption { kind, span }));
            match is_harmless(&option) {
                true => arguments.push(option),
                false => self.unresolved.push(format!("`{option}` may write files and is left out")),
            }
        }
        let unresolved = (!self.unresolved.is_empty()).then(|| self.unresolved.join("; "));
        NvrtcOptions {
            arguments,
            program_name: self.name,
            unresolved,
            ineffective: self.ineffective,
            ..NvrtcOptions::default()
        }
    }

    fn set(&mut self, folder: &mut Folder<'_, '_>, file: usize, name: &str, value: &Expr) -> Option<()> {
        match name {
            "ftz" => self.ftz = optional(folder, file, value, truth)?,
            "prec_sqrt" => self.prec_sqrt = optional(folder, file, value, truth)?,
            "prec_div" => self.prec_div = optional(folder, file, value, truth)?,
            "fmad" => self.fmad = optional(folder, file, value, truth)?,
            "use_fast_math" => self.use_fast_math = optional(folder, file, value, truth)?,
            "maxrregcount" => self.maxrregcount = optional(folder, file, value, number)?,
            "arch" => self.arch = optional(folder, file, value, text)?,
            "name" => self.name = optional(folder, file, value, text)?,
            "options" => self.options = texts(folder, file, value)?,
            "include_paths" => {
                self.include_paths = texts(folder, file, value)?.into_iter().map(|(text, _)| text).collect();
            }
            _ => return None,
        }
        Some(())
    }
}

impl Fields {
    /// Records a field that has no effect; it replaces the record of a base. A value known only at run time has no
    /// effect either.
    fn note_ineffective(&mut self, folder: &mut Folder<'_, '_>, file: usize, field: &FieldValue, was_read: bool) {
        let (kind, is_set) = match &field.member {
            Member::Named(name) if name == "maxrregcount" => {
                (IneffectiveKind::MaxRegisters, is_some(folder, file, &field.expr))
            }
            Member::Named(name) if name == "use_fast_math" => {
                (IneffectiveKind::FastMath, was_read && self.use_fast_math == Some(true))
            }
            _ => return,
        };
        self.ineffective.retain(|known| known.kind != kind);
        if is_set {
            self.ineffective.push(IneffectiveOption { kind, span: folder.spanned(file, field) });
        }
    }
}

/// The effect that an NVRTC option lacks when only PTX is taken from it. Measured with NVRTC 13.5: the PTX is identical
/// with and without each of these options.
fn ineffective(option: &str) -> Option<IneffectiveKind> {
    let name = option.split(['=', ' ']).next().unwrap_or(option);
    match name.trim_start_matches('-') {
        "maxrregcount" if name.starts_with('-') => Some(IneffectiveKind::MaxRegisters),
        "ptxas-options" | "Xptxas" if name.starts_with('-') => Some(IneffectiveKind::PtxasOptions),
        _ => None,
    }
}

/// Whether an option is passed to NVRTC unchanged. Checking a pull request must not write files that its code names.
fn is_harmless(option: &str) -> bool {
    const WRITING: [&str; 10] = [
        "pch",
        "create-pch",
        "use-pch",
        "pch-dir",
        "fdevice-time-trace",
        "time",
        "keep",
        "keep-dir",
        "dump",
        "save-temps",
    ];
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    let name = name.trim_start_matches('-');
    let is_ptxas = matches!(name, "ptxas-options" | "Xptxas");
    !WRITING.contains(&name.trim()) && (!is_ptxas || value.split(',').all(is_ptxas_option))
}

fn read(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr, fields: &mut Fields, bases: usize) -> Option<()> {
    let (file, expression) = folder.behind_names(file, expression).ok()?;
    match &expression {
        Expr::Call(call) if call.args.is_empty() && is_default(&call.func) => Some(()),
        Expr::Struct(options) if bases < MAX_BASES && is_options(options) => {
            if let Some(base) = &options.rest {
                read(folder, file, base, fields, bases + 1)?;
            }
            for field in &options.fields {
                let Member::Named(name) = &field.member else { return None };
                let name = name.to_string();
                let was_read = fields.set(folder, file, &name, &field.expr).is_some();
                if !was_read {
                    fields.unresolved.push(format!("`{name}` is only known when the program runs"));
                }
                fields.note_ineffective(folder, file, field, was_read);
            }
            Some(())
        }
        _ => None,
    }
}

fn is_options(options: &ExprStruct) -> bool {
    options.path.segments.last().is_some_and(|last| last.ident == "CompileOptions")
}

fn is_default(function: &Expr) -> bool {
    matches!(function, Expr::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "default"))
}

type Read<T> = fn(&mut Folder<'_, '_>, usize, &Expr) -> Option<T>;

/// `Some(x)` or `None`. The outer option is `None` if the expression could not be read.
#[allow(clippy::option_option, reason = "an unread option is not an absent one")]
fn optional<T>(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr, inner: Read<T>) -> Option<Option<T>> {
    if is_named(expression, "None") {
        return Some(None);
    }
    let (file, expression) = folder.behind_names(file, expression).ok()?;
    match &expression {
        Expr::Path(_) if is_named(&expression, "None") => Some(None),
        Expr::Call(call) if is_default(&call.func) && call.args.is_empty() => Some(None),
        Expr::Call(call) if is_named(&call.func, "Some") && call.args.len() == 1 => {
            inner(folder, file, call.args.first()?).map(Some)
        }
        _ => None,
    }
}

/// Whether an expression is `Some(…)`, with any content.
fn is_some(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr) -> bool {
    let behind = folder.behind_names(file, expression);
    matches!(behind, Ok((_, Expr::Call(call))) if is_named(&call.func, "Some") && call.args.len() == 1)
}

fn is_named(expression: &Expr, name: &str) -> bool {
    matches!(expression, Expr::Path(path) if path_names(&path.path).last().is_some_and(|last| last == name))
}

fn truth(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr) -> Option<bool> {
    match folder.behind_names(file, expression).ok()?.1 {
        Expr::Lit(syn::ExprLit { lit: Lit::Bool(value), .. }) => Some(value.value),
        _ => None,
    }
}

fn number(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr) -> Option<usize> {
    match folder.behind_names(file, expression).ok()?.1 {
        Expr::Lit(syn::ExprLit { lit: Lit::Int(value), .. }) => value.base10_parse().ok(),
        _ => None,
    }
}

fn text(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr) -> Option<String> {
    folder.text(file, expression).ok().map(|folded| folded.text.as_str().to_string())
}

/// The texts of a list, each with its literal.
fn texts(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr) -> Option<Vec<(String, Span)>> {
    let (file, items) = list_items(folder, file, expression)?;
    items.iter().map(|item| placed_text(folder, file, item)).collect()
}

/// The items of `vec![…]`, `Vec::new()`, `[…].into()` and similar, and their file.
pub(super) fn list_items(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr) -> Option<(usize, Vec<Expr>)> {
    let (file, expression) = folder.behind_names(file, expression).ok()?;
    let items: Vec<Expr> = match expression {
        Expr::Macro(call) if call.mac.path.is_ident("vec") => parse_list(call.mac.tokens).ok()?,
        Expr::Array(array) => array.elems.into_iter().collect(),
        Expr::Call(call) if call.args.is_empty() && (is_default(&call.func) || is_named(&call.func, "new")) => {
            Vec::new()
        }
        Expr::Call(call) if is_named(&call.func, "from") && call.args.len() == 1 => {
            return list_items(folder, file, call.args.first()?);
        }
        _ => return None,
    };
    Some((file, items))
}

fn placed_text(folder: &mut Folder<'_, '_>, file: usize, expression: &Expr) -> Option<(String, Span)> {
    let folded = folder.text(file, expression).ok()?;
    let span = match folded.origin {
        Some(Origin::Literal(span)) => span,
        _ => folder.span(file, expression),
    };
    Some((folded.text.as_str().to_string(), span))
}
