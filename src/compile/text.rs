//! Compiles kernel strings with NVRTC, and PTX with ptxas.

use std::path::PathBuf;

use lmem_base::process::End;
use lmem_unit::{Artifacts, AsCompiled, FrontEnd, NvrtcOptions, STRING_NAME, TranslationUnit, parse_messages};
use nv_code::unescape_path;

use super::attempt::{Attempt, MAX_RESCUES};
use super::failure::{CompileError, Failure};
use super::run::{PTX_NAME, UnitRun, warnings, without_folder};
use super::{nvrtc, ptxas};

impl UnitRun<'_, '_> {
    /// # Errors
    /// As [`Compiler::compile`](super::Compiler::compile).
    pub fn cuda_text(&self, text: &str, options: &NvrtcOptions) -> Result<Artifacts, Box<Failure>> {
        let mut options = options.clone();
        let mut rescues = Vec::new();
        loop {
            let result = self.nvrtc_once(text, &options);
            let Err(mut failure) = result else {
                return result
                    .map(|artifacts| Artifacts { rescues: [rescues, artifacts.rescues].concat(), ..artifacts });
            };
            let found = nvrtc::rescue(&failure.words(), &options.arguments, &self.target.toolkit);
            let Some((arguments, note)) = found.filter(|_| rescues.len() < MAX_RESCUES) else {
                failure.rescues.splice(0..0, rescues);
                return Err(failure);
            };
            options.arguments = arguments;
            rescues.push(note);
        }
    }

    fn nvrtc_once(&self, text: &str, options: &NvrtcOptions) -> Result<Artifacts, Box<Failure>> {
        let toolkit = &self.target.toolkit;
        let Some(library) = &toolkit.nvrtc else {
            return Err(CompileError::missing(toolkit, "libnvrtc", "kernel strings").into());
        };
        let request = nvrtc::Request {
            library: library.clone(),
            source: text.to_string(),
            program_name: options.program_name.clone().unwrap_or_else(|| STRING_NAME.to_string()),
            // Line information does not change the code, and without it nothing could be attributed.
            arguments: options.arguments.iter().cloned().chain(["--generate-line-info".to_string()]).collect(),
            headers: options.captured.as_ref().map(|captured| captured.headers.clone()).unwrap_or_default(),
            expressions: options.captured.as_ref().map(|captured| captured.expressions.clone()).unwrap_or_default(),
        };
        let shown = format!("NVRTC on `{}`: {}", self.unit.name, request.arguments.join(" "));
        let request =
            serde_json::to_vec(&request).map_err(|error| CompileError::io("NVRTC cannot be asked")(error.into()))?;
        let mut command = nvrtc::worker_command(library, self.folder)
            .map_err(CompileError::io("the NVRTC process cannot be set up"))?;
        command.current_dir(&self.unit.base);
        let output = self.run_shown(&mut command, &request, "NVRTC", Some(shown))?;
        let response: nvrtc::Response = match serde_json::from_slice(&output.stdout) {
            Ok(response) => response,
            Err(_) => {
                return Err(self.refusal(
                    output.end,
                    &output.text(),
                    "NVRTC",
                    Vec::new(),
                    &Attempt::plain(self.target),
                ));
            }
        };
        let log = self.shown(response.log)?;
        let messages = parse_messages(&log, "nvrtc");
        let Some(ptx) = response.ptx else {
            let said = format!("{}{}", response.failure.unwrap_or_default(), log);
            let read =
                Some(self.read_ones(nvrtc::included_files(text, &self.unit.base, &options.arguments).into_iter()));
            let refusal = self.refusal(End::Exit(1), &said, "NVRTC", messages, &Attempt::plain(self.target));
            return Err(Box::new(Failure { read, ..*refusal }));
        };
        let takes_cubin = options.captured.as_ref().is_some_and(|captured| captured.takes_cubin);
        let flags = if takes_cubin { nvrtc::ptxas_flags(&options.arguments) } else { Vec::new() };
        let included = || self.read_ones(nvrtc::included_files(text, &self.unit.base, &options.arguments).into_iter());
        let mut artifacts = self.ptxas(&ptx, &flags).map_err(|mut failure| {
            failure.read.iter_mut().for_each(|read| read.extend(included()));
            failure
        })?;
        artifacts.messages.splice(0..0, warnings(messages));
        if self.compiler.explains {
            artifacts.dependencies.extend(included());
        }
        artifacts.dependencies.sort();
        artifacts.dependencies.dedup();
        Ok(artifacts)
    }

    /// # Errors
    /// As [`Compiler::compile`](super::Compiler::compile).
    pub fn ptxas(&self, ptx: &str, flags: &[String]) -> Result<Artifacts, Box<Failure>> {
        let mut attempt = Attempt::plain(self.target);
        attempt.raise_to_virtual(ptx);
        let (ptx_path, cubin_path) = (self.folder.join(PTX_NAME), self.folder.join("unit.cubin"));
        fs_err::write(&ptx_path, ptx).map_err(CompileError::io("the PTX cannot be written"))?;
        let mut command =
            ptxas::command(&self.target.toolkit.ptxas, &attempt.architecture, flags, &ptx_path, &cubin_path);
        let output = self.assemble(&mut command, false)?;
        let text = self.shown(without_folder(&output.text(), self.folder, self.unit))?;
        let messages = parse_messages(&text, "ptxas");
        if !output.succeeded() {
            let read = Some(self.read_ones(ptx_files(ptx, self.unit).into_iter()));
            let refusal = self.refusal(output.end, &text, "ptxas", messages, &attempt);
            return Err(Box::new(Failure { ptx: Some(ptx.to_string()), read, ..*refusal }));
        }
        let missing = CompileError::NoOutput { program: "ptxas".into(), what: "cubin" };
        let cubin = Some(&cubin_path).filter(|path| path.is_file()).ok_or(missing)?;
        let as_of_nvcc: Vec<String> = flags.iter().map(|flag| format!("-Xptxas={flag}")).collect();
        Ok(Artifacts {
            cubin: fs_err::read(cubin).map_err(CompileError::io("the cubin cannot be read"))?,
            unlimited_log: self.unlimited(ptx, &text, &as_of_nvcc, &attempt.architecture)?,
            shared_log: self.shared(ptx, &text, &as_of_nvcc, &attempt.architecture)?,
            front_end: FrontEnd::default(),
            as_compiled: AsCompiled::default(),
            ptx: ptx.to_string(),
            messages: warnings(messages),
            ptxas_log: text,
            dependencies: if self.compiler.explains {
                self.read_ones(ptx_files(ptx, self.unit).into_iter())
            } else {
                Vec::new()
            },
            rescues: attempt.rescues,
            architecture: attempt.architecture,
            folder: self.unit.base.clone(),
        })
    }
}

/// The files that the line tables name, which are those with code. NVRTC does not list its inputs.
fn ptx_files(ptx: &str, unit: &TranslationUnit) -> Vec<PathBuf> {
    let quoted =
        ptx.lines().filter(|line| line.trim_start().starts_with(".file")).filter_map(|line| line.split('"').nth(1));
    quoted.map(|path| unit.base.join(unescape_path(path))).collect()
}
