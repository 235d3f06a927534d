//! Which loops get an extent and a guard, and which do not.

use std::rc::Rc;

use super::*;
use lmem_base::edit::apply;

#[test]
fn constants_are_folded() {
    for (extent, expected) in [
        ("12", "11"),
        ("MAX_DEGREE + 1", "MAX_DEGREE"),
        ("2 * (N - 1)+1", "2 * (N - 1)"),
        ("N + 11", "N + 11 - 1"),
        ("N * +1", "N * +1 - 1"),
        ("N - 1", "N - 1 - 1"),
    ] {
        assert_eq!(last_below(extent), expected, "{extent}");
    }
}

fn guard(body: &str) -> Option<String> {
    guard_of(body, "a").or_else(|| guard_of(body, "b"))
}

fn guard_of(body: &str, array: &str) -> Option<String> {
    let text = format!(
        "struct S {{ float x, part[2]; }};\n__device__ int load(int* p) {{ return *p; }}\n__device__ int checked(int i) {{ if (i > 8) __trap(); return i; }}\n__device__ float first(const float& x) {{ return 1; }}\ntemplate <int W> __global__ void k(float* in, const int n, P p, int* q) {{\n  float a[W], b[4][8]; S s[W];\n  {body}\n}}\n"
    );
    let tree = Rc::new(SyntaxTree::example("a.cu", &text));
    let found = super::super::for_loop::for_loops(&tree, text.find("HERE").expect("the text has a mark"));
    let guard = found.first()?.guarded(&WantedArray::new(array, &[]))?;
    let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
    let lines: Vec<&str> = edited.lines().skip(6).map(str::trim).collect();
    Some(lines[..lines.len() - 1].join(" "))
}

