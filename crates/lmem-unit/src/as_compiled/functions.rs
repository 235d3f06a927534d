//! What the functions and classes of a unit's files may do, read from their tokens alone: too much rather than too little.
//!
//! An edit in one file may meet operators, constructors and functions of another, whose syntax tree nobody asks for.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::align::directive_name;
use super::expansion::MATH;
use super::meeting::{has_meeting_instruction, is_ending, is_meeting, is_returning};
use super::tokens::{TokenKind, each};

/// Words before a parenthesis that call nothing.
const NO_CALLS: [&str; 28] = [
    "if",
    "for",
    "while",
    "switch",
    "return",
    "sizeof",
    "alignof",
    "decltype",
    "noexcept",
    "alignas",
    "void",
    "bool",
    "char",
    "short",
    "int",
    "long",
    "float",
    "double",
    "signed",
    "unsigned",
    "static_cast",
    "explicit",
    "constexpr",
    "do",
    "else",
    "case",
    "static_assert",
    "requires",
];

/// Words before a name that is used, not declared.
const BEFORE_CALLS: [&str; 12] =
    ["return", "case", "else", "goto", "new", "delete", "throw", "do", "not", "and", "or", "sizeof"];

/// Further functions of the toolkit that take values and return one; their `float` variants end in `f`.
const VALUES: [&str; 14] = [
    "abs", "cospi", "fabs", "fdividef", "fma", "fmax", "fmin", "isfinite", "isinf", "isnan", "max", "min", "sinpi",
    "trunc",
];

/// Words between a parameter list and a body.
const QUALIFIERS: [&str; 11] =
    ["const", "volatile", "noexcept", "override", "final", "&", "&&", "mutable", "throw", "__attribute__", "try"];

/// The numbers of C++, as parts of their types.
const NUMBERS: [&str; 9] = ["bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned"];

/// How `operator float()` is known among operators.
pub const CONVERSION: &str = "conversion";

/// What the functions and classes of a file may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behaviour {
    /// The functions that it defines, of which every definition in the unit returns, and in none of which threads meet.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub quiet: BTreeSet<String>,
    /// An operator, a conversion, a constructor or a destructor is no such function: they are called without a call in the
    /// text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_loud_operators: bool,
    /// The operators that its classes have: `<`, `[]`, and [`CONVERSION`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub operators: BTreeSet<String>,
    /// A class may keep a reference to what it is made of, or an operator may write its operands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_keep_references: bool,
}

impl Behaviour {
    /// Of several files.
    pub(super) fn and(mut self, other: &Self) -> Self {
        self.quiet.extend(other.quiet.iter().cloned());
        self.operators.extend(other.operators.iter().cloned());
        self.has_loud_operators |= other.has_loud_operators;
        self.may_keep_references |= other.may_keep_references;
        self
    }
}

/// A file's tokens, with the partner of each bracket.
struct File<'t> {
    tokens: &'t [Cow<'t, str>],
    /// By position; a position's own number where it is no bracket.
    partners: Vec<usize>,
}

struct Function<'t> {
    name: &'t str,
    is_operator: bool,
    /// It ends a thread, or meets others, by itself.
    is_loud: bool,
    /// All names in it.
    named: HashSet<&'t str>,
    /// Those before a parenthesis.
    called: HashSet<&'t str>,
}

/// From what stands behind a function's parameters to the end of its body.
struct Body {
    first: usize,
    end: usize,
    /// The names of members and bases that a constructor initializes.
    members: Vec<usize>,
}

