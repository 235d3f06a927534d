//! Kernels whose blocks must all be resident at once.
//!
//! Threads of a cooperative launch wait for all blocks of the grid, those of a cluster for its blocks. Such a launch
//! fails if the blocks do not fit, and with more shared memory fewer do.

use std::collections::{BTreeMap, BTreeSet};

use lmem_unit::{TranslationUnit, UnitCode};
use nv_code::{PtxFunction, PtxModule};

use crate::framework::{LintContext, WaitingBlocks};

/// What their launches mention, in C++ and in Rust. Which kernel is meant, words do not tell.
const WORDS: [&str; 6] = [
    "LaunchCooperative",
    "AttributeCooperative",
    "ATTRIBUTE_COOPERATIVE",
    "launch_cooperative",
    "ClusterDim",
    "CLUSTER_DIM",
];

/// A field of a launch's configuration, and the attribute of a kernel that has it in its name; that is seen in the PTX.
const CLUSTER: (&str, &str) = ("cluster_dim", "__cluster_dims__");

/// What the PTX of such kernels has, wherever in the headers the call stands: the grid's barrier, ranks in a cluster,
/// pauses while waiting.
const PTX_WORDS: [&str; 9] = [
    "%envreg",
    "cudaCG",
    "%cluster",
    "%nclusterid",
    "barrier.cluster",
    "reqnctapercluster",
    "nanosleep",
    "ld.acquire.gpu",
    "ld.acquire.sys",
];

/// A barrier of the grid that a program builds itself has one of the first for what other blocks wrote, and one of the
/// second to ask whether they did.
const FENCES: [&str; 3] = ["membar.gl", "membar.sys", "fence."];
const QUESTIONS: [&str; 3] = ["atom.", "ld.volatile", "ld.relaxed"];

/// What a loop asks that waits for what others write.
const SPIN_QUESTIONS: [&str; 6] = ["atom.", "ld.volatile", "ld.relaxed", "ld.acquire", "ld.global.cg", "ld.global.cv"];

/// Limit on the instructions of a loop that only waits.
const MOST_SPINNING: usize = 16;

/// Whether the blocks of a kernel may wait for each other: its PTX, or that of a function that it may call, has what such
/// code has, or a launch of the unit's text, or of the Rust file that compiles or launches it, asks for that.
pub fn must_be_resident(cx: &LintContext<'_>) -> bool {
    let waiting = cx.unit.waiting_blocks(|| match texts(cx.unit.unit).into_iter().any(mentions) {
        true => WaitingBlocks::All,
        false => waiting(cx.unit.ptx(), cx.unit.ptx_text()),
    });
    match waiting {
        WaitingBlocks::All => true,
        WaitingBlocks::Of(functions) => functions.contains(&cx.frame.mangled),
    }
}

/// The functions that wait, or may call one that does. All do where one may call any.
fn waiting(module: &PtxModule, text: &str) -> WaitingBlocks {
    if !waits(text) {
        return WaitingBlocks::Of(BTreeSet::new());
    }
    let lines: Vec<&str> = text.lines().collect();
    let body = |function: &PtxFunction| {
        let range = function.lines.clone()?;
        let first = usize::try_from(*range.start()).ok()?.checked_sub(1)?;
        Some(lines.get(first..usize::try_from(*range.end()).ok()?)?.join("\n"))
    };
    let bodies: Option<BTreeMap<&str, String>> =
        module.functions.iter().map(|function| Some((&*function.name, body(function)?))).collect();
    let Some(bodies) = bodies.filter(|all| !all.is_empty()) else { return WaitingBlocks::All };
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut found: BTreeSet<String> = BTreeSet::new();
    let mut fresh: Vec<&str> = Vec::new();
    for (name, body) in &bodies {
        // An indirect call may reach any function.
        if waits(body) || body.contains(".callprototype") || body.contains(".calltargets") {
            fresh.push(name);
        }
        // Names of PTX may have `$` in them.
        let words = body.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '%')));
        for used in words.filter(|word| word != name && bodies.contains_key(word)) {
            users.entry(used).or_default().push(name);
        }
    }
    while let Some(name) = fresh.pop() {
        if found.insert(name.to_string()) {
            fresh.extend(users.get(name).into_iter().flatten());
        }
    }
    WaitingBlocks::Of(found)
}

fn waits(ptx: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| ptx.contains(word));
    has(&PTX_WORDS) || (has(&FENCES) && has(&QUESTIONS)) || spins(ptx)
}

