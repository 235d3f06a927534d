//! Maps parameters used in an inlined function to the arguments at the call site.

use std::borrow::Cow;
use std::ops::Range;

use cuda_syntax::SyntaxTrees;
use cuda_syntax::tree::{CallSyntax, Mention};
use lmem_base::mangling::demangle;

use super::macro_uses::{self, Declared};

use crate::place::Place;

/// A value that the caller passes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Handed {
    /// As the parameter with this name.
    Parameter(String),
    /// As the object of a method.
    Object,
}

/// A part of a statement, with the indices of the uses in the inlined code that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPart {
    pub range: Range<usize>,
    pub uses: Vec<usize>,
    /// Where a macro hides the call, so that its range is all that the text has: the variables that are passed.
    pub variables: Option<Declared>,
}

impl CallPart {
    /// Whether it may hand on what a use of a variable is.
    pub fn holds(&self, mention: &Mention) -> bool {
        let is_in = |outer: &Range<usize>, inner: &Range<usize>| outer.start <= inner.start && inner.end <= outer.end;
        (is_in(&self.range, &mention.range) || is_in(&mention.range, &self.range))
            && self.variables.as_ref().is_none_or(|all| all.contains(&mention.declaration.range))
    }
}

/// The parts of a statement that calls a function.
pub struct CalledParts {
    pub parts: Vec<CallPart>,
    /// Whether the function is an `operator[]`.
    pub is_brackets: bool,
}

/// The parts of a statement whose memory the inlined code may access: the arguments of the parameters in use, or the
/// object of a method. `None` if the call is not found, or nothing was inlined.
pub fn parts_of_calls(
    place: &Place,
    trees: &SyntaxTrees<'_>,
    inner: Option<&Place>,
    handed: &[(Handed, usize)],
) -> Option<CalledParts> {
    let called = trees.calls_at(place.tree, place.offset, place.callee.as_ref()?);
    let base = called.base.as_str();
    // Parameter names are known only if the callee is in the user's files and is the function called here.
    let inner = inner.filter(|inner| inner.function == place.callee);
    let parameters = inner.and_then(|inner| inner.tree(trees).parameters_around(inner.offset));
    if called.calls.is_empty() {
        return hidden_parts(place, trees, parameters.as_deref(), handed);
    }
    let is_brackets = base == "operator[]";
    let has_object = parameters.is_some() || is_brackets;
    let known = handed.first();
    let object = [(Handed::Object, 0)];
    let all = if handed.is_empty() { &object } else { handed };
    let mut parts: Vec<CallPart> = Vec::new();
    for call in &called.calls {
        let call = as_called(call, base, parameters.as_deref());
        // A method that another one calls without an object has that one's own object, which no argument names.
        let has_own_object = parameters.is_some() && call.object.is_none() && !base.starts_with("operator");
        let parts_of = |(handed, number): &(Handed, usize)| {
            if has_own_object && *handed == Handed::Object && known.is_some() {
                return Vec::new();
            }
            let mut ranges = match (handed, &parameters) {
                (Handed::Parameter(name), Some(names)) => arguments(&call, names, name),
                _ => Vec::new(),
            };
            if ranges.is_empty() {
                let object = call.object.clone().filter(|_| has_object);
                ranges.push(object.unwrap_or_else(|| call.range.clone()));
            }
            ranges.into_iter().map(|range| CallPart { range, uses: vec![*number], variables: None }).collect()
        };
        parts.extend(all.iter().flat_map(parts_of));
    }
    Some(CalledParts { parts: join(parts), is_brackets })
}

/// The arguments for a parameter: all that are left for a pack, which is the last. Which element of it a use is, the text does not say.
fn arguments(call: &CallSyntax, parameters: &[String], name: &str) -> Vec<Range<usize>> {
    let Some(number) = parameters.iter().position(|known| known == name) else { return Vec::new() };
    let is_pack = number + 1 == parameters.len() && call.arguments.len() > parameters.len();
    let count = if is_pack { usize::MAX } else { 1 };
    call.arguments.iter().skip(number).take(count).cloned().collect()
}

/// The same for calls that macros hide. Only variables that are arguments are told: a method's object is not.
fn hidden_parts(
    place: &Place,
    trees: &SyntaxTrees<'_>,
    parameters: Option<&[String]>,
    handed: &[(Handed, usize)],
) -> Option<CalledParts> {
    let parameters = parameters?;
    let callee = demangle(place.callee.as_deref()?);
    let tree = place.tree(trees);
    let mut parts: Vec<CallPart> = Vec::new();
    for expanded in tree.regions(place.offset).into_iter().flat_map(|region| tree.expanded(region).to_vec()) {
        for call in expanded.calls_of(&callee).iter().filter(|call| call.arguments.len() == parameters.len()) {
            parts.extend(handed.iter().filter_map(|(handed, number)| {
                let Handed::Parameter(name) = handed else { return None };
                let argument = call.arguments.get(parameters.iter().position(|known| known == name)?)?;
                let variables = macro_uses::declared(&expanded.names_in(argument), place, trees, &expanded);
                Some(CallPart { range: expanded.range.clone(), uses: vec![*number], variables: Some(variables) })
            }));
        }
    }
    (!parts.is_empty()).then(|| CalledParts { parts: join(parts), is_brackets: false })
}

