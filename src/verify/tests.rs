//! An edit that computes something else, from the suggestion to what the run counts.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use cuda_toolkit::{Toolkit, Version};
use lmem_base::diagnostic::{Code, FlagOrigin, Help, Label, ResourceUsage, Severity};
use lmem_base::source::{SourceFile, Span};
use lmem_base::stored::Lazy;
use lmem_unit::{Artifacts, AsCompiled, NvccFlags, TranslationUnit, UnitCode};

use super::results::Original;
use super::*;

/// A kernel that stores `n * 3` for each thread.
const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{\n\
    .reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n\
    ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\n\
    add.s64 %rd1, %rd1, %rd2;\nmul.lo.s32 %r1, %r1, 3;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
const TEXT: &str = "__global__ void k(int *out, int n) { out[threadIdx.x] = n * 3; }";

/// Edits with this comment take 72 registers.
const IN_REGISTERS: &str = "/* in registers */";

static NOT_CANCELLED: AtomicBool = AtomicBool::new(false);

/// Compiles texts as a compiler would: a factor of 3 is spelled as two additions.
struct Compiler {
    comparer: Comparer,
    original: Original,
}

impl OverlaySource for Compiler {
    fn measure(&self, overlay: &Overlay<'_>, _: &Target) -> Result<Measured, Box<Failure>> {
        if overlay.is_original() {
            return Ok(Measured {
                alone: self.comparer.alone(&self.original, &NOT_CANCELLED).unwrap(),
                ..Measured::default()
            });
        }
        let is_right = overlay.texts().iter().any(|(_, text)| text.contains("n + n + n"));
        let more = if is_right { "add.s32 %r3, %r3, %r1;\n" } else { "" };
        let sum = format!("add.s32 %r3, %r1, %r1;\n{more}mov.u32 %r1, %r3");
        let ptx = PTX.replace("mul.lo.s32 %r1, %r1, 3", &sum);
        let results = self.comparer.results(&self.original, &ptx, overlay, &NOT_CANCELLED).unwrap();
        let mut after = Measured { results: results.functions, ..measured(0) };
        if overlay.texts().iter().any(|(_, text)| text.contains(IN_REGISTERS)) {
            after.functions.values_mut().for_each(|function| function.usage.registers = 72);
        }
        Ok(after)
    }
}

struct Silent;

impl Watcher for Silent {
    fn plan(&self, _: usize) {}
    fn start(&self, _: &str) {}
    fn finish(&self, _: &str) {}
}

fn usage(stack_frame: u64) -> ResourceUsage {
    ResourceUsage { stack_frame, spill_stores: 16 * stack_frame, registers: 20, ..ResourceUsage::default() }
}

fn measured(stack_frame: u64) -> Measured {
    let function = Function { usage: usage(stack_frame), is_entry: true, ..Function::default() };
    Measured { functions: [("k".to_string(), function)].into(), ..Measured::default() }
}

fn artifacts() -> Artifacts {
    Artifacts {
        cubin: Vec::new(),
        ptx: PTX.to_string(),
        ptxas_log:
            "ptxas info    : Compiling entry function 'k' for 'sm_90'\nptxas info    : Function properties for k\n    \
            16 bytes stack frame, 64 bytes spill stores, 64 bytes spill loads\n"
                .to_string(),
        unlimited_log: String::new(),
        shared_log: None,
        front_end: Default::default(),
        as_compiled: AsCompiled::default(),
        messages: Vec::new(),
        dependencies: Vec::new(),
        rescues: Vec::new(),
        architecture: "sm_90".to_string(),
        folder: PathBuf::new(),
    }
}

fn diagnostic(file: &Arc<SourceFile>, edits: &[&str]) -> Diagnostic {
    let start = TEXT.find("n * 3").unwrap_or_default();
    let span = Span::new(file, start..start + 5);
    let edit = |text: &&str| Edit { span: span.clone(), replacement: text.to_string(), context: span.clone() };
    let suggestion =
        |text| Suggestion::new(format!("write `{text}`"), Applicability::MachineApplicable, vec![edit(text)]);
    let kernel = KernelInstance {
        name: "k".into(),
        mangled: "k".into(),
        arch: "sm_90".into(),
        toolkit: "13.5".into(),
        bytes: 16,
        loads: 1,
        stores: 1,
        usage: usage(16),
        build: None,
        flags: FlagOrigin::Config,
        loaded_at: Vec::new(),
        accesses: Vec::new(),
    };
    Diagnostic {
        severity: Severity::Warning,
        code: Code::Lint("dynamic_index"),
        message: "`a` is in local memory".to_string(),
        primary: Some(Label { span: span.clone(), text: String::new() }),
        secondary: Vec::new(),
        notes: Vec::new(),
        help: vec![Help { message: "unroll".to_string() }],
        suggestions: edits.iter().map(suggestion).collect(),
        evidence: Some(Evidence { bytes: 16, kernels: vec![kernel], ..Evidence::default() }),
        package: None,
    }
}

/// What is left of a diagnostic with these edits, and what is counted.
fn proven(edits: &[&str]) -> (Diagnostic, Tally) {
    proven_within(edits, 9)
}

fn proven_within(edits: &[&str], compilations: u64) -> (Diagnostic, Tally) {
    proven_beside("", edits, compilations)
}

/// `host` stands behind the kernel.
fn proven_beside(host: &str, edits: &[&str], compilations: u64) -> (Diagnostic, Tally) {
    let file = SourceFile::from_text("a.cu", &format!("{TEXT}{host}"));
    let source = Compiler { comparer: Comparer::default(), original: Original::of(&unit(&file), &artifacts()) };
    let mut diagnostics = [diagnostic(&file, edits)];
    let tally = prove_with(&source, &file, &mut diagnostics, compilations);
    let [diagnostic] = diagnostics;
    (diagnostic, tally)
}

fn unit(file: &Arc<SourceFile>) -> TranslationUnit {
    TranslationUnit {
        name: "a.cu".into(),
        package: None,
        base: ".".into(),
        code: UnitCode::CudaFile { file: Arc::clone(file), flags: NvccFlags::new(Vec::new(), FlagOrigin::Config) },
        use_site: None,
        included_at: None,
        launches: Vec::new(),
        shared: Vec::new(),
    }
}

fn prove_with(
    source: &dyn OverlaySource,
    file: &Arc<SourceFile>,
    diagnostics: &mut [Diagnostic],
    compilations: u64,
) -> Tally {
    let unit = unit(file);
    let toolkit = Toolkit {
        root: PathBuf::new(),
        version: Version { major: 13, minor: 5 },
        number: "13.5".into(),
        nvcc: None,
        ptxas: PathBuf::new(),
        nvrtc: None,
        lacks: Vec::new(),
        found: String::new(),
    };
    let target = Target { toolkit: Arc::new(toolkit), architecture: "sm_90".into() };
    let (files, before) = (Lazy::new(AsCompiled::of_text("a.cu", file.text(), &[])), measured(16));
    let subject = Subject {
        unit: &unit,
        target: &target,
        architecture: "sm_90",
        dependencies: &[],
        files: &files,
        before: &before,
        cost: 1,
        launches: OnceLock::new(),
    };
    let prover = Prover {
        subjects: &Subjects::new(vec![subject]),
        source,
        root: Path::new(""),
        threads: 1,
        budget: &Budget::new(compilations),
        watcher: &Silent,
    };
    prove(diagnostics, &prover)
}

#[test]
fn an_edit_that_computes_something_else_is_refuted_and_counted() {
    let (diagnostic, tally) = proven(&["n + n"]);
    assert!(diagnostic.suggestions.is_empty(), "{diagnostic:?}");
    assert_eq!((tally.different(), tally.proven), (1, 0));
    let [(place, fault)] = tally.refuted.as_slice() else { panic!("{tally:?}") };
    // The line that `-v` shows.
    let line = format!("suggestion for {place} is not shown: {fault}");
    assert!(line.starts_with("suggestion for dynamic_index at a.cu:1:"), "{line}");
    assert!(line.contains("computes something else: byte ") && line.contains("behind parameter 0"), "{line}");
    // The report says it too. The help has another idea.
    let [note] = diagnostic.notes.as_slice() else { panic!("{diagnostic:?}") };
    assert!(note.starts_with("tried and rejected: write `n + n` (computes something else: byte "), "{note}");
    assert_eq!(diagnostic.help, [Help { message: "unroll".to_string() }]);
}

#[test]
fn words_that_an_edit_refuted_are_not_repeated() {
    let file = SourceFile::from_text("a.cu", TEXT);
    let advised = |help: &str, title: &str| {
        let mut diagnostic = diagnostic(&file, &[]);
        diagnostic.help = vec![Help { message: help.to_string() }];
        super::is_advised(&diagnostic, title)
    };
    assert!(advised("drop `volatile`: no other thread can see the variable", "drop `volatile`"));
    assert!(advised("move the array to shared memory", "move `a` to shared memory (one row per thread)"));
    assert!(!advised("make the index a constant", "move `a` to shared memory (one row per thread)"));
}

#[test]
fn blocks_that_are_launched_keep_their_registers() {
    let proven = |host: &str| proven_beside(host, &["n + n + n /* in registers */"], 9).0;
    let launched = proven("\nvoid start(int *out) { k<<<8, 1024>>>(out, 3); }\n");
    assert!(launched.suggestions.is_empty(), "{launched:?}");
    let [note] = launched.notes.as_slice() else { panic!("{launched:?}") };
    assert!(note.contains("72 registers for each thread: a block of 1024, as it is launched, does not run"), "{note}");
    for host in ["", "\nvoid start(int *out) { k<<<8, 256>>>(out, 3); }\n"] {
        let diagnostic = proven(host);
        let [shown] = diagnostic.suggestions.as_slice() else { panic!("{diagnostic:?}") };
        assert!(shown.title.ends_with("; blocks of more than 896 threads no longer run"), "{}", shown.title);
        assert_eq!(shown.applicability, Applicability::MaybeIncorrect);
    }
}

#[test]
fn the_next_edit_is_tried() {
    let (diagnostic, tally) = proven(&["n + n", "n + n + n"]);
    let [shown] = diagnostic.suggestions.as_slice() else { panic!("{diagnostic:?}") };
    assert_eq!(shown.title, "write `n + n + n`");
    assert!(shown.is_proven() && shown.applicability == Applicability::MachineApplicable);
    assert_eq!((tally.different(), tally.proven), (1, 1));
    // A mistake of a rewrite says nothing about its idea, so the report does not list it as tried and rejected.
    assert!(diagnostic.notes.is_empty(), "{:?}", diagnostic.notes);
}

#[test]
fn a_kernel_without_a_compared_edit_is_run_alone() {
    let share = |(diagnostic, _): (Diagnostic, Tally)| diagnostic.evidence.unwrap().local_share;
    assert!(share(proven(&[])).is_some_and(|share| (500..1000).contains(&share)), "spills take most of the time");
    assert_eq!(share(proven(&[])), share(proven(&["n + n"])));
    assert_eq!(share(proven_within(&[], 0)), None);
}

/// Compiles texts in which each edit that is listed ends so many bytes of the frame, and all of them so many.
struct Frames {
    each: &'static [(&'static str, u64)],
    all: u64,
}

