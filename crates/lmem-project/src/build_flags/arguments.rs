//! Parser for `nvcc` command lines: inputs, architectures, and the flags that change the generated code.
//!
//! The options are those of `nvcc --help` of CUDA 13.5. An option may begin with one dash or two; its value follows `=`
//! or is the next word.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use lmem_base::source::normalize;
use lmem_unit::CodeTarget;

use crate::config::nvcc_flags;

/// One nvcc command that compiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The input files, as absolute paths.
    pub inputs: Vec<PathBuf>,
    /// Flags that change the generated code, in order; paths are absolute.
    pub flags: Vec<String>,
    /// The target architectures; empty if nvcc's default, or the GPU of the machine, decides.
    pub targets: Vec<CodeTarget>,
    /// Whether nvcc's default architecture decides.
    pub is_for_default: bool,
    /// Flags without effect, because the command only makes PTX and the driver compiles it.
    pub ineffective: Vec<String>,
    /// PTX, cubins and fatbins that the command writes, each with its source file.
    pub outputs: Vec<(PathBuf, PathBuf)>,
}

/// More targets than there are architectures: none of nvcc's commands has so many.
pub const MAX_TARGETS: usize = 64;

/// How an option is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Ignored: it changes no code, or selects the outputs, which this program selects itself.
    Dropped,
    Kept,
    /// The value is a path, or several separated by commas.
    Path,
    /// The value is the output path.
    Output,
    /// The value is passed to ptxas.
    Ptxas,
    /// The value is passed to the host compiler.
    Host,
    Architecture,
    /// The command does not compile: it links, lists, or preprocesses.
    Foreign,
    /// The command only makes PTX.
    Ptx,
    /// `-dc`: relocatable device code, linked later.
    Relocatable,
    /// `-x`: the language of the inputs, whatever their extension.
    Language,
}

/// Options with a value: their names without dashes, and how they are handled.
const WITH_VALUE: &[(&[&str], Fate)] = &[
    (&["D", "define-macro", "U", "undefine-macro"], Fate::Kept),
    (&["I", "include-path", "isystem", "system-include", "include", "pre-include"], Fate::Path),
    (&["ccbin", "compiler-bindir", "ldir", "libdevice-directory"], Fate::Path),
    (&["O", "optimize", "Ofc", "Ofast-compile", "dopt", "std"], Fate::Kept),
    (&["rdc", "relocatable-device-code", "maxrregcount", "ftz", "prec-div", "prec-sqrt", "fmad"], Fate::Kept),
    (&["default-stream", "diag-error", "diag-suppress", "diag-warn", "Xcudafe", "Xcicc", "Xnvvm"], Fate::Kept),
    (&["static-global-template-stub", "device-entity-has-hidden-visibility", "stdlib"], Fate::Kept),
    (&["split-compile", "jump-table-density", "jtd", "device-stack-protector", "fdevice-sanitize"], Fate::Kept),
    (&["ftemplate-depth", "ftemplate-backtrace-limit", "builtin-move-forward"], Fate::Kept),
    (&["builtin-initializer-list", "target-dir", "target-directory"], Fate::Kept),
    (&["Xptxas", "ptxas-options"], Fate::Ptxas),
    (&["Xcompiler", "compiler-options"], Fate::Host),
    (&["arch", "gpu-architecture", "code", "gpu-code", "gencode", "generate-code"], Fate::Architecture),
    (&["x"], Fate::Language),
    (&["o", "output-file", "odir", "output-directory"], Fate::Output),
    (&["objdir", "keep-dir", "MF", "dependency-output"], Fate::Dropped),
    (&["MT", "dependency-target-name", "l", "library", "L", "library-path", "t", "threads", "time"], Fate::Dropped),
    (&["Xlinker", "linker-options", "Xarchive", "archive-options", "Xnvlink", "nvlink-options"], Fate::Dropped),
    (&["Xnvprune", "nvprune-options", "cudart", "cudadevrt", "arbin", "archiver-binary", "hls"], Fate::Dropped),
    (&["host-linker-script", "split-compile-extended", "fdevice-time-trace", "compress-mode"], Fate::Dropped),
    (&["fdevice-time-trace-granularity", "opt-info", "optimization-info", "fmax-errors"], Fate::Dropped),
    (&["idp", "input-drive-prefix", "ddp", "dependency-drive-prefix", "dp", "drive-prefix"], Fate::Dropped),
    // A warning that only this analysis causes must not become an error.
    (&["Werror", "apply-controls", "brief-diagnostics", "brief-diag", "e", "entries"], Fate::Dropped),
    (&["run-args", "run-options", "m", "machine", "frandom-seed"], Fate::Dropped),
];

