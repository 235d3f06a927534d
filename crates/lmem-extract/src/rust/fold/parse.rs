//! Tokens to syntax, where they are of a size that somebody wrote.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Block, Expr, Stmt, Token};

/// Expressions are parsed by recursion; these are far longer and deeper than any that names a kernel, and fit the
/// stack of the thread that this runs on.
pub(super) const MAX_TOKENS: usize = 4096;
const MAX_DEPTH: usize = 64;

/// Ends the sentence on a text, or a part of one, that stands in the definition of a macro.
pub(crate) const OF_MACRO: &str = "text comes from a parameter of a macro";

/// Parses an expression, if it is of a size that somebody wrote.
///
/// # Errors
/// What is wrong with it, as the end of a sentence.
pub(crate) fn parse(tokens: TokenStream) -> Result<Expr, String> {
    is_parsable(&tokens)?;
    syn::parse2(tokens).map_err(|_| "its text is not an expression that can be read here".to_string())
}

/// Parses expressions with commas between them.
///
/// # Errors
/// As for [`parse`].
pub(crate) fn parse_list(tokens: TokenStream) -> Result<Vec<Expr>, String> {
    is_parsable(&tokens)?;
    let list = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens);
    list.map(|list| list.into_iter().collect())
        .map_err(|_| "its text is not an expression that can be read here".to_string())
}

pub(super) fn parse_block(tokens: TokenStream) -> Result<Vec<Stmt>, String> {
    is_parsable(&tokens)?;
    let statements = Block::parse_within.parse2(tokens);
    statements.map_err(|_| "its text comes from a function that cannot be read here".to_string())
}

/// Whether tokens are few enough, and not nested too deeply.
///
/// # Errors
/// Why they are not parsed.
pub(crate) fn is_parsable(tokens: &TokenStream) -> Result<(), String> {
    let mut count = 0;
    let mut waiting = vec![(tokens.clone(), 0)];
    while let Some((tokens, depth)) = waiting.pop() {
        for token in tokens {
            count += 1;
            match token {
                TokenTree::Group(group) => waiting.push((group.stream(), depth + 1)),
                TokenTree::Punct(mark) if mark.as_char() == '$' => {
                    return Err(format!("its {OF_MACRO}"));
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

pub(crate) fn path_names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
