//! What the functions and classes of a unit's files may do, read from their tokens alone: too much rather than too little.
//!
//! An edit in one file may meet operators, constructors and functions of another, whose syntax tree nobody asks for.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::aliases::{Hides, aliases_of};
use super::align::directive_name;
use super::bracketed::{Bracketed, is_name};
use super::functions::{Function, loud_names};
use super::tokens::{TokenKind, each};

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
    /// Its names of types that may be references.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub references: BTreeSet<String>,
    /// Its names of types that are `volatile`, or point to what is.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub volatiles: BTreeSet<String>,
}

impl Behaviour {
    /// Of several files.
    pub(super) fn and(mut self, other: &Self) -> Self {
        self.quiet.extend(other.quiet.iter().cloned());
        self.operators.extend(other.operators.iter().cloned());
        self.has_loud_operators |= other.has_loud_operators;
        self.may_keep_references |= other.may_keep_references;
        self.references.extend(other.references.iter().cloned());
        self.volatiles.extend(other.volatiles.iter().cloned());
        self
    }
}

/// What each of a unit's files may do. A function is known by its name alone.
/// `is_open`: what an `#include` within a function brings is in none of these.
pub fn behaviour(files: &[Vec<Cow<'_, str>>], is_open: bool) -> Vec<Behaviour> {
    let read: Vec<Option<Bracketed<'_>>> = files.iter().map(|tokens| Bracketed::of(tokens)).collect();
    let classes: HashSet<&str> = read.iter().flatten().flat_map(Bracketed::classes).map(|(name, _)| name).collect();
    let functions: Vec<Vec<Function<'_>>> =
        read.iter().map(|file| file.as_ref().map_or_else(Vec::new, |file| file.functions(&classes))).collect();
    let loud = loud_names(functions.iter().flatten(), is_open || read.iter().any(Option::is_none));
    let mut references = aliases_of(files, Hides::Reference).into_iter();
    let mut volatiles = aliases_of(files, Hides::Volatile).into_iter();
    let of_file = |(file, functions): (&Option<Bracketed<'_>>, &Vec<Function<'_>>)| {
        let is_unseen = |it: &Function<'_>| it.is_operator || classes.contains(it.name);
        let (quiet, meeting): (Vec<&Function<'_>>, Vec<_>) = functions.iter().partition(|it| !loud.contains(it.name));
        Behaviour {
            quiet: quiet.into_iter().map(|it| it.name.to_string()).collect(),
            operators: file.as_ref().map_or_else(|| [CONVERSION.to_string()].into(), Bracketed::operators),
            has_loud_operators: is_open
                || file.as_ref().is_none_or(Bracketed::computes_members)
                || meeting.into_iter().any(is_unseen),
            may_keep_references: file.as_ref().is_none_or(|file| file.may_keep_references(&classes)),
            references: references.next().unwrap_or_default(),
            volatiles: volatiles.next().unwrap_or_default(),
        }
    };
    read.iter().zip(&functions).map(of_file).collect()
}

impl Bracketed<'_> {
    /// The operators that are declared.
    fn operators(&self) -> BTreeSet<String> {
        let starts = (0..self.tokens.len()).filter(|at| self.token(*at) == "operator");
        starts.filter_map(|start| operator_of((start + 1..start + 4).map(|at| self.token(at)))).collect()
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
