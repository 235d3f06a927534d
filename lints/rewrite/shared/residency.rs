//! Kernels whose blocks must all be resident at once.
//!
//! Threads of a cooperative launch wait for all blocks of the grid, those of a cluster for its blocks. Such a launch
//! fails if the blocks do not fit, and with more shared memory fewer do.

use lmem_unit::{TranslationUnit, UnitCode};

use crate::framework::LintContext;

/// What such kernels and their launches mention, in C++ and in Rust.
const WORDS: [&str; 13] = [
    "this_grid",
    "grid_group",
    "multi_grid",
    "LaunchCooperative",
    "AttributeCooperative",
    "ATTRIBUTE_COOPERATIVE",
    "launch_cooperative",
    "this_cluster",
    "cluster_group",
    "cluster_dim",
    "ClusterDim",
    "CLUSTER_DIM",
    "barrier.cluster",
];

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

/// Whether the unit's text, its PTX, or the Rust file that compiles or launches it speaks of blocks that wait for each
/// other.
pub fn must_be_resident(cx: &LintContext<'_>) -> bool {
    cx.unit.has_waiting_blocks(|| waits(cx.unit.ptx_text()) || texts(cx.unit.unit).into_iter().any(mentions))
}

fn waits(ptx: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| ptx.contains(word));
    has(&PTX_WORDS) || (has(&FENCES) && has(&QUESTIONS))
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
    WORDS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_wait_for_each_other_are_known_by_their_words() {
        for text in [
            "cg::grid_group grid = cg::this_grid(); grid.sync();",
            "cudaLaunchCooperativeKernel((void*)k, blocks, 128, arguments);",
            "attribute.id = cudaLaunchAttributeCooperative;",
            "attribute.id = cudaLaunchAttributeClusterDimension;",
            "unsafe { builder.launch_cooperative(config) }",
            "__global__ void __cluster_dims__(2, 1, 1) k()",
            "cg::this_cluster().sync();",
        ] {
            assert!(mentions(text), "{text}");
        }
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
        ] {
            assert!(waits(ptx), "{ptx}");
        }
        assert!(!waits("atom.global.add.u32 %r1, [%rd1], 1;\nbar.sync 0;"));
    }
}
