use super::*;
use lmem_base::source::SourceFile;

const KNOWN: &[&str] = &["dynamic_index", "register_spill"];

fn read(text: &str) -> Directives {
    let mut directives = Directives::default();
    directives.read(&MappedText::from_file(&SourceFile::from_text("a.cu", text)), KNOWN);
    directives
}

fn first(directives: &Directives) -> Option<&Directive> {
    directives.list.first()
}

/// The scope of the only directive.
fn scope(text: &str) -> String {
    let directives = read(text);
    assert_eq!(directives.errors(), [], "{text}");
    first(&directives).unwrap().scope.text().to_string()
}

fn error(text: &str) -> String {
    let directives = read(text);
    assert!(first(&directives).is_none(), "{text}");
    directives.errors()[0].to_string()
}

#[test]
fn lints_and_reason_are_read() {
    let directives = read("// lmem: allow(dynamic_index, register-spill, reason = \"cold, (really)\")\nx;\n");
    let directive = first(&directives).unwrap();
    assert_eq!(directive.lints, ["dynamic_index", "register_spill"]);
    assert_eq!(directive.reason.as_deref(), Some("cold, (really)"));
    assert_eq!(directive.span.line_column(), (1, 1));
    assert!(first(&read("//lmem:allow( warnings , )\nx;")).is_some());
}

#[test]
fn the_whole_file_is_not_silenced_by_what_is_not_compiled() {
    let allow = "// lmem: allow-file(dynamic_index)\n";
    for text in [
        format!("#if 0\n{allow}#endif\nint a;\n"),
        format!("int a;\n#if A\n#elif B\n#if C\n#endif\n{allow}#endif\n"),
        format!("#ifndef G\n#define G\n#ifdef NEVER\n{allow}#endif\nint a;\n#endif\n"),
        format!("#if 1\nint a;\n#else\n{allow}#endif\n"),
        format!("#include \"a.cuh\"\n#if 0\n{allow}"),
    ] {
        assert!(error(&text).contains("inside a condition"), "{text}");
    }
    for text in [
        format!("{allow}#if A\nint a;\n#endif\n"),
        format!("#if A\n#endif\n{allow}int a;\n"),
        format!("#pragma once\n/* x */\n#ifndef G\n#define G\n{allow}#if A\n#endif\nint a;\n#endif // G\n"),
        format!("#endif\n{allow}"),
    ] {
        assert_eq!(scope(&text).len(), text.len(), "{text}");
    }
}

#[test]
fn what_the_compiler_takes_for_no_comment_is_no_directive() {
    for text in [
        "const char *s = \"a \\\n// lmem: allow-file(dynamic_index)\";",
        "const char *s = \"a \\\r\n// lmem: allow-file(dynamic_index)\";",
        "const char *s = R\"x(\n// lmem: allow-file(dynamic_index)\n)\" )x\";",
        "const char *s = u8R\"(\"\n// lmem: allow-file(dynamic_index)\n)\";",
        "// a \\\n// lmem: allow-file(dynamic_index)\nint b;",
        "// a \\ \t\n// lmem: allow-file(dynamic_index)\nint b;",
        "// a \\\r\n// lmem: allow-file(dynamic_index)\nint b;",
        "/* a\n// lmem: allow-file(dynamic_index)\n*/ int b;",
        "// // lmem: allow-file(dynamic_index)\nint b;",
    ] {
        let directives = read(text);
        assert!(first(&directives).is_none() && directives.errors().is_empty(), "{text}");
    }
}

/// The scope of a directive above some code.
fn follows(code: &str) -> String {
    scope(&format!("  // lmem: allow(dynamic_index)\n{code}"))
}

#[test]
fn trailing_comments_hold_for_their_line() {
    let of_line = |line: &str| assert_eq!(scope(&format!("a;\n{line}\nc;")), line);
    of_line("  b; // lmem: allow(dynamic_index)");
    of_line("f(\"// no\", '\"', 1'000, 0xFF'FF, u8'\"', L\"'\"); // lmem: allow(dynamic_index)");
    of_line("  b; /* lmem: allow(dynamic_index) */");
    of_line("  b; /* lmem: allow(dynamic_index) */ d;");
    of_line("LR\"x(} \" )x\"; // lmem: allow(dynamic_index)");
    of_line("#include <a> // lmem: allow(dynamic_index)");
    of_line("  b; // lmem: allow(dynamic_index)\r");
}