/// Options without a value that need handling; all others are kept.
const ALONE: &[(&[&str], Fate)] = &[
    (&["c", "compile", "cubin", "fatbin", "dw", "device-w", "optix-ir", "ltoir"], Fate::Dropped),
    (&["dc", "device-c"], Fate::Relocatable),
    (&["ptx"], Fate::Ptx),
    (&["E", "preprocess", "M", "generate-dependencies", "MM", "generate-nonsystem-dependencies"], Fate::Foreign),
    (&["dlink", "device-link", "dryrun", "n", "clean", "clean-targets"], Fate::Foreign),
    // What is linked, archived or run is compiled before, if it is source code.
    (&["link", "lib", "run", "cuda"], Fate::Dropped),
    (&["help", "h", "?", "version", "V", "list-gpu-code", "code-ls", "list-gpu-arch", "arch-ls"], Fate::Foreign),
    (&["MD", "generate-dependencies-with-compile", "MMD", "MP", "generate-dependency-targets"], Fate::Dropped),
    (&["generate-nonsystem-dependencies-with-compile", "shared", "objtemp", "objdir-as-tempdir"], Fate::Dropped),
    (&["g", "debug", "pg", "profile", "lineinfo", "generate-line-info", "src-in-ptx", "source-in-ptx"], Fate::Dropped),
    (&["v", "verbose", "v2", "verbose2", "res-usage", "resource-usage", "keep", "save-temps", "w"], Fate::Dropped),
    // With link-time optimization, code is generated when linking. One unit is analysed without it.
    (&["dlto", "dlink-time-opt", "lto", "gen-opt-lto", "disable-warnings", "nodlink", "no-device-link"], Fate::Dropped),
    (&["jobserver", "no-compress", "Wmissing-launch-bounds", "prune", "r", "relocatable-link"], Fate::Dropped),
    (&["aug-hls", "augment-host-linker-script", "forward-unknown-to-host-linker"], Fate::Dropped),
];

/// One-letter options whose value may follow without a separator.
const JOINED: [&str; 8] = ["D", "U", "I", "O", "L", "l", "m", "t"];

/// With these, options that nvcc does not have go to the host compiler. CMake always writes the first.
const FORWARDING: [&str; 2] = ["forward-unknown-to-host-compiler", "forward-unknown-opts"];

/// Options of host compilers that write dependency files, and take a value.
const HOST_DEPENDENCIES: [&str; 3] = ["-MF", "-MT", "-MQ"];

impl Invocation {
    /// Parses the arguments of a command that ran in `folder`; `None` if it compiles no file.
    pub fn parse(arguments: &[String], folder: &Path) -> Option<Self> {
        let forwards = arguments.iter().any(|word| FORWARDING.contains(&word.trim_start_matches('-')));
        let mut parser = Parser { folder: folder.to_path_buf(), forwards, ..Parser::default() };
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if !word.starts_with('-') || word == "-" {
                parser.files.push(word.to_string());
                continue;
            }
            let option = Written::of(word);
            let value = match (option.value, option.wants_value) {
                (Some(value), _) => Some(value.to_string()),
                (None, true) => Some(words.next()?.to_string()),
                (None, false) => None,
            };
            parser.take(&option, word, value.as_deref());
        }
        parser.finish()
    }
}

