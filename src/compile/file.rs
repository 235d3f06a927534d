//! Compiles a `.cu` file with nvcc, with the flags of its build and what rescues add to them.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use cuda_toolkit::Toolkit;
use lmem_base::process::Output;
use lmem_base::source::{SourceFile, normalize};
use lmem_unit::{Artifacts, AsCompiled, Dependency, FrontEnd, NvccFlags, parse_messages};
use nv_code::PtxasLog;

use super::absent::Listed;
use super::attempt::{Attempt, MAX_RESCUES, NoRescue};
use super::directives;
use super::failure::{CompileError, Failure};
use super::nvcc;
use super::rescue::{Rescue, missing_header, rescue, rescue_of_warnings};
use super::run::{UnitRun, said, warnings, without_folder};
use super::steps;

impl UnitRun<'_, '_> {
    /// # Errors
    /// As [`Compiler::compile`](super::Compiler::compile).
    pub fn cuda_file(&self, file: &SourceFile, flags: &NvccFlags) -> Result<Artifacts, Box<Failure>> {
        let mut attempt = Attempt {
            arguments: flags.all_arguments(),
            architecture: self.target.architecture.clone(),
            rescues: Vec::new(),
        };
        attempt.raise_to_build(flags);
        loop {
            let result = self.nvcc_once(file, flags, &attempt);
            let failure = match result {
                Ok(artifacts) => return Ok(self.with_externals(artifacts, file, flags, attempt)),
                Err(failure) => failure,
            };
            let may_rescue = attempt.rescues.len() < MAX_RESCUES;
            let found = may_rescue
                .then(|| rescue(&failure.messages, &file.path, &self.compiler.headers, &attempt.arguments))
                .flatten()
                // The headers of libraries lie beside those of CUDA wherever a build runs.
                .filter(|found| flags.origin.may_be_incomplete() || matches!(found, Rescue::Library(_)));
            let Some(found) = found else {
                return Err(self.with_absent(failure, file, flags, &attempt));
            };
            match attempt.apply(found, |library| (self.compiler.library)(&self.target.toolkit, library)) {
                Ok(()) => {}
                Err(NoRescue::Unasked) => {
                    return Err(self.with_absent(failure, file, flags, &attempt));
                }
                Err(NoRescue::Failed(words)) => {
                    return Err(Box::new(Failure {
                        rescues: [failure.rescues.clone(), words.into_iter().collect()].concat(),
                        ..*failure
                    }));
                }
            }
        }
    }

    /// The artifacts, made again for separate compilation if the warnings ask for it and that works.
    fn with_externals(
        &self,
        artifacts: Artifacts,
        file: &SourceFile,
        flags: &NvccFlags,
        mut attempt: Attempt,
    ) -> Artifacts {
        let found = rescue_of_warnings(&artifacts.messages, &attempt.arguments);
        let Some(found) = found.filter(|_| flags.origin.may_be_incomplete()) else { return artifacts };
        match attempt.apply(found, |_| Ok(None)) {
            Ok(()) => self.nvcc_once(file, flags, &attempt).unwrap_or(artifacts),
            Err(_) => artifacts,
        }
    }

