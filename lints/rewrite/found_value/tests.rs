use super::*;
use cuda_syntax::identifiers::occurrences;
use lmem_base::edit::apply;
use lmem_unit::Beside;

/// The body with the values of `a` beside an index, on one line.
fn kept(index: &str, body: &str) -> Option<String> {
    let head = "__device__ int pick(const float* p);\n__global__ void k(const float* in, float* out, int n) {\n    ";
    let text = format!("{head}{body}\n}}\n");
    let tree = Rc::new(SyntaxTree::example("a.cu", &text));
    let offset = head.len() + occurrences(body, "a").next()?;
    let kept = Array::at(&tree, offset)?.kept(index)?;
    let edited = apply(&text, &kept.edits.iter().collect::<Vec<_>>())?;
    let lines: Vec<&str> = edited.strip_prefix(head.trim_end())?.lines().map(str::trim).collect();
    Some(lines.join(" ").trim().trim_end_matches('}').trim().to_string())
}

#[test]
fn the_value_stands_beside_the_index() {
    for (body, expected) in [
        (
            "float a[8]; int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
            "float a[8]; float a_at_best = a[0]; for (int i = 1; i < 8; ++i) if (a[i] > a_at_best) a_at_best = a[i]; \
             out[0] = a_at_best;",
        ),
        (
            "float a[8]; int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[best] = a[best];",
            "float a[8]; int best = 0; float a_at_best = a[0]; for (int i = 1; i < 8; ++i) if (a[i] > a_at_best) \
             { best = i; a_at_best = a[i]; } out[best] = a_at_best;",
        ),
        // In each round anew, and written behind the last read.
        (
            "float a[8]; for (int k = 0; k < n; ++k) { int best = 0; for (int i = 1; i < 8; ++i) { if (a[i] > a[best]) { best = i; } } \
             out[k] = a[best] / 2; a[best] = -1.f; }",
            "float a[8]; for (int k = 0; k < n; ++k) { int best = 0; float a_at_best = a[0]; for (int i = 1; i < 8; ++i) \
             { if (a[i] > a_at_best) { best = i; a_at_best = a[i]; } } out[k] = a_at_best / 2; a[best] = -1.f; }",
        ),
        // Selection sort, up to a run-time end.
        (
            "float a[8]; for (int i = 0; i < n; ++i) { int best = i; for (int j = i + 1; j < n; ++j) if (a[j] < a[best]) best = j; \
             float t = a[i]; a[i] = a[best]; a[best] = t; }",
            "float a[8]; for (int i = 0; i < n; ++i) { int best = i; float a_at_best = a[i]; for (int j = i + 1; j < n; ++j) \
             if (a[j] < a_at_best) { best = j; a_at_best = a[j]; } float t = a[i]; a[i] = a_at_best; a[best] = t; }",
        ),
        // A number that stands for none.
        (
            "float a[8]; int u = -1; for (int v = 0; v < n; ++v) if (u < 0 || a[v] < a[u]) u = v; if (u >= 0) out[0] = a[u];",
            "",
        ),
        (
            "float a[8]; int u = -1; for (int v = 0; v < 8; ++v) if (u < 0 || a[v] < a[u]) u = v; if (u >= 0) out[0] = a[u];",
            "float a[8]; int u = -1; float a_at_u = 0; for (int v = 0; v < 8; ++v) if (u < 0 || a[v] < a_at_u) \
             { u = v; a_at_u = a[v]; } if (u >= 0) out[0] = a_at_u;",
        ),
        // The index is set behind the write that comes before.
        (
            "float a[4]; int worst = 0; for (int k = 0; k < n; ++k) { if (in[k] < a[worst]) continue; a[worst] = in[k]; worst = 0; \
             for (int i = 1; i < 4; ++i) if (a[i] < a[worst]) worst = i; }",
            "float a[4]; int worst = 0; float a_at_worst = a[0]; for (int k = 0; k < n; ++k) { if (in[k] < a_at_worst) continue; \
             a[worst] = in[k]; worst = 0; a_at_worst = a[0]; for (int i = 1; i < 4; ++i) if (a[i] < a_at_worst) \
             { worst = i; a_at_worst = a[i]; } }",
        ),
    ] {
        let index = ["best", "worst", "u"].into_iter().find(|it| body.contains(&format!("int {it} = "))).unwrap();
        let expected = Some(expected.to_string()).filter(|text| !text.is_empty());
        assert_eq!(kept(index, body), expected, "{body}");
    }
}

