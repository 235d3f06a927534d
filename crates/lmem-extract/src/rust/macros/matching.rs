//! Matches a macro call with the arms of the macro, and binds the parameters.
//!
//! As in rustc, arms are tried in order, and a repetition is greedy. rustc rejects macros where matching would be
//! ambiguous.

use std::collections::BTreeMap;
use std::rc::Rc;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Expr, Type};

use super::definition::{Arm, Fragment, Pattern, Repeats};
use crate::rust::fold::parse::{is_parsable, parse};
use crate::rust::scan::tokens::{is_joint, is_mark};

/// Limit on the tokens of one type or path.
const MAX_TYPE: usize = 256;

/// Limit on commas tried as the end of an expression; commas between `<` and `>` do not end it.
const MAX_COMMAS: usize = 8;

/// Multi-character operators are a single token in rustc.
const OPERATORS: [&str; 25] = [
    "<<=", ">>=", "...", "..=", "::", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=",
    "^=", "&=", "|=", "<<", ">>", "..", "<-",
];

/// The binding of a parameter.
#[derive(Debug, Clone)]
pub(super) enum Bound {
    One(Rc<Argument>),
    /// In a repetition, one binding per iteration.
    Many(Vec<Bound>),
}

/// Tokens of a macro argument.
#[derive(Debug, Clone)]
pub(super) struct Argument {
    pub tokens: Vec<TokenTree>,
    pub kind: Fragment,
    /// Whether the expression needs parentheses next to an operator.
    pub is_compound: bool,
}

pub(super) type Bindings = BTreeMap<String, Bound>;

/// Why a call does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// This arm does not match; others may.
    Other,
    /// Undecidable here: the match needs more than is known.
    Unknown,
}

/// The arm that matches a call, and the bindings of its parameters.
///
/// # Errors
/// Why the arm is unknown, as a clause that ends a sentence.
pub(super) fn choose<'a>(
    arms: &'a [Arm],
    arguments: &TokenStream,
    left: &mut usize,
) -> Result<(&'a Arm, Bindings), String> {
    let tokens: Vec<TokenTree> = arguments.clone().into_iter().collect();
    for arm in arms {
        let mut bindings = Bindings::new();
        let mut matching = Matching { left };
        match matching.sequence(&arm.pattern, &tokens, &mut bindings) {
            Ok(used) if used == tokens.len() => return Ok((arm, bindings)),
            Ok(_) | Err(Mismatch::Other) => {}
            Err(Mismatch::Unknown) => return Err("what it is called with is not understood".to_string()),
        }
    }
    Err("none of its arms takes what it is called with".to_string())
}

struct Matching<'a> {
    /// Remaining work limit, in tokens.
    left: &'a mut usize,
}