    /// A failure with what is known of the headers that the unit lacks.
    fn with_absent(
        &self,
        failure: Box<Failure>,
        file: &SourceFile,
        flags: &NvccFlags,
        attempt: &Attempt,
    ) -> Box<Failure> {
        let lacks_header = failure.messages.iter().any(|message| missing_header(&message.text).is_some());
        let Some(program) = self.target.toolkit.nvcc.as_ref().filter(|_| lacks_header && failure.read.is_none()) else {
            return failure;
        };
        let mut command = nvcc::listing(program, &attempt.architecture, flags, &attempt.arguments, &file.path);
        command.current_dir(&self.unit.base);
        // Without the list, the failure is not remembered.
        let Some(output) = self.run(&mut command, b"", "nvcc").ok().filter(Output::succeeded) else { return failure };
        let (rule, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let Some(Listed { read, absent }) = Listed::parse(&rule, &said, &self.unit.base) else { return failure };
        let read = self.read_ones(read.into_iter().filter(|path| *path != file.path));
        Box::new(Failure { read: Some(read), absent: Some(absent), ..*failure })
    }

    /// Compiles a file for the host, for its errors alone.
    fn host(
        &self,
        file: &SourceFile,
        flags: &NvccFlags,
        attempt: &Attempt,
        program: &Path,
    ) -> Result<(), Box<Failure>> {
        let folder = self.folder.join("host");
        fs_err::create_dir_all(&folder).map_err(CompileError::io("no temporary folder can be made"))?;
        let (architecture, arguments) = (&attempt.architecture, &attempt.arguments);
        let mut command = nvcc::host_command(program, architecture, flags, arguments, &file.path, &folder);
        command.current_dir(&self.unit.base);
        let output = self.run(&mut command, b"", "nvcc")?;
        if output.succeeded() {
            return Ok(());
        }
        let text = self.shown(without_folder(&said(&output), &folder, self.unit))?;
        Err(self.refusal(output.end, &text, "nvcc", parse_messages(&text, "nvcc"), attempt))
    }

    fn nvcc_once(&self, file: &SourceFile, flags: &NvccFlags, attempt: &Attempt) -> Result<Artifacts, Box<Failure>> {
        let (toolkit, folder) = (&self.target.toolkit, self.folder);
        let Some(program) = &toolkit.nvcc else {
            return Err(CompileError::missing(toolkit, "nvcc", "`.cu` files").into());
        };
        nvcc::refuse_shell(program)?;
        let command = |source: &Path, folder: &Path| {
            nvcc::command(program, &attempt.architecture, flags, &attempt.arguments, source, folder)
        };
        let mut question = command(Path::new(steps::SOURCE), Path::new(steps::FOLDER));
        let mut command = command(&file.path, folder);
        command.current_dir(&self.unit.base);
        let output = match self.steps(&command, &mut question, &file.path)? {
            Some(output) => output,
            None => self.run(&mut command, b"", "nvcc")?,
        };
        let text = self.shown(without_folder(&said(&output), folder, self.unit))?;
        let messages = parse_messages(&text, "nvcc");
        // Without it, there are no files that were read, and nothing is known as compiled.
        let is_read = self.compiler.explains || !output.succeeded();
        let preprocessed = is_read.then(|| nvcc::kept_file(folder, ".ii").ok().flatten()).flatten();
        let preprocessed = preprocessed.and_then(|path| fs_err::read(path).ok()).unwrap_or_default();
        if let Some(directive) = directives::stray(&preprocessed) {
            return Err(CompileError::MadeDirective(directive).into());
        }
        if !output.succeeded() {
            let ptx = nvcc::kept_file(folder, ".ptx").ok().flatten().and_then(|path| fs_err::read_to_string(path).ok());
            // A preprocessor that misses a file leaves no output, and the failure comes from the missing file.
            let read = (!preprocessed.is_empty()).then(|| self.dependencies(&preprocessed, file));
            let refusal = self.refusal(output.end, &text, "nvcc", messages, attempt);
            return Err(Box::new(Failure { ptx, read, ..*refusal }));
        }
        if self.compiler.compiles_host {
            self.host(file, flags, attempt, program)?;
        }
        let kept = |ending| nvcc::kept_file(folder, ending).map_err(CompileError::io("nvcc's files cannot be listed"));
        let missing = |what| CompileError::NoOutput { program: "nvcc".into(), what };
        let read = |path: PathBuf| fs_err::read(path).map_err(CompileError::io("nvcc's output cannot be read"));
        let ptx = String::from_utf8_lossy(&read(kept(".ptx")?.ok_or(missing("PTX"))?)?).into_owned();
        Ok(Artifacts {
            cubin: Some(nvcc::cubin_path(folder)).filter(|path| path.is_file()).map(read).ok_or(missing("cubin"))??,
            unlimited_log: self.unlimited(&ptx, &text, &attempt.arguments, &attempt.architecture)?,
            shared_log: self.shared(&ptx, &text, &attempt.arguments, &attempt.architecture)?,
            ptx,
            messages: warnings(messages),
            front_end: if self.compiler.explains { front_end(folder, &text, toolkit) } else { FrontEnd::default() },
            ptxas_log: text,
            as_compiled: self.as_compiled(&preprocessed, file),
            dependencies: self.dependencies(&preprocessed, file),
            rescues: attempt.rescues.clone(),
            architecture: attempt.architecture.clone(),
            folder: self.unit.base.clone(),
        })
    }

    /// The compiled version of the files below the workspace's root, or below the unit's folder.
    fn as_compiled(&self, preprocessed: &[u8], file: &SourceFile) -> AsCompiled {
        let is_ours = |path: &Path| path.starts_with(self.compiler.headers.root()) || path.starts_with(&self.unit.base);
        let is_user = |path: &Path| is_ours(path) && !path.starts_with(&self.target.toolkit.root);
        let own = normalize(&file.path);
        let read = |path: &Path| match *path == own {
            true => Some(file.text().to_string()),
            false => {
                let roots = [self.compiler.headers.root(), &self.unit.base];
                SourceFile::read_named(path, self.compiler.headers.root(), &roots).map(|file| file.text().to_string())
            }
        };
        AsCompiled::new(&text_of(preprocessed), &self.unit.base, &is_user, &read)
    }

    /// The files that the unit read. The preprocessed text may name any file, so it is restricted to files that the
    /// compiler may read.
    fn dependencies(&self, preprocessed: &[u8], file: &SourceFile) -> Vec<Dependency> {
        let files = nvcc::preprocessed_files(preprocessed).into_iter().map(|path| self.unit.base.join(path));
        self.read_ones(files.filter(|path| *path != file.path))
    }
}

/// Bytes as text. Nearly all are valid, and seeing that takes half the time of looking for what is not.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The variables of all user functions, if any function has local memory. Names are optional, so a failure here gives
/// an empty result.
fn front_end(folder: &Path, log: &str, toolkit: &Toolkit) -> FrontEnd {
    let functions = PtxasLog::parse(log).functions;
    let has_local_memory = functions.values().any(|function| {
        let usage = &function.usage;
        usage.stack_frame > 0 || usage.spill_stores > 0 || usage.spill_loads > 0 || function.stack_is_unknown
    });
    let path = nvcc::kept_file(folder, ".cudafe1.gpu").ok().flatten().filter(|_| has_local_memory);
    let Some(text) = path.and_then(|path| fs_err::read(path).ok()) else { return FrontEnd::default() };
    let mut front_end = FrontEnd::parse(&String::from_utf8_lossy(&text));
    let is_foreign = |file: &str| Path::new(file).starts_with(&toolkit.root) || file.starts_with("/usr/");
    for variables in front_end.functions.values_mut() {
        variables.retain(|variable| !is_foreign(&variable.file));
    }
    front_end.functions.retain(|_, variables| !variables.is_empty());
    front_end
}