/// The same with `a` as an array of eight objects.
fn kept_object(classes: &str, body: &str) -> Option<String> {
    let head = format!(
        "struct Hit {{ float d; int id; int at[2]; __device__ float far() const {{ return d; }} }}; {classes}\n\
        __device__ void take(Hit h); __device__ void see(const Hit& h);\n\
        __global__ void k(const Hit* in, Hit* out, float* f, int n) {{\n    "
    );
    let text = format!("{head}{body}\n}}\n");
    let beside = Beside { is_known: true, ..Beside::default() };
    let tree = Rc::new(SyntaxTree::example("a.cu", &text).with_beside(beside));
    let offset = head.len() + occurrences(body, "a").next()?;
    let kept = Array::at(&tree, offset)?.kept("best")?;
    let edited = apply(&text, &kept.edits.iter().collect::<Vec<_>>())?;
    let lines: Vec<&str> = edited.strip_prefix(head.trim_end())?.lines().map(str::trim).collect();
    Some(lines.join(" ").trim().trim_end_matches('}').trim().to_string())
}

const SEARCH: &str = "int best = 0; for (int i = 1; i < 8; ++i) if (a[i].d > a[best].d) best = i;";

#[test]
fn an_object_stands_beside_the_index() {
    let found = "int best = 0; Hit a_at_best = a[0]; for (int i = 1; i < 8; ++i) if (a[i].d > a_at_best.d) \
        { best = i; a_at_best = a[i]; }";
    let in_place = "Hit a_at_best = a[0]; for (int i = 1; i < 8; ++i) if (a[i].d > a_at_best.d) a_at_best = a[i];";
    for (rest, expected) in [
        ("out[n] = a[best];", "out[n] = a_at_best;"),
        ("Hit h = a[best];", "Hit h = a_at_best;"),
        ("auto h = a[best];", "auto h = a_at_best;"),
        ("f[n] = a[best].d + a[best].id;", "f[n] = a_at_best.d + a_at_best.id;"),
        ("int id = a[best].id; a[best].d = 0;", "int id = a_at_best.id; a[best].d = 0;"),
        ("a[best].id = a[best].id + 1;", "a[best].id = a_at_best.id + 1;"),
        ("a[0] = a[best]; a[best] = in[n];", "a[0] = a_at_best; a[best] = in[n];"),
    ] {
        let kept = kept_object("", &format!("Hit a[8]; {SEARCH} {rest}"));
        let found = if expected.contains("best]") { found } else { in_place };
        assert_eq!(kept, Some(format!("Hit a[8]; {found} {expected}")), "{rest}");
    }
}

#[test]
fn an_object_that_may_be_another_is_read_again() {
    for rest in [
        "a[n & 7].id = 3; f[n] = a[best].d;",
        "a[n & 7].at[1] = 3; f[n] = a[best].d;",
        "a[n & 7].at[1]++; f[n] = a[best].d;",
        "f[n] = a[best].far();",
        "f[n] = a[best].at[n];",
        "f[n] = *a[best].at;",
        "f[n] = *(a[best].at + 1);",
        "const int* p = a[best].at; f[n] = p[0];",
        "see(a[best]);",
        "Hit& h = a[best]; h.d = 1;",
        "const Hit& h = a[best]; a[0].d = 1; f[n] = h.d;",
        "const auto& h = a[best]; a[0].d = 1; f[n] = h.d;",
        "float& h = a[best].d; h = 1;",
        "float* h = &a[best].d; *h = 1;",
        "f[n] = (a[best].d = 2);",
        "f[n] = (a[best] = in[0]).d;",
        "auto [d, id, at] = a[best];",
        "auto& [d, id, at] = a[best]; d = 1;",
        "Hit* p = a; f[n] = p->d;",
        "f[n] = sizeof(a[best]);",
        "(a[best]).d = 3;",
        "best = -1; if (best >= 0) f[n] = a[best].d;",
    ] {
        assert_eq!(kept_object("", &format!("Hit a[8]; {SEARCH} {rest}")), None, "{rest}");
    }
    for (classes, body) in [
        ("struct View { const Hit& one; View(const Hit& h) : one(h) {} };", "View v = a[best]; f[n] = v.one.d;"),
        ("struct View { const Hit* one; View& operator=(const Hit& h); };", "View v; v = a[best]; f[n] = v.one->d;"),
        ("struct View { const Hit* one; View& operator=(const Hit& h); };", "f[n] = a[best].d;"),
        ("__device__ float operator+(const Hit& h, float d);", "f[n] = a[best] + 1.f;"),
        ("__device__ float operator+(const Hit& h, float d);", "out[n] = a[best];"),
    ] {
        let is_copy = body == "f[n] = a[best].d;";
        assert_eq!(kept_object(classes, &format!("Hit a[8]; {SEARCH} {body}")).is_some(), is_copy, "{body}");
    }
    for class in [
        "struct One { float d; __device__ One() {} __device__ One(const One& o) : d(o.d + 1) {} };",
        "struct One { float d; __device__ One& operator=(float other) { d = other; return *this; } };",
        "struct One { float d; __device__ ~One() {} };",
        "struct One { volatile float d; };",
        "struct One { float& d; };",
        "typedef volatile float Cell; struct One { Cell d; };",
        "struct One;",
    ] {
        assert_eq!(kept_object(class, &format!("One a[8]; {SEARCH} f[n] = a[best].d;")), None, "{class}");
    }
}