/// What each of a unit's files may do. A function is known by its name alone.
/// `is_open`: what an `#include` within a function brings is in none of these.
pub fn behaviour(files: &[Vec<Cow<'_, str>>], is_open: bool) -> Vec<Behaviour> {
    let read: Vec<Option<File<'_>>> = files.iter().map(|tokens| File::of(tokens)).collect();
    let classes: HashSet<&str> = read.iter().flatten().flat_map(File::classes).map(|(name, _)| name).collect();
    let functions: Vec<Vec<Function<'_>>> =
        read.iter().map(|file| file.as_ref().map_or_else(Vec::new, |file| file.functions(&classes))).collect();
    let loud = loud_names(functions.iter().flatten(), is_open || read.iter().any(Option::is_none));
    let of_file = |(file, functions): (&Option<File<'_>>, &Vec<Function<'_>>)| {
        let is_unseen = |it: &Function<'_>| it.is_operator || classes.contains(it.name);
        let (quiet, meeting): (Vec<&Function<'_>>, Vec<_>) = functions.iter().partition(|it| !loud.contains(it.name));
        Behaviour {
            quiet: quiet.into_iter().map(|it| it.name.to_string()).collect(),
            operators: file.as_ref().map_or_else(|| [CONVERSION.to_string()].into(), File::operators),
            has_loud_operators: is_open
                || file.as_ref().is_none_or(File::computes_members)
                || meeting.into_iter().any(is_unseen),
            may_keep_references: file.as_ref().is_none_or(|file| file.may_keep_references(&classes)),
        }
    };
    read.iter().zip(&functions).map(of_file).collect()
}

/// The names of which a definition may end a thread, or meet others, by itself or through what it names. `is_open`: there
/// may be others than these functions.
fn loud_names<'f, 't: 'f>(
    functions: impl Iterator<Item = &'f Function<'t>> + Clone,
    is_open: bool,
) -> HashSet<&'t str> {
    let defined: HashSet<&str> = functions.clone().map(|it| it.name).collect();
    let mut users: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut loud: HashSet<&str> = HashSet::new();
    let mut fresh: Vec<&str> = Vec::new();
    for function in functions {
        for named in function.named.iter().filter(|name| defined.contains(*name)) {
            users.entry(named).or_default().push(function.name);
        }
        let is_known = |name: &&str| !is_open && (defined.contains(name) || is_quiet_of_toolkit(name));
        if (function.is_loud || !function.called.iter().all(is_known)) && loud.insert(function.name) {
            fresh.push(function.name);
        }
    }
    while let Some(name) = fresh.pop() {
        let of_name = users.get(name).into_iter().flatten().filter(|user| loud.insert(user));
        fresh.extend(of_name);
    }
    loud
}

/// Whether a function that no file of the user's defines is one of the toolkit's that returns.
fn is_quiet_of_toolkit(name: &str) -> bool {
    let is_value = |name: &str| MATH.contains(&name) || VALUES.contains(&name);
    let is_made = name.strip_prefix("make_").is_some_and(is_vector);
    is_returning(name) || is_made || is_vector(name) || is_value(name) || name.strip_suffix('f').is_some_and(is_value)
}

/// `float3`, `uchar4`, `dim3`: classes of the toolkit that hold numbers.
fn is_vector(name: &str) -> bool {
    let number = name.strip_suffix(['1', '2', '3', '4']).unwrap_or("");
    let number = number.strip_prefix('u').unwrap_or(number);
    matches!(number, "char" | "short" | "int" | "long" | "longlong" | "float" | "double") || name == "dim3"
}

