//! Machine-code files: cubins and fatbins, analysed without compilation.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use lmem_base::gpu::Arch;
use lmem_base::places;
use lmem_base::source::Span;
use nv_code::cubin::header::length;
use nv_code::fatbin::{self, Content, FatbinError};
use nv_code::{CubinError, CubinHeader};

use super::{DriverOptions, MappedText, UnitCode, Unresolved};

/// Magic number of an ELF file.
const ELF: [u8; 4] = *b"\x7fELF";

/// Size limit. A library of cubins for all architectures has tens of megabytes.
const MAX_BYTES: u64 = 256 << 20;

/// A cubin that was not compiled in this run.
#[derive(Clone)]
pub struct MachineCode {
    /// The bytes of the cubin, or why it cannot be read.
    pub cubin: Result<Arc<[u8]>, String>,
    /// The header of the cubin.
    pub header: CubinHeader,
    /// The architectures of all machine code in the same file.
    pub siblings: Arc<[String]>,
    /// The place in Rust code that includes or loads the file; else the file.
    pub span: Span,
}

impl fmt::Debug for MachineCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "MachineCode({:?}, {}, {:?})",
            self.span,
            self.header.architecture,
            self.cubin.as_ref().map(|it| it.len())
        )
    }
}

impl MachineCode {
    fn broken(reason: String, span: &Span) -> Self {
        Self { cubin: Err(reason), header: CubinHeader::default(), siblings: Arc::default(), span: span.clone() }
    }

    /// Whether the symbol tables contain a name.
    pub fn may_define(&self, kernel: &str) -> bool {
        let name = [b"\0", kernel.as_bytes(), b"\0"].concat();
        self.cubin.as_ref().is_ok_and(|bytes| memchr::memmem::find(bytes, &name).is_some())
    }
}

/// The contents of a file: units by the suffix of their name, and remarks on what is not analysed.
#[derive(Debug, Default)]
pub struct Found {
    pub codes: Vec<(String, UnitCode)>,
    pub unresolved: Vec<Unresolved>,
}

/// Whether a file starts like a cubin or a fatbin.
pub fn is_machine_code(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 4];
    let is_read = places::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok();
    is_read && (start == ELF || start == fatbin::MAGIC)
}

/// Whether a file starts like a cubin or a fatbin of NVIDIA's: programs of other machines are ELF files, too.
pub fn is_of_gpu(path: &Path) -> bool {
    use std::io::Read;
    const END: usize = ELF_MACHINE_AT + 2;
    let mut start = [0; END];
    let is_read = places::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok();
    let machine = u16::from_le_bytes([start[ELF_MACHINE_AT], start[ELF_MACHINE_AT + 1]]);
    is_read && (start.starts_with(&fatbin::MAGIC) || start.starts_with(&ELF) && machine == EM_CUDA)
}

/// The offset of `e_machine` in the header of an ELF file, and its value for NVIDIA's GPUs.
const ELF_MACHINE_AT: usize = 18;
const EM_CUDA: u16 = 190;

/// Limit on cubins and fatbins one behind the other in a file.
const MAX_IMAGES: usize = 64;

/// Reads a cubin or a fatbin, and what is behind it in the file; a broken file becomes a unit that fails.
pub fn read(path: &Path, span: &Span) -> Found {
    let mut found = Found::default();
    match places::read(path, MAX_BYTES) {
        Err(error) => found.add_broken(format!("it cannot be read: {error}"), span),
        Ok(bytes) => found.add_images(&bytes, span),
    }
    found.tell_siblings();
    found
}

/// Where the next machine code of a GPU starts.
fn next_image(bytes: &[u8]) -> Option<usize> {
    let fatbin = memchr::memmem::find(bytes, &fatbin::MAGIC);
    let is_of_gpu = |at: &usize| {
        let machine = bytes.get(at + ELF_MACHINE_AT..at + ELF_MACHINE_AT + 2);
        machine.is_some_and(|machine| machine == EM_CUDA.to_le_bytes())
    };
    let cubin = memchr::memmem::find_iter(bytes, &ELF).find(is_of_gpu);
    fatbin.into_iter().chain(cubin).min()
}

