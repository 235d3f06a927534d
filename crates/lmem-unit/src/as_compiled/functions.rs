//! The functions of files and what they call, read from tokens alone.

use std::collections::{HashMap, HashSet};

use super::bracketed::{Bracketed, is_name};
use super::declared::BEFORE_USES;
use super::expansion::{MATH, VALUES};
use super::meeting::{has_meeting_instruction, is_ending, is_meeting, is_returning};

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

/// Words between a parameter list and a body.
const QUALIFIERS: [&str; 11] =
    ["const", "volatile", "noexcept", "override", "final", "&", "&&", "mutable", "throw", "__attribute__", "try"];

/// A function that may run on the device.
pub(super) struct Function<'t> {
    pub(super) name: &'t str,
    pub(super) is_operator: bool,
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

/// The names of which a definition may end a thread, or meet others, by itself or through what it names. `is_open`: there
/// may be others than these functions.
pub(super) fn loud_names<'f, 't: 'f>(
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
pub(super) fn is_vector(name: &str) -> bool {
    let number = name.strip_suffix(['1', '2', '3', '4']).unwrap_or("");
    let number = number.strip_prefix('u').unwrap_or(number);
    matches!(number, "char" | "short" | "int" | "long" | "longlong" | "float" | "double") || name == "dim3"
}

impl<'t> Bracketed<'t> {
    /// All functions with a body.
    pub(super) fn functions(&self, classes: &HashSet<&str>) -> Vec<Function<'t>> {
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
            let is_declared = is_name(before) && !BEFORE_USES.contains(&before);
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
    pub(super) fn operands(&self, start: usize) -> Option<usize> {
        let first = start + 1;
        if self.token(first) == "(" && self.partners[first] == first + 1 {
            return Some(first + 2);
        }
        (first..first + 12).find(|at| self.token(*at) == "(")
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
}