impl OverlaySource for Frames {
    fn measure(&self, overlay: &Overlay<'_>, _: &Target) -> Result<Measured, Box<Failure>> {
        let has = |word: &str| overlay.texts().iter().any(|(_, text)| text.contains(word));
        let found: Vec<u64> = self.each.iter().filter(|(word, _)| has(word)).map(|(_, ended)| *ended).collect();
        let is_all = found.len() == self.each.len();
        Ok(measured(16 - if is_all { self.all } else { found.into_iter().sum() }))
    }
}

/// Two variables of a kernel, each with an edit of its own, and what is kept of them.
fn pair(each: &'static [(&'static str, u64)], all: u64, edits: [(&str, &str); 2]) -> (Vec<Diagnostic>, Tally) {
    let file = SourceFile::from_text("a.cu", TEXT);
    let of = |name: &str, (replaced, text): (&str, &str)| {
        let start = TEXT.find(replaced).unwrap();
        let mut diagnostic = diagnostic(&file, &[]);
        diagnostic.evidence.as_mut().unwrap().variable = Some(name.to_string());
        let span = Span::new(&file, start..start + replaced.len());
        let edit = Edit { context: span.clone(), span, replacement: text.to_string() };
        let title = format!("keep `{name}` elsewhere");
        diagnostic.suggestions.push(Suggestion::new(title, Applicability::MachineApplicable, vec![edit]));
        diagnostic
    };
    let mut diagnostics = vec![of("a", edits[0]), of("b", edits[1])];
    let tally = prove_with(&Frames { each, all }, &file, &mut diagnostics, 9);
    (diagnostics, tally)
}

