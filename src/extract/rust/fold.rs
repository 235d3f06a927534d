//! From an expression to the text that it is when the program runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, ExprMacro, ExprMethodCall, Lit, Token};

use super::literals;
use super::names::Code;
use crate::discover::normalize;
use crate::extract::MappedText;
use crate::source::{SourceFile, Span};

/// Expressions are parsed by recursion; these are far longer and deeper than any that names a kernel, and fit the
/// stack of the thread that this runs on.
const MAX_TOKENS: usize = 4096;
const MAX_DEPTH: usize = 64;

/// Names that stand for names that stand for names.
const MAX_STEPS: usize = 32;

/// Far larger than any kernel; `include_str!` of the same file many times must not fill the memory.
const MAX_TEXT: usize = 64 << 20;

/// Folds expressions, and remembers which literals they led to.
pub(super) struct Folder<'c, 'w> {
    pub code: &'c mut Code<'w>,
    /// File and start of literals that reached a call.
    pub reached: BTreeSet<(usize, usize)>,
    included: BTreeMap<PathBuf, Arc<SourceFile>>,
}

/// Text, and where it comes from.
#[derive(Debug, Clone, Default)]
pub(super) struct Folded {
    pub text: MappedText,
    /// The first literal, or the first included file.
    pub origin: Option<Origin>,
    /// Files that are in it as a whole.
    pub files: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone)]
pub(super) enum Origin {
    Literal(Span),
    File(Arc<SourceFile>),
}

/// Parses an expression, if it is of a size that somebody wrote.
///
/// # Errors
/// What is wrong with it, as the end of a sentence.
pub(super) fn parse(tokens: TokenStream) -> Result<Expr, String> {
    is_parsable(&tokens)?;
    syn::parse2(tokens).map_err(|_| "its text is not an expression that can be read here".to_string())
}

/// Parses expressions with commas between them.
///
/// # Errors
/// As for [`parse`].
pub(super) fn parse_list(tokens: TokenStream) -> Result<Vec<Expr>, String> {
    is_parsable(&tokens)?;
    let list = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens);
    list.map(|list| list.into_iter().collect())
        .map_err(|_| "its text is not an expression that can be read here".to_string())
}

fn is_parsable(tokens: &TokenStream) -> Result<(), String> {
    let mut count = 0;
    let mut waiting = vec![(tokens.clone(), 0)];
    while let Some((tokens, depth)) = waiting.pop() {
        for token in tokens {
            count += 1;
            match token {
                TokenTree::Group(group) => waiting.push((group.stream(), depth + 1)),
                TokenTree::Punct(mark) if mark.as_char() == '$' => {
                    return Err("its text comes from a parameter of a macro".to_string());
                }
                _ => {}
            }
            if count > MAX_TOKENS || depth > MAX_DEPTH {
                return Err("its text is in an expression of unusual size".to_string());
            }
        }
    }
    Ok(())
}

impl<'c, 'w> Folder<'c, 'w> {
    pub fn new(code: &'c mut Code<'w>) -> Self {
        Self { code, reached: BTreeSet::new(), included: BTreeMap::new() }
    }

    /// The text that an expression of a file is.
    ///
    /// # Errors
    /// Why that is not known before the program runs.
    pub fn text(&mut self, file: usize, expression: &Expr) -> Result<Folded, String> {
        self.fold(file, expression, 0)
    }

