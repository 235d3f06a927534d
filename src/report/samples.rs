//! Diagnostics in the form that lints produce, for tests of the formats.

use std::path::Path;
use std::sync::Arc;

use lmem_base::diagnostic::{
    Applicability, Code, Diagnostic, Edit, Evidence, FlagOrigin, Footprint, Help, KernelInstance, Label, LocalAccess,
    Report, ResourceUsage, Severity, Suggestion, Uniformity, Verification, VerifiedKernel,
};
use lmem_base::source::{SourceFile, Span};

use super::{Context, DEFAULT_WIDTH, PackageInfo};

const RUNNING_MEAN: &str = "\
template <int W>
__global__ void running_mean(const float* in, float* out, int n) {
    float window[W];
    for (int i = 0; i < n; ++i) {
        int k = i % W;
        float sum = 0;
\tsum += window[k];
        out[i] = sum;
    }
}
";

/// A label at the first occurrence of `needle` in a file.
pub(crate) fn label(file: &Arc<SourceFile>, needle: &str, text: &str) -> Label {
    let start = file.text().find(needle).expect("the sample holds the text");
    Label { span: Span::new(file, start..start + needle.len()), text: text.to_string() }
}

pub(super) fn kernel(name: &str, arch: &str, bytes: u64) -> KernelInstance {
    KernelInstance {
        name: name.to_string(),
        mangled: format!("_Z{}{name}", name.len()),
        arch: arch.to_string(),
        toolkit: "13.5".to_string(),
        bytes,
        loads: 0,
        stores: 0,
        build: None,
        usage: ResourceUsage { stack_frame: bytes, registers: 31, ..ResourceUsage::default() },
        flags: FlagOrigin::Config,
        loaded_at: Vec::new(),
        accesses: Vec::new(),
    }
}

pub(super) fn diagnostic(code: Code, message: &str, primary: Label) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        code,
        message: message.to_string(),
        primary: Some(primary),
        secondary: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
        suggestions: Vec::new(),
        evidence: None,
        package: Some("demo".to_string()),
    }
}

/// A variable of a `.cu` file, with three labels.
pub(crate) fn variable() -> Diagnostic {
    instance(32, "sm_90")
}

/// One instance of the template.
pub(crate) fn instance(width: u64, arch: &str) -> Diagnostic {
    let file = SourceFile::from_text("kernels/running_mean.cu", RUNNING_MEAN);
    let bytes = 4 * width;
    let subject = format!("`window` (`float[{width}]`, {bytes} B)");
    let message = format!("{subject} is in local memory: dynamically indexed");
    let text = format!("{bytes} B per thread; {width} local loads, 1 store");
    let primary = Label { span: Span::new(&file, 94..100), text };
    let index = RUNNING_MEAN.find("[k]").expect("the sample is indexed") + 1;
    Diagnostic {
        secondary: vec![Label {
            span: Span::new(&file, index..index + 1),
            text: "divergent, loaded from memory (loop at line 4)".to_string(),
        }],
        help: vec![Help { message: "index with the loop counter and unroll".to_string() }],
        evidence: Some(Evidence {
            variable: Some("window".to_string()),
            variable_type: Some(format!("float[{width}]")),
            bytes,
            loads: width,
            stores: 1,
            loop_depth: 2,
            uniformity: Some(Uniformity::PerThread),
            kernels: vec![KernelInstance {
                loads: width,
                stores: 1,
                accesses: vec![LocalAccess {
                    spans: vec![Span::new(&file, index..index + 1)],
                    variable: Some("window".to_string()),
                    loads: width,
                    stores: 0,
                }],
                ..kernel(&format!("running_mean<{width}>"), arch, bytes)
            }],
            size: Some(bytes),
            subject: Some((subject, "dynamically indexed".to_string())),
            ..Evidence::default()
        }),
        ..diagnostic(Code::Lint("dynamic_index"), &message, primary)
    }
}

/// Spills of a kernel in a Rust string, with an edit that was compiled.
pub(crate) fn proven() -> Diagnostic {
    let found = variable();
    let footprint = |stack_frame, registers| Footprint {
        usage: ResourceUsage { stack_frame, registers, ..ResourceUsage::default() },
        ..Footprint::default()
    };
    let kernels = found.evidence.iter().flat_map(|evidence| &evidence.kernels);
    let verified = kernels.map(|kernel| VerifiedKernel {
        name: kernel.name.clone(),
        mangled: kernel.mangled.clone(),
        arch: kernel.arch.clone(),
        before: footprint(128, 31),
        after: footprint(0, 46),
        results: None,
        speedup: None,
        local_share: None,
        measured: None,
        block_limit: None,
    });
    let verification = Some(Verification { kernels: verified.collect() });
    let file = &found.primary.as_ref().expect("the sample has a place").span.file;
    let edit = Edit::alone(label(file, "k = i % W", "").span, "k = i");
    let suggestion = Suggestion::new("index with the loop counter", Applicability::MachineApplicable, vec![edit]);
    Diagnostic { suggestions: vec![Suggestion { verification, ..suggestion }], ..found }
}

