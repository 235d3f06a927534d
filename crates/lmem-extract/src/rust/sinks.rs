//! Sinks: functions that compile or load kernels.

/// A function that takes a kernel in some form.
#[derive(Debug)]
pub(super) struct Sink {
    /// The required type or module before the name; `None` if the name is unique enough.
    pub owner: Option<&'static str>,
    /// The name, under any path.
    pub name: &'static str,
    /// The crates that define the function. Functions of this name in other packages may be unrelated.
    pub crates: &'static [&'static str],
    /// Whether other crates commonly use the name. Then only code that uses these crates counts.
    pub is_common: bool,
    /// Possible numbers of arguments; a function with another number is unrelated.
    pub arguments: &'static [usize],
    /// Index of the kernel argument.
    pub text: usize,
    pub takes: Takes,
    /// The source of the driver's JIT options, for PTX.
    pub driver: Driver,
    pub called: Called,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// CUDA C++, with the source of its options.
    Cuda(Options),
    /// PTX.
    Ptx,
    /// PTX or machine code, mostly the result of another call. An unresolved name is therefore not reported.
    Image,
    /// The path of a file with PTX or machine code.
    File,
    /// Machine code.
    Machine,
}

/// The source of NVRTC's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Options {
    None,
    /// cudarc's `CompileOptions`, as an argument.
    Cudarc(usize),
    /// The second argument of this other function, called in the same Rust function.
    Function(&'static str),
    /// The argument of this method, called in the same Rust function.
    Method(&'static str),
    /// Pointers that are passed to this function.
    Pointers(&'static str),
}

/// The source of the driver's JIT options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Driver {
    None,
    /// cust's `ModuleJitOption`s, as an argument.
    Cust(usize),
    /// Pointers; the argument is their count.
    Pointers(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    ByPath,
    AsMethod,
    Either,
}

const CUDARC: &[&str] = &["cudarc"];
const CUST: &[&str] = &["cust", "rustacuda"];
const NVRTC: &[&str] = &["nvrtc"];
/// Names of the CUDA libraries themselves, which are unique.
const ANY: &[&str] = &[];

const fn function(name: &'static str, arguments: &'static [usize], text: usize, takes: Takes) -> Sink {
    let (driver, called) = (Driver::None, Called::ByPath);
    Sink { owner: None, name, crates: ANY, is_common: false, arguments, text, takes, driver, called }
}

const fn raw(name: &'static str, arguments: &'static [usize], takes: Takes) -> Sink {
    Sink { called: Called::Either, ..function(name, arguments, 1, takes) }
}

const fn of(owner: &'static str, name: &'static str, crates: &'static [&'static str], takes: Takes) -> Sink {
    Sink { owner: Some(owner), crates, ..function(name, &[1], 0, takes) }
}

const fn cust(name: &'static str, arguments: &'static [usize], takes: Takes) -> Sink {
    Sink { arguments, is_common: true, ..of("Module", name, CUST, takes) }
}

const fn method(name: &'static str, arguments: &'static [usize]) -> Sink {
    let called = Called::AsMethod;
    Sink { crates: CUDARC, is_common: true, called, ..function(name, arguments, 0, Takes::Image) }
}

/// Signatures from cudarc 0.19.10 (`src/nvrtc/safe.rs`, `src/nvrtc/result.rs`, `src/driver/safe/core.rs`) and its
/// versions up to 0.12, cust 0.3.2, rustacuda 0.1.3, nvrtc 0.1.3, and the CUDA libraries.
pub(super) const SINKS: &[Sink] = &[
    Sink { crates: CUDARC, ..function("compile_ptx", &[1], 0, Takes::Cuda(Options::None)) },
    Sink { crates: CUDARC, ..function("compile_ptx_with_opts", &[2], 0, Takes::Cuda(Options::Cudarc(1))) },
    Sink {
        crates: CUDARC,
        is_common: true,
        ..function("create_program", &[1, 2], 0, Takes::Cuda(Options::Function("compile_program")))
    },
    of("Ptx", "from_src", CUDARC, Takes::Ptx),
    of("Ptx", "from", CUDARC, Takes::Ptx),
    of("Ptx", "from_file", CUDARC, Takes::File),
    of("Ptx", "from_binary", CUDARC, Takes::Machine),
    method("load_module", &[1]),
    method("load_ptx", &[3]),
    Sink { is_common: true, ..of("module", "load_data", CUDARC, Takes::Image) },
    Sink { driver: Driver::Cust(1), ..cust("from_ptx", &[2], Takes::Ptx) },
    Sink { driver: Driver::Cust(1), ..cust("from_ptx_cstr", &[2], Takes::Ptx) },
    cust("from_str", &[1], Takes::Ptx),
    cust("load_from_string", &[1], Takes::Ptx),
    cust("from_file", &[1], Takes::File),
    cust("load_from_file", &[1], Takes::File),
    cust("from_cubin", &[2], Takes::Machine),
    cust("from_cubin_unchecked", &[2], Takes::Machine),
    cust("from_fatbin", &[2], Takes::Machine),
    cust("from_fatbin_unchecked", &[2], Takes::Machine),
    Sink { arguments: &[4], ..of("NvrtcProgram", "new", NVRTC, Takes::Cuda(Options::Method("compile"))) },
    raw("nvrtcCreateProgram", &[6], Takes::Cuda(Options::Pointers("nvrtcCompileProgram"))),
    raw("cuModuleLoad", &[2], Takes::File),
    raw("cuModuleLoadData", &[2], Takes::Image),
    Sink { driver: Driver::Pointers(2), ..raw("cuModuleLoadDataEx", &[5], Takes::Image) },
    raw("cuModuleLoadFatBinary", &[2], Takes::Image),
    Sink { driver: Driver::Pointers(4), ..raw("cuLibraryLoadData", &[8], Takes::Image) },
    Sink { driver: Driver::Pointers(4), ..raw("cuLibraryLoadFromFile", &[8], Takes::File) },
    Sink { text: 2, driver: Driver::Pointers(5), ..raw("cuLinkAddData", &[8], Takes::Image) },
    Sink { text: 2, ..raw("cuLinkAddFile", &[6], Takes::File) },
    Sink { text: 2, ..raw("nvJitLinkAddData", &[5], Takes::Image) },
    Sink { text: 2, ..raw("nvJitLinkAddFile", &[3], Takes::File) },
];

/// Methods that return the output of NVRTC.
pub(super) const PRODUCTS: [&str; 6] =
    ["get_ptx", "get_cubin", "get_program_ptx", "get_ptx_from_program", "into_ptx", "as_ptx"];

/// Macros whose value is the text of a file.
pub(super) const INCLUDING: [&str; 2] = ["include_str", "include_bytes"];

/// Only Rust files with one of these words are analysed.
pub(super) const MARKERS: &[&str] = &[
    "compile_ptx",
    "__global__",
    // Of kernels whose `__global__` is put together, or written with escapes.
    "__attribute__",
    "blockIdx",
    "threadIdx",
    "create_program",
    "nvrtcCreateProgram",
    "NvrtcProgram",
    "Ptx::from",
    "load_module",
    "load_ptx",
    "load_data",
    "from_ptx",
    "from_cubin",
    "from_fatbin",
    "load_from_",
    "Module::from_",
    "cuModuleLoad",
    "cuLibraryLoad",
    "LinkAdd",
    ".entry",
    "load_function",
    "get_func",
    "launch!",
];

/// The sink that a path or method name refers to.
pub(super) fn by_path(path: &[String], is_method: bool) -> Option<&'static Sink> {
    let (name, before) = path.split_last()?;
    // The driver's headers rename functions to their second version.
    let name = name.strip_suffix("_v2").unwrap_or(name);
    let is_meant = |sink: &&Sink| {
        let is_owned = sink.owner.is_none_or(|owner| before.last().is_some_and(|last| last == owner));
        let is_called = match sink.called {
            Called::ByPath => !is_method,
            Called::AsMethod => is_method,
            Called::Either => true,
        };
        sink.name == name && is_owned && is_called
    };
    SINKS.iter().find(is_meant)
}

/// Whether a call returns the output of another sink.
pub(super) fn makes_product(path: &[String]) -> bool {
    by_path(path, false).is_some_and(|sink| !matches!(sink.takes, Takes::Image))
        || path.last().is_some_and(|name| PRODUCTS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sink_has_a_marker() {
        for sink in SINKS {
            let path = sink.owner.map(|owner| format!("{owner}::")).unwrap_or_default() + sink.name;
            assert!(MARKERS.iter().any(|marker| path.contains(marker)), "{path}");
        }
    }
}