#[test]
fn loops_run_to_the_extent_with_a_guard() {
    for (body, expected) in [
        (
            "for (int i = 0; i < n; ++i) { a[i] = in[i]; HERE; }",
            "#pragma unroll for (int i = 0; i < W; ++i) if (i < n) { a[i] = in[i]; HERE; }",
        ),
        (
            "for (int i = 0; i <= p.n - 1; i += 2) in[i] = b[2][i] + HERE;",
            "#pragma unroll for (int i = 0; i < 8; i += 2) if (i <= p.n - 1) in[i] = b[2][i] + HERE;",
        ),
        // Below an `if` and an `else`, behind which no other `else` follows.
        (
            "if (n) for (int i = 0; i < n; i++) { a[i] = HERE; }",
            "if (n) #pragma unroll for (int i = 0; i < W; i++) if (i < n) { a[i] = HERE; }",
        ),
        (
            "if (n) in[0] = 1; else for (int i = 0; i < n; i++) { a[i] = HERE; }",
            "if (n) in[0] = 1; else #pragma unroll for (int i = 0; i < W; i++) if (i < n) { a[i] = HERE; }",
        ),
        // An `else` stays that of its `if`.
        (
            "for (int i = 0; i < n; i++) if (q[i]) a[i] = 1; else a[i] = HERE;",
            "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (q[i]) a[i] = 1; else a[i] = HERE; }",
        ),
        // What has an effect accesses the element.
        (
            "for (int i = 0; i < n; i++) { if (in[i] > 0 && a[i] > 0) q[0] = HERE; }",
            "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (in[i] > 0 && a[i] > 0) q[0] = HERE; }",
        ),
        (
            "for (int i = 0; i < n; i++) { float x = in[i]; x *= 2; if (x > 0) a[i] = HERE; else a[i] = x; }",
            "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { float x = in[i]; x *= 2; if (x > 0) a[i] = HERE; else a[i] = x; }",
        ),
        (
            "for (int i = 0; i < n; i++) { const float z = HERE; for (int j = 0; j < *q; ++j) b[i][j] = z; }",
            "#pragma unroll for (int i = 0; i < 4; i++) if (i < n) { const float z = HERE; for (int j = 0; j < *q; ++j) b[i][j] = z; }",
        ),
        (
            "for (int i = 0; i < n; i++) { for (int j = 0; j <= i; ++j) in[j] = b[i][j]; q[i] = HERE; }",
            "#pragma unroll for (int i = 0; i < 4; i++) if (i < n) { for (int j = 0; j <= i; ++j) in[j] = b[i][j]; q[i] = HERE; }",
        ),
        (
            "for (int i = 0; i < n; ++i) { a[i + 1] = 0; HERE; }",
            "#pragma unroll for (int i = 0; i < W; ++i) if (i < n) { a[i + 1] = 0; HERE; }",
        ),
        (
            "for (int i = 1; i < n; ++i) { in[i] = b[0][1] + b[i - 1][2]; HERE; }",
            "#pragma unroll for (int i = 1; i < 5; ++i) if (i < n) { in[i] = b[0][1] + b[i - 1][2]; HERE; }",
        ),
        (
            "for (int i = 0; i < n; i++) { if (HERE) break; a[i] = 0; }",
            "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (HERE) break; a[i] = 0; }",
        ),
        (
            "for (int i = 0; i < n; i++) { if (in[i] < 0) continue; in[i] += load(q) * a[i] + HERE; }",
            "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (in[i] < 0) continue; in[i] += load(q) * a[i] + HERE; }",
        ),
        (
            "for (int i = n - 1; i >= 0; --i) { if (in[i] > 0) continue; a[i] = HERE; }",
            "#pragma unroll for (int i = W - 1; i >= 0; --i) if (i <= n - 1) { if (in[i] > 0) continue; a[i] = HERE; }",
        ),
        (
            "for (int i = 0; i < n; i++) { if (i == HERE) in[0] = 1; float x = a[i] * 2; if (x > 0) { in[1] = x; break; } }",
            "#pragma unroll for (int i = 0; i < W; i++) if (i < n) { if (i == HERE) in[0] = 1; float x = a[i] * 2; if (x > 0) { in[1] = x; break; } }",
        ),
        (
            "for (size_t i = 0; i < n; i++) { a[i] = HERE; if (in[i]) break; }",
            "#pragma unroll for (size_t i = 0; i < W; i++) if (i < n) { a[i] = HERE; if (in[i]) break; }",
        ),
        (
            "for (int r = 1; r < n; ++r) for (int i = n; i >= r; --i) { a[i] = HERE; }",
            "for (int r = 1; r < n; ++r) #pragma unroll for (int i = W - 1; i >= r; --i) if (i <= n) { a[i] = HERE; }",
        ),
        (
            "for (int i = n - 1; i >= 0; --i) { a[i] = HERE; }",
            "#pragma unroll for (int i = W - 1; i >= 0; --i) if (i <= n - 1) { a[i] = HERE; }",
        ),
        (
            "for (int i = 0; threadIdx.x + i * 256 < n; ++i) { a[i] = HERE; }",
            "#pragma unroll for (int i = 0; i < W; ++i) if (threadIdx.x + i * 256 < n) { a[i] = HERE; }",
        ),
        (
            "const int tid = threadIdx.x;\n  for (int i = 0; (i * blockDim.x) + tid < n; ++i) a[i] = HERE;",
            "const int tid = threadIdx.x; #pragma unroll for (int i = 0; i < W; ++i) if ((i * blockDim.x) + tid < n) a[i] = HERE;",
        ),
        // Counters whose type holds all indices, and headers that declare more.
        (
            "for (signed char i = 0; i < n; ++i) { in[i] = b[i][1] + HERE; }",
            "#pragma unroll for (signed char i = 0; i < 4; ++i) if (i < n) { in[i] = b[i][1] + HERE; }",
        ),
        (
            "for (unsigned short i = 0; i < n; i += 2) { in[i] = b[2][i] + HERE; }",
            "#pragma unroll for (unsigned short i = 0; i < 8; i += 2) if (i < n) { in[i] = b[2][i] + HERE; }",
        ),
        (
            "for (int i = 0, e = n; i < e; ++i) { a[i] = HERE; }",
            "#pragma unroll for (int i = 0, e = n; i < W; ++i) if (i < e) { a[i] = HERE; }",
        ),
        (
            "for (int i = n & 3; i >= 0; --i) { a[i] = HERE; }",
            "#pragma unroll for (int i = W - 1; i >= 0; --i) if (i <= (n & 3)) { a[i] = HERE; }",
        ),
        // Rounds of several elements each.
        (
            "for (int g = 0; g < n; ++g) { const float z = HERE; for (int j = 0; j < 4; ++j) b[2][g * 4 + j] = z; }",
            "#pragma unroll for (int g = 0; g < 2; ++g) if (g < n) { const float z = HERE; for (int j = 0; j < 4; ++j) b[2][g * 4 + j] = z; }",
        ),
        (
            "for (int g = 0; g < n; ++g) { in[g] = b[2][3 * g + 1] + HERE; }",
            "#pragma unroll for (int g = 0; g < 3; ++g) if (g < n) { in[g] = b[2][3 * g + 1] + HERE; }",
        ),
        // Down from above.
        (
            "for (int i = n; i-- > 0;) { if (in[i] > 0) continue; a[i] = HERE; }",
            "#pragma unroll for (int i = W; i-- > 0;) if (i < n) { if (in[i] > 0) continue; a[i] = HERE; }",
        ),
        (
            "unsigned m = n;\n  for (unsigned i = m; i--;) { a[i] = HERE; }",
            "unsigned m = n; #pragma unroll for (unsigned i = W; i--;) if (i < m) { a[i] = HERE; }",
        ),
        (
            "int i = 0;\n  for (; i < n; i++) a[i] = HERE;",
            "int i = 0; #pragma unroll for (; i < W; i++) if (i < n) a[i] = HERE;",
        ),
        (
            "int i;\n  for (i = 0; i < n; ++i) a[i] = HERE; for (i = 0; i < 4; ++i) in[i] = 0;",
            "int i; #pragma unroll for (i = 0; i < W; ++i) if (i < n) a[i] = HERE; for (i = 0; i < 4; ++i) in[i] = 0;",
        ),
    ] {
        assert_eq!(guard(body), Some(expected.to_string()), "{body}");
    }
}

