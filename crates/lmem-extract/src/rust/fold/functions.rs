//! Follows calls of functions and methods to their return values.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Expr, ExprCall, ExprMethodCall, Macro, Stmt};

use super::convert::{first_made, instead, makes_lazily, makes_string};
use super::failure::{elsewhere, unknown};
use super::string_methods::TEXT_METHODS;
use super::{Folder, MAX_CHOICES, Sites, at_most, itself};
use crate::rust::fold::failure::Failure;
use crate::rust::fold::frames::Frames;
use crate::rust::fold::parse::{parse, parse_block, path_names};
use crate::rust::names::FunctionId;
use crate::rust::scan::Call;
use crate::rust::sinks;

impl Folder<'_, '_> {
    pub(super) fn call(&mut self, file: usize, call: &ExprCall, whole: &Expr, frames: &Frames, steps: usize) -> Sites {
        let Expr::Path(path) = &*call.func else { return vec![Err(unknown())] };
        let names = path_names(&path.path);
        let arguments: Vec<Expr> = call.args.iter().cloned().collect();
        if sinks::makes_product(&names) {
            return if self.keeps_products { itself(file, whole, frames) } else { vec![Err(elsewhere())] };
        }
        match arguments.as_slice() {
            [argument] if makes_string(&names) => return self.heads(file, argument, frames, steps),
            [Expr::Closure(closure)] if makes_lazily(&names) => return self.heads(file, &closure.body, frames, steps),
            [Expr::Path(function)] if makes_lazily(&names) => {
                let called = self.called_as(file, path_names(&function.path), whole, 0);
                return match called.as_slice() {
                    [] => vec![Err(unknown())],
                    functions => self.results_of(functions, file, &[], frames, steps),
                };
            }
            _ => {}
        }
        match self.called_as(file, names, whole, arguments.len()).as_slice() {
            [] => itself(file, whole, frames),
            functions => self.results_of(functions, file, &arguments, frames, steps),
        }
    }

    pub(super) fn method(
        &mut self,
        file: usize,
        call: &ExprMethodCall,
        whole: &Expr,
        frames: &Frames,
        steps: usize,
    ) -> Sites {
        let method = call.method.to_string();
        if sinks::PRODUCTS.contains(&method.as_str()) {
            return vec![Err(elsewhere())];
        }
        if let Some(value) = first_made(&method, call.args.iter()) {
            return self.heads(file, &value, frames, steps);
        }
        if let Some(other) = instead(&method, call.args.iter()) {
            let mut sites = self.heads(file, &call.receiver, frames, steps);
            if !is_dead_end(&other) {
                sites.extend(self.heads(file, &other, frames, steps));
            }
            return at_most(sites);
        }
        if method == "get"
            && call.args.is_empty()
            && let Some(sites) = self.in_cell(file, &call.receiver, steps)
        {
            return sites;
        }
        if TEXT_METHODS.contains(&method.as_str()) {
            return itself(file, whole, frames);
        }
        let arguments: Vec<Expr> = call.args.iter().cloned().collect();
        let at = self.code.files[file].rust.range(call.method.span());
        let called = Call {
            path: vec![method],
            is_method: true,
            receiver: TokenStream::new(),
            arguments: TokenStream::new(),
            range: at,
        };
        match self.code.called(file, &called, arguments.len()).as_slice() {
            [] => itself(file, whole, frames),
            functions => self.results_of(functions, file, &arguments, frames, steps),
        }
    }

    fn called_as(&mut self, file: usize, path: Vec<String>, whole: &Expr, arguments: usize) -> Vec<FunctionId> {
        let range = self.place(file, whole);
        let (receiver, none) = (TokenStream::new(), TokenStream::new());
        self.code.called(file, &Call { path, is_method: false, receiver, arguments: none, range }, arguments)
    }

    /// The return values of functions of the workspace.
    fn results_of(
        &mut self,
        functions: &[FunctionId],
        file: usize,
        arguments: &[Expr],
        frames: &Frames,
        steps: usize,
    ) -> Sites {
        let mut sites = Vec::new();
        for id in functions {
            let function = self.code.function(*id);
            let skipped = arguments.len().saturating_sub(function.parameters.len());
            let body = function.tokens.clone();
            let inside = frames.within(*id, file, arguments[skipped..].to_vec());
            let returned = early_returns(&body);
            let results = match (parse_block(body), returned) {
                (Err(reason), _) => vec![Err(Failure::made(reason))],
                (Ok(_), Err(failure)) => vec![Err(failure)],
                (Ok(statements), Ok(returned)) => {
                    let mut results = self.results(id.file, &statements, &inside, steps);
                    for value in returned {
                        results.extend(self.heads(id.file, &value, &inside, steps));
                    }
                    results
                }
            };
            sites.extend(results);
        }
        at_most(sites)
    }

    /// The values of a function body: its last expression, and all `return` values.
    pub(super) fn results(&mut self, file: usize, statements: &[Stmt], frames: &Frames, steps: usize) -> Sites {
        let Some(Stmt::Expr(last, semicolon)) = statements.last() else { return vec![Err(unknown())] };
        let last = match last {
            Expr::Return(returned) => returned.expr.as_deref(),
            other if semicolon.is_none() => Some(other),
            _ => None,
        };
        match last {
            Some(last) => self.heads(file, last, frames, steps),
            None => vec![Err(unknown())],
        }
    }
}

/// Values of `return` expressions in a function body.
fn early_returns(body: &TokenStream) -> Result<Vec<Expr>, Failure> {
    let mut found = Vec::new();
    let mut waiting = vec![body.clone()];
    while let Some(tokens) = waiting.pop() {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => waiting.push(group.stream()),
                TokenTree::Ident(word) if word == "return" => {
                    let rest = tokens[at + 1..].iter();
                    let is_end = |token: &&TokenTree| !matches!(token, TokenTree::Punct(mark) if matches!(mark.as_char(), ';' | ','));
                    let value: TokenStream = rest.take_while(is_end).cloned().collect();
                    let value = parse(value).map_err(Failure::made)?;
                    if !is_dead_end(&value) {
                        found.push(value);
                    }
                }
                _ => {}
            }
            if found.len() > MAX_CHOICES {
                return Err(unknown());
            }
        }
    }
    Ok(found)
}

/// Whether an expression has no value: it ends the program or the function, or it is an error.
pub(super) fn is_dead_end(expression: &Expr) -> bool {
    match expression {
        Expr::Macro(call) => never_returns(&call.mac),
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Path(path) if path_names(&path.path).last().is_some_and(|name| name == "Err"))
        }
        Expr::Path(path) => path_names(&path.path).last().is_some_and(|name| name == "None"),
        Expr::Block(block) => match block.block.stmts.as_slice() {
            [Stmt::Expr(only, _)] => is_dead_end(only),
            [Stmt::Macro(only)] => never_returns(&only.mac),
            _ => false,
        },
        _ => false,
    }
}

fn never_returns(call: &Macro) -> bool {
    let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    ["panic", "unreachable", "todo", "unimplemented", "bail"].contains(&name.as_str())
}