/// An option as written.
struct Written<'a> {
    /// Without dashes.
    name: &'a str,
    /// The value in the same word.
    value: Option<&'a str>,
    wants_value: bool,
    fate: Fate,
}

impl<'a> Written<'a> {
    fn of(word: &'a str) -> Self {
        let bare = word.trim_start_matches('-');
        let (name, value) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
        let fate_in = |table: &[(&[&str], Fate)], name: &str| {
            table.iter().find(|(names, _)| names.contains(&name)).map(|(_, fate)| *fate)
        };
        if let Some(fate) = fate_in(WITH_VALUE, name) {
            return Self { name, value, wants_value: true, fate };
        }
        if let Some(fate) = fate_in(ALONE, bare) {
            return Self { name: bare, value: None, wants_value: false, fate };
        }
        let is_short = !word.starts_with("--");
        if let Some(letter) = JOINED.iter().find(|letter| is_short && bare.starts_with(**letter)) {
            let fate = fate_in(WITH_VALUE, letter).unwrap_or(Fate::Kept);
            let value = &bare[letter.len()..];
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            if is_number || !matches!(*letter, "m" | "t") {
                return Self { name: letter, value: Some(value), wants_value: true, fate };
            }
        }
        Self { name: bare, value: None, wants_value: false, fate: Fate::Kept }
    }
}

#[derive(Default)]
struct Parser {
    folder: PathBuf,
    found: Invocation,
    files: Vec<String>,
    /// Values of `-arch`, `-code` and `-gencode`.
    architecture: Option<String>,
    codes: Vec<String>,
    generated: Vec<String>,
    is_foreign: bool,
    /// Whether options that nvcc does not have go to the host compiler.
    forwards: bool,
    makes_ptx: bool,
    is_cuda: bool,
    /// `-o`
    output: Option<PathBuf>,
    output_folder: Option<PathBuf>,
    /// Extension of the output files, if programs load them.
    ending: Option<&'static str>,
}

/// Options that select an output which programs load.
const LOADED: [&str; 3] = ["ptx", "cubin", "fatbin"];

impl Parser {
    fn take(&mut self, option: &Written<'_>, word: &str, value: Option<&str>) {
        self.ending = LOADED.into_iter().find(|ending| *ending == option.name).or(self.ending);
        match (option.fate, value) {
            (Fate::Dropped, _) => {}
            (Fate::Foreign, _) => self.is_foreign = true,
            (Fate::Ptx, _) => self.makes_ptx = true,
            (Fate::Relocatable, _) => self.found.flags.push("-rdc=true".to_string()),
            (Fate::Language, Some(language)) => self.is_cuda = language == "cu",
            (Fate::Output, Some(value)) if option.name.ends_with('o') || option.name.ends_with("file") => {
                self.output = Some(self.absolute(value));
            }
            (Fate::Output, Some(value)) => self.output_folder = Some(self.absolute(value)),
            (Fate::Path, Some(value)) => self.paths(option.name, value),
            (Fate::Ptxas, Some(value)) => self.ptxas(value),
            (Fate::Host, Some(value)) => self.host(value),
            (Fate::Architecture, Some(value)) => self.architecture(option.name, value),
            (_, Some(value)) => self.kept(option.name, value),
            (_, None) if matches!(option.name, "noeh" | "no-exceptions") => self.host("-fno-exceptions"),
            (_, None) if self.forwards && !nvcc_flags::is_of_nvcc(word) => self.host(word),
            (_, None) => self.found.flags.push(word.to_string()),
        }
    }

