//! Cubins of each hostile kernel that is edited: `NAME.before.cubin`, `NAME.safe.cubin` for what `--fix` writes and
//! `NAME.unsafe.cubin` for what `--unsafe-fixes` adds; beside them the line with the launches, the patches, and the lines for
//! `judged.txt`.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libtest_mimic::Failed;

use cargo_lmem::compile::{Compiler, HeaderIndex, Steps, Target, TotalTime};
use cargo_lmem::sandbox::Sandbox;
use lmem_extract::extract;
use lmem_project::build_flags::BuildFlags;
use lmem_project::discover::{Scope, discover};
use lmem_unit::TranslationUnit;

use super::collection::{self, Edited, Form};
use crate::make::{compile, toolkit as toolkit_folder};

/// Of all files that are made.
const ENDINGS: &[&str] = &["cubin", "launch", "diff", "judged"];

/// What is compiled, and where its machine code goes.
enum Job {
    File { source: PathBuf, cubin: PathBuf },
    Text { unit: Box<TranslationUnit>, cubin: PathBuf },
}

pub fn make(folder: &Path, architecture: &str) -> Result<(), Failed> {
    let nvcc = toolkit_folder()?.join("bin/nvcc");
    fs_err::create_dir_all(folder)?;
    // Of an edit that is gone nothing may be judged again.
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ENDINGS.iter().any(|one| ending == *one)) {
            fs_err::remove_file(path)?;
        }
    }
    let edited = collection::edit(architecture)?;
    let places = [tempfile::tempdir()?, tempfile::tempdir()?];
    for (form, place) in Form::ALL.into_iter().zip(&places) {
        // A file that has no edit of its own with `--unsafe-fixes` has the safe one.
        let (own, safe) = edited.iter().partition::<Vec<&Edited>, _>(|edited| edited.form == form);
        let others = safe.into_iter().filter(|edited| edited.form == Form::Safe);
        collection::copy_into(place.path(), &own.into_iter().chain(others).collect::<Vec<_>>())?;
    }
    let mut jobs = Vec::new();
    for path in collection::files()? {
        let root = collection::folder();
        let text = fs_err::read_to_string(root.join(&path))?;
        let is_read = |edited: &&Edited| {
            let name = edited.path.rsplit('/').next().unwrap_or_default();
            edited.path == path || (!name.ends_with(".cu") && text.contains(&format!("\"{name}\"")))
        };
        let edits = |form| edited.iter().filter(is_read).filter(move |edited| edited.form == form);
        if !(path.ends_with(".cu") || path.ends_with(".rs")) || edited.iter().find(is_read).is_none() {
            continue;
        }
        let mut names = add(&root, &path, "before", folder, &mut jobs)?;
        for (form, place) in Form::ALL.into_iter().zip(&places).filter(|(form, _)| edits(*form).next().is_some()) {
            names = add(place.path(), &path, form.name(), folder, &mut jobs)?;
            let patch: String = edits(form).map(Edited::diff).collect();
            let judged: String = edits(form).map(|edited| edited.judged_name() + "\n").collect();
            for name in &names {
                fs_err::write(folder.join(format!("{name}.{}.diff", form.name())), &patch)?;
                fs_err::write(folder.join(format!("{name}.{}.judged", form.name())), &judged)?;
            }
        }
        for name in &names {
            fs_err::write(folder.join(format!("{name}.launch")), text.lines().next().unwrap_or_default())?;
        }
    }
    let (total, problems) = (jobs.len(), compile_all(&nvcc, jobs, architecture));
    println!("{} edits, {total} cubins", edited.len());
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

/// The names of what a file holds: its own, or one for each kernel string in Rust code.
fn add(place: &Path, path: &str, form: &str, folder: &Path, jobs: &mut Vec<Job>) -> Result<Vec<String>, Failed> {
    let source = place.join(path);
    let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let cubin = |name: &str| folder.join(format!("{name}.{form}.cubin"));
    if path.ends_with(".cu") {
        jobs.push(Job::File { cubin: cubin(&name), source });
        return Ok(vec![name]);
    }
    let scope = Scope { paths: vec![source], current_folder: place.to_path_buf(), ..Scope::default() };
    let units = extract(&discover(&scope)?, &BuildFlags::default()).units;
    let names: Vec<String> = (0..units.len()).map(|number| format!("{name}.{number}")).collect();
    jobs.extend(
        units.into_iter().zip(&names).map(|(unit, name)| Job::Text { cubin: cubin(name), unit: Box::new(unit) }),
    );
    Ok(names)
}

/// Kernel strings take the program's own way to NVRTC: their text may ask which compiler it is.
fn compile_text(unit: &TranslationUnit, architecture: &str, cubin: &Path) -> Result<(), Failed> {
    let cancel = AtomicBool::new(false);
    let toolkit =
        cuda_toolkit::select(cuda_toolkit::Request { quiet: true, ..cuda_toolkit::Request::default() }, &cancel)?
            .toolkit;
    let target = Target { toolkit: Arc::new(toolkit), architecture: architecture.to_string() };
    let sandbox = Sandbox::default();
    let compiler = Compiler {
        limit: Duration::from_secs(600),
        total: TotalTime::from_now(Duration::MAX),
        sandbox: &sandbox,
        show: &|_| {},
        note: &|_| {},
        ptxas_wrapper: None,
        cancel: &cancel,
        headers: HeaderIndex::new(&unit.base),
        steps: &Steps::default(),
        library: &|_, _| Err("no kernel of the collection uses a library".to_string()),
        tries_shared_spilling: false,
        compiles_host: false,
        explains: true,
        version: None,
    };
    let artifacts = compiler.compile(unit, &target).map_err(|failure| format!("{}: {failure:?}", unit.name))?;
    Ok(fs_err::write(cubin, artifacts.cubin)?)
}

fn compile_all(nvcc: &Path, jobs: Vec<Job>, architecture: &str) -> Vec<String> {
    let (jobs, problems) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    let next = || jobs.lock().ok()?.pop();
    let work = || {
        while let Some(job) = next() {
            let done = match job {
                Job::File { source, cubin } => compile(nvcc, &source, architecture, &cubin),
                Job::Text { unit, cubin } => compile_text(&unit, architecture, &cubin),
            };
            if let (Err(failed), Ok(mut problems)) = (done, problems.lock()) {
                problems.push(failed.message().unwrap_or_default().to_string());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    problems.into_inner().unwrap_or_default()
}
