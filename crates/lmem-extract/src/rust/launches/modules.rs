//! The kernels that a load by an unknown name may refer to.
//!
//! The driver looks a name up in a module, so the kernel is in that module's text. If the text is unknown, it is one
//! that may be in the same program as the load. A program is a package with all its dependencies; a text in a package
//! that shares no program with the load is excluded. Files opened at run time are the exception: a package that opens
//! such files may load any kernel that is compiled to a file.

use serde::{Deserialize, Serialize};

use std::collections::BTreeSet;
use std::path::Path;

use syn::Expr;

use lmem_project::discover::Workspace;
use lmem_unit::{TranslationUnit, UnitCode};

use crate::rust::fold::failure::{Failure, FailureKind};
use crate::rust::fold::frames::Frames;
use crate::rust::fold::parse::{parse, path_names};
use crate::rust::fold::{Folded, Folder, Site};
use crate::rust::scan::Call;
use crate::rust::sinks::{self, Takes};

/// A load of a kernel by an unknown name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum UnknownLoad {
    /// From one of these module texts.
    Of(BTreeSet<ModuleText>),
    /// From a module that this package creates or receives.
    InPackage(Option<usize>),
}

/// The source of a module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum ModuleText {
    Text(String),
    /// A build output, by its file name without extension.
    Built(String),
}

impl ModuleText {
    /// Whether a unit has this text.
    pub fn is_of(&self, unit: &TranslationUnit) -> bool {
        match (self, &unit.code) {
            (Self::Text(module), UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. }) => {
                module == text.as_str()
            }
            (Self::Built(name), UnitCode::CudaFile { file, .. }) => *name == stem(&file.path),
            _ => false,
        }
    }
}

impl UnknownLoad {
    /// Whether the load may be of a kernel of a unit. `readers` are packages that open kernel files at run time.
    pub fn may_be_of(&self, unit: &TranslationUnit, workspace: &Workspace, readers: &BTreeSet<Option<usize>>) -> bool {
        match (self, &unit.code) {
            (Self::Of(texts), UnitCode::CudaText { text, .. } | UnitCode::Ptx { text, .. }) => {
                texts.contains(&ModuleText::Text(text.as_str().to_string()))
            }
            (Self::Of(texts), UnitCode::CudaFile { file, .. }) => texts.contains(&ModuleText::Built(stem(&file.path))),
            // A module text is never machine code.
            (Self::Of(_), UnitCode::Machine(_)) => false,
            (Self::InPackage(package), UnitCode::CudaFile { .. }) if readers.contains(package) => true,
            (Self::InPackage(package), _) => {
                let Some(package) = package.and_then(|package| workspace.packages.get(package)) else { return true };
                unit.package.as_ref().is_none_or(|of| package.shares_program_with.contains(of))
            }
        }
    }
}

/// The possible texts of a load's module, if all of them are known.
pub(super) fn module_texts(folder: &mut Folder<'_, '_>, file: usize, call: &Call) -> Option<BTreeSet<ModuleText>> {
    let receiver = parse(call.receiver.clone()).ok().filter(|_| call.is_method)?;
    folder.start(Frames::default());
    let mut found = BTreeSet::new();
    for made in folder.makers(file, &receiver) {
        let made = made.ok()?;
        match &made.expression {
            // cudarc
            Expr::MethodCall(load) if load.method == "load_module" && load.args.len() == 1 => {
                folder.frames = made.frames.clone();
                found.extend(ptx_texts(folder, made.file, &load.args[0])?);
            }
            _ => found.extend(texts_of_call(folder, &made)?),
        }
    }
    Some(found).filter(|found| !found.is_empty())
}

/// The possible texts of a `Ptx`.
fn ptx_texts(folder: &mut Folder<'_, '_>, file: usize, ptx: &Expr) -> Option<BTreeSet<ModuleText>> {
    let mut found = BTreeSet::new();
    for made in folder.makers(file, ptx) {
        let made = made.ok()?;
        found.extend(match &made.expression {
            Expr::Call(_) => texts_of_call(folder, &made)?,
            other => {
                folder.frames = made.frames.clone();
                texts(folder, made.file, other)?
            }
        });
    }
    Some(found)
}

/// The possible text arguments of a library function.
fn texts_of_call(folder: &mut Folder<'_, '_>, made: &Site) -> Option<BTreeSet<ModuleText>> {
    let Expr::Call(call) = &made.expression else { return None };
    let Expr::Path(path) = &*call.func else { return None };
    let sink = sinks::by_path(&path_names(&path.path), false)?;
    let is_read = matches!(sink.takes, Takes::Cuda(_) | Takes::Ptx) && sink.arguments.contains(&call.args.len());
    folder.frames = made.frames.clone();
    texts(folder, made.file, call.args.get(sink.text).filter(|_| is_read)?)
}

fn texts(folder: &mut Folder<'_, '_>, file: usize, text: &Expr) -> Option<BTreeSet<ModuleText>> {
    let known = |text: Result<Folded, Failure>| match text {
        Ok(folded) => Some(ModuleText::Text(folded.text.as_str().trim_end_matches('\0').to_string())),
        Err(Failure { kind: FailureKind::Built(built), .. }) => Some(ModuleText::Built(stem(Path::new(built.name())))),
        Err(_) => None,
    };
    folder.texts(file, text).into_iter().map(known).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
