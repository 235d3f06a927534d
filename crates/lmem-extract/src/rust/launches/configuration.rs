//! Launch configurations: `LaunchConfig { … }`, `<<<grid, block, shared, stream>>>`.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Expr, ExprStruct, Member};

use lmem_unit::DynamicShared;

use crate::rust::fold::Folder;
use crate::rust::fold::frames::Frames;
use crate::rust::fold::parse::{parse, path_names};
use crate::rust::scan::tokens::split_at_commas;

/// Block dimensions of cudarc's `LaunchConfig::for_num_elems`, from 0.9 to 0.19; it adds no dynamic shared memory.
const FOR_NUM_ELEMS: [u32; 3] = [1024, 1, 1];

/// A launch configuration, as far as known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Configuration {
    pub block: Option<[u32; 3]>,
    pub dynamic_shared: DynamicShared,
}

impl Configuration {
    const UNKNOWN: Self = Self { block: None, dynamic_shared: DynamicShared::Unknown };

    /// The configuration of a `LaunchConfig`.
    pub fn of_structure(folder: &mut Folder<'_, '_>, file: usize, config: &Expr) -> Self {
        folder.start(Frames::default());
        let Ok((file, config)) = folder.behind_names(file, config) else { return Self::UNKNOWN };
        match &config {
            Expr::Struct(structure)
                if path_names(&structure.path).last().is_some_and(|name| name == "LaunchConfig") =>
            {
                let block = member(structure, "block_dim").and_then(|block| threads(folder, file, block));
                let shared = member(structure, "shared_mem_bytes");
                let dynamic_shared = shared.map_or(DynamicShared::Unknown, |shared| bytes(folder, file, shared));
                Self { block, dynamic_shared }
            }
            Expr::Call(call) => match &*call.func {
                Expr::Path(path)
                    if path_names(&path.path).ends_with(&["LaunchConfig".into(), "for_num_elems".into()]) =>
                {
                    Self { block: Some(FOR_NUM_ELEMS), dynamic_shared: DynamicShared::Bytes(0) }
                }
                _ => Self::UNKNOWN,
            },
            _ => Self::UNKNOWN,
        }
    }

    /// The configuration in `launch!(…)`.
    pub fn of_macro(folder: &mut Folder<'_, '_>, file: usize, tokens: TokenStream) -> Self {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_open = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '<');
        let start = tokens.windows(3).position(|three| three.iter().all(is_open));
        let parts = start.map(|start| split_at_commas(&tokens[start + 3..])).unwrap_or_default();
        let part = |index: usize| {
            let tokens = parts.get(index)?;
            parse(tokens.iter().cloned().collect()).ok()
        };
        let (block, shared) = (part(1), part(2));
        folder.start(Frames::default());
        Self {
            block: block.and_then(|block| threads(folder, file, &block)),
            dynamic_shared: shared.map_or(DynamicShared::Unknown, |shared| bytes(folder, file, &shared)),
        }
    }
}

fn member<'e>(structure: &'e ExprStruct, name: &str) -> Option<&'e Expr> {
    let is_meant = |member: &Member| matches!(member, Member::Named(known) if known == name);
    structure.fields.iter().find(|field| is_meant(&field.member)).map(|field| &field.expr)
}

/// Block dimensions: a number, or a tuple of numbers.
fn threads(folder: &mut Folder<'_, '_>, file: usize, block: &Expr) -> Option<[u32; 3]> {
    let (file, block) = folder.behind_names(file, block).ok()?;
    let axes: Vec<&Expr> = match &block {
        Expr::Tuple(axes) => axes.elems.iter().collect(),
        other => vec![other],
    };
    let mut threads = [1; 3];
    if axes.len() > threads.len() {
        return None;
    }
    for (axis, written) in threads.iter_mut().zip(axes) {
        *axis = u32::try_from(folder.integer(file, written)?).ok().filter(|threads| *threads > 0)?;
    }
    Some(threads)
}

fn bytes(folder: &mut Folder<'_, '_>, file: usize, written: &Expr) -> DynamicShared {
    let bytes = folder.integer(file, written).and_then(|bytes| u64::try_from(bytes).ok());
    bytes.map_or(DynamicShared::Unknown, DynamicShared::Bytes)
}
