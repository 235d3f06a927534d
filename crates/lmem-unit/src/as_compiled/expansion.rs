//! Classifies a macro expansion: what a reader of the unexpanded text must know.

use crate::as_compiled::tokens::{TokenKind, tokens};

/// Classification of the expansion of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expansion {
    /// A number, or an expression of numbers, built-in types and names that the compiler defines.
    Value,
    /// Attributes: `__attribute__((shared))` for `__shared__`, `__inline__`.
    Attribute,
    /// A function-like macro that evaluates all its arguments, without side effects of its own.
    Expression,
    /// Anything else: control flow, side effects, declarations, hidden uses of variables, or an empty expansion.
    Other,
}

/// Names in values that do not refer to a variable of the user.
const VALUE_WORDS: [&str; 24] = [
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "x",
    "y",
    "z",
    "int",
    "unsigned",
    "signed",
    "long",
    "short",
    "char",
    "bool",
    "float",
    "double",
    "size_t",
    "sizeof",
    "static_cast",
    "true",
    "false",
    "const",
    "nullptr",
];

/// Members of `threadIdx`, among the names in values; a variable may have such a name, too.
const DIMENSIONS: [&str; 3] = ["x", "y", "z"];

/// Functions of CUDA that macros call, which depend on their arguments alone.
const FUNCTIONS: [&str; 18] = [
    "__fmaf_rn",
    "__float_as_int",
    "__float_as_uint",
    "__int_as_float",
    "__uint_as_float",
    "__umul24",
    "abs",
    "fabs",
    "fabsf",
    "fma",
    "fmaf",
    "fmax",
    "fmaxf",
    "fmin",
    "fminf",
    "max",
    "min",
    "sqrtf",
];

/// CUDA's functions of numbers that have one name for `double` and, with an `f` at the end, one for `float`. They compute a
/// value, and do nothing else.
pub const MATH: [&str; 30] = [
    "acos", "asin", "atan", "atan2", "cbrt", "ceil", "copysign", "cos", "cosh", "erf", "exp", "exp10", "exp2", "expm1",
    "floor", "fmod", "hypot", "log", "log10", "log1p", "log2", "pow", "rint", "round", "rsqrt", "sin", "sinh", "sqrt",
    "tan", "tanh",
];

/// Further functions of the toolkit that take values and return one; their `float` variants end in `f`.
pub const VALUES: [&str; 14] = [
    "abs", "cospi", "fabs", "fdividef", "fma", "fmax", "fmin", "isfinite", "isinf", "isnan", "max", "min", "sinpi",
    "trunc",
];

/// Intrinsic functions that do the same.
const INTRINSICS: [&str; 10] =
    ["__expf", "__fdividef", "__ldg", "__log2f", "__logf", "__popc", "__powf", "__saturatef", "__sinf", "__cosf"];

/// Operators without side effects.
const PURE_OPERATORS: [&str; 27] = [
    "+", "-", "*", "/", "%", "(", ")", "<", ">", "<<", ">>", "<=", ">=", "==", "!=", "&", "|", "^", "~", "!", ",", ".",
    "[", "]", "::", "&&", "||",
];

impl Expansion {
    /// Classifies the expansion of `own`: a macro name, perhaps with arguments.
    pub fn of(own: &str, compiled: &str) -> Self {
        if is_attribute(compiled) {
            return Self::Attribute;
        }
        let name = own.bytes().take_while(|byte| crate::as_compiled::tokens::is_word(*byte)).count();
        let arguments = own[name..].trim();
        if name == 0 || compiled.is_empty() {
            return Self::Other;
        }
        match arguments.is_empty() {
            true if is_expression(compiled, &is_known)
                && !has_condition(compiled)
                && !has_bare_dimension(compiled)
                && is_atom(compiled) =>
            {
                Self::Value
            }
            false if arguments.starts_with('(') && is_inert(&own[..name], arguments, compiled) => Self::Expression,
            _ => Self::Other,
        }
    }