#[test]
fn comments_alone_hold_for_what_follows() {
    assert_eq!(follows("  a[i] =\n    b;\nc;"), "  a[i] =\n    b;");
    assert_eq!(follows("float t[2] = {1, 2}, u = 3;\nc;"), "float t[2] = {1, 2}, u = 3;");
    assert_eq!(follows("float t[] = {\n1,\n2};\nc;"), "float t[] = {\n1,\n2};");
    let kernel = "template <int N>\n__global__ void f(float* a) {\n  if (a) { g(\"}\"); } // }\n\n}";
    assert_eq!(follows(&format!("{kernel}\nvoid g() {{}}")), kernel);
    assert_eq!(follows("struct A { int a; };\n"), "struct A { int a; };");
    let header = "#pragma unroll\nfor (int i = 0; i < 4; ++i) {";
    assert_eq!(follows(&format!("{header}\n  x;\n}}")), header);
    assert_eq!(follows("// why\n/* more {\n\n */\na;\nb;"), "a;");
    assert_eq!(follows("  return x }\nb;"), "  return x }");
    assert_eq!(follows("extern \"C\" __global__ void f() {\n}\nint b;"), "extern \"C\" __global__ void f() {\n}");
    assert_eq!(follows("R\"x(} \" )x\" + f() {\n}\nb;"), "R\"x(} \" )x\" + f() {\n}");
    let attributed = "[[nodiscard]]\n__attribute__((used))\n__launch_bounds__(256)\nvoid f()\n{ a;\n}";
    assert_eq!(follows(&format!("{attributed}\nb;")), attributed);
    assert_eq!(follows("for (;;)\n  a[i] = 1;\nb;"), "for (;;)\n  a[i] = 1;");
    assert_eq!(follows("f(a)\n  + g(b);\nc;"), "f(a)\n  + g(b);");
    assert_eq!(scope("/* lmem: allow(dynamic_index) */ int a,\n b;\nc;"), " int a,\n b;");
    assert_eq!(scope("// lmem: allow(dynamic_index)\r\nf() {\r\n}\r\nb;"), "f() {\r\n}");
    assert_eq!(scope("#pragma unroll // lmem: allow(dynamic_index)\nfor (;;) {\n}"), "for (;;) {");
}

#[test]
fn a_macro_call_needs_no_semicolon() {
    assert_eq!(follows("HIST(h16, 16)\nHIST(h32, 32)\nvoid f() {}"), "HIST(h16, 16)");
    assert_eq!(follows("HIST(h16,\n  (16))\n// next\nHIST(h32, 32)"), "HIST(h16,\n  (16))");
    assert_eq!(follows("HIST(h16, 16)"), "HIST(h16, 16)");
    assert_eq!(follows("HIST(h16, 16)\n#define A {"), "HIST(h16, 16)");
    let kernel = "LIMIT(256)\n__global__ void f() {\n}";
    assert_eq!(
        scope(&format!("#define LIMIT(n) __launch_bounds__(n)\n// lmem: allow(dynamic_index)\n{kernel}\nb;")),
        kernel
    );
    assert_eq!(follows("HEAD(f)\n{\n}\nb;"), "HEAD(f)\n{\n}");
}

#[test]
fn a_blank_line_ends_it() {
    assert_eq!(follows("TABLE\n\nint b;"), "TABLE");
    assert_eq!(follows("TABLE\n \t\r\nint b;"), "TABLE");
    assert_eq!(follows("int f(\n\nint b);\nc;"), "int f(\n\nint b);");
    // Brackets that are never closed.
    assert_eq!(follows("void f() {\n  a;\n\n  b;"), "void f() {\n  a;");
    assert_eq!(follows("f(a;\n\nb;"), "f(a;");
    assert!(error("// lmem: allow(dynamic_index)\n\nint a;").contains("a blank line follows"));
    assert!(error("// lmem: allow(dynamic_index)\r\n\r\nint a;").contains("a blank line follows"));
}

#[test]
fn braces_of_branches_are_not_counted_twice() {
    let kernel = "#if A\nvoid f(int a) {\n#elif B\nvoid f(long a) {\n#else\nvoid f() {\n#endif\n  if (a) {\n  }\n}";
    assert_eq!(follows(&format!("{kernel}\nvoid g() {{\n}}")), kernel);
    let even = "void f() {\n#if A\n  if (a) { b; }\n#else\n  if (c) { d; }\n#endif\n}";
    assert_eq!(follows(&format!("{even}\nvoid g() {{\n}}")), even);
}