/// Whether a short loop does nothing but ask what other threads wrote: `while (atomicAdd(ready, 0) == 0);`. A loop that
/// exchanges and compares until it was the last to write waits for none that is not running.
fn spins(ptx: &str) -> bool {
    if !SPIN_QUESTIONS.iter().any(|word| ptx.contains(word)) {
        return false;
    }
    // By label, the instructions behind it.
    let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
    let mut instructions: Vec<&str> = Vec::new();
    for line in ptx.lines().map(str::trim) {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, instructions.len());
        } else if line.ends_with(';') && !line.starts_with('.') {
            if let Some((_, target)) = line.split_once("bra") {
                let target = target.trim_end_matches(';').rsplit([' ', '\t']).next().unwrap_or("");
                let start = labels.get(target).copied().filter(|start| instructions.len() - start <= MOST_SPINNING);
                let round = start.map_or(&[][..], |start| &instructions[start..]);
                let has = |words: &[&str]| round.iter().any(|line| words.iter().any(|word| line.contains(word)));
                if has(&SPIN_QUESTIONS) && !has(&["atom.global.cas", "atom.cas", "st.global", "st.shared", "red."]) {
                    return true;
                }
            }
            instructions.push(line);
        }
    }
    false
}

fn texts(unit: &TranslationUnit) -> Vec<&str> {
    let own = match &unit.code {
        UnitCode::CudaFile { file, .. } => Some(file.text()),
        _ => unit.text(),
    };
    let launches = unit.launches.iter().flat_map(|launch| [launch.span.file.text(), launch.loaded_at.file.text()]);
    own.into_iter().chain(unit.use_site.iter().map(|site| site.file.text())).chain(launches).collect()
}

fn mentions(text: &str) -> bool {
    let (field, attribute) = CLUSTER;
    WORDS.iter().any(|word| text.contains(word)) || text.matches(field).count() > text.matches(attribute).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_wait_for_each_other_are_known_by_their_words() {
        for text in [
            "cudaLaunchCooperativeKernel((void*)k, blocks, 128, arguments);",
            "attribute.id = cudaLaunchAttributeCooperative;",
            "attribute.id = cudaLaunchAttributeClusterDimension;",
            "unsafe { builder.launch_cooperative(config) }",
            "LaunchConfig { grid_dim, block_dim, cluster_dim: (2, 1, 1) }",
        ] {
            assert!(mentions(text), "{text}");
        }
        assert!(!mentions("__global__ void __cluster_dims__(2, 1, 1) k()"));
        assert!(!mentions(
            "auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());"
        ));
    }

    #[test]
    fn barriers_in_headers_are_known_by_their_instructions() {
        for ptx in [
            "mov.u32 %r1, %envreg2;",
            "mov.u32 %r1, %cluster_ctarank;",
            "membar.gl;\natom.global.add.u32 %r1, [%rd1], 1;\nld.volatile.global.u32 %r2, [%rd1];",
            "nanosleep.u32 20;",
            "$L__BB0_2:\natom.global.add.u32 %r4, [%rd3], 0;\nsetp.lt.s32 %p2, %r4, %r2;\n@%p2 bra \t$L__BB0_2;",
            "$L__BB0_2:\nld.global.cg.u32 %r4, [%rd3];\nsetp.lt.s32 %p2, %r4, %r2;\n@%p2 bra \t$L__BB0_2;",
        ] {
            assert!(waits(ptx), "{ptx}");
        }
        // A sum by exchanges, a histogram, and work behind a question.
        for ptx in [
            "$L__BB0_2:\natom.global.cas.b32 %r4, [%rd3], %r3, %r5;\nsetp.ne.s32 %p2, %r4, %r3;\n@%p2 bra $L__BB0_2;",
            "$L__BB0_2:\nld.global.u32 %r4, [%rd3];\nred.global.add.u32 [%rd4], 1;\n@%p2 bra $L__BB0_2;",
            "$L__BB0_2:\natom.global.add.u32 %r4, [%rd3], 1;\nst.global.u32 [%rd4], %r4;\n@%p2 bra $L__BB0_2;",
        ] {
            assert!(!waits(ptx), "{ptx}");
        }
        assert!(!waits("atom.global.add.u32 %r1, [%rd1], 1;\nbar.sync 0;"));
    }

    #[test]
    fn other_kernels_of_the_unit_do_not_wait() {
        let function = |head: &str, body: &str| format!("{head}\n{{\n{body}\nret;\n}}\n");
        let text = [
            ".version 8.0\n.target sm_80\n.address_size 64\n".to_string(),
            function(".func wait()", "membar.gl;\natom.global.add.u32 %r1, [%rd1], 1;"),
            function(".visible .entry alone()", "bar.sync 0;"),
            function(".visible .entry waiting()", "call.uni wait, ();"),
            function(".visible .entry indirect()", "call %rd1, (), p;\np : .callprototype _ ();"),
        ]
        .concat();
        let module = PtxModule::parse(&text).unwrap();
        let WaitingBlocks::Of(found) = waiting(&module, &text) else { panic!("all") };
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), ["indirect", "wait", "waiting"]);
    }
}