    /// The expression behind a name, parentheses, `&` or `.clone()`, and the file that it stands in.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn behind_names(&mut self, file: usize, expression: &Expr) -> Result<(usize, Expr), String> {
        let (mut file, mut expression) = (file, expression.clone());
        for _ in 0..MAX_STEPS {
            expression = match expression {
                Expr::Path(ref path) => {
                    let names = path_names(&path.path);
                    let found = self.code.resolve(file, self.place(file, &expression).start, &names)?;
                    file = found.file;
                    parse(found.value)?
                }
                Expr::Paren(inner) => *inner.expr,
                Expr::Group(inner) => *inner.expr,
                Expr::Reference(inner) => *inner.expr,
                Expr::MethodCall(call) if is_same(&call) => *call.receiver,
                other => return Ok((file, other)),
            };
        }
        Err("it leads in a circle".to_string())
    }

    /// Takes all literals that an expression leads to for reached: it cannot be folded, and was reported.
    pub fn reach_all(&mut self, file: usize, tokens: TokenStream) {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![(file, tokens)];
        while let Some((file, tokens)) = waiting.pop() {
            for token in tokens {
                match token {
                    TokenTree::Group(group) => waiting.push((file, group.stream())),
                    TokenTree::Literal(literal) => {
                        let start = self.code.files[file].rust.range(literal.span()).start;
                        self.reached.insert((file, start));
                    }
                    TokenTree::Ident(name) => {
                        let at = self.code.files[file].rust.range(name.span()).start;
                        let name = name.to_string();
                        if seen.len() >= MAX_TOKENS || !seen.insert((file, name.clone())) {
                            continue;
                        }
                        waiting.extend(self.code.files[file].rust.values(&name, at).map(|value| (file, value.clone())));
                        if let Ok(found) = self.code.resolve(file, at, &[name]) {
                            waiting.push((found.file, found.value));
                        }
                    }
                    TokenTree::Punct(_) => {}
                }
            }
        }
    }

    /// Bytes of an expression.
    pub fn place(&self, file: usize, expression: &Expr) -> Range<usize> {
        self.code.files[file].rust.range(expression.span())
    }

    pub fn span(&self, file: usize, expression: &Expr) -> Span {
        self.spanned(file, expression)
    }

    /// The place of any piece of syntax of a file.
    pub fn spanned(&self, file: usize, syntax: &impl Spanned) -> Span {
        let rust = &self.code.files[file].rust;
        Span::new(&rust.file, rust.range(syntax.span()))
    }

    fn fold(&mut self, file: usize, expression: &Expr, steps: usize) -> Result<Folded, String> {
        if steps > MAX_STEPS {
            return Err("it leads in a circle".to_string());
        }
        match expression {
            Expr::Lit(literal) => self.literal(file, &literal.lit),
            Expr::Paren(inner) => self.fold(file, &inner.expr, steps + 1),
            Expr::Group(inner) => self.fold(file, &inner.expr, steps + 1),
            Expr::Reference(inner) => self.fold(file, &inner.expr, steps + 1),
            Expr::Unary(inner) if matches!(inner.op, syn::UnOp::Deref(_)) => self.fold(file, &inner.expr, steps + 1),
            Expr::MethodCall(call) if is_same(call) => self.fold(file, &call.receiver, steps + 1),
            Expr::MethodCall(call) => Err(format!("`{}` makes its text when the program runs", call.method)),
            Expr::Call(call) => match (&*call.func, call.args.first()) {
                (Expr::Path(path), Some(argument)) if call.args.len() == 1 && makes_string(&path.path) => {
                    self.fold(file, argument, steps + 1)
                }
                (Expr::Path(path), _) => {
                    Err(format!("`{}` makes its text when the program runs", path_names(&path.path).join("::")))
                }
                _ => Err(unknown()),
            },
            Expr::Macro(expression) => self.expand(file, expression, steps),
            Expr::Path(path) => {
                let at = self.place(file, expression).start;
                let found = self.code.resolve(file, at, &path_names(&path.path))?;
                let value = parse(found.value)?;
                self.fold(found.file, &value, steps + 1)
            }
            _ => Err(unknown()),
        }
    }

    fn literal(&mut self, file: usize, literal: &Lit) -> Result<Folded, String> {
        let rust = &self.code.files[file].rust;
        let range = rust.range(literal.span());
        let span = Span::new(&rust.file, range.clone());
        let text = match literal {
            // A literal that a macro made has a span, and other text in it.
            Lit::Str(string) if span.text() == string.token().to_string() => {
                literals::decode(&rust.file, range.clone()).ok_or_else(unknown)?
            }
            _ => return Err(unknown()),
        };
        self.reached.insert((file, range.start));
        Ok(Folded { text, origin: Some(Origin::Literal(span)), files: BTreeSet::new() })
    }

    fn expand(&mut self, file: usize, expression: &ExprMacro, steps: usize) -> Result<Folded, String> {
        let name = expression.mac.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let arguments = parse_list(expression.mac.tokens.clone());
        match (name.as_str(), arguments) {
            ("include_str", Ok(arguments)) => match arguments.as_slice() {
                [path] => self.include(file, path, steps),
                _ => Err(unknown()),
            },
            ("concat", Ok(arguments)) => self.concat(file, &arguments, steps),
            ("env", Ok(arguments)) => self.environment(file, arguments.first()),
            ("include_str" | "concat" | "env", Err(reason)) => Err(reason),
            _ => Err(format!("`{name}!` makes its text")),
        }
    }

    /// `concat!` takes literals and macros, and turns numbers into text.
    fn concat(&mut self, file: usize, arguments: &[Expr], steps: usize) -> Result<Folded, String> {
        let mut whole = Folded::default();
        for argument in arguments {
            let piece = match self.number(file, argument) {
                Some(number) => number,
                None => self.fold(file, argument, steps + 1)?,
            };
            if whole.text.as_str().len() + piece.text.as_str().len() > MAX_TEXT {
                return Err("its text is of unusual size".to_string());
            }
            whole.text.append(&piece.text);
            whole.origin = whole.origin.or(piece.origin);
            whole.files.extend(piece.files);
        }
        Ok(whole)
    }

    fn number(&self, file: usize, expression: &Expr) -> Option<Folded> {
        let (sign, literal) = match expression {
            Expr::Unary(negated) if matches!(negated.op, syn::UnOp::Neg(_)) => ("-", &*negated.expr),
            _ => ("", expression),
        };
        let Expr::Lit(literal) = literal else { return None };
        let digits = match &literal.lit {
            Lit::Int(number) => number.base10_digits().to_string(),
            Lit::Float(number) => number.base10_digits().to_string(),
            Lit::Bool(truth) => truth.value.to_string(),
            Lit::Char(character) => character.value().to_string(),
            _ => return None,
        };
        let mut text = MappedText::default();
        text.push(&format!("{sign}{digits}"), self.span(file, expression));
        Some(Folded { text, ..Folded::default() })
    }

    fn environment(&self, file: usize, name: Option<&Expr>) -> Result<Folded, String> {
        let Some(Expr::Lit(syn::ExprLit { lit: Lit::Str(name), .. })) = name else { return Err(unknown()) };
        let package = self.code.files[file].package.and_then(|package| self.code.workspace.packages.get(package));
        match (name.value().as_str(), package) {
            ("CARGO_MANIFEST_DIR", Some(package)) => {
                let mut text = MappedText::default();
                text.push_generated(&package.root.to_string_lossy());
                Ok(Folded { text, ..Folded::default() })
            }
            ("OUT_DIR", _) => Err("it includes a file that the build makes".to_string()),
            (name, _) => Err(format!("it depends on the environment variable `{name}`")),
        }
    }

    fn include(&mut self, file: usize, path: &Expr, steps: usize) -> Result<Folded, String> {
        let path = self.fold(file, path, steps + 1)?.text.as_str().to_string();
        let folder = self.code.files[file].rust.file.path.parent().unwrap_or(Path::new("")).to_path_buf();
        let included = self.read(&normalize(&folder.join(&path)), &path)?;
        let files = BTreeSet::from([included.path.clone()]);
        Ok(Folded { text: MappedText::from_file(&included), origin: Some(Origin::File(included)), files })
    }

    fn read(&mut self, path: &Path, written: &str) -> Result<Arc<SourceFile>, String> {
        if let Some(file) = self.included.get(path) {
            return Ok(Arc::clone(file));
        }
        if !path.exists() {
            return Err(format!("it includes `{written}`, which does not exist"));
        }
        if !self.code.workspace.may_read(path) {
            return Err(format!("it includes `{written}`, which lies outside of the workspace or is no file"));
        }
        let file = SourceFile::read(path, &self.code.workspace.root)
            .map_err(|error| format!("it includes `{written}`: {error}"))?;
        if !file.is_utf8() {
            return Err(format!("it includes `{written}`, which is not UTF-8"));
        }
        self.included.insert(path.to_path_buf(), Arc::clone(&file));
        Ok(file)
    }
}

fn unknown() -> String {
    "its text is only known when the program runs".to_string()
}

/// Methods that change a string's type and not its text.
fn is_same(call: &ExprMethodCall) -> bool {
    const NAMES: [&str; 8] = ["to_string", "to_owned", "into", "as_str", "as_ref", "clone", "borrow", "to_vec"];
    call.args.is_empty() && NAMES.iter().any(|name| call.method == name)
}

/// Functions that do the same.
fn makes_string(path: &syn::Path) -> bool {
    let names = path_names(path);
    let [.., kind, function] = names.as_slice() else { return false };
    matches!(
        (kind.as_str(), function.as_str()),
        ("String" | "Cow" | "Arc" | "Rc" | "Box", "from" | "new")
            | ("Cow", "Borrowed" | "Owned")
            | ("str", "to_string" | "to_owned")
    ) && !(kind == "String" && function == "new")
}

pub(super) fn path_names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