#[test]
fn blocks_of_many_items_are_refused() {
    for block in ["namespace a {", "namespace a::b\n{", "inline namespace a {", "extern \"C\" {", "namespace {"] {
        let text = format!("// lmem: allow(dynamic_index)\n{block}\nvoid f() {{}}\n}}");
        assert!(error(&text).contains("above one kernel"), "{text}");
    }
    assert_eq!(follows("namespace a = b;\nc;"), "namespace a = b;");
}

#[test]
fn macros_are_silenced_where_they_are_used() {
    let text = "#define HIST(name) \\\n  void name() { \\\n    /* lmem: allow(dynamic_index) */ \\\n    int bins[8]; \\\n    \
                int rest[8]; \\\n  }\n#define TWICE(name) HIST(name##1) HIST(name##2)\nHIST(a)\nTWICE(b)\nOTHER(c)\n";
    let file = SourceFile::from_text("a.cu", text);
    let mut directives = Directives::default();
    directives.read(&MappedText::from_file(&file), KNOWN);
    assert_eq!(directives.errors(), []);
    assert_eq!(directives.list[0].scope.text().trim(), "int bins[8]; \\");
    let covers = |line, variable| directives.covers(&Span::line(&file, line).unwrap(), "dynamic_index", variable);
    assert_eq!(covers(8, Some("bins")), Some(0));
    assert_eq!(covers(9, Some("bins")), Some(0));
    assert_eq!(covers(8, Some("rest")), None);
    assert_eq!(covers(8, None), None);
    assert_eq!(covers(10, Some("bins")), None);

    let above = "// lmem: allow(dynamic_index)\r\n#define HIST(name) \\\r\n  void name() { int bins[8]; }\r\nHIST(a)\r\nint bins;\r\n";
    let file = SourceFile::from_text("a.cu", above);
    let mut directives = Directives::default();
    directives.read(&MappedText::from_file(&file), KNOWN);
    let covers = |line, variable| directives.covers(&Span::line(&file, line).unwrap(), "dynamic_index", variable);
    assert_eq!((covers(4, Some("bins")), covers(4, None), covers(5, Some("bins"))), (Some(0), Some(0), None));
    assert!(error("#define A /* lmem: allow(dynamic_index) */\nint a;").contains("no code follows"));
    assert_eq!(scope("#define N 16 // lmem: allow(dynamic_index)\nint a;"), " 16 // lmem: allow(dynamic_index)");
}

#[test]
fn a_whole_file_may_be_allowed() {
    let text = "int a;\n\n// lmem: allow-file(dynamic_index)\n\nint b;\n";
    assert_eq!(scope(text), text);
    assert_eq!(first(&read(text)).unwrap().word, Word::AllowFile);
    assert_eq!(first(&read("// lmem: expect(dynamic_index)\na;")).unwrap().word, Word::Expect);
}

#[test]
fn the_smallest_scope_counts() {
    let file = SourceFile::from_text(
        "a.cu",
        "int a; // lmem: allow(dynamic_index)\nint b;\n// lmem: allow-file(dynamic_index)\n",
    );
    let mut directives = Directives::default();
    directives.read(&MappedText::from_file(&file), KNOWN);
    let covers = |line| directives.covers(&Span::line(&file, line).unwrap(), "dynamic_index", None);
    assert_eq!((covers(1), covers(2)), (Some(0), Some(1)));
}

#[test]
fn every_kind_of_comment_counts() {
    for comment in [
        "/* lmem: allow(dynamic_index) */",
        "/** lmem: allow(dynamic_index) */",
        "/*\n * lmem: allow(dynamic_index,\n reason = \"x\")\n */",
        "/// lmem : allow(dynamic_index)",
        "// LMEM: allow(dynamic_index)",
        "// lmem allow(dynamic_index)",
        "// lmem: allow(\\\ndynamic_index)",
    ] {
        let text = format!("{}\nx;", comment.replace("\\\n", ""));
        assert!(first(&read(&text)).is_some(), "{text}");
    }
    // A backslash at the end of the line continues a comment.
    assert!(error("// lmem: allow(dynamic_index) \\\nx;\ny;").contains("behind the closing parenthesis"));
    for text in [
        "// lmem is slow\nx;",
        "\"// lmem: allow(dynamic_index)\";",
        "/* see // lmem: allow(dynamic_index) */\nx;",
        "// // lmem: allow(dynamic_index)\nx;",
        "R\"(\n// lmem: allow(dynamic_index)\n)\";",
        "'\"'; \"/* lmem: allow(dynamic_index) */\";",
    ] {
        let silent = read(text);
        assert!(silent.errors().is_empty() && first(&silent).is_none(), "{text}");
    }
}

