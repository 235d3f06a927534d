//! What is found in the artifacts of one unit: read, attribute, lint.

use std::collections::BTreeSet;
use std::path::Path;

use cuda_syntax::SyntaxTrees;
use lmem_base::diagnostic::{Diagnostic, Label, Severity};
use lmem_base::gpu::Arch;
use lmem_base::version::Version;
use lmem_frame::{FrameObject, KernelFrame, SpillCheck, StackObjectKind, attribute};
use lmem_lints::{self, Circumstances, LintContext, UnitContext};
use lmem_unit::{Artifacts, TranslationUnit, UnitCode};
use nv_code::{ReadError, UnitFacts, read_machine_code, read_unit};

use super::findings::{CheckedKernel, Findings, FrameFindings, Graded};
use super::machine::source_file;
use super::messages;
use super::unit_flags::{flag_origin, register_flag};
use crate::compile::{CompileError, Failure, Target};
use crate::verify::measure::{Measured, block_sizes};

/// The first version whose ptxas marks spills in the cubin.
pub const MARKS_SPILLS: Version = Version { major: 12, minor: 8 };

/// Computes all findings of a unit, independent of levels.
pub fn examine(unit: &TranslationUnit, target: &Target, artifacts: &Artifacts, root: &Path) -> Findings {
    let located = messages::located(&artifacts.messages, unit, root, &artifacts.ptx);
    let mut findings = Findings {
        diagnostics: messages::warnings(&located, unit).into_iter().map(Graded::message).collect(),
        rescues: artifacts.rescues.clone(),
        architecture: artifacts.architecture.clone(),
        tried_shared_spilling: artifacts.shared_log.is_some(),
        ..Findings::default()
    };
    findings.add_origin(unit, artifacts, root);
    let facts = match read(unit, target, artifacts, root) {
        Ok(facts) => facts,
        Err(error) => {
            findings.failed = true;
            let errors = unreadable(unit, &error.to_string(), root);
            findings.diagnostics.extend(errors.into_iter().map(Graded::message));
            return findings;
        }
    };
    let register_flag = register_flag(unit).or_else(|| given_limit(&facts));
    let trees = SyntaxTrees::new(unit, artifacts, root);
    findings.templates = kernel_templates(unit, &trees);
    let cx = UnitContext::new(unit, artifacts, &facts, &trees, &located, register_flag.clone());
    let toolkit = match &unit.code {
        UnitCode::Machine(code) => code.header.toolkit.map_or("unknown".to_string(), |version| version.to_string()),
        _ => target.toolkit.version.to_string(),
    };
    let about = Circumstances {
        unit,
        frame: None,
        architecture: &artifacts.architecture,
        toolkit: &toolkit,
        flags: flag_origin(unit),
    };
    let remarks = lmem_lints::option_claims(&cx).into_iter().map(|claim| Graded::claim(claim, &about));
    findings.diagnostics.extend(remarks);
    let block_sizes = block_sizes(&artifacts.ptx);
    for frame in &attribute(&trees, &facts, artifacts, register_flag) {
        let bound = block_sizes.get(frame.mangled.as_str()).copied();
        findings.frames.push(examine_frame(&cx, frame, &Circumstances { frame: Some(frame), ..about }, bound));
    }
    findings.measured = Measured::of_log(&facts.log);
    if findings.has_suggestions() {
        findings.measured.add_work(artifacts);
    }
    findings
}

/// Reads the compiler's output, or precompiled machine code.
fn read(unit: &TranslationUnit, target: &Target, artifacts: &Artifacts, root: &Path) -> Result<UnitFacts, ReadError> {
    let arch = artifacts.arch();
    match &unit.code {
        UnitCode::Machine(code) => {
            let marks_spills = code.header.toolkit.is_some_and(|version| version >= MARKS_SPILLS);
            let file = |name: &str, lines: &BTreeSet<u32>| source_file(name, lines, &unit.base, root);
            read_machine_code(&artifacts.cubin, arch, marks_spills, &file)
        }
        _ => {
            let marks_spills = target.toolkit.version >= MARKS_SPILLS;
            read_unit(&artifacts.cubin, &artifacts.ptx, &artifacts.ptxas_log, arch, marks_spills)
        }
    }
}

/// The register limit that machine code was compiled with. The code does not tell who set the limit, and how.
fn given_limit(facts: &UnitFacts) -> Option<(u32, String)> {
    facts.register_limit.map(|registers| (registers, format!("-maxrregcount={registers}")))
}

