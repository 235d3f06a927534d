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

/// Whether the unit's text, or the Rust file that compiles or launches it, speaks of blocks that wait for each other.
pub(super) fn must_be_resident(cx: &LintContext<'_>) -> bool {
    texts(cx.unit.unit).into_iter().any(mentions)
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
}