impl Found {
    /// A program may load any part of what it includes, so what stands behind the first image counts as much.
    fn add_images(&mut self, bytes: &[u8], span: &Span) {
        let (mut at, mut images) = (0, 0);
        loop {
            let rest = &bytes[at..];
            if rest.starts_with(&fatbin::MAGIC) {
                // Further containers are read with the first, and anything else behind them is an error.
                match fatbin::entries(rest) {
                    Ok(entries) => entries.into_iter().for_each(|entry| self.add_entry(entry, span)),
                    Err(error) => self.add_broken(error.to_string(), span),
                }
                return;
            }
            let is_first = images == 0;
            let length = length(rest).unwrap_or(rest.len());
            self.add_cubin(rest[..length].to_vec(), span, |architecture| match is_first {
                true => String::new(),
                false => format!(" ({architecture}, at byte {at})"),
            });
            images += 1;
            let Some(next) = next_image(&rest[length..]) else { return };
            if images == MAX_IMAGES {
                return self.add_broken(format!("it has more than {MAX_IMAGES} pieces of machine code"), span);
            }
            at += length + next;
        }
    }

    fn add_broken(&mut self, reason: String, span: &Span) {
        self.codes.push((String::new(), UnitCode::Machine(MachineCode::broken(reason, span))));
    }

    fn add_entry(&mut self, entry: Result<fatbin::Entry, FatbinError>, span: &Span) {
        match entry {
            Ok(fatbin::Entry { content: Content::Cubin(bytes), .. }) => {
                self.add_cubin(bytes, span, |architecture| format!(" ({architecture})"));
            }
            Ok(fatbin::Entry { content: Content::Ptx(ptx), architecture }) => {
                let mut text = MappedText::default();
                text.push_generated(&ptx);
                let code = UnitCode::Ptx { text, options: DriverOptions::default() };
                self.codes.push((format!(" (PTX for compute_{architecture})"), code));
            }
            Err(error @ FatbinError::Compression { .. }) => self.add_broken(error.to_string(), span),
            Err(error) => self.unresolved.push(Unresolved { span: span.clone(), reason: error.to_string() }),
        }
    }

    fn add_cubin(&mut self, bytes: Vec<u8>, span: &Span, suffix: impl Fn(&str) -> String) {
        match CubinHeader::parse(&bytes) {
            Ok(header) if !header.arch().gpu().has_wide_instructions => {
                let architecture = &header.architecture;
                let reason =
                    format!("it is machine code for {architecture}, and that of GPUs before sm_70 is not read");
                self.unresolved.push(Unresolved { span: span.clone(), reason });
            }
            Ok(header) => {
                let name = suffix(&header.architecture);
                let (cubin, siblings) = (Ok(bytes.into()), Arc::default());
                let code = MachineCode { cubin, header, siblings, span: span.clone() };
                self.codes.push((name, UnitCode::Machine(code)));
            }
            Err(CubinError::Machine(machine)) => {
                let reason = format!("it is an ELF file for machine {machine}, and no machine code of a GPU");
                self.codes.push((String::new(), UnitCode::Machine(MachineCode::broken(reason, span))));
            }
            Err(error) => {
                let code = MachineCode::broken(error.to_string(), span);
                self.codes.push((String::new(), UnitCode::Machine(code)));
            }
        }
    }

    fn tell_siblings(&mut self) {
        let architectures: Arc<[String]> = self
            .codes
            .iter()
            .filter_map(|(_, code)| match code {
                UnitCode::Machine(code) if code.cubin.is_ok() => Some(code.header.architecture.clone()),
                _ => None,
            })
            .collect();
        for (_, code) in &mut self.codes {
            match code {
                UnitCode::Machine(code) => code.siblings = Arc::clone(&architectures),
                UnitCode::Ptx { options, .. } => {
                    options.compiled = architectures.iter().map(|name| Arch::of(name).number()).collect();
                }
                UnitCode::CudaFile { .. } | UnitCode::CudaText { .. } => {}
            }
        }
    }
}