/// For an operator that is not a method, the first operand is an argument.
fn as_called<'c>(call: &'c CallSyntax, base: &str, parameters: Option<&[String]>) -> Cow<'c, CallSyntax> {
    let is_operator = base.starts_with("operator") && !matches!(base, "operator[]" | "operator()");
    match (&call.object, parameters) {
        (Some(object), Some(parameters)) if is_operator && parameters.len() == call.arguments.len() + 1 => {
            let arguments = std::iter::once(object.clone()).chain(call.arguments.iter().cloned()).collect();
            Cow::Owned(CallSyntax { range: call.range.clone(), object: None, arguments })
        }
        _ => Cow::Borrowed(call),
    }
}

fn join(parts: Vec<CallPart>) -> Vec<CallPart> {
    let mut joined: Vec<CallPart> = Vec::new();
    for part in parts {
        match joined.iter_mut().find(|known| known.range == part.range && known.variables == part.variables) {
            Some(known) => known.uses.extend(part.uses),
            None => joined.push(part),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Level, Scene, at};
    use super::*;

    /// The texts of the parts for some passed values.
    fn parts(text: &str, function: &str, inside: &str, handed: &[Handed]) -> Option<Vec<String>> {
        let handed: Vec<(Handed, usize)> = handed.iter().cloned().zip(0..).collect();
        Scene::new(text).ask(|it| {
            let levels = [
                Level { at: inside, function: Some(function), callee: None },
                Level { callee: Some(function), ..at("out[0] =") },
            ];
            let places = it.places(&levels);
            let found = parts_of_calls(places.get(1).unwrap(), it.trees, places.first(), &handed)?;
            Some(found.parts.into_iter().map(|part| text[part.range].to_string()).collect())
        })
    }

    fn parameter(name: &str) -> Handed {
        Handed::Parameter(name.to_string())
    }

    #[test]
    fn parameters_are_mapped_by_their_number() {
        let text = "__device__ float mix(const float *x, const float *y, int i) { return x[i] + y[i]; }\n\
                    __global__ void k(float *out, int n) {\n  float a[8], b[8];\n  out[0] = mix(a, b + 1, n);\n}\n";
        let of = |handed: &[Handed]| parts(text, "_Z3mixPKfS0_i", "return x", handed);
        assert_eq!(of(&[parameter("x")]), Some(vec!["a".into()]));
        assert_eq!(of(&[parameter("x"), parameter("y")]), Some(vec!["a".into(), "b + 1".into()]));
        // A name that is not a parameter gives the whole call.
        assert_eq!(of(&[parameter("z")]), Some(vec!["mix(a, b + 1, n)".into()]));
    }

    #[test]
    fn a_pack_stands_for_all_arguments_that_are_left() {
        let text = "template <class... A> __device__ void fill(int i, A &...to) { (to.put(i), ...); }\n\
                    __global__ void k(float *out, int n) {\n  Ring a, b;\n  out[0] = n; fill(n, a, b);\n}\n";
        let of = |name: &str| parts(text, "_Z4fillIJ4RingS0_EEviDpRT_", "to.put", &[parameter(name)]);
        assert_eq!((of("to"), of("i")), (Some(vec!["a".into(), "b".into()]), Some(vec!["n".into()])));
    }

    #[test]
    fn a_method_is_handed_its_object() {
        let text = "struct Ring { float slot[8]; __device__ float at(int i) { return slot[i]; } };\n\
                    __global__ void k(float *out, int n) {\n  Ring ring;\n  out[0] = ring.at(n);\n}\n";
        assert_eq!(parts(text, "_ZN4Ring2atEi", "return slot", &[Handed::Object]), Some(vec!["ring".into()]));
    }

    #[test]
    fn two_calls_in_a_statement_give_both() {
        let text = "__device__ float pick(const float *x, int i) { return x[i]; }\n\
                    __global__ void k(float *out, int n) {\n  float a[8], b[8];\n  out[0] = pick(a, n) + pick(b, n);\n}\n";
        let found = parts(text, "_Z4pickPKfi", "return x", &[parameter("x")]);
        assert_eq!(found, Some(vec!["a".into(), "b".into()]));
    }

    #[test]
    fn no_call_no_parts() {
        let text = "__device__ float pick(const float *x, int i) { return x[i]; }\n\
                    __global__ void k(float *out, int n) {\n  float a[8];\n  out[0] = a[n];\n}\n";
        assert_eq!(parts(text, "_Z4pickPKfi", "return x", &[parameter("x")]), None);
    }
}