fn shown(diagnostics: &[Diagnostic]) -> Vec<Vec<(&str, usize)>> {
    let mut shown: Vec<Vec<(&str, usize)>> = Vec::new();
    for diagnostic in diagnostics {
        let suggestions = diagnostic.suggestions.iter();
        shown.push(suggestions.map(|suggestion| (suggestion.title.as_str(), suggestion.edits.len())).collect());
    }
    shown
}

const APART: [(&str, &str); 2] = [("n * 3", "n + n + n"), ("threadIdx.x", "threadIdx.x + 0")];
const BOTH: (&str, usize) = ("keep each of `a` and `b` elsewhere", 2);

#[test]
fn variables_that_share_a_frame_are_edited_as_one() {
    // Alone, each edit leaves all, or half of it.
    const EACH: [[(&str, u64); 2]; 3] =
        [[("n + n + n", 0), ("x + 0", 0)], [("n + n + n", 8), ("x + 0", 8)], [("n + n + n", 0), ("x + 0", 8)]];
    for each in &EACH {
        let (diagnostics, tally) = pair(each, 16, APART);
        assert_eq!(shown(&diagnostics), [vec![BOTH], vec![BOTH]], "{each:?}");
        assert_eq!(tally.compilations, 3);
        let left =
            |it: &Diagnostic| it.suggestions[0].verification.as_ref().unwrap().kernels[0].after.usage.stack_frame;
        assert!(diagnostics.iter().all(|diagnostic| left(diagnostic) == 0));
    }
}

