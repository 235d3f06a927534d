//! `.cu` files that other files include. They are headers in practice: most of them do not compile alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use memchr::memmem;

use lmem_base::source::normalize;

use super::DiscoveredFile;

/// Larger files are not searched for `#include` lines.
const MAX_BYTES: u64 = 8 << 20;

/// The `.cu` files that other files include, without those that were named on the command line.
///
/// `root_of` gives the folder above which an `#include` is not resolved.
pub(super) fn included_units<'a>(
    units: &BTreeMap<&'a Path, &'a DiscoveredFile>,
    headers: &'a [PathBuf],
    root_of: impl Fn(&DiscoveredFile) -> &'a Path,
) -> BTreeSet<PathBuf> {
    let mut includes: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    let nearest = |header: &Path| {
        units
            .values()
            .filter(|unit| header.starts_with(root_of(unit)))
            .max_by_key(|unit| root_of(unit).as_os_str().len())
    };
    for (path, unit) in units {
        includes.insert(path, included_by(path, unit, root_of(unit), units));
    }
    if !units.is_empty() {
        for header in headers {
            if let Some(unit) = nearest(header) {
                includes.insert(header, included_by(header, unit, root_of(unit), units));
            }
        }
    }
    headers_in_disguise(units, &includes)
}

fn headers_in_disguise(
    units: &BTreeMap<&Path, &DiscoveredFile>,
    includes: &BTreeMap<&Path, BTreeSet<&Path>>,
) -> BTreeSet<PathBuf> {
    let included: BTreeSet<&Path> = includes.values().flatten().copied().collect();
    let mut reached = BTreeSet::new();
    for path in includes.keys().filter(|path| !included.contains(*path)) {
        reach(path, includes, &mut reached);
    }
    // In a cycle of files that nothing outside includes, the first by name is the unit.
    for path in &included {
        if !reached.contains(path) {
            reach(path, includes, &mut reached);
            reached.remove(path);
        }
    }
    let is_explicit = |path: &&&Path| units.get(*path).is_some_and(|unit| unit.explicit);
    reached
        .iter()
        .filter(|path| included.contains(*path) && !is_explicit(path))
        .map(|path| path.to_path_buf())
        .collect()
}

fn reach<'a>(from: &'a Path, includes: &BTreeMap<&'a Path, BTreeSet<&'a Path>>, reached: &mut BTreeSet<&'a Path>) {
    let mut waiting = vec![from];
    while let Some(path) = waiting.pop() {
        for included in includes.get(path).into_iter().flatten() {
            if reached.insert(included) {
                waiting.push(included);
            }
        }
    }
}

fn included_by<'a>(
    includer: &Path,
    unit: &DiscoveredFile,
    root: &Path,
    units: &BTreeMap<&'a Path, &'a DiscoveredFile>,
) -> BTreeSet<&'a Path> {
    let folders = unit.config.include_dirs(includer);
    let resolve = |name: &String| {
        // The includer's folder; the folders above it, which are often passed to nvcc with `-I`; and the configured
        // folders.
        let above = includer.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
        let mut candidates =
            above.chain(folders.iter().map(PathBuf::as_path)).map(|folder| normalize(&folder.join(name)));
        candidates.find_map(|candidate| units.get_key_value(candidate.as_path()).map(|(path, _)| *path))
    };
    included_names(includer).iter().filter_map(resolve).filter(|path| *path != includer).collect()
}

/// Names of `.cu` files in the `#include` lines of a file.
fn included_names(path: &Path) -> Vec<String> {
    let bytes = lmem_base::places::read(path, MAX_BYTES).unwrap_or_default();
    if memmem::find(&bytes, b".cu\"").is_none() && memmem::find(&bytes, b".cu>").is_none() {
        return Vec::new();
    }
    String::from_utf8_lossy(&bytes).lines().filter_map(included_name).map(str::to_string).collect()
}

fn included_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let close = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    let name = rest[1..].split(close).next()?;
    name.ends_with(".cu").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_lines_are_recognised() {
        assert_eq!(included_name("  # include \"a/b.cu\" // why"), Some("a/b.cu"));
        assert_eq!(included_name("#include <b.cu>"), Some("b.cu"));
        assert_eq!(included_name("#include \"b.cuh\""), None);
        assert_eq!(included_name("// #include \"b.cu\""), None);
        assert_eq!(included_name("#include B"), None);
    }
}