#[test]
fn wrong_directives_are_errors() {
    let message = |words: &str| error(&format!("// lmem: {words}\nx;"));
    assert_eq!(
        message("deny(dynamic_index)"),
        "`deny` is no directive; known are `allow`, `expect`, `allow-file`, `budget`"
    );
    assert!(message("alow(dynamic_index)").contains("`alow` is no directive: did you mean `allow`?"));
    assert_eq!(message("allow(dynamic_indx)"), "there is no lint `dynamic_indx`: did you mean `dynamic_index`?");
    assert!(message("allow dynamic_index").contains("the opening parenthesis is missing"));
    assert!(message("allow(dynamic_index").contains("the closing parenthesis is missing"));
    assert!(message("allow(").contains("the closing parenthesis is missing"));
    assert!(message("allow()").contains("it names no lint"));
    assert!(message("allow(reason = \"x\")").contains("it names no lint"));
    assert!(message("allow(dynamic_index register_spill)").contains("a comma is missing"));
    assert!(message("allow(dynamic_index, reason = cold)").contains("in double quotes"));
    assert!(message("allow(dynamic_index, reason = \"cold)").contains("in double quotes"));
    assert!(message("allow(dynamic_index) cold").contains("behind the closing parenthesis"));
    assert!(message("allow(\"x\")").contains("names of lints"));
    assert!(message("").contains("is missing"));
    assert!(error("/* lmem: deny */\nx;").contains("is no directive"));
    assert!(error("// lmem: allow(dynamic_index)\n  \n").contains("no code"));
    assert!(error("// lmem: allow(dynamic_index)").contains("no code"));
}

#[test]
fn comments_of_rust_code_hold_for_the_strings_beside_them() {
    let text =
        "// lmem: allow(dynamic_index)\nconst K: &str = \"// lmem: deny\";\nconst L: &str = \"\";\n// lmem: alow(x)\n";
    let file = SourceFile::from_text("a.rs", text);
    let mut directives = Directives::default();
    directives.read_rust(&file, KNOWN);
    directives.read_rust(&file, KNOWN);
    assert_eq!(directives.errors().len(), 1);
    assert!(directives.errors()[0].to_string().contains("did you mean `allow`?"));
    let covers = |line| directives.covers(&Span::line(&file, line).unwrap(), "dynamic_index", None);
    assert_eq!((covers(2), covers(3)), (Some(0), None));
}

#[test]
fn a_budget_holds_for_the_kernel_below() {
    let text = "// lmem: budget(stack = 0, registers <= 64, reason = \"hot, really\")\ntemplate <int N>\n\
                __global__ void f(int* a) {}\n__global__ void g() {}\n// lmem: budget(spills = 0)\nMAKE(h, 1)\n";
    let file = SourceFile::from_text("a.cu", text);
    let mut directives = Directives::default();
    directives.read(&MappedText::from_file(&file), KNOWN);
    assert_eq!(directives.errors(), []);
    let limits: Vec<String> = directives.list[0].limits.iter().map(ToString::to_string).collect();
    assert_eq!(limits, ["stack = 0", "registers <= 64"]);
    let of = |name: &str, span: Option<&Span>, is_part: bool| {
        let is_part = move |_: &SourceFile| is_part;
        directives.budgets_of(&BudgetQuery { name, mangled: "", span, in_rust: &[], is_part: &is_part })
    };
    assert_eq!((of("f", None, true), of("g", None, true), of("h", None, true)), (vec![0], vec![], vec![1]));
    assert_eq!(of("f", None, false), [0; 0]);
    assert_eq!(of("f", Span::line(&file, 3).as_ref(), true), [0]);
    assert_eq!(of("f", Span::line(&file, 4).as_ref(), true), [0; 0]);
    assert!(directives.all().is_empty() && directives.unused().is_empty());
    assert_eq!(directives.unused_budgets(&BTreeSet::from([0])).len(), 1);
}