    pub fn is_faithful(self) -> bool {
        self != Self::Other
    }
}

/// Attributes and pragmas, which do not affect computed values: `__attribute__((device)) __inline__`.
fn is_attribute(compiled: &str) -> bool {
    if is_unroll_pragma(compiled) {
        return true;
    }
    let mut depth = 0usize;
    // A parenthesis must follow an attribute's name.
    let mut has_word = false;
    for token in tokens(compiled) {
        match (&compiled[token.range], depth) {
            ("(", 0) if !has_word => return false,
            ("(", _) => depth += 1,
            (")", 1..) => depth -= 1,
            ("__attribute__" | "__inline__" | "__inline" | "inline" | "static" | "__restrict__" | "__restrict", 0) => {
                has_word = true;
            }
            (_, 0) => return false,
            _ => {}
        }
    }
    has_word && depth == 0
}

/// Whether code is one unroll pragma and nothing after it: a macro may become a pragma and a statement.
pub fn is_unroll_pragma(compiled: &str) -> bool {
    let argument = compiled.strip_prefix("# pragma unroll").or_else(|| {
        // A kernel string's own macros, which nothing but the text expands.
        compiled.strip_prefix("_Pragma ( \"unroll")?.strip_suffix("\" )")
    });
    let Some(argument) = argument.map(str::trim) else { return false };
    let inner = argument.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(argument).trim();
    let is_word = inner.bytes().all(crate::as_compiled::tokens::is_word);
    is_word && !matches!(inner, "return" | "break" | "continue" | "else" | "do" | "try" | "throw")
}

/// Whether a text has a variable `x`, `y` or `z`: no member.
fn has_bare_dimension(compiled: &str) -> bool {
    let words: Vec<&str> = tokens(compiled).into_iter().map(|token| &compiled[token.range]).collect();
    DIMENSIONS.iter().any(|name| has_variable(&words, name))
}

/// Whether words name a variable: `k`, and not `s.k`.
fn has_variable(words: &[&str], name: &str) -> bool {
    let is_member = |at: usize| at.checked_sub(1).is_some_and(|before| matches!(words[before], "." | "->"));
    words.iter().enumerate().any(|(at, word)| *word == name && !is_member(at))
}

/// Whether a function computes a value of its arguments, and does nothing else.
pub(super) fn is_toolkit_function(name: &str) -> bool {
    let is_math = |name: &str| MATH.contains(&name) || INTRINSICS.contains(&name);
    let is_constant =
        |name: &str| ["__builtin_huge", "__builtin_inf", "__builtin_nan"].iter().any(|it| name.starts_with(it));
    FUNCTIONS.contains(&name) || is_constant(name) || is_math(name) || name.strip_suffix('f').is_some_and(is_math)
}

fn is_known(word: &str) -> bool {
    VALUE_WORDS.contains(&word) || word.starts_with("__builtin_")
}

/// Whether a text has only numbers, known names and operators without side effects, with balanced parentheses.
fn is_expression(compiled: &str, is_name: &dyn Fn(&str) -> bool) -> bool {
    let mut depth = 0usize;
    for token in tokens(compiled) {
        let word = &compiled[token.range];
        let is_fit = match token.kind {
            TokenKind::Number => true,
            TokenKind::Literal => word.starts_with('\''),
            TokenKind::Identifier => is_name(word),
            TokenKind::Punctuation => PURE_OPERATORS.contains(&word) || matches!(word, "?" | ":"),
            TokenKind::Directive => false,
        };
        match word {
            "(" => depth += 1,
            ")" if depth == 0 => return false,
            ")" => depth -= 1,
            _ => {}
        }
        if !is_fit {
            return false;
        }
    }
    depth == 0
}