    fn kept(&mut self, name: &str, value: &str) {
        // nvcc takes a list of macros; in quotation marks, a comma is one of the value.
        let is_macro = matches!(name, "D" | "define-macro" | "U" | "undefine-macro");
        if is_macro && value.contains(',') && !value.contains(['"', '\'', '\\']) {
            value.split(',').filter(|part| !part.is_empty()).for_each(|part| self.kept(name, part));
            return;
        }
        let joined = match name {
            "D" | "define-macro" => format!("-D{value}"),
            "U" | "undefine-macro" => format!("-U{value}"),
            "O" | "optimize" => format!("-O{value}"),
            name => format!("-{}={value}", of_settings(name)),
        };
        self.found.flags.push(joined);
    }

    fn paths(&mut self, name: &str, value: &str) {
        let is_list = matches!(name, "I" | "include-path" | "isystem" | "system-include" | "include" | "pre-include");
        let parts: Vec<&str> = if is_list { value.split(',').collect() } else { vec![value] };
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            // A program without a folder is found on `PATH`, so its name stays as it is.
            let is_program = !is_list && !part.contains('/');
            let is_sought =
                matches!(name, "include" | "pre-include") && nvcc_flags::is_found_elsewhere(part, &self.folder);
            let path = if is_program || is_sought {
                part.to_string()
            } else {
                self.absolute(part).to_string_lossy().into_owned()
            };
            let short = match name {
                "include-path" => "I",
                "system-include" => "isystem",
                "pre-include" => "include",
                name => name,
            };
            self.found.flags.extend([format!("-{short}"), path]);
        }
    }

    fn absolute(&self, path: &str) -> PathBuf {
        normalize(&self.folder.join(path))
    }

    /// Options of `ptxas`: a list, or one and then its value, also as two options of nvcc.
    fn ptxas(&mut self, value: &str) {
        let mut options: Vec<String> = Vec::new();
        for part in unquoted(value).split(',').filter(|part| !part.is_empty()) {
            if part.starts_with('-') {
                options.push(part.to_string());
                continue;
            }
            let flags = &mut self.found.flags;
            let earlier = flags.last_mut().filter(|flag| flag.starts_with("-Xptxas="));
            match options.last_mut().or(earlier) {
                Some(option) => option.push_str(&format!("={part}")),
                None => options.push(part.to_string()),
            }
        }
        let is_kept = |option: &String| {
            let bare = option.trim_start_matches('-');
            let is_talk =
                matches!(bare, "v" | "verbose" | "Werror" | "warning-as-error" | "") || bare.starts_with("warn-");
            !is_talk
        };
        options.retain(is_kept);
        if !options.is_empty() {
            self.found.flags.push(format!("-Xptxas={}", options.join(",")));
        }
    }

    /// Keeps options of the host compiler, except those that write dependency files into the build.
    fn host(&mut self, value: &str) {
        let mut kept = Vec::new();
        // The host compiler's command line is one text, which a shell takes apart at blanks.
        let mut options = unquoted(value).split([',', ' ', '\t']);
        while let Some(option) = options.next() {
            if HOST_DEPENDENCIES.contains(&option) {
                options.next();
                continue;
            }
            if !matches!(option, "-MD" | "-MMD" | "-MP" | "") {
                kept.push(option);
            }
        }
        if !kept.is_empty() {
            self.found.flags.push(format!("-Xcompiler={}", kept.join(",")));
        }
    }

    fn architecture(&mut self, name: &str, value: &str) {
        match name {
            "arch" | "gpu-architecture" => self.architecture = Some(value.to_string()),
            "code" | "gpu-code" => self.codes.extend(codes(value)),
            _ => self.generated.push(value.to_string()),
        }
    }

    fn finish(mut self) -> Option<Invocation> {
        let is_input = |file: &&String| self.is_cuda || lmem_base::source::has_ending(Path::new(file), &["cu", "cup"]);
        self.found.inputs = self.files.iter().filter(is_input).map(|file| self.absolute(file)).collect();
        if self.is_foreign || self.found.inputs.is_empty() {
            return None;
        }
        self.found.outputs = self.outputs();
        self.found.targets = self.targets();
        self.found.is_for_default = self.architecture.is_none() && self.generated.is_empty();
        if self.makes_ptx {
            self.leave_to_the_driver();
        }
        Some(self.found)
    }

    /// The output of each input, next to the command or in the folder that it names; with `-o` there is only one input.
    fn outputs(&self) -> Vec<(PathBuf, PathBuf)> {
        let Some(ending) = self.ending else { return Vec::new() };
        let folder = self.output_folder.as_ref().unwrap_or(&self.folder);
        let output = |input: &PathBuf| match &self.output {
            Some(output) => Some(output.clone()),
            None => Some(folder.join(Path::new(input.file_name()?).with_extension(ending))),
        };
        self.found.inputs.iter().filter_map(|input| Some((normalize(&output(input)?), input.clone()))).collect()
    }

    fn targets(&self) -> Vec<CodeTarget> {
        let mut targets = Vec::new();
        for specification in &self.generated {
            let Some((virtual_architecture, codes)) = specification_of(specification) else { continue };
            targets.extend(codes.iter().map(|code| target(&virtual_architecture, code)));
        }
        if let Some(architecture) = self.architecture.as_deref().filter(|name| is_numbered(name)) {
            let virtual_architecture = architecture.replacen("sm_", "compute_", 1);
            match self.codes.as_slice() {
                [] => targets.push(target(&virtual_architecture, architecture)),
                codes => targets.extend(codes.iter().map(|code| target(&virtual_architecture, code))),
            }
        }
        // PTX next to machine code is for future GPUs; no existing target needs it.
        if targets.iter().any(|target| target.architecture.is_some()) {
            targets.retain(|target| target.architecture.is_some());
        }
        let mut seen = HashSet::new();
        targets.retain(|target| seen.insert(target.clone()));
        targets
    }

    /// Drops the flags that only ptxas obeys: register limits and ptxas options are not stored in PTX (seen with CUDA
    /// 13.5).
    fn leave_to_the_driver(&mut self) {
        let is_lost = |flag: &String| flag.starts_with("-maxrregcount=") || flag.starts_with("-Xptxas=");
        self.found.ineffective = self.found.flags.iter().filter(|flag| is_lost(flag)).cloned().collect();
        self.found.flags.retain(|flag| !is_lost(flag));
        self.found.targets.iter_mut().for_each(|target| target.architecture = None);
        self.found.targets.dedup();
    }
}