#[test]
fn the_extent_becomes_a_second_condition() {
    for (before, condition, update, body) in [
        // The induction variable is used behind the loop.
        ("int i; ", "i = 0; i < n", "++i", "a[i] = HERE; in[0] = i;"),
        ("int i; ", "i = 0; i < n", "++i", "{ if (in[i]) break; a[i] = HERE; } in[0] = i;"),
        ("int i; ", "i = 0; i < n", "++i", "a[i] = HERE; for (i = i + 1; i < 8; ++i) in[i] = 0;"),
        ("int i = 0; ", "; i < n", "++i", "a[i] = HERE; in[0] = i;"),
        ("int i = 0; ", "; i < n", "++i", "a[i] = HERE; for (; i < 8; ++i) in[i] = 0;"),
        // Sums that may overflow in later iterations, fall, or have the bound on both sides.
        ("", "int i = 0; p.first + i * 256 < n", "++i", "{ a[i] = HERE; }"),
        ("", "int i = 0; threadIdx.x + i * 16777216 < n", "++i", "{ a[i] = HERE; }"),
        ("", "int i = 0; threadIdx.x - i * 256 < n", "++i", "{ a[i] = HERE; }"),
        // The body changes the bound, or others may.
        ("int m = n; ", "int i = 0; i < m", "++i", "{ a[i] = 0; m = HERE; }"),
        ("int m = n; int& r = m; ", "int i = 0; i < m", "++i", "{ a[i] = 0; r = HERE; }"),
        ("", "int i = 0; i < *q", "++i", "{ a[i] = 0; HERE; }"),
        ("", "int i = 0; i < global_count", "++i", "{ a[i] = 0; HERE; }"),
        // Other conditions.
        ("", "int i = 0; i != n", "i += 2", "{ a[i] = 0; HERE; }"),
        ("", "int i = 0; i < n && in[i]", "++i", "{ a[i] = 0; HERE; }"),
        // A narrow counter whose largest value may be less than the extent.
        ("", "unsigned char i = 0; i < n", "++i", "{ a[i] = 0; HERE; }"),
        // What else the header steps has its last value behind the loop.
        ("int off = n; ", "int i = 0; i < n", "++i, off += 4", "{ a[i] = in[off] + HERE; }"),
        ("int off = n; ", "int i = 0; i < n", "off += 4, i++", "{ if (in[i]) break; a[i] = in[off] + HERE; }"),
        ("", "int i = 0; i < n && in[i]", "++i", "{ if (in[i] > 3) a[i] = HERE; }"),
    ] {
        let text = format!("{before}\n  for ({condition}; {update}) {body}");
        let (start, present) = condition.split_once(';').unwrap();
        let both = format!("{before}#pragma unroll for ({start}; i < W && {}; {update}) {body}", present.trim());
        let text = text.trim_start().to_string();
        assert_eq!(guard(&text), Some(both), "{text}");
    }
    assert_eq!(
        guard("for (int i = 0; i < n || in[i]; ++i) { a[i] = 0; HERE; }"),
        Some("#pragma unroll for (int i = 0; i < W && (i < n || in[i]); ++i) { a[i] = 0; HERE; }".to_string())
    );
    for body in [
        // Rounds beyond the extent may end otherwise, and the induction variable is used.
        "int i; for (i = 0; i < n; ++i) { if (in[i]) continue; a[i] = HERE; } in[0] = i;",
        "int i; for (i = 0; i < n; ++i) { if (in[i]) a[i] = HERE; } in[0] = i;",
        // The condition has an effect, or the body changes the induction variable.
        "for (int i = 0; i < n && q[0]++; ++i) { a[i] = HERE; }",
        "for (int i = 0; i < n && in[i]; ++i) { a[i] = HERE; if (in[i] > 2) ++i; }",
        "for (int i = 0; i < n && in[i]; ++i) { int& r = i; r += 2; a[i] = HERE; }",
        "using Whole = int&; for (int i = 0; i < n && in[i]; ++i) { ++(Whole)i; a[i] = HERE; }",
        "__shared__ int i; for (i = 0; i < n && in[i]; ++i) { a[i] = HERE; }",
        // Effects without an access.
        "for (int i = 0; i < n && in[i]; ++i) { if (in[i] > 3) a[i] = HERE; q[i] = 1; }",
        "for (int i = 0; i < n && in[i]; ++i) { static int rounds = 0; rounds += 1; if (rounds < 3) a[i] = HERE; }",
        "for (int i = 0; i < n && in[i]; ++i) { const float z = HERE; for (int j = 0; j < *q; ++j) { if (in[j]) return; b[i][j] = z; } }",
        "for (int i = 0; i < n && in[i]; ++i) { const float z = HERE; for (int i = 0; i < *q; ++i) { b[i][0] = z; } }",
        // The inner loop may have no round.
        "for (int i = 0; i < n && in[i]; ++i) { for (int j = 0; j < *q; ++j) in[j] = b[i][j]; q[i] = HERE; }",
        "for (int i = 0; i < n; ++i) { for (int j = 1; j <= i; ++j) q[j] = b[i][j]; q[i] = HERE; }",
        "for (int i = 0; i < n; ++i) { for (int j = 0; j < i; ++j) q[j] = b[i][j]; q[i] = HERE; }",
    ] {
        assert_eq!(guard(body), None, "{body}");
    }
}