#[test]
fn an_edit_of_two_variables_must_be_better_than_one_alone() {
    const EACH: &[(&str, u64)] = &[("n + n + n", 8), ("x + 0", 8)];
    let (diagnostics, tally) = pair(EACH, 8, APART);
    assert_eq!(shown(&diagnostics), [[("keep `a` elsewhere", 1)], [("keep `b` elsewhere", 1)]]);
    assert_eq!((tally.compilations, tally.refuted.len()), (3, 1));
    assert!(matches!(tally.refuted[0].1, Fault::NoBetter));
    // One alone ends all: the other variable needs no edit.
    const ONE: &[(&str, u64)] = &[("n + n + n", 16), ("x + 0", 8)];
    let (diagnostics, tally) = pair(ONE, 16, APART);
    assert_eq!(shown(&diagnostics), [[("keep `a` elsewhere", 1)], [("keep `a` elsewhere", 1)]]);
    assert_eq!(tally.compilations, 2);
    // What is tried in vain is said.
    const NONE: &[(&str, u64)] = &[("n + n + n", 0), ("x + 0", 0)];
    let (diagnostics, _) = pair(NONE, 0, APART);
    assert!(diagnostics.iter().all(|diagnostic| diagnostic.suggestions.is_empty()));
    assert!(diagnostics[0].notes[0].contains("keep each of `a` and `b` elsewhere (does not reduce"), "{diagnostics:?}");
}

#[test]
fn edits_of_one_place_are_not_made_into_one() {
    const EACH: &[(&str, u64)] = &[("n + n + n", 8), ("n + 2", 8)];
    let (diagnostics, tally) = pair(EACH, 16, [("n * 3", "n + n + n"), ("n * 3", "n + 2 * n")]);
    assert_eq!(shown(&diagnostics), [[("keep `a` elsewhere", 1)], [("keep `b` elsewhere", 1)]]);
    assert_eq!(tally.compilations, 2);
}

/// Many variables of a kernel, each with an edit of its own: titles begin with the first text or the second.
fn many(each: &'static [(&'static str, u64)], titles: [&str; 2], count: usize) -> (Vec<Diagnostic>, Tally) {
    let file = SourceFile::from_text("a.cu", TEXT);
    let start = TEXT.find("n * 3").unwrap();
    let of = |number: usize| {
        let mut diagnostic = diagnostic(&file, &[]);
        diagnostic.evidence.as_mut().unwrap().variable = Some(format!("v{number}"));
        let span = Span::new(&file, start..start + 5);
        let edit = Edit { context: span.clone(), span, replacement: format!("n * 3 + {number} - {number}") };
        let title = format!("{} `v{number}`", titles[number % 2]);
        diagnostic.suggestions.push(Suggestion::new(title, Applicability::MachineApplicable, vec![edit]));
        diagnostic
    };
    let mut diagnostics: Vec<Diagnostic> = (0..count).map(of).collect();
    let tally = prove_with(&Frames { each, all: 16 }, &file, &mut diagnostics, 90);
    (diagnostics, tally)
}

#[test]
fn edits_that_are_like_many_in_vain_are_not_compiled() {
    const NONE: &[(&str, u64)] = &[("nothing", 0), ("at all", 0)];
    let (diagnostics, tally) = many(NONE, ["move", "move"], 9);
    assert_eq!((tally.compilations, tally.refuted.len(), tally.proven), (6, 9, 0));
    assert!(diagnostics[5].notes[0].starts_with("tried and rejected: move `v5` ("), "{:?}", diagnostics[5].notes);
    let [note] = diagnostics[6].notes.as_slice() else { panic!("{:?}", diagnostics[6].notes) };
    let expected = "not compiled: move `v6` (as for 6 edits like it of this kernel: does not reduce local memory, or turns it into spills)";
    assert_eq!(note, expected);
    assert!(diagnostics[6].suggestions.is_empty());
}

#[test]
fn edits_of_another_kind_or_after_one_that_helps_are_compiled() {
    const NONE: &[(&str, u64)] = &[("nothing", 0), ("at all", 0)];
    assert_eq!(many(NONE, ["move", "unroll"], 9).1.compilations, 9);
    assert_eq!(many(NONE, ["move", "unroll"], 12).1.compilations, 12);
    const THIRD: &[(&str, u64)] = &[("+ 2 - 2", 8), ("nothing", 0)];
    let (_, tally) = many(THIRD, ["move", "move"], 9);
    assert_eq!((tally.compilations, tally.proven), (9, 1));
}