#[test]
fn wrong_budgets_are_errors() {
    let message = |words: &str| error(&format!("// lmem: {words}\n__global__ void f() {{}}"));
    assert!(message("budget(register <= 64)").contains("did you mean `registers`?"));
    assert!(message("budget(registers < 64)").contains("write `registers <= 64`"));
    assert!(message("budget()").contains("it limits nothing"));
    assert!(message("budget").contains("the opening parenthesis is missing"));
    assert!(message("budget(stack = 0").contains("the closing parenthesis is missing"));
    assert!(message("budget(stack = 0, stack = 8)").contains("limited twice"));
    assert!(message("budget(stack = 0) now").contains("behind the closing parenthesis"));
    assert!(message("budget(= 0)").contains("stand limits"));
    assert!(message("budget(reason = \"x\" stack = 0)").contains("a comma is missing"));
    assert!(message("budgets(stack = 0)").contains("did you mean `budget`?"));
    assert!(error("// lmem: budget(stack = 0)\n\n__global__ void f() {}").contains("a blank line follows"));
}

#[test]
fn directives_cover_places_and_know_their_use() {
    let file = SourceFile::from_text(
        "a.cu",
        "// lmem: allow(dynamic_index, register_spill)\nint a;\nint b; // lmem: allow(warnings)\nint c;",
    );
    let text = MappedText::from_file(&file);
    let mut directives = Directives::default();
    directives.read(&text, KNOWN);
    directives.read(&text, KNOWN);
    let at = |line: usize| Span::line(&file, line).unwrap();
    assert_eq!(directives.covers(&at(2), "dynamic_index", None), Some(0));
    assert_eq!(directives.covers(&at(2), "other", None), None);
    assert_eq!(directives.covers(&at(3), "other", None), Some(1));
    assert_eq!(directives.covers(&at(4), "dynamic_index", None), None);
    directives.mark_used(0, "dynamic_index");
    let unused: Vec<_> =
        directives.unused().into_iter().map(|(directive, lints)| (directive.span.start_line(), lints)).collect();
    assert_eq!(unused, [(1, vec!["register_spill"]), (3, vec!["warnings"])]);
    directives.mark_used(1, "other");
    assert_eq!(directives.unused().len(), 1);
}

#[test]
fn directives_in_strings_hold_for_places_in_the_string() {
    let rust =
        SourceFile::from_text("a.rs", r#""// lmem: allow(dynamic_index)\nextern \"C\" void f() {\n g(\"}\"); }\n""#);
    let mut text = MappedText::default();
    // As `extract` decodes it: escapes are pieces of their own.
    for (piece, range) in [
        ("// lmem: allow(dynamic_index)", 1..30),
        ("\n", 30..32),
        ("extern ", 32..39),
        ("\"", 39..41),
        ("C", 41..42),
        ("\"", 42..44),
        (" void f() {", 44..55),
        ("\n", 55..57),
        (" }", 65..67),
    ] {
        text.push(piece, Span::new(&rust, range));
    }
    let mut directives = Directives::default();
    directives.read(&text, KNOWN);
    let scope = &first(&directives).unwrap().scope;
    assert_eq!((scope.start, scope.end), (32, 67));
}

#[test]
fn files_of_directives_are_read_in_linear_time() {
    // Each of them would look at the rest of the file.
    let comment = "// lmem: allow(dynamic_index, reason = \"((((\")\n";
    let many = format!("{}int x;\n", comment.repeat(20_000));
    let read = read(&many);
    let problems: Vec<String> = read.errors().iter().map(|error| error.problem.to_string()).collect();
    assert!(read.all().len() < 20_000 && problems.iter().any(|said| said.starts_with("too many directives")));
    let open = "// lmem: allow(dynamic_index)\nf((\n".repeat(20_000);
    assert!(!super::tests::read(&open).errors().is_empty());
    // Conditionals within conditionals, each with braces that do not match.
    let nested = format!("{}{}", "#if A\n{\n#else\n".repeat(20_000), "#endif\n".repeat(20_000));
    assert!(super::tests::read(&nested).errors().is_empty());
    let quotes = "'".repeat(1 << 20);
    assert!(super::tests::read(&quotes).errors().is_empty());
    // As many as people write.
    let usual = "// lmem: allow(dynamic_index)\nfloat a[8];\n".repeat(2_000);
    assert_eq!(super::tests::read(&usual).all().len(), 2_000);
}

#[test]
fn broken_code_ends_nothing() {
    for code in
        ["{", "}", "(", "\"", "'", "R\"", "R\"(", "/*", "/", "\\", "\"\\", "é{", "\u{0}", "#", "# ", "\r", "f() {{{{"]
    {
        read(&format!("// lmem: allow(dynamic_index)\n{code}"));
        read(&format!("{code} // lmem: allow(dynamic_index)"));
        read(&format!("// lmem: {code}"));
        read(&format!("// lmem: allow({code}"));
    }
}