impl<'t> File<'t> {
    /// `None` where brackets are not those of one text, as in files that others include within a declaration.
    fn of(tokens: &'t [Cow<'t, str>]) -> Option<Self> {
        let mut partners: Vec<usize> = (0..tokens.len()).collect();
        let mut open: Vec<usize> = Vec::new();
        for (position, token) in tokens.iter().enumerate() {
            match &**token {
                "(" | "{" | "[" => open.push(position),
                ")" | "}" | "]" => {
                    let start = open.pop()?;
                    let is_pair = matches!((&*tokens[start], &**token), ("(", ")") | ("{", "}") | ("[", "]"));
                    if !is_pair {
                        return None;
                    }
                    (partners[start], partners[position]) = (position, start);
                }
                _ => {}
            }
        }
        open.is_empty().then_some(Self { tokens, partners })
    }

    fn token(&self, position: usize) -> &'t str {
        self.tokens.get(position).map_or("", |token| &**token)
    }

    /// The position behind the brackets that open at one.
    fn behind(&self, position: usize) -> usize {
        self.partners.get(position).map_or(position, |end| end + 1)
    }

    /// The classes with the position of their body's brace, or of a semicolon.
    fn classes(&self) -> impl Iterator<Item = (&'t str, usize)> + '_ {
        let starts = (0..self.tokens.len()).filter(|at| matches!(self.token(*at), "struct" | "class" | "union"));
        starts.filter_map(|start| {
            let (mut at, mut name) = (start + 1, "");
            loop {
                match self.token(at) {
                    "(" | "[" => at = self.behind(at),
                    "{" | ";" => return Some((name, at)),
                    ":" => {
                        let ends = (at..self.tokens.len()).find(|at| matches!(self.token(*at), "{" | ";"))?;
                        return Some((name, ends));
                    }
                    // A specialization: `struct Row<float>`.
                    "<" => {
                        let ends = (at..self.tokens.len()).find(|at| matches!(self.token(*at), "{" | ";" | ")"))?;
                        return (self.token(ends) != ")").then_some((name, ends));
                    }
                    word if is_name(word) || word == "::" => {
                        if is_name(word) && word != "final" {
                            name = word;
                        }
                        at += 1;
                    }
                    _ => return None,
                }
            }
        })
    }

    /// All functions with a body.
    fn functions(&self, classes: &HashSet<&str>) -> Vec<Function<'t>> {
        (0..self.tokens.len()).filter_map(|start| self.function(start, classes)).collect()
    }

    fn function(&self, start: usize, classes: &HashSet<&str>) -> Option<Function<'t>> {
        let name = self.token(start);
        let is_operator = name == "operator";
        let list = match is_operator {
            true => self.operands(start)?,
            // `template <> float f<3>(float)`
            false => self.behind_template_arguments(start + 1),
        };
        if !is_name(name) || self.token(list) != "(" || NO_CALLS.contains(&name) {
            return None;
        }
        let is_constructor = !is_operator && classes.contains(name);
        let body = self.body(self.behind(list), is_constructor || is_operator);
        // What a default argument calls, the text of the call does not show.
        let defaults = (list..self.partners[list]).find(|at| self.token(*at) == "=").unwrap_or(self.partners[list]);
        let has_calls = (defaults..self.partners[list]).any(|at| self.token(at) == "(");
        if (body.is_none() && !has_calls) || !self.is_for_device(start) {
            return None;
        }
        let Body { first, end, members } = body.unwrap_or(Body { first: 0, end: 0, members: Vec::new() });
        let mut function = Function {
            name: if is_operator { "operator" } else { name },
            is_operator,
            is_loud: false,
            named: HashSet::new(),
            called: HashSet::new(),
        };
        // A variable may be any function, whatever its name.
        let given = (list..self.partners[list]).filter(|at| matches!(self.token(at + 1), "," | ")" | "=" | "["));
        let set = (first..end).filter(|at| self.token(at + 1) == "=");
        let variables: HashSet<&str> = given.chain(set).map(|at| self.token(at)).collect();
        for at in (defaults..self.partners[list]).chain(first..end) {
            let word = self.token(at);
            if !is_name(word) {
                continue;
            }
            // `V3 sum(a)` declares a variable; what its type's constructor does, the type's name tells.
            let before = self.token(at - 1);
            let is_declared = is_name(before) && !BEFORE_CALLS.contains(&before);
            let is_open = self.token(self.behind_template_arguments(at + 1)) == "(";
            let is_call = is_open && !is_declared && !members.contains(&at);
            function.is_loud |= is_call && variables.contains(word);
            function.is_loud |= match word {
                "throw" | "goto" => true,
                "asm" | "__asm__" | "__asm" => {
                    let texts = (at..self.tokens.len()).map(|at| self.token(at)).take_while(|token| *token != ";");
                    has_meeting_instruction(&texts.collect::<String>())
                }
                _ => is_ending(word) || (is_call && is_meeting(word)),
            };
            let is_assembly = matches!(word, "asm" | "__asm__" | "__asm" | "volatile" | "__volatile__");
            if is_call && !is_assembly && !NO_CALLS.contains(&word) {
                function.called.insert(word);
            }
            function.named.insert(word);
        }
        Some(function)
    }

    /// Whether a function may run on the device, by the words before its name. What is defined outside of its class says
    /// there where it runs.
    fn is_for_device(&self, name: usize) -> bool {
        let mut at = name;
        while at > 0 {
            at = self.partners[at - 1].min(at - 1);
            match self.token(at) {
                ";" | "{" | "}" | ":" => return false,
                "::" if at + 1 == name || self.token(at + 1) == "~" => return true,
                "constexpr" | "consteval" | "__device__" | "__global__" => return true,
                "(" if (at..self.partners[at]).any(|at| matches!(self.token(at), "device" | "global")) => return true,
                _ => {}
            }
        }
        false
    }

    /// The parameter list of `operator+(…)`, `operator()(…)` or `operator float(…)`.
    fn operands(&self, start: usize) -> Option<usize> {
        let first = start + 1;
        if self.token(first) == "(" && self.partners[first] == first + 1 {
            return Some(first + 2);
        }
        (first..first + 12).find(|at| self.token(*at) == "(")
    }

    /// The position behind `<…>`, if that begins at one and a parenthesis follows; else the same.
    fn behind_template_arguments(&self, start: usize) -> usize {
        if self.token(start) != "<" {
            return start;
        }
        let (mut at, mut depth) = (start, 0usize);
        while at < self.tokens.len() {
            match self.token(at) {
                "<" => depth += 1,
                ">" => depth -= 1,
                ">>" => depth = depth.saturating_sub(2),
                ";" | "{" | "}" | ")" | "]" => return start,
                "(" | "[" => {
                    at = self.behind(at);
                    continue;
                }
                _ => {}
            }
            at += 1;
            if depth == 0 {
                return if self.token(at) == "(" { at } else { start };
            }
        }
        start
    }

    /// The operators that are declared.
    fn operators(&self) -> BTreeSet<String> {
        let starts = (0..self.tokens.len()).filter(|at| self.token(*at) == "operator");
        starts.filter_map(|start| operator_of((start + 1..start + 4).map(|at| self.token(at)))).collect()
    }

    /// From what stands behind a parameter list to the end of the body.
    fn body(&self, behind: usize, is_constructor: bool) -> Option<Body> {
        let mut at = behind;
        while QUALIFIERS.contains(&self.token(at)) {
            at += 1;
            if self.token(at) == "(" && matches!(self.token(at - 1), "noexcept" | "throw" | "__attribute__") {
                at = self.behind(at);
            }
        }
        match self.token(at) {
            "{" => Some(Body { first: at, end: self.behind(at), members: Vec::new() }),
            // `-> Type {`
            "->" => {
                let mut end = at;
                while !matches!(self.token(end), "{" | ";" | ")" | "}" | "") {
                    // `-> decltype(float{})`
                    end = self.behind(end).max(end + 1);
                }
                (self.token(end) == "{").then(|| Body { first: at, end: self.behind(end), members: Vec::new() })
            }
            ":" if is_constructor => {
                let (mut end, mut members) = (at + 1, Vec::new());
                // `member(value), Base<int>{value} { … }`
                while !matches!(self.token(end), "" | ";") {
                    let is_body = self.token(end) == "{" && matches!(self.token(end - 1), ")" | "}" | "...");
                    if is_body {
                        return Some(Body { first: at, end: self.behind(end), members });
                    }
                    members.push(end);
                    end = self.behind(end).max(end + 1);
                }
                None
            }
            _ => None,
        }
    }

    /// Whether a class has a reference as a member, or a pointer and a function that could point it to an argument; or an
    /// operator may write a number.
    fn may_keep_references(&self, classes: &HashSet<&str>) -> bool {
        self.classes().any(|(name, at)| self.token(at) == "{" && self.keeps_references(name, at))
            || (0..self.tokens.len()).any(|at| self.token(at) == "operator" && self.writes_operands(at, classes))
    }

    fn keeps_references(&self, own: &str, body: usize) -> bool {
        let end = self.partners[body];
        let (mut has_pointer, mut takes_references) = (false, false);
        let mut member: Vec<&str> = Vec::new();
        let mut at = body + 1;
        while at < end {
            let token = self.token(at);
            match token {
                "(" => {
                    let list: Vec<&str> = (at..self.partners[at]).map(|at| self.token(at)).collect();
                    takes_references |= list.windows(2).any(|pair| matches!(pair[1], "&" | "&&") && pair[0] != own);
                    has_pointer |= list.get(1) == Some(&"*");
                    member.push("(");
                    at = self.behind(at);
                    continue;
                }
                "{" => {
                    at = self.behind(at);
                    // A body ends a member; braces of an initializer have a semicolon or another initializer behind them.
                    if !matches!(self.token(at), ";" | "," | "{") || (member.contains(&"(") && self.token(at) == ";") {
                        member.clear();
                    }
                    continue;
                }
                ";" | ":" => {
                    let is_alias = member.first().is_some_and(|word| matches!(*word, "using" | "typedef" | "friend"));
                    let is_function = member.contains(&"(");
                    if !is_alias && !is_function {
                        if member.iter().any(|word| matches!(*word, "&" | "&&")) {
                            return true;
                        }
                        has_pointer |= member.contains(&"*");
                    }
                    member.clear();
                }
                _ => member.push(token),
            }
            at += 1;
        }
        has_pointer && takes_references
    }

    /// Whether a constructor that is not written calls something: `int size = count();`.
    fn computes_members(&self) -> bool {
        self.classes().filter(|(_, at)| self.token(*at) == "{").any(|(_, body)| {
            let (mut at, mut member) = (body + 1, Vec::new());
            while at < self.partners[body] {
                let token = self.token(at);
                let behind = self.behind(at);
                match token {
                    "(" if member.contains(&"=") && !member.contains(&"operator") => return true,
                    "{" => {
                        let is_value =
                            !member.iter().any(|it| matches!(*it, "(" | "struct" | "class" | "union" | "enum"));
                        if is_value && (at..behind).any(|at| self.token(at) == "(") {
                            return true;
                        }
                        // Braces within the list of a constructor are followed by others.
                        if !matches!(self.token(behind), "," | "{") {
                            member.clear();
                        }
                    }
                    ";" => member.clear(),
                    _ => member.push(token),
                }
                at = if behind > at { behind } else { at + 1 };
            }
            false
        })
    }

    /// Whether an operator takes a number by a reference that is not constant.
    fn writes_operands(&self, operator: usize, classes: &HashSet<&str>) -> bool {
        let Some(list) = self.operands(operator).filter(|list| self.token(*list) == "(") else { return false };
        let words: Vec<&str> = (list + 1..self.partners[list]).map(|at| self.token(at)).collect();
        words.split(|word| *word == ",").any(|parameter| {
            let reference = parameter.iter().position(|word| matches!(*word, "&" | "&&"));
            let type_text = reference.and_then(|at| parameter[..at].last());
            type_text.is_some_and(|word| {
                let is_class = *word == ">" || classes.contains(word) || is_vector(word);
                !parameter.contains(&"const") && (!is_class || NUMBERS.contains(word))
            })
        })
    }
}