/// Parses `arch=compute_80,code=[sm_80,compute_80]`, with or without brackets or quotes, in either order.
fn specification_of(specification: &str) -> Option<(String, Vec<String>)> {
    let specification = specification.trim().trim_matches(['"', '\'']);
    let (architecture, code) = match specification.strip_prefix("code=") {
        Some(rest) => rest.rsplit_once(",arch=").map(|(code, architecture)| (architecture, code))?,
        None => {
            let rest = specification.strip_prefix("arch=")?;
            rest.split_once(",code=").unwrap_or((rest, rest))
        }
    };
    is_numbered(architecture).then(|| (architecture.to_string(), codes(code)))
}

fn codes(list: &str) -> Vec<String> {
    let list = list.trim_matches(|c: char| "[]\"'\\ ".contains(c));
    list.split(',').map(|code| code.trim_matches(|c: char| "\"' ".contains(c)).to_string()).collect()
}

/// Whether an architecture has a number; `native` and `all-major` do not.
fn is_numbered(name: &str) -> bool {
    let number = name.strip_prefix("sm_").or(name.strip_prefix("compute_")).unwrap_or("");
    number.starts_with(|c: char| c.is_ascii_digit())
}

fn target(virtual_architecture: &str, code: &str) -> CodeTarget {
    let architecture = code.starts_with("sm_").then(|| code.to_string());
    CodeTarget { virtual_architecture: virtual_architecture.replacen("sm_", "compute_", 1), architecture }
}