#[test]
fn loops_whose_bodies_count_end_at_the_extent() {
    let edited = |body: &str| {
        let text = format!("__global__ void k(int* in, int n) {{\n  int a[8];\n  {body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = super::super::for_loop::stepped_loop(&tree, text.find("HERE")?, &["k"])?;
        let edited = apply(&text, &found.guarded(&WantedArray::new("a", &[]))?.edits.iter().collect::<Vec<_>>())?;
        Some(edited.lines().skip(2).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
    };
    for (before, condition, after) in [
        ("int k = 0;\n  while (", "n > 0", ") { a[k++] = HERE; n /= 10; }"),
        ("int k = 2;\n  while (", "in[k] > 0", ") { a[k] = HERE; ++k; }"),
        ("unsigned char k = 0;\n  while (", "n > 0", ") { a[k++] = HERE; --n; }"),
        ("int k = 0;\n  for (int i = threadIdx.x; ", "i < n", "; i += 32) { a[k] = in[i]; in[0] += a[k++] + HERE; }"),
        ("int k = 0;\n  for (int i = 0; ", "i < n", "; ++i, ++k) a[k] = HERE;"),
        ("int j;\n  for (int i = threadIdx.x, k = 0; ", "i < n", "; i += blockDim.x, ++k) { a[k] = in[i] + HERE; }"),
        ("int k = 0;\n  while (", "n > 0", ") { if (in[k] < 0) break; a[k] = HERE; k += 1; --n; }"),
        // Beside another counter, and with a value that is assigned.
        (
            "int i, k;\n  for (i = 3, k = 0; ",
            "i < n",
            "; ++k, i += 5) { a[k] = HERE * i; if (in[k]) break; } in[0] = k;",
        ),
        ("int k; in[0] = n; k = 1; in[1] = n;\n  for (int i = n; ", "i < 99", "; i += 32) a[k++] = HERE;"),
    ] {
        let (first, rest) = before.split_once("\n  ").unwrap();
        let expected = format!("{first} #pragma unroll {rest}k < 8 && {condition}{after}");
        assert_eq!(edited(&format!("{before}{condition}{after}")), Some(expected), "{condition} {after}");
    }
    assert_eq!(
        edited("int k = 0;\n  do { a[k++] = HERE; n /= 10; } while (n > 0);").as_deref(),
        Some("int k = 0; #pragma unroll do { a[k++] = HERE; n /= 10; } while (k < 8 && n > 0);")
    );
    for (before, rest, expected) in [
        ("int k = 0;", "do { a[k] = HERE; } while (++k < n);", "do { a[k] = HERE; } while (++k < 8 && k < n);"),
        (
            "int k = 0;",
            "do { a[k] = HERE; } while (++k <= n && in[n]);",
            "do { a[k] = HERE; } while (++k < 8 && k <= n && in[n]);",
        ),
        ("int k = 0;", "while (++k != n) { a[k] = HERE; }", "while (++k < 8 && k != n) { a[k] = HERE; }"),
    ] {
        let expected = format!("{before} #pragma unroll {expected}");
        assert_eq!(edited(&format!("{before}\n  {rest}")).as_deref(), Some(&*expected), "{rest}");
    }
    for body in [
        // The condition counts otherwise, or compares with something that it changes.
        "int k = 0;\n  do { a[k] = HERE; } while (k++ < n);",
        "int k = 0;\n  do { a[k] = HERE; } while (++k < n || in[n]);",
        "int k = 0;\n  do { a[k] = HERE; } while (++k < in[k]);",
        "int k = 0;\n  do { a[k] = HERE; } while (++k < n--);",
        "int k = 0;\n  do { a[k] = HERE; } while (n > ++k);",
        "int k = 0;\n  do { a[k] = HERE; } while (in[n] && ++k < n);",
        "int k = 0;\n  do { if (in[k]) continue; a[k] = HERE; } while (++k < n);",
        "int k = n;\n  do { a[k] = HERE; } while (++k < n);",
        // Rounds without an access, or with another effect.
        "int k = 0;\n  while (n > 0) { if (in[n]) a[k++] = HERE; --n; }",
        "int k = 0;\n  while (n > 0) { --n; if (k >= 8) continue; a[k++] = HERE; }",
        // The assigned value is not known to be the first one.
        "int k, j;\n  for (k = 0, j = k = 1; j < n; ++j, ++k) a[k] = HERE;",
        "int k; k = n;\n  for (int i = 0; i < n; ++i) a[k++] = HERE;",
        "int k; k = 0; in[0] = k++;\n  for (int i = 0; i < n; ++i) a[k++] = HERE;",
        "int k; if (n) k = 0;\n  for (int i = 0; i < n; ++i) a[k++] = HERE;",
        "int k; k = 0; f(&k);\n  for (int i = 0; i < n; ++i) a[k++] = HERE;",
        "int k;\n  for (k = 0, n = 3; in[n]; ++k, --k) a[k] = HERE;",
        "int k = 0;\n  while (n > 0) { in[n] = 0; if (k >= 8) break; a[k++] = HERE; --n; }",
        // Something else happens to the counter, or it starts anywhere.
        "int k = 0;\n  while (n > 0) { a[k++] = HERE; if (k == 8) k = 0; --n; }",
        "int k = 0;\n  while (n > 0) { a[k++] = HERE; a[k--] = n--; }",
        "int k = 0;\n  int& r = k; while (n > 0) { a[k++] = HERE; r = 0; --n; }",
        "int k = n;\n  while (n > 0) { a[k++] = HERE; --n; }",
        "float k = 0;\n  while (n > 0) { a[k++] = HERE; --n; }",
        "__shared__ int k = 0;\n  while (n > 0) { a[k++] = HERE; --n; }",
        // The condition has an effect, or declares something.
        "int k = 0;\n  while (n-- > 0) { a[k++] = HERE; }",
        "int k = 0;\n  while (int m = in[k]) { a[k++] = HERE + m; }",
        "int k = 0;\n  while (n > 0) { a[k++] = HERE; __syncthreads(); --n; }",
    ] {
        assert_eq!(edited(body), None, "{body}");
    }
}

#[test]
fn countdowns_start_at_the_extent() {
    let edited = |body: &str| {
        let text = format!("__global__ void k(int* in, int n) {{\n  int a[8];\n  {body}\n}}\n");
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = super::super::for_loop::countdown_loop(&tree, text.find("HERE")?, &["k"])?;
        assert_eq!(found.rounds, None);
        let edited = apply(&text, &found.guarded(&WantedArray::new("a", &[]))?.edits.iter().collect::<Vec<_>>())?;
        Some(edited.lines().skip(2).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
    };
    assert_eq!(
        edited("int k = n;\n  while (k-- > 0) { in[k] += a[k] + HERE; }").as_deref(),
        Some("int k = 8; #pragma unroll while (k-- > 0) if (k < n) { in[k] += a[k] + HERE; }")
    );
    assert_eq!(
        edited("unsigned m = n; unsigned k = m;\n  while (k--) a[k] = HERE;").as_deref(),
        Some("unsigned m = n; unsigned k = 8; #pragma unroll while (k--) if (k < m) a[k] = HERE;")
    );
    for body in [
        // Something is between, or the last value is used.
        "int k = n; n = 3;\n  while (k-- > 0) { a[k] = HERE; }",
        "int k = n, m = k;\n  while (k-- > 0) { a[k] = HERE + m; }",
        "int k = n;\n  while (k-- > 0) { a[k] = HERE; } in[0] = k;",
        "int k; k = n;\n  while (k-- > 0) { a[k] = HERE; }",
        // The bound or the counter changes, is of another type, or a round leaves.
        "int k = n;\n  while (k-- > 0) { a[k] = HERE; --n; }",
        "int k = n;\n  while (k-- > 0) { a[k] = HERE; --k; }",
        "unsigned k = n;\n  while (k-- > 0) { a[k] = HERE; }",
        "int k = in[0];\n  while (k-- > 0) { a[k] = HERE; }",
        "int k = n;\n  while (k-- > 0) { if (in[k]) break; a[k] = HERE; }",
        "int k = n;\n  while (k-- > 0) { if (in[k]) a[k] = HERE; in[k] = 0; }",
        "int k = n;\n  while (--k > 0) { a[k] = HERE; }",
        "int k = n;\n  while (k-- > 1) { a[k] = HERE; }",
        "int k = n; int& r = k;\n  while (k-- > 0) { a[k] = HERE; r = 0; }",
        "if (n > 0) { int k = n;\n  if (in[0]) while (k-- > 0) { a[k] = HERE; } else in[0] = 1; }",
    ] {
        assert_eq!(edited(body), None, "{body}");
    }
}

#[test]
fn a_bound_below_the_extent_needs_no_access() {
    let loops = "for (int i = 0; i < m; ++i) { q[i] = 1; if (in[i] > 0) q[1] = b[i][0] + HERE; }";
    let edited = loops.replace("i < m", "i < 4").replace("{ q[i]", "if (i < m) { q[i]");
    for before in [
        "const int m = min(n, 4);",
        "const int m = min(4, n);",
        "const int m = n < 4 ? n : 4;",
        "const int m = n > 4 ? 4 : n;",
        "int m = n & 3;",
        "int m = n % 4 + 1;",
        "int m = n; m = min(m, 4);",
        "int m = n; if (m > 4) m = 4;",
        "int m = n; if (m > 4) { m = 4; }",
        "int m = n; if (m > 4) return;",
        "int m = n; if (m <= 0 || m >= 5) { in[0] = 1; return; }",
        "int m = n; if (5 <= m) return;",
        // A loop over the array had as many rounds.
        "int m = n; for (int j = 0; j < m; ++j) b[j][1] = 0;",
        "int m = n; for (int j = 0; j < m; ++j) { for (int k = 0; k < m; ++k) b[j][k] = 0; }",
    ] {
        let found = guard(&format!("{before}\n  {loops}"));
        assert_eq!(found, Some(format!("{before} #pragma unroll {edited}")), "{before}");
    }
    let nested = format!("int m = n; if (m > 0 && m <= 4) {{\n  {loops} }}");
    assert!(guard(&nested).is_some());
    for before in [
        "const int m = max(n, 4);",
        "const int m = min(n, 5);",
        "const int m = n < 4 ? 4 : n;",
        "const int m = n | 3;",
        "int m = min(n, 4); m += 1;",
        "int m = min(n, 4); int& r = m; r = 9;",
        "int m = n; if (in[0] > 2) m = 4;",
        "int m = n; if (m > 4) m = n;",
        "int m = n; if (m > 5) return;",
        "int m = n; if (m > 4 && in[0]) return;",
        "int m = n; if (m > 4 || (m = in[0])) return;",
        "const int m = in[0] < 4 ? in[0] : 4;",
        "int m = n; if (m > 4) return; m = n;",
        "int m = n; if (m > 4) in[0] = 1;",
        "int m = n; if (in[0]) { if (m > 4) return; }",
        "unsigned m = min(n, 4);",
        // These loops may end earlier, have no access in a round, or another bound.
        "int m = n; for (int j = 0; j < m; ++j) { if (in[j]) break; b[j][1] = 0; }",
        "int m = n; for (int j = 0; j < m; ++j) { if (in[j]) b[j][1] = 0; }",
        "int m = n; for (int j = 0; j < m; j += 2) b[j][1] = 0;",
        "int m = n; for (int j = 0; j < n; ++j) b[j][1] = 0;",
        "int m = n; for (int j = 0; j < m; ++j) b[j - 1][1] = 0;",
        "int m = n; for (int j = 0; j < m; ++j) b[0][j] = 0;",
        "int m = n; for (int j = 0; j < m; ++j) { for (int k = 0; k < n; ++k) b[j][k] = 0; }",
        // Entered past the statement.
        "int m = n; switch (*q) { case 0: if (m > 4) return; case 1:",
    ] {
        let end = if before.contains("case") { " }" } else { "" };
        assert_eq!(guard(&format!("{before}\n  {loops}{end}")), None, "{before}");
    }
}

#[test]
fn loops_of_a_triangle_start_where_others_are() {
    let text = |start: &str| {
        format!("for (int j = 0; j < n; ++j) {{ for (int i = {start}; i < n; ++i) {{ b[i][j] = HERE; }} }}")
    };
    for start in ["j", "j + 1", "1 + j"] {
        assert!(guard_of(&text(start), "b").is_some_and(|it| it.contains("i < 4; ++i) if (i < n)")), "{start}");
    }
    for start in ["j - 1", "n", "*q", "j * n"] {
        assert!(guard_of(&text(start), "b").is_none(), "{start}");
    }
}

#[test]
fn what_may_mean_something_else_is_left_alone() {
    for body in [
        // A round beyond the extent may do something else than access an element.
        "for (int i = 0; i < n; ++i) { const float x = in[i]; if (x < 0) { in[0] = i; break; } a[i] = HERE; }",
        "for (int i = 0; i < n; ++i) { if (i == W) { in[0] = 1; goto full; } a[i] = HERE; } full: in[1] = 0;",
        "for (int i = 0; i < n; ++i) { if (i >= W) { in[0] = n; return; } a[i] = HERE; }",
        "for (int i = 0; i < n; ++i) { if (i >= W) return; a[i] = HERE; }",
        "for (int i = 0; i < n; i++) { in[i] = 1; if (HERE) break; a[i] = 0; }",
        "for (int i = 0; i < n; i++) { in[i] = i < W ? a[i] : HERE; }",
        "for (int i = 0; i < n; i++) { switch (q[i]) { case 0: a[i] = HERE; } in[i] = 0; }",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < q[i]; ++j) a[i] += HERE; in[i] = 0; }",
        "for (int i = 0; i < n; i++) { static float first = a[i]; in[i] = HERE; }",
        "for (int i = 0; i < n; i++) { in[i] = checked(i); a[i] = HERE; }",
        "for (int i = 0; i < n; i++) { a[i] = checked(HERE); }",
        "for (int i = 0; i < n; i++) { in[i] = elsewhere(i); a[i] = HERE; }",
        "for (int i = 0; i < n; i++) { if (i == W) assert(HERE); a[i] = 0; }",
        // The first rounds end the loop, and those below the extent never run.
        "for (int i = n - 1; i >= 0; --i) { if (in[i] > 0) break; a[i] = HERE; }",
        // An element is named and not accessed.
        "for (int i = 0; i < n; i++) { in[i] = sizeof(a[i]); HERE; }",
        "for (int i = 0; i < n; i++) { (void)a[i]; in[i] = HERE; }",
        "for (int i = 0; i < n; i++) { a[i]; in[i] = HERE; }",
        "for (int i = 0; i < n; i++) { static_cast<void>(a[i]); in[i] = HERE; }",
        "for (int i = 0; i < n; i++) { float& at = a[i]; if (i == W) break; at = HERE; }",
        "for (int i = 0; i < n; i++) { in[i] = first(a[i]) + HERE; }",
        "for (int i = 0; i < n; i++) { const float* row = b[i]; in[i] = HERE; }",
        "for (int i = 0; i < n; i++) { in[i] = HERE; int i = 3; a[i] = 0; }",
        "for (int i = 0; i < n; i++) { b[0][i] = HERE; }",
        "int i; int *r = &i; for (i = 0; i < n; ++i) a[i] = HERE;",
        "int i = 0; ++i; for (; i < n; ++i) a[i] = HERE;",
        "int i = 0, &r = i; for (; i < n; ++i) { a[i] = HERE; r = 1; }",
        "int i = 0; auto f = [&] { i = 3; }; for (; i < n; ++i) { a[i] = HERE; }",
        "for (int i = 0; i < n; ++i) { a[i] = 0; i += HERE; }",
        // The induction variable is changed in another way.
        "for (int i = n; i > 0; i -= 2) { a[i] = 0; HERE; }",
        "for (int i = *q; i > 0; --i) { a[i] = 0; HERE; }",
        // Induction variables that may wrap around before the extent, or whose comparison differs from the guard's.
        "for (unsigned char i = 0; i < n; ++i) { if (in[i]) continue; a[i] = 0; HERE; }",
        "for (unsigned char i = 0; i < n; ++i) { if (in[i] > 1) a[i] = HERE; }",
        "for (signed char i = n; i >= 0; --i) { a[i] = 0; HERE; }",
        "for (char i = n - 1; i >= 0; --i) { a[i] = 0; HERE; }",
        "for (int i = 0; i < n; ++i) { int& r = i; r += 2; a[i] = HERE; }",
        "for (int i = 0, &r = i; i < n; ++i) { a[i] = HERE; r += 2; }",
        "for (float i = 0; i < n; ++i) { a[i] = 0; HERE; }",
        "unsigned m = n; for (int i = m - 1; i >= 0; --i) { a[i] = HERE; }",
        "long m = n; for (int i = m; i >= 0; --i) { a[i] = HERE; }",
        "for (int i = n - 1u; i >= 0; --i) { a[i] = HERE; }",
        // Threads synchronize.
        "for (int i = 0; i < n; ++i) { a[i] = 0; __syncwarp(); HERE; }",
        "for (int i = 0; i < n; ++i) { a[i] = __shfl_sync(__activemask(), n, i); HERE; }",
        // An `else` would bind to the guard, and so would a pragma.
        "if (n) for (int i = 0; i < n; ++i) { a[i] = 0; HERE; } else in[0] = 1;",
        "if (n) for (int t = 0; t < 2; ++t) for (int i = 0; i < n; ++i) { a[i] = 0; HERE; } else in[0] = 1;",
        "if (in[0]) if (n) in[0] = 1; else for (int i = 0; i < n; ++i) { a[i] = 0; HERE; } else in[0] = 1;",
        "if (in[0]) { in[1] = 0; } else if (n) for (int i = 0; i < n; ++i) { a[i] = 0; HERE; } else in[0] = 1;",
        "switch (n) case 1: for (int i = 0; i < n; ++i) { a[i] = 0; HERE; }",
        "for (int i = 0; i < n; ++i) while (n) { a[i] = 0; HERE; }",
        // No element is indexed by the induction variable alone.
        "for (int i = 0; i < n; ++i) { in[i] = 0; HERE; }",
    ] {
        assert_eq!(guard(body), None, "{body}");
    }
}

/// The guarded form of the loop at the mark `HERE`, in a text with directives.
fn guarded(text: &str) -> Option<String> {
    let tree = Rc::new(SyntaxTree::example("a.cu", text));
    let found = super::super::for_loop::for_loops(&tree, text.find("HERE").expect("the text has a mark"));
    let edits = found.first()?.guarded(&WantedArray::new("a", &[]))?.edits;
    apply(text, &edits.iter().collect::<Vec<_>>())
}

#[test]
fn what_macros_hide_is_not_passed_over() {
    let kernel = |define: &str, body: &str| {
        guarded(&format!(
            "{define}\nvoid k(int* in, int n) {{\n  int a[8];\n  for (int i = 0; i < n; ++i) {{\n{body}\n  }}\n}}\n"
        ))
    };
    assert!(kernel("#define SCALE 3", "a[i] = HERE * SCALE;").is_some());
    assert!(kernel("#define AT(k) ((k) + 1)", "a[i] = HERE; in[AT(3)] = AT(4);").is_some());
    for (define, body) in [
        ("#define stop_if(c) if (c) break", "stop_if(in[i] > 2); a[i] = HERE;"),
        ("#define need(c) if (!(c)) continue", "need(in[i] > 2); a[i] = HERE;"),
        ("#define TRACE(x)", "TRACE(a[i]); in[i] = HERE;"),
        ("#define ALL(x, y) ((x) && (y))", "if (ALL(in[i], a[i])) HERE;"),
        ("#define NEXT ++i", "a[i] = HERE; NEXT;"),
        ("#define LAST n = 3", "a[i] = HERE; LAST;"),
        ("#define cur a[i]", "cur = HERE;"),
        ("#ifndef SAFE\n#define SAFE 1\n#endif", "a[i] = HERE * SAFE;"),
        ("", "#if X\nif (in[i]) break;\n#endif\na[i] = HERE;"),
    ] {
        assert_eq!(kernel(define, body), None, "{define} {body}");
    }
}

#[test]
fn bounds_that_no_thread_changes() {
    let is_guarded = |head: &str, before: &str, bound: &str, body: &str| {
        let text = format!(
            "{head}\n__device__ int twice(int x) {{ return 2 * x; }}\n__device__ void raise(int& x);\nstruct Part {{ float v[3]; }};\n\
             __global__ void k(float* in, int n) {{\n float a[8]; Part part[8]; {before}\n for (int i = 0; i < {bound}; ++i) {{ {body} }}\n}}\n"
        );
        // What may change stays in the condition.
        guarded(&text).is_some_and(|text| text.contains("if (i < "))
    };
    let body = "a[i] = HERE;";
    let plan = "struct Plan { int taps; float w[4]; };\n__constant__ Plan plans[2];";
    let here = "const Plan& p = plans[n];";
    assert!(is_guarded("__constant__ int taps;", "", "taps", body));
    assert!(is_guarded("struct Plan { int taps; };\n__constant__ Plan plan;", "", "plan.taps", body));
    assert!(is_guarded(plan, here, "p.taps", "a[i] = p.w[i & 3] + HERE;"));
    assert!(is_guarded("", "const int m = n;", "m", "a[i] = twice(m) + HERE;"));
    for (head, before, bound, body) in [
        ("__device__ int taps;", "", "taps", body),
        ("int taps;", "", "taps", body),
        ("volatile __constant__ int taps;", "", "taps", body),
        ("extern __constant__ int taps;\n__constant__ int taps;", "", "taps", body),
        ("__constant__ int* taps;", "", "*taps", body),
        ("__constant__ int taps;", "__shared__ int taps;", "taps", body),
        ("namespace one { __constant__ int taps; }\nnamespace two { __device__ int taps; }", "", "taps", body),
        (plan, "const Plan* p = plans + n;", "p->taps", body),
        (&plan.replace("__constant__", "__device__"), here, "p.taps", body),
        (plan, "Plan& q = plans[1]; Plan& p = q;", "p.taps", body),
        (plan, here, "p.taps", "a[i] = HERE; p.taps = 3;"),
        ("", "int m = n;", "m", "a[i] = HERE; raise(m);"),
        ("__device__ int twice(int& x);", "int m = n;", "m", "a[i] = twice(m) + HERE;"),
        ("", "int m = n; auto twice = [&](int) { return ++m; };", "m", "a[i] = twice(m) + HERE;"),
    ] {
        assert!(!is_guarded(head, before, bound, body), "{head} {before} {body}");
    }
}

#[test]
fn the_extent_is_that_of_the_array() {
    let bound = |text: &str| {
        let text = guarded(text)?;
        let start = text.rfind("i < ")? + 4;
        let first = text.find("for (int i = 0; i < ")? + 20;
        Some(text[first..text[first..].find(';')? + first].to_string()).filter(|_| start > first)
    };
    for (text, expected) in [
        ("#define K 8\nvoid k(int n) { int a[K];\n for (int i = 0; i < n; ++i) a[i] = HERE;\n}", Some("K")),
        (
            "constexpr int K = 8;\nvoid k(int n) { int a[K]; { constexpr int K = 4;\n for (int i = 0; i < n; ++i) a[i] = HERE;\n} }",
            Some("8"),
        ),
        (
            "void k(int n) {\n#define K 8\n int a[K];\n#undef K\n#define K 4\n for (int i = 0; i < n; ++i) a[i] = HERE * K;\n}",
            None,
        ),
        (
            "#ifndef K\n#define K 8\n#endif\nvoid k(int n) { int a[K];\n for (int i = 0; i < n; ++i) a[i] = HERE;\n}",
            None,
        ),
        ("#define K 4 + 4\nvoid k(int n) { int a[K];\n for (int i = 0; i < n; ++i) a[i] = HERE;\n}", Some("8")),
    ] {
        assert_eq!(bound(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_narrow_counter_must_reach_the_extent() {
    let edited = |type_text: &str, extent: u32, step: &str| {
        let text =
            format!("void k(int n) {{ int a[{extent}];\n for ({type_text} i = 0; i < n; {step}) a[i] = HERE;\n}}");
        guarded(&text).map(|text| text.lines().rev().nth(1).unwrap().trim().to_string())
    };
    for (type_text, extent, step) in
        [("signed char", 127, "++i"), ("char", 124, "i += 4"), ("unsigned char", 255, "++i"), ("short", 300, "++i")]
    {
        let expected = format!("for ({type_text} i = 0; i < {extent}; {step}) if (i < n) a[i] = HERE;");
        assert_eq!(edited(type_text, extent, step), Some(expected));
    }
    // Behind the largest value, the counter would never end the loop: the present condition must stay where it is.
    for (type_text, extent, step) in
        [("signed char", 128, "++i"), ("char", 125, "i += 4"), ("unsigned char", 256, "++i")]
    {
        let expected = format!("for ({type_text} i = 0; i < {extent} && i < n; {step}) a[i] = HERE;");
        assert_eq!(edited(type_text, extent, step), Some(expected));
    }
    assert_eq!(edited("bool", 8, "++i"), None);
    assert_eq!(edited("char16_t", 8, "++i"), None);
}

/// An index by a macro, or by a function that returns it, counts as what it stands for.
#[test]
fn indices_by_other_names() {
    let head = "#define N 6\n#define AT(i, j) ((i) * N + (j))\n#define TRI(i, j) ((i) * ((i) + 1) / 2 + (j))\n\
        #define LOUD(i) (__syncthreads(), i)\n#define SWAP(i) (N - 1 - (i))\n\
        __device__ int at(int i, int j) { return i * N + j; }\n__device__ int near(int i) { return i & 3; }\n";
    for (index, array, expected) in [
        ("AT(i, 0)", "a", Some("N")),
        ("AT(i, i)", "a", Some("6")),
        ("at(i, 2)", "a", Some("N")),
        ("TRI(i, i)", "t", Some("N")),
        ("i * (i + 1) / 2", "t", Some("N")),
        ("i * (i - 1) / 2 + i - 1", "t", Some("7")),
        ("near(i)", "a", None),
        ("LOUD(i)", "a", None),
        ("SWAP(i)", "a", None),
    ] {
        let text = format!(
            "{head}__global__ void k(float* in, int n) {{\n  float a[N * N], t[N * (N + 1) / 2];\n  for (int i = 0; i < n; ++i) {{ float d = {array}[{index}]; in[i] += d; }}\n}}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = super::super::for_loop::for_loops(&tree, text.find("float d").unwrap());
        let guard = found.first().unwrap().guarded(&WantedArray::new(array, &[]));
        let edited = guard.and_then(|guard| apply(&text, &guard.edits.iter().collect::<Vec<_>>()));
        let bound = edited.as_ref().and_then(|it| it.split_once("int i = 0; i < ")?.1.split_once("; ++i) if (i < n)"));
        assert_eq!(bound.map(|(bound, _)| bound), expected, "{index}");
    }
}
