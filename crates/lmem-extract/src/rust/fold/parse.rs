//! Parses tokens, with a limit on their size.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Block, Expr, Stmt, Token};

/// Parser limits: `syn` parses expressions recursively. They are far above any expression that names a kernel, and
/// within the stack of the worker thread.
pub(super) const MAX_TOKENS: usize = 4096;
const MAX_DEPTH: usize = 64;

/// The failure of what is larger than the limits.
pub(crate) const UNUSUAL_SIZE: &str = "its text is in an expression of unusual size";

/// End of the failure message for a text that is (partly) in a macro definition.
pub(crate) const OF_MACRO: &str = "text comes from a parameter of a macro";

/// Parses an expression, within the size limits.
///
/// # Errors
/// The problem, as a clause that ends a sentence.
pub(crate) fn parse(tokens: TokenStream) -> Result<Expr, String> {
    is_parsable(&tokens)?;
    syn::parse2(tokens).map_err(|_| "its text is not an expression that can be read here".to_string())
}

/// Parses comma-separated expressions.
///
/// # Errors
/// Same as [`parse`].
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

/// Whether tokens are within the limits on number and nesting.
///
/// # Errors
/// The limit that is exceeded.
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
                return Err(UNUSUAL_SIZE.to_string());
            }
        }
    }
    Ok(())
}

pub(crate) fn path_names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}