/// The kernels of a file that are templates. Strings are compiled with the names of their instances.
fn kernel_templates(unit: &TranslationUnit, trees: &SyntaxTrees<'_>) -> Vec<String> {
    let UnitCode::CudaFile { file, .. } = &unit.code else { return Vec::new() };
    if !["template", "__global__"].iter().all(|word| file.text().contains(word)) {
        return Vec::new();
    }
    let tree = trees.get(&file.path.to_string_lossy());
    tree.into_iter().flat_map(|tree| tree.kernel_templates()).map(str::to_string).collect()
}

/// `bound` is the number of threads of the largest block that the kernel allows, if it says so.
fn examine_frame(
    unit: &UnitContext<'_>,
    frame: &KernelFrame,
    about: &Circumstances<'_>,
    bound: Option<u32>,
) -> FrameFindings {
    let has_spill_marks = unit.facts.has_spill_marks;
    let cx = LintContext { unit, frame, arch: Arch::of(about.architecture), has_spill_marks };
    let mut unexplained_bytes = 0;
    let mut diagnostics = Vec::new();
    for claim in lmem_lints::claims(&cx).into_iter().chain(lmem_lints::kernel_claims(&cx)) {
        if claim.lint.name == "unexplained_local_memory" {
            unexplained_bytes += claim.bytes;
        }
        let mut graded = Graded::claim(claim, about);
        if let UnitCode::Machine(_) = &about.unit.code {
            // Edits of the source do not affect precompiled code, so none can be verified.
            graded.diagnostic.suggestions.clear();
        }
        diagnostics.push(graded);
    }
    diagnostics.extend(frame.spill_check.map(|check| Graded::message(spills_differ(check, frame, about))));
    debug_assert_eq!(
        frame.objects.iter().map(FrameObject::counted_bytes).sum::<u64>(),
        frame.usage.stack_frame,
        "the objects of `{}` do not add up: {:?}",
        frame.name,
        frame
            .objects
            .iter()
            .map(|object| (object.bytes, matches!(object.kind, StackObjectKind::Unknown)))
            .collect::<Vec<_>>()
    );
    FrameFindings {
        name: frame.name.clone(),
        mangled: frame.mangled.clone(),
        kernels: frame.kernels.clone(),
        is_entry: frame.is_entry,
        stack_frame: frame.usage.stack_frame,
        unexplained_bytes,
        diagnostics,
        kernel: frame.is_entry.then(|| CheckedKernel {
            instance: lmem_lints::instance(frame, 0, (0, 0), about),
            span: frame.span.clone(),
            stack_is_unknown: frame.stack_is_unknown,
            threads: unit.launch(frame).map(|launch| launch.threads).or(bound),
            dynamic_shared: unit.launches().dynamic_shared(&frame.name),
        }),
    }
}

/// A finding that ptxas's marks and figures disagree: some bytes are moved by something unknown.
fn spills_differ(check: SpillCheck, frame: &KernelFrame, about: &Circumstances<'_>) -> Diagnostic {
    let architecture = about.architecture;
    let SpillCheck { found, reported } = check;
    let kind = if frame.is_entry { "kernel" } else { "function" };
    Diagnostic {
        primary: frame.span.clone().map(|span| Label { span, text: String::new() }),
        notes: vec!["what is said of its spills may be incomplete".to_string()],
        package: about.unit.package.clone(),
        ..Diagnostic::of_tool(
            Severity::Note,
            "spill_marks",
            format!(
                "{kind} `{}` for {architecture}: instructions that are marked as spills move {} and {} bytes, ptxas reports {} and {}",
                frame.name, found.0, found.1, reported.0, reported.1
            ),
        )
    }
}

fn unreadable(unit: &TranslationUnit, error: &str, root: &Path) -> Vec<Diagnostic> {
    if let UnitCode::Machine(_) = &unit.code {
        return messages::failure(&Box::<Failure>::from(CompileError::Broken(error.to_string())), unit, root);
    }
    vec![Diagnostic {
        notes: vec!["this is a bug in cargo-lmem, or a toolkit that it does not know yet".to_string()],
        package: unit.package.clone(),
        ..Diagnostic::of_tool(
            Severity::Error,
            "read",
            format!("`{}` compiles, but what the compiler wrote cannot be read: {error}", unit.name),
        )
    }]
}