impl Matching<'_> {
    /// Number of tokens that a pattern matches.
    fn sequence(
        &mut self,
        pattern: &[Pattern],
        tokens: &[TokenTree],
        bindings: &mut Bindings,
    ) -> Result<usize, Mismatch> {
        let mut at = 0;
        for part in pattern {
            at += self.part(part, &tokens[at..], bindings)?;
        }
        Ok(at)
    }

    fn part(&mut self, part: &Pattern, tokens: &[TokenTree], bindings: &mut Bindings) -> Result<usize, Mismatch> {
        self.spend(1)?;
        match part {
            Pattern::Token(wanted) => match tokens.first() {
                Some(token) if is_same(wanted, token) => Ok(1),
                _ => Err(Mismatch::Other),
            },
            Pattern::Group(delimiter, inner) => match tokens.first() {
                Some(TokenTree::Group(group)) if group.delimiter() == *delimiter => {
                    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                    match self.sequence(inner, &tokens, bindings)? {
                        used if used == tokens.len() => Ok(1),
                        _ => Err(Mismatch::Other),
                    }
                }
                _ => Err(Mismatch::Other),
            },
            Pattern::Fragment { name, kind } => {
                let (used, is_compound) = self.fragment(*kind, tokens)?;
                let argument = Argument { tokens: tokens[..used].to_vec(), kind: *kind, is_compound };
                bindings.insert(name.clone(), Bound::One(Rc::new(argument)));
                Ok(used)
            }
            Pattern::Repetition { inner, separator, repeats } => {
                self.repetition(inner, separator, *repeats, tokens, bindings)
            }
        }
    }

    fn repetition(
        &mut self,
        inner: &[Pattern],
        separator: &[TokenTree],
        repeats: Repeats,
        tokens: &[TokenTree],
        bindings: &mut Bindings,
    ) -> Result<usize, Mismatch> {
        let mut rounds: Vec<Bindings> = Vec::new();
        let mut at = 0;
        while repeats != Repeats::AtMostOnce || rounds.is_empty() {
            let mut start = at;
            if !rounds.is_empty() {
                let behind = &tokens[at..];
                let is_separated = separator.len() <= behind.len()
                    && separator.iter().zip(behind).all(|(wanted, token)| is_same(wanted, token));
                if !is_separated {
                    break;
                }
                start += separator.len();
            }
            let mut round = Bindings::new();
            match self.sequence(inner, &tokens[start..], &mut round) {
                // A repetition of an empty match would never end.
                Ok(0) => break,
                Ok(used) => at = start + used,
                Err(Mismatch::Other) => break,
                Err(unknown) => return Err(unknown),
            }
            rounds.push(round);
        }
        if repeats == Repeats::Once && rounds.is_empty() {
            return Err(Mismatch::Other);
        }
        for name in names(inner) {
            let values = rounds.iter_mut().filter_map(|round| round.remove(&name)).collect();
            bindings.insert(name, Bound::Many(values));
        }
        Ok(at)
    }

    /// Number of tokens that a fragment matches, and whether it needs parentheses next to an operator.
    fn fragment(&mut self, kind: Fragment, tokens: &[TokenTree]) -> Result<(usize, bool), Mismatch> {
        let simple = |length: Option<usize>| length.map(|length| (length, false)).ok_or(Mismatch::Other);
        match kind {
            Fragment::Identifier => {
                simple(matches!(tokens.first(), Some(TokenTree::Ident(name)) if name != "_").then_some(1))
            }
            Fragment::Lifetime => simple(lifetime(tokens)),
            Fragment::Literal => simple(literal(tokens)),
            Fragment::TokenTree => simple(token_tree(tokens)),
            Fragment::Visibility => simple(Some(visibility(tokens))),
            Fragment::Block => simple(
                matches!(tokens.first(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
                    .then_some(1),
            ),
            // The whole content of `#[…]`.
            Fragment::Meta => simple(Some(tokens.len()).filter(|length| *length > 0)),
            Fragment::Type => Ok((self.parsed::<Type>(tokens)?, false)),
            Fragment::Path => Ok((self.parsed::<syn::TypePath>(tokens)?, false)),
            Fragment::Expression => self.expression(tokens),
        }
    }

    /// Number of tokens that a syntax element matches. Syntax that `syn` rejects gives `Unknown`, because rustc may
    /// accept it.
    fn parsed<T: Parse>(&mut self, tokens: &[TokenTree]) -> Result<usize, Mismatch> {
        if !matches!(tokens.first(), Some(TokenTree::Ident(_) | TokenTree::Group(_))) && !begins_type(tokens) {
            return Err(Mismatch::Other);
        }
        let tokens = &tokens[..tokens.len().min(MAX_TYPE)];
        self.spend(tokens.len())?;
        let stream: TokenStream = tokens.iter().cloned().collect();
        is_parsable(&stream).map_err(|_| Mismatch::Unknown)?;
        let rest = |input: ParseStream<'_>| {
            input.parse::<T>()?;
            input.parse::<TokenStream>()
        };
        let rest = rest.parse2(stream).map_err(|_| Mismatch::Unknown)?;
        Ok(tokens.len() - rest.into_iter().count())
    }

    /// An expression ends at `,`, `;` or `=>`: rustc allows nothing else after an expression fragment in a pattern.
    fn expression(&mut self, tokens: &[TokenTree]) -> Result<(usize, bool), Mismatch> {
        if !begins_expression(tokens) {
            return Err(Mismatch::Other);
        }
        let is_end = |at: usize| {
            is_mark(tokens, at, ',')
                || is_mark(tokens, at, ';')
                || (is_mark(tokens, at, '=') && is_joint(tokens, at) && is_mark(tokens, at + 1, '>'))
        };
        let ends = (1..tokens.len()).filter(|at| is_end(*at)).take(MAX_COMMAS).chain([tokens.len()]);
        for end in ends {
            self.spend(end)?;
            if let Ok(expression) = parse(tokens[..end].iter().cloned().collect()) {
                return Ok((end, is_compound(&expression)));
            }
        }
        Err(Mismatch::Unknown)
    }

    fn spend(&mut self, tokens: usize) -> Result<(), Mismatch> {
        *self.left = self.left.checked_sub(tokens).ok_or(Mismatch::Unknown)?;
        Ok(())
    }
}