pub(super) fn spill() -> Diagnostic {
    let text = "// größe\nconst SRC: &str = \"extern \\\"C\\\" __global__ void gemm_tile(float* c) {}\";\n";
    let file = SourceFile::from_text("src/kernels.rs", text);
    let message = "kernel `gemm_tile` spills: launch bounds allow 32 registers, 71 needed";
    let mut kernel = kernel("gemm_tile", "sm_90", 380);
    kernel.usage = ResourceUsage { stack_frame: 384, spill_stores: 380, spill_loads: 420, registers: 32, shared: 0 };
    kernel.flags = FlagOrigin::Assumed;
    Diagnostic {
        notes: vec!["spills in the loop at line 9".to_string()],
        evidence: Some(Evidence { bytes: 380, loads: 105, stores: 95, kernels: vec![kernel], ..Evidence::default() }),
        ..diagnostic(
            Code::Lint("register_spill"),
            message,
            label(&file, "gemm_tile", "380 B of stack per thread for spills"),
        )
    }
}

/// Declared in a header, used in a `.cu` file.
pub(super) fn header() -> Diagnostic {
    let header = SourceFile::from_text("include/scan.cuh", "#pragma once\nstruct Scan { int count[4]; };\n");
    let file =
        SourceFile::from_text("kernels/scan.cu", "#include \"scan.cuh\"\n// 直方图 🦀\n/* 值 */ s.count[k]++;\n");
    let message = "`count` (`int[4]`, 16 B) is in local memory: dynamically indexed";
    Diagnostic {
        severity: Severity::Error,
        secondary: vec![label(&file, "s.count[k]", "indexed here")],
        notes: vec!["inlined at kernels/scan.cu:3".to_string()],
        evidence: Some(Evidence {
            variable: Some("count".to_string()),
            bytes: 16,
            loads: 1,
            stores: 1,
            kernels: vec![kernel("scan", "sm_90", 16)],
            ..Evidence::default()
        }),
        ..diagnostic(Code::Lint("dynamic_index"), message, label(&header, "count", "16 B per thread"))
    }
}

/// A compiler message for a file outside all packages.
pub(super) fn compiler_error() -> Diagnostic {
    let file = SourceFile::from_text("extra/broken.cu", "__global__ void k() { undefined(); }\n");
    Diagnostic {
        severity: Severity::Error,
        package: None,
        ..diagnostic(
            Code::Compiler("nvcc".to_string()),
            "identifier \"undefined\" is undefined",
            label(&file, "undefined", ""),
        )
    }
}

/// A remark on the run as a whole.
pub(super) fn remark() -> Diagnostic {
    let primary = compiler_error().primary.expect("the sample has a place");
    Diagnostic {
        severity: Severity::Note,
        primary: None,
        package: None,
        ..diagnostic(Code::Tool("submodule"), "`third_party/cutlass` is a git submodule and was skipped", primary)
    }
}

pub(super) fn report() -> Report {
    let diagnostics = vec![compiler_error(), header(), variable(), spill(), remark()];
    Report { diagnostics, ..Report::default() }
}

fn docs(lint: &str) -> Option<&'static str> {
    let text = "A local array is indexed by a value the compiler does not know.\n\n## Why it costs\nRegisters have no addresses.\n";
    (lint == "dynamic_index").then_some(text)
}

pub(super) fn packages() -> Vec<PackageInfo> {
    let target = r#"{"kind":["lib"],"crate_types":["lib"],"name":"demo","src_path":"/ws/src/lib.rs","edition":"2024"}"#;
    vec![PackageInfo {
        name: "demo".to_string(),
        id: "path+file:///ws#demo@0.1.0".to_string(),
        manifest_path: "/ws/Cargo.toml".into(),
        target: serde_json::from_str(target).expect("the sample is a target"),
    }]
}

pub(super) fn context(packages: &[PackageInfo]) -> Context<'_> {
    Context {
        packages,
        root: Path::new("/ws"),
        repository_prefix: "",
        lint_docs: docs,
        color: false,
        width: DEFAULT_WIDTH,
        full: false,
        limit: None,
    }
}

/// The samples in one format.
pub(super) fn rendered(report: &Report, format: crate::cli::MessageFormat) -> String {
    let packages = packages();
    let mut out = Vec::new();
    super::render(report, format, &context(&packages), &mut out).expect("a vector takes all");
    String::from_utf8(out).expect("formats write UTF-8")
}