/// Whether a text is one operand for any adjacent operator: a token, perhaps with a sign, or a parenthesized
/// expression.
fn is_atom(compiled: &str) -> bool {
    let words: Vec<&str> = tokens(compiled).into_iter().map(|token| &compiled[token.range]).collect();
    // A sign, or the name of what is called.
    let has_prefix = match words[..] {
        ["-" | "+" | "~", ..] => true,
        [first, "(", ..] => first.starts_with(is_name_start),
        _ => false,
    };
    let words = &words[usize::from(has_prefix)..];
    let mut depth = 0i64;
    let closes_early = words.iter().rev().skip(1).rev().any(|word| {
        depth += i64::from(*word == "(") - i64::from(*word == ")");
        depth == 0
    });
    match words {
        [word] => {
            word.bytes()
                .all(|byte| crate::as_compiled::tokens::is_word(byte) || matches!(byte, b'.' | b'+' | b'-' | b'\''))
                || word.starts_with('\'')
        }
        ["(", .., ")"] => !closes_early,
        _ => false,
    }
}

/// Whether parts of an expression may not be evaluated.
fn has_condition(compiled: &str) -> bool {
    tokens(compiled).into_iter().any(|token| matches!(&compiled[token.range], "?" | "&&" | "||"))
}

/// Whether a function-like macro has no side effects of its own. Its expansion may only name arguments and CUDA's functions,
/// and must use all arguments. If it evaluates an argument conditionally, no argument may read memory.
fn is_inert(name: &str, arguments: &str, compiled: &str) -> bool {
    let own: Vec<&str> = tokens(arguments).into_iter().map(|token| &arguments[token.range]).collect();
    let became: Vec<&str> = tokens(compiled).into_iter().map(|token| &compiled[token.range]).collect();
    let is_function = |word: &str| FUNCTIONS.contains(&word) || is_renamed(name, word);
    let is_name = |word: &str| is_known(word) || own.contains(&word) || is_function(word);
    // A name that is no call is a variable's.
    let is_called =
        |(at, word): (usize, &&str)| !is_function(word) || own.contains(word) || became.get(at + 1) == Some(&"(");
    let are_called = became.iter().enumerate().all(is_called);
    // `s.k` in an argument gives no variable `k`.
    let is_given = |word: &&str| !has_variable(&became, word) || has_variable(&own, word);
    let named = own.iter().filter(|word| !is_known(word));
    let are_given = named.chain(&DIMENSIONS).all(is_given);
    let is_word = |word: &&&str| word.bytes().next().is_some_and(crate::as_compiled::tokens::is_word);
    let reads_memory = own.iter().any(|word| matches!(*word, "[" | "*" | "->" | "."));
    // `f(x)` in an argument may have side effects, and `*` and `&` in it may be other operators.
    let has_calls = own.windows(2).skip(1).any(|pair| pair[1] == "(" && is_word(&&pair[0]));
    is_expression(arguments, &|_| true)
        && is_expression(compiled, &is_name)
        && is_atom(compiled)
        && are_called
        && are_given
        && own.iter().filter(is_word).all(|word| became.contains(word))
        && !has_calls
        && !(has_condition(compiled) && reads_memory)
}