#[test]
fn numbers_may_have_another_name() {
    let search = "int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; f[n] = a[best];";
    for (alias, is_number) in [
        ("using Real = float;", true),
        ("typedef float Real;", true),
        ("using Real = volatile float;", false),
        ("typedef float Real[2];", false),
        ("using Real = float*;", false),
        ("using Real = float&;", false),
    ] {
        let kept = kept_object(alias, &format!("Real a[8]; {search}"));
        assert_eq!(kept.is_some(), is_number, "{alias} {kept:?}");
    }
}

#[test]
fn the_size_may_be_a_parameter_of_the_template() {
    let kept = |start: &str, body: &str| {
        let head = "template <int N, int M> __global__ void k(const float* in, float* out, int n) {\n    float a[N]; ";
        let text = format!("{head}int best = {start}; {body} out[0] = a[best];\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        Array::at(&tree, head.find("a[N]").unwrap()).and_then(|array| array.kept("best")).is_some()
    };
    let loop_to = |end: &str| format!("for (int i = 0; i {end}; ++i) if (in[i] > 0) best = i;");
    assert!(kept("0", &loop_to("< N")));
    for (start, body) in [
        ("0", loop_to("< M")),
        ("0", loop_to("<= N")),
        ("0", loop_to("< N + 1")),
        ("0", loop_to("< 4")),
        ("0", format!("const int N = 9; {}", loop_to("< N"))),
        ("1", loop_to("< N")),
    ] {
        assert!(!kept(start, &body), "{start}, {body}");
    }
    // What is compared in any case is there.
    assert!(kept("0", "for (int i = 1; i < n; ++i) if (a[i] > a[best]) best = i;"));
}

#[test]
fn a_value_that_may_be_another_is_read_again() {
    let search = "float a[8]; int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i;";
    for rest in [
        // Elements that are written before the read, also in the round before.
        "a[0] = 1; out[0] = a[best];",
        "for (int k = 0; k < n; ++k) { out[k] = a[best]; a[k] = 2; }",
        "for (int k = 0; k < n; ++k) { if (in[k] > 0) a[best] = 1; out[k] = a[best]; }",
        "while (n--) { out[n] = a[best]; if (in[n] > 0) break; a[n & 7] = 1; }",
        "do { a[n & 7] = 1; } while (a[best] > 0);",
        "for (int k = 0; k < 8; ++k) a[k] += a[best];",
        // The index is changed in other ways, or to what no element is known for.
        "++best; out[0] = a[best];",
        "best = n; out[0] = a[best];",
        "best = 9; out[0] = a[best];",
        "int& r = best; r = 2; out[0] = a[best];",
        "if ((best = 3) > n) out[0] = a[best];",
        // The array is used as a whole, or by reference.
        "best = pick(a); out[0] = a[best];",
        "float& r = a[best]; r = 2; out[0] = a[best];",
        "out[0] = a[best]++;",
        "auto f = [&] { a[0] = 1; }; f(); out[0] = a[best];",
        "switch (n) { case 1: a[0] = 2; case 2: out[0] = a[best]; }",
        "again: out[0] = a[best]; a[0] = 1; if (n--) goto again;",
        "{ int best = n; out[0] = a[best]; }",
    ] {
        assert_eq!(kept("best", &format!("{search} {rest}")), None, "{rest}");
    }
    for body in [
        "int best = 0; float a[8]; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
        "float a[8]; static int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
        "volatile float a[8]; int best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
        "float a[8]; unsigned char best = 0; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[0] = a[best];",
        "float a[8]; int best = 0, c = 1; for (int i = 1; i < 8; ++i) if (a[i] > a[best]) best = i; out[c] = a[best];",
    ] {
        assert_eq!(kept("best", body), None, "{body}");
    }
}