/// Names of the parameters in a pattern.
fn names(pattern: &[Pattern]) -> Vec<String> {
    let of_part = |part: &Pattern| match part {
        Pattern::Token(_) => Vec::new(),
        Pattern::Group(_, inner) | Pattern::Repetition { inner, .. } => names(inner),
        Pattern::Fragment { name, .. } => vec![name.clone()],
    };
    pattern.iter().flat_map(of_part).collect()
}

fn is_same(wanted: &TokenTree, token: &TokenTree) -> bool {
    match (wanted, token) {
        (TokenTree::Ident(wanted), TokenTree::Ident(token)) => wanted == token,
        (TokenTree::Punct(wanted), TokenTree::Punct(token)) => wanted.as_char() == token.as_char(),
        (TokenTree::Literal(wanted), TokenTree::Literal(token)) => wanted.to_string() == token.to_string(),
        _ => false,
    }
}

fn lifetime(tokens: &[TokenTree]) -> Option<usize> {
    (is_mark(tokens, 0, '\'') && matches!(tokens.get(1), Some(TokenTree::Ident(_)))).then_some(2)
}

fn literal(tokens: &[TokenTree]) -> Option<usize> {
    match tokens.first()? {
        TokenTree::Literal(_) => Some(1),
        TokenTree::Ident(truth) => (truth == "true" || truth == "false").then_some(1),
        TokenTree::Punct(minus) if minus.as_char() == '-' => {
            matches!(tokens.get(1), Some(TokenTree::Literal(_))).then_some(2)
        }
        _ => None,
    }
}

fn token_tree(tokens: &[TokenTree]) -> Option<usize> {
    let TokenTree::Punct(_) = tokens.first()? else { return Some(1) };
    if let Some(length) = lifetime(tokens) {
        return Some(length);
    }
    let stands_here = |operator: &&str| {
        let last = operator.len() - 1;
        operator.chars().enumerate().all(|(at, mark)| is_mark(tokens, at, mark) && (at == last || is_joint(tokens, at)))
    };
    Some(OPERATORS.iter().find(|operator| stands_here(operator)).map_or(1, |operator| operator.len()))
}

/// `pub`, `pub(crate)`, or nothing.
fn visibility(tokens: &[TokenTree]) -> usize {
    match tokens {
        [TokenTree::Ident(word), rest @ ..] if word == "pub" => {
            let is_limited =
                matches!(rest.first(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
            1 + usize::from(is_limited)
        }
        _ => 0,
    }
}

fn begins_type(tokens: &[TokenTree]) -> bool {
    matches!(tokens.first(), Some(TokenTree::Punct(mark)) if matches!(mark.as_char(), '&' | '*' | '<' | ':' | '!'))
}

fn begins_expression(tokens: &[TokenTree]) -> bool {
    match tokens.first() {
        None => false,
        Some(TokenTree::Ident(word)) => word != "_" && word != "as" && word != "else" && word != "where",
        Some(TokenTree::Punct(mark)) => {
            matches!(mark.as_char(), '-' | '*' | '!' | '&' | '|' | '<' | ':' | '.' | '\'' | '#')
                && (mark.as_char() != ':' || is_joint(tokens, 0))
        }
        Some(_) => true,
    }
}

/// Whether an adjacent operator could bind to a part of the expression.
pub(super) fn is_compound(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::Binary(_)
            | Expr::Unary(_)
            | Expr::Reference(_)
            | Expr::Cast(_)
            | Expr::Range(_)
            | Expr::Closure(_)
            | Expr::Assign(_)
    )
}
