//! The next step for a header that is missing and whose name tells where it comes from.

use std::path::{Path, PathBuf};

use cuda_toolkit::Library;
use lmem_base::places;

/// Limit on the size of a `.gitmodules`.
const MAX_BYTES: u64 = 1 << 20;

/// Starts of the names of headers, and how their folders are found.
const FAMILIES: [(&[&str], &str); 7] = [
    (&["hip/"], "it is HIP's, for AMD's compiler: `exclude` in the settings leaves the file out"),
    (
        &["texture_fetch_functions.h", "surface_functions.h"],
        "CUDA 12 removed it with texture references: check with a CUDA 11 that is installed, `--toolkit PATH`",
    ),
    (
        &["thrust/system/cuda/experimental/"],
        "CUDA 13 no longer has it: check with a CUDA 12 that is installed, `--toolkit PATH`",
    ),
    (
        &["torch/", "ATen/", "c10/"],
        "it is PyTorch's: `-I` takes each folder that `torch.utils.cpp_extension.include_paths()` lists in Python",
    ),
    (&["Python.h", "pybind11/"], "it is Python's: `python3-config --includes` prints the `-I` options that it needs"),
    (&["mpi.h"], "it is MPI's: `mpicxx -show` prints the `-I` options that it needs"),
    (&["cudnn", "cutensor", "nccl"], "install that library of NVIDIA's, and name the folder of its headers with `-I`"),
];

/// Starts of the names of headers that come with CUDA's tools: all that the packages of 13.5 have for programs to include,
/// but for `sanitizer.h` and `generated_*`, which may be a project's own.
const TOOL_HEADERS: [&str; 7] =
    ["cufile.h", "cupti", "nvFatbin.h", "nvJitLink.h", "nvPTXCompiler.h", "nvml.h", "nvperf_"];

/// The next step where the name of a header that `source` lacks says enough.
pub fn known_step(header: &str, source: &Path) -> Option<String> {
    if let Some(library) = Library::of_header(header) {
        return Some(format!(
            "it comes with {library}: `cargo lmem toolkit install --with {}` fetches its headers ({} MB), \
             `--toolkit PATH` takes an installed CUDA",
            library.key(),
            library.megabytes()
        ));
    }
    if let Some(submodule) = empty_submodule(header, source) {
        let name = submodule.display();
        return Some(format!(
            "the submodule `{name}` is not checked out: `git submodule update --init {name}` does so"
        ));
    }
    if let Some(template) = template(header, source) {
        let name = template.display();
        return Some(format!("`{name}` makes it: configure the project with CMake, then `-p` with the build folder"));
    }
    let name = header.rsplit('/').next().unwrap_or(header);
    if TOOL_HEADERS.iter().any(|start| name.starts_with(start)) {
        return Some("it comes with CUDA's tools: `--toolkit PATH` takes an installed CUDA".to_string());
    }
    let family = FAMILIES.iter().find(|(starts, _)| starts.iter().any(|start| header.starts_with(start)));
    family.map(|(_, step)| (*step).to_string())
}

/// The file that a build configures to a header, `cmake/config.h.in` for `project/config.h`, as the repository names it. It
/// stands where the header would, or in one of the folders that projects keep such files in.
fn template(header: &str, source: &Path) -> Option<PathBuf> {
    let is_plain = !header.starts_with('/') && !header.split('/').any(|part| part == "..");
    let top = places::repository_of(source).filter(|_| is_plain)?;
    let name = header.rsplit('/').next()?;
    let folders = source.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    let beside = |folder: &Path| {
        let inner = ["", "include", "src", "cmake"].map(|inner| folder.join(inner));
        inner.into_iter().flat_map(|inner| [header, name].map(|header| inner.join(format!("{header}.in"))))
    };
    let found = folders.flat_map(beside).find(|path| path.symlink_metadata().is_ok_and(|known| known.is_file()))?;
    found.strip_prefix(top).map(Path::to_path_buf).ok()
}

/// The submodule without files that has the name of a header's folder: `third_party/glm` for `glm/glm.hpp`.
fn empty_submodule(header: &str, source: &Path) -> Option<PathBuf> {
    let (folder, _) = header.split_once('/')?;
    let top = places::repository_of(source)?;
    let bytes = places::read(&top.join(".gitmodules"), MAX_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("path")?.trim_start().strip_prefix('='));
    let is_meant = |name: &&Path| name.is_relative() && name.file_name().is_some_and(|last| last == folder);
    let is_empty = |name: &&Path| top.join(name).read_dir().map_or(true, |mut entries| entries.next().is_none());
    names.map(|name| Path::new(name.trim())).filter(is_meant).find(is_empty).map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_of_an_empty_submodule_is_known() {
        let place = tempfile::tempdir().unwrap();
        let source = place.path().join("k/a.cu");
        let write = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        write(".git/HEAD", "");
        write(
            ".gitmodules",
            "[submodule \"glm\"]\n\tpath = deps/glm\n\turl = x\n[submodule \"json\"]\n\tpath = deps/json\n",
        );
        write("deps/json/json.hpp", "");
        assert_eq!(empty_submodule("glm/vec3.hpp", &source), Some(PathBuf::from("deps/glm")));
        assert_eq!(empty_submodule("json/other.hpp", &source), None);
        assert_eq!(empty_submodule("glm.hpp", &source), None);
    }

    #[test]
    fn a_template_of_a_header_is_known() {
        let place = tempfile::tempdir().unwrap();
        for name in [".git/HEAD", "cmake/sift_config.h.in", "src/lib/version.h.in", "src/k.cu", "src/popsift/a.cu"] {
            let path = place.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "").unwrap();
        }
        let found = |header, source| template(header, &place.path().join(source));
        assert_eq!(found("popsift/sift_config.h", "src/popsift/a.cu"), Some("cmake/sift_config.h.in".into()));
        assert_eq!(found("lib/version.h", "src/k.cu"), Some("src/lib/version.h.in".into()));
        for header in ["other.h", "../lib/version.h", "/cmake/sift_config.h", "sift_config"] {
            assert_eq!(found(header, "src/k.cu"), None, "{header}");
        }
        let step = known_step("popsift/sift_config.h", &place.path().join("src/popsift/a.cu")).unwrap();
        assert!(step.contains("`cmake/sift_config.h.in` makes it"), "{step}");
    }

    #[test]
    fn names_of_well_known_libraries_have_a_step() {
        let step = |header| known_step(header, Path::new("/none/a.cu")).unwrap_or_default();
        assert!(step("cublas_v2.h").contains("toolkit install --with cublas"));
        assert!(step("torch/extension.h").contains("PyTorch"));
        assert!(step("hip/hip_runtime.h").contains("HIP's"));
        assert!(step("texture_fetch_functions.h").contains("CUDA 12 removed it"));
        assert_eq!(step("my/own.h"), "");
        assert_eq!(step("hipster.h"), "");
    }

    #[test]
    fn headers_of_tools_are_told_from_those_of_a_project() {
        for header in ["nvml.h", "cupti_activity.h", "nvJitLink.h"] {
            assert!(
                known_step(header, Path::new("/none/a.cu")).is_some_and(|step| step.contains("CUDA's tools")),
                "{header}"
            );
        }
        for header in ["nvtx_range.h", "nvml_wrapper.h", "sanitizer.h", "helper_cuda.h", "cuda_utils.cuh"] {
            assert_eq!(known_step(header, Path::new("/none/a.cu")), None, "{header}");
        }
    }
}