/// The operator that the tokens behind `operator` name.
fn operator_of<'t>(mut tokens: impl Iterator<Item = &'t str>) -> Option<String> {
    let first = tokens.next()?;
    match first {
        "(" => Some("()".to_string()),
        "[" => Some("[]".to_string()),
        "new" | "delete" | "" => None,
        _ if first.starts_with('"') => None,
        _ if is_name(first) || first == "::" => Some(CONVERSION.to_string()),
        _ => Some(first.to_string()),
    }
}

/// The operators that a text declares.
pub fn operators_in(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> = each(text).map(|token| text.get(token.range).unwrap_or("")).collect();
    let starts = (0..words.len()).filter(|at| words[*at] == "operator");
    starts.filter_map(|start| operator_of(words[start + 1..].iter().copied())).collect()
}

/// Whether a text includes a file within braces that are those of no namespace: a part of a function or class.
pub fn includes_within(text: &str) -> bool {
    let (mut open, mut is_of_namespace): (Vec<bool>, bool) = (Vec::new(), false);
    for token in each(text) {
        let word = text.get(token.range).unwrap_or("");
        match word {
            _ if token.kind == TokenKind::Directive
                && directive_name(word).starts_with("include")
                && open.contains(&false) =>
            {
                return true;
            }
            _ if token.kind == TokenKind::Directive => {}
            "namespace" | "extern" => is_of_namespace = true,
            ";" => is_of_namespace = false,
            "{" => open.push(std::mem::take(&mut is_of_namespace)),
            "}" => drop(open.pop()),
            // `extern int f() {`
            "(" => is_of_namespace = false,
            _ => {}
        }
    }
    false
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// What the files beside one may do, and the names that they declare.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// Whether all of these files are known: what a kernel string includes is not.
    pub is_known: bool,
    pub declared: BTreeSet<String>,
    pub behaviour: Behaviour,
    /// The operators of all files, that one too, as they were compiled.
    pub operators: BTreeSet<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_compiled::tokens::tokens;

    fn of(texts: &[&str]) -> Vec<Behaviour> {
        let words = |text: &&str| tokens(text).into_iter().map(|it| Cow::Owned(text[it.range].to_string())).collect();
        behaviour(&texts.iter().map(words).collect::<Vec<_>>(), false)
    }

    #[test]
    fn functions_are_quiet_where_all_that_they_call_is() {
        for text in [
            "__device__ float twice(float x) { return 2 * x; }",
            "__device__ float near(const float* p) { if (p[0] > 1) return fmaxf(sqrtf(p[0]), __ldg(p)); return inner(p); } __device__ float inner(const float* p) { return *p; }",
            "struct V { float x; __device__ V(float x) : x(x) {} __device__ V operator+(const V& o) const { return V(x + o.x); } }; __device__ float near(V v) { return (v + v).x; }",
            "__attribute__((device)) inline float3 operator*(float a, const float3& b) { return make_float3(a * b.x, a * b.y, a * b.z); } __device__ float near() { return 0; }",
            "struct V { float x; __device__ V(float x) : x(x) {} }; __device__ float near(float a) { V sum(a); return sum.x; }",
            "template <class T> __device__ T near(T x) { asm(\"mov.b32 %0, %0;\" : \"+r\"(x)); return static_cast<T>(x); }",
        ] {
            let found = &of(&[text])[0];
            assert!(!found.has_loud_operators, "{text}");
            assert!(found.quiet.contains("near") || found.quiet.contains("twice"), "{text} {found:?}");
        }
        for text in [
            "__device__ float near(float x) { __syncthreads(); return 2 * x; }",
            "__device__ float near(float x) { return inner(x); } __device__ float inner(float x) { return last(x); } __device__ float last(float x) { __trap(); return x; }",
            "__device__ float near(float x) { return elsewhere(x); }",
            "__device__ float near(float x) { asm volatile(\"exit;\"); return x; }",
            "struct V { float x; __device__ V(float x) : x(x) { if (x > 2) __trap(); } }; __device__ float near(V v) { return V(3).x; }",
            "struct V { float x; __device__ V(float x) : x(x) { __trap(); } }; __device__ float near(float a) { V sum(a); return sum.x; }",
            "__device__ float near(float x) { return 1; } __device__ float near(int x) { return __shfl_sync(~0u, x, 0); }",
            "__device__ float near(float x) { return 1; } }",
            "__device__ float stop(float x) { __trap(); return x; } __device__ float near(float a, float b = stop(2)) { return a + b; }",
            "__device__ float near(float a, float b = stop(2)); __device__ float stop(float x) { __trap(); return x; } __device__ float near(float a, float b) { return a + b; }",
            "template <int N> __device__ float near(float x) { return x; } template <> __device__ float near<3>(float x) { __trap(); return x; }",
            "__device__ auto near(float x) -> decltype(float{}) { __trap(); return x; }",
            "__device__ float near(float x) { asm(\"ex\" \"it;\"); return x; }",
            "__device__ float near(float x) { __assertfail(0, 0, 0, 0, 0); return x; }",
            "__device__ float near(float x) { return other::far<float>(x); }",
            "__device__ float half(float x) { return 1; } template <class F> __device__ float near(F half) { return half(1); }",
            "__device__ float half(float x) { return 1; } __device__ float near(float x) { auto half = table[0]; return half(x); }",
        ] {
            assert!(!of(&[text])[0].quiet.contains("near"), "{text}");
        }
        // In another file, which may define others of the name.
        assert!(
            of(&["__device__ int near() { return far(); }", "__device__ int far() { return 1; }"])[0]
                .quiet
                .contains("near")
        );
        assert!(
            !of(&["__device__ int near() { return far(); }", "__device__ int far() { __trap(); }"])[0]
                .quiet
                .contains("near")
        );
        assert!(
            !of(&["__device__ int near() { return 1; }", "__device__ int near(int n) { assert(n); }"])[0]
                .quiet
                .contains("near")
        );
    }

    #[test]
    fn files_within_functions_and_classes() {
        for text in
            ["float f() {\n#include \"body.inc\"\n}", "namespace a { struct S {\n#include \"members.inc\"\n}; }"]
        {
            assert!(includes_within(text), "{text}");
        }
        for text in [
            "#include \"a.h\"\nfloat f() { return 1; }\n#include \"b.h\"",
            "namespace a::b {\n#include \"a.h\"\n}",
            "extern \"C\" {\n#include \"a.h\"\n}",
        ] {
            assert!(!includes_within(text), "{text}");
        }
    }

    #[test]
    fn operators_are_named() {
        let text = "bool operator<(A a, B b); int operator()(int i); T &operator[](int i); operator float() const; A operator->();\n\
                    void *operator new(size_t n); float operator\"\"_m(long double x);";
        let named: Vec<String> = operators_in(text).into_iter().collect();
        assert_eq!(named, ["()", "->", "<", "[]", CONVERSION]);
        assert_eq!(of(&[text])[0].operators.len(), 5);
    }

    #[test]
    fn what_is_called_without_a_call() {
        for (text, expected) in [
            ("struct V { __device__ V() { __trap(); } };", true),
            ("struct V { int* p; __device__ V(int n) : p(find(n)) {} };", true),
            ("struct V { __device__ ~V() noexcept { __syncwarp(); } };", true),
            ("struct V { __device__ operator int() const { if (n) __trap(); return n; } int n; };", true),
            ("struct V { __device__ int operator()(int i) const { assert(i); return i; } };", true),
            ("template <class T> __device__ T operator+(T a, T b) { return far(a, b); }", true),
            ("struct V; V::V(int n) __attribute__((noinline)) { __trap(); }", true),
            ("struct V { constexpr V(int n) : n(n) { if (n > 2) __trap(); } int n; };", true),
            ("struct V { int n = count(); };", true),
            ("struct V { int n{count()}; };", true),
            (
                "struct V { int n = 3; float f{2}; V() = default; __device__ bool operator==(const V& o) const { return n == o.n; } };",
                false,
            ),
            ("struct V { V(int* p) : n{find(p)}, m{1, 2}, k(3) { n = 2; } int n, m[2], k; };", false),
            // Host code alone.
            ("struct V { V(int n) : n(find(n)) {} private: V() { throw 1; } int n; };", false),
            ("struct V { int n; int size() const { __trap(); return n; } };", false),
            (
                "struct V { __device__ V(int n) : n{n}, m(n * 2) { m = max(n, m); } int n, m; }; enum E { A = 1 };",
                false,
            ),
            ("struct alignas(16) V : Base<int> { __device__ V(const V& o) : Base<int>{o}, n(o.n) {} int n; };", false),
        ] {
            assert_eq!(of(&[text])[0].has_loud_operators, expected, "{text}");
        }
        assert!(of(&["struct V { __device__ V(int n); };", "V::V(int n) { __trap(); }"])[1].has_loud_operators);
    }

    #[test]
    fn classes_that_may_hold_an_argument() {
        for (text, expected) in [
            ("struct View { const bool& one; };", true),
            ("struct View { const bool* one; View(const bool& value) : one(&value) {} };", true),
            (
                "class View { public: void operator=(const bool& value) { one = &value; } private: const bool* one; };",
                true,
            ),
            ("struct Sum {}; __device__ Sum& operator<<(Sum& sum, int& value);", true),
            ("struct Sum {}; template <typename T> Sum& operator<<(Sum& sum, T&& value) { return sum; }", true),
            ("struct Call { void (*run)(int); Call(const int& one); };", true),
            ("struct Part { struct { int& one; } in; };", true),
            ("struct Text { const char* first; Text(const Text& other); };", false),
            ("struct Node { int key; Node* next; int first(int at) const; };", false),
            (
                "struct Vec { float x; Vec& operator+=(const Vec& other) { x += other.x; return *this; } float& at(int i); };",
                false,
            ),
            (
                "__device__ float3 operator+(const float3& a, const float3& b); void operator+=(float3& a, float3 b) {}",
                false,
            ),
            ("template <class T> struct Row { T v[4]; T& operator[](int i) { return v[i]; } };", false),
        ] {
            assert_eq!(of(&[text])[0].may_keep_references, expected, "{text}");
        }
    }
}