/// Whether a macro gives a function that asks other threads the name of an older one: who looks for such functions sees it.
fn is_renamed(name: &str, function: &str) -> bool {
    const SHUFFLE: &str = "__shfl";
    name.starts_with(SHUFFLE) && function.starts_with(SHUFFLE)
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expansions_are_told_apart() {
        for (own, compiled, expected) in [
            ("N", "12", Expansion::Value),
            ("N", "( 2 + sizeof ( float ) )", Expansion::Value),
            ("INFINITY", "( __builtin_inff ( ) )", Expansion::Value),
            ("TID", "( blockIdx . x * blockDim . x + threadIdx . x )", Expansion::Value),
            ("__shared__", "__attribute__ ( ( shared ) )", Expansion::Attribute),
            ("__device__ __forceinline__", "__attribute__ ( ( device ) ) __inline__", Expansion::Attribute),
            ("UNROLL", "# pragma unroll", Expansion::Attribute),
            ("UNROLL_BY(4)", "# pragma unroll ( 4 )", Expansion::Attribute),
            ("UNROLL", "_Pragma ( \"unroll 4\" )", Expansion::Attribute),
            ("IDX(i, j)", "( ( i ) * 4 + ( j ) )", Expansion::Expression),
            ("MIN(a, b)", "( ( a ) < ( b ) ? ( a ) : ( b ) )", Expansion::Expression),
            ("MIN(a[i], b)", "min ( a [ i ] , b )", Expansion::Expression),
            ("MAX3(a, b, c)", "max ( max ( a , b ) , c )", Expansion::Expression),
            ("__shfl(x, 1)", "__shfl_sync ( 0xffffffffu , x , 1 )", Expansion::Expression),
            ("NEXT(x, 1)", "__shfl_sync ( 0xffffffffu , x , 1 )", Expansion::Other),
            ("MAX(a)", "max ( a ) + 1", Expansion::Other),
            ("MAX(a)", "( a + max )", Expansion::Other),
            ("MAX(a)", "most ( a )", Expansion::Other),
            // Hidden uses, side effects, jumps, and code that is not evaluated.
            ("cur", "a [ i ]", Expansion::Other),
            ("LAST", "n - 1", Expansion::Other),
            ("MIN(a[i], b)", "( ( a [ i ] ) < ( b ) ? ( a [ i ] ) : ( b ) )", Expansion::Other),
            ("SET(a)", "a = 1", Expansion::Other),
            ("NEXT(a)", "a ++", Expansion::Other),
            ("TRACE(a[i])", "", Expansion::Other),
            ("TRACE(a[i])", "( ( void ) 0 )", Expansion::Other),
            ("stop_if(c)", "if ( c ) break", Expansion::Other),
            ("DONE", "return", Expansion::Other),
            ("UNROLL_IF", "# pragma unroll if ( n )", Expansion::Other),
            ("UNROLL_IF", "_Pragma ( \"unroll\" ) if ( \"n\" )", Expansion::Other),
            ("UNROLL_END", "# pragma unroll return", Expansion::Other),
            ("UNROLL_STEP", "# pragma unroll 4 i ++ ;", Expansion::Other),
            ("CUR", "( x )", Expansion::Other),
            ("CUR", "( 2 * x + threadIdx . x )", Expansion::Other),
            ("AT(i, n)", "( ( i ) * x + ( n ) )", Expansion::Other),
            ("AT(threadIdx.x, n)", "( ( threadIdx . x ) * x + ( n ) )", Expansion::Other),
            ("AT(x, n)", "( ( x ) * 4 + threadIdx . x + ( n ) )", Expansion::Expression),
            ("AT(s.k, n)", "( ( s . k ) * 4 + ( n ) )", Expansion::Expression),
            ("AT(s.k, n)", "( ( s . k ) * k + ( n ) )", Expansion::Other),
            ("TWICE(f(x))", "( f ( x ) + f ( x ) )", Expansion::Other),
            ("SUM(i++)", "( i ++ )", Expansion::Other),
            ("PAIR(x)", "x , n", Expansion::Other),
            ("OPEN", "(", Expansion::Other),
            ("BOTH", "1 , 2", Expansion::Other),
            ("SUM", "2 + 1", Expansion::Other),
            ("SUM", "( 2 ) + ( 1 )", Expansion::Other),
            ("LEAST", "- 1", Expansion::Value),
            ("SQUARE(x)", "x * x", Expansion::Other),
            ("x; y;", "", Expansion::Other),
            ("a + b", "c", Expansion::Other),
        ] {
            assert_eq!(Expansion::of(own, compiled), expected, "{own} → {compiled}");
        }
    }
}
