//! Headers that a compilation lacks, and the places where they would be found.
//!
//! A real tree has files that do not compile without a library that is not installed. Such a failure lasts while none of
//! those places has the header, so it is remembered with them. The host compiler lists them itself: with `-M -MG` it goes
//! on without a header and names all that it looked for, with `-v` the folders where it does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lmem_base::source::normalize;

/// What nvcc hands to the host compiler's preprocessor to have it list headers.
pub const LISTING_FLAGS: &str = "-Xcompiler=-M,-MG,-v";

/// More places than a command line leads to are not watched.
const MAX_PLACES: usize = 4096;

/// The headers that a unit lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Absent {
    /// As `#include` names them.
    pub names: Vec<String>,
    /// Where none of them is.
    pub places: Vec<PathBuf>,
}

/// The headers that a preprocessor listed.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    pub read: Vec<PathBuf>,
    pub absent: Absent,
}

impl Listed {
    /// Reads the rule that the preprocessor wrote for a file in `base`, and the folders that it named on the way. `None` if it
    /// lacked nothing, or looked in too many places.
    pub fn parse(rule: &str, said: &str, base: &Path) -> Option<Self> {
        let (found, names): (Vec<String>, Vec<String>) =
            prerequisites(rule).into_iter().partition(|name| base.join(name).exists());
        let read: Vec<PathBuf> = found.iter().map(|name| normalize(&base.join(name))).collect();
        let folders: BTreeSet<PathBuf> = search_folders(said)
            .map(|folder| normalize(&base.join(folder)))
            // A quoted name is looked for beside the file that includes it first.
            .chain(read.iter().filter_map(|path| path.parent().map(Path::to_path_buf)))
            .collect();
        let is_known = !names.is_empty() && names.len().saturating_mul(folders.len()) <= MAX_PLACES;
        let places = names.iter().flat_map(|name| folders.iter().map(move |folder| normalize(&folder.join(name))));
        let places: BTreeSet<PathBuf> = places.filter(|_| is_known).collect();
        is_known.then(|| Self { read, absent: Absent { names, places: places.into_iter().collect() } })
    }
}

/// The files of a rule for `make`: spaces in names are escaped, and lines end in a backslash.
fn prerequisites(rule: &str) -> Vec<String> {
    let Some((_, files)) = rule.split_once(": ") else { return Vec::new() };
    let mut names = vec![String::new()];
    let mut letters = files.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = match (letter, letters.peek()) {
            ('\\', Some(' ' | '#')) | ('$', Some('$')) => letters.next(),
            ('\\', Some('\n')) => None,
            _ if letter.is_whitespace() => None,
            _ => Some(letter),
        };
        match (escaped, names.last_mut()) {
            (Some(letter), Some(name)) => name.push(letter),
            _ => names.push(String::new()),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The folders of include files, also those that do not exist yet.
fn search_folders(said: &str) -> impl Iterator<Item = &str> {
    let missing = said.lines().filter_map(|line| line.strip_prefix("ignoring nonexistent directory \""));
    let missing = missing.filter_map(|rest| rest.strip_suffix('"'));
    let lists = said.split("search starts here:").skip(1);
    let listed = lists.flat_map(|list| list.lines().skip(1).map_while(|line| line.strip_prefix(' ')));
    missing.chain(listed.map(str::trim_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "ignoring nonexistent directory \"/opt/none\"\n#include \"...\" search starts here:\n quoted\n\
        #include <...> search starts here:\n /usr/include\nEnd of search list.\n /not/this\n";

    #[test]
    fn rules_are_split_as_make_splits_them() {
        let rule = "a.o: a.cu /usr/x.h \\\n with\\ space.h co$$t.h \\\n last.h\n";
        assert_eq!(prerequisites(rule), ["a.cu", "/usr/x.h", "with space.h", "co$t.h", "last.h"]);
        assert_eq!(prerequisites("no rule"), Vec::<String>::new());
    }

    #[test]
    fn folders_are_those_of_both_lists_and_those_to_come() {
        assert_eq!(search_folders(SAID).collect::<Vec<_>>(), ["/opt/none", "quoted", "/usr/include"]);
    }

    #[test]
    fn what_is_absent_may_come_to_be_in_each_folder() {
        let base = tempfile::tempdir().unwrap();
        fs_err::write(base.path().join("a.cu"), "").unwrap();
        let listed = Listed::parse("a.o: a.cu x/mpi.h\n", SAID, base.path()).unwrap();
        let here = |path: &str| normalize(&base.path().join(path));
        assert_eq!(listed.read, [here("a.cu")]);
        assert_eq!(listed.absent.names, ["x/mpi.h"]);
        let places = ["/opt/none/x/mpi.h", "/usr/include/x/mpi.h"].map(PathBuf::from);
        for place in places.into_iter().chain([here("x/mpi.h"), here("quoted/x/mpi.h")]) {
            assert!(listed.absent.places.contains(&place), "{}: {listed:?}", place.display());
        }
        assert_eq!(Listed::parse("a.o: a.cu\n", SAID, base.path()), None);
    }
}