/// An option's name as settings have it.
fn of_settings(name: &str) -> &str {
    match name {
        "Ofast-compile" => "Ofc",
        "jtd" => "jump-table-density",
        "relocatable-device-code" => "rdc",
        name => name,
    }
}

/// A value without the quotation marks that a shell would have taken.
fn unquoted(value: &str) -> &str {
    let inner = |mark: char| value.strip_prefix(mark)?.strip_suffix(mark);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Option<Invocation> {
        let words: Vec<String> = line.split(' ').map(String::from).collect();
        Invocation::parse(&words, Path::new("/w/pkg"))
    }

    fn shown(line: &str) -> (String, String) {
        let found = parse(line).unwrap();
        let targets = found.targets.iter().map(|target| {
            format!("{}>{}", target.virtual_architecture, target.architecture.as_deref().unwrap_or("driver"))
        });
        (found.flags.join(" "), targets.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_build_crates_pass_is_understood() {
        // As written by cc, bindgen_cuda, cudaforge, cmake, and by hand.
        let cases = [
            (
                "-ccbin=g++ -Xcompiler -O3 -Xcompiler -ffunction-sections -m64 -I include -std=c++17 -DN=4 -o /o/k.o -c src/k.cu",
                "-ccbin g++ -Xcompiler=-O3 -Xcompiler=-ffunction-sections -I /w/pkg/include -std=c++17 -DN=4",
                "",
            ),
            (
                "--gpu-architecture=sm_90 --ptx --default-stream per-thread --output-directory /o -O3 --use_fast_math -I/x src/k.cu",
                "-default-stream=per-thread -O3 --use_fast_math -I /x",
                "compute_90>driver",
            ),
            (
                "-gencode=arch=compute_90a,code=sm_90a -c -o k.o -maxrregcount 64 ../k.cu",
                "-maxrregcount=64",
                "compute_90a>sm_90a",
            ),
            (
                "-forward-unknown-to-host-compiler -O3 -DNDEBUG --generate-code=arch=compute_80,code=[compute_80,sm_80] -MD -MT a.o -MF a.d -x cu -c /w/k.cpp -o a.o",
                "-forward-unknown-to-host-compiler -O3 -DNDEBUG",
                "compute_80>sm_80",
            ),
            ("-ptx -arch=sm_80 -O3 -lineinfo -maxrregcount=32 -Xptxas -v k.cu -o k.ptx", "-O3", "compute_80>driver"),
            (
                "-arch compute_75 -code sm_75,sm_86 -dc -Xptxas -v,-dlcm=cg -t 4 k.cu",
                "-rdc=true -Xptxas=-dlcm=cg",
                "compute_75>sm_75 compute_75>sm_86",
            ),
            ("-gencode code=[sm_90,sm_100],arch=compute_90 -lib k.cu -o k.a", "", "compute_90>sm_90 compute_90>sm_100"),
            ("-run -DN=2 k.cu", "-DN=2", ""),
            (
                "-G -g -arch=native -Werror all-warnings --expt-relaxed-constexpr k.cu",
                "-G --expt-relaxed-constexpr",
                "",
            ),
        ];
        for (line, flags, targets) in cases {
            assert_eq!(shown(line), (flags.to_string(), targets.to_string()), "{line}");
        }
    }

    #[test]
    fn options_of_other_programs_are_handed_on() {
        let cases = [
            (
                "-forward-unknown-to-host-compiler -fopenmp -O2",
                "-forward-unknown-to-host-compiler -Xcompiler=-fopenmp -O2",
            ),
            ("--forward-unknown-opts -march=haswell", "--forward-unknown-opts -Xcompiler=-march=haswell"),
            ("-fopenmp", "-fopenmp"),
            ("-noeh", "-Xcompiler=-fno-exceptions"),
            ("-Xcompiler \"-fopenmp,-MD\"", "-Xcompiler=-fopenmp"),
            ("-Xptxas -maxrregcount,24", "-Xptxas=-maxrregcount=24"),
            ("-Xptxas --opt-level -Xptxas 0 -O2", "-Xptxas=--opt-level=0 -O2"),
            ("--relocatable-device-code true", "-rdc=true"),
            ("--Ofast-compile max", "-Ofc=max"),
        ];
        for (line, flags) in cases {
            assert_eq!(shown(&format!("{line} k.cu")).0, flags, "{line}");
        }
    }

    #[test]
    fn options_of_the_host_compiler_are_taken_apart_at_blanks() {
        let words = ["-Xcompiler", "-Wall -fopenmp", "-c", "k.cu"].map(String::from);
        assert_eq!(Invocation::parse(&words, Path::new("/w")).unwrap().flags, ["-Xcompiler=-Wall,-fopenmp"]);
    }

    /// A name that is kept here and known to no setting would be dropped.
    #[test]
    fn kept_options_are_known() {
        let all = WITH_VALUE.iter().filter(|(_, fate)| *fate == Fate::Kept).flat_map(|(names, _)| names.iter());
        let unknown: Vec<&&str> = all.filter(|name| !nvcc_flags::is_of_nvcc(of_settings(name))).collect();
        assert_eq!(unknown, [&""; 0]);
    }

    #[test]
    fn files_are_found_where_the_command_ran() {
        let found = parse("-c ../shared/a.cu b.cu host.cpp -o x").unwrap();
        assert_eq!(found.inputs, [Path::new("/w/shared/a.cu"), Path::new("/w/pkg/b.cu")]);
    }

    #[test]
    fn what_programs_load_is_known_by_its_name() {
        let made = |line: &str| {
            let outputs = parse(line).unwrap().outputs.into_iter();
            outputs.map(|(path, input)| format!("{} of {}", path.display(), input.display())).collect::<Vec<_>>()
        };
        assert_eq!(made("-ptx k.cu -o out/kernels.ptx"), ["/w/pkg/out/kernels.ptx of /w/pkg/k.cu"]);
        assert_eq!(
            made("--ptx --output-directory /o src/a.cu src/b.cu"),
            ["/o/a.ptx of /w/pkg/src/a.cu", "/o/b.ptx of /w/pkg/src/b.cu"]
        );
        assert_eq!(made("--cubin --output-file=/o/x k.cu"), ["/o/x of /w/pkg/k.cu"]);
        assert_eq!(made("-fatbin -odir=../o k.cu"), ["/w/o/k.fatbin of /w/pkg/k.cu"]);
        assert_eq!(made("-ptx ../k.cu"), ["/w/pkg/k.ptx of /w/k.cu"]);
        assert!(made("-c k.cu -o k.o").is_empty());
    }

    #[test]
    fn what_compiles_nothing_is_left() {
        for line in
            ["--version", "-E a.cu", "-dlink a.o b.o -o c.o", "--lib -o x.a a.o", "-M a.cu", "-c host.cpp", "-o"]
        {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn lists_and_long_names_are_what_they_stand_for() {
        let line =
            "-DA,B=1 --define-macro=C,D -D E=\"a,b\" --include-path=x,y --system-include /z --pre-include p.h k.cu";
        let flags = "-DA -DB=1 -DC -DD -DE=\"a,b\" -I /w/pkg/x -I /w/pkg/y -isystem /z -include p.h";
        assert_eq!(shown(line).0, flags);
    }

    #[test]
    fn the_driver_does_not_hear_of_limits() {
        let found = parse("-ptx -maxrregcount=32 -Xptxas=-O1 k.cu").unwrap();
        assert_eq!(found.ineffective, ["-maxrregcount=32", "-Xptxas=-O1"]);
        assert!(found.flags.is_empty() && found.targets.is_empty());
    }
}
