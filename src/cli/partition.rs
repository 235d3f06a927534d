//! Partitions the files of a run between machines.
//!
//! The part of a file depends only on its path: adding or removing files does not move others, and no machine needs to
//! know the files of the others. All kernels of a file, for all architectures, are in the same part.

use std::path::Path;
use std::str::FromStr;

use lmem_base::diagnostic::PartitionTally;
use lmem_base::digest::Digest;
use lmem_extract::Extraction;

/// `2/5`: the second of five parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    number: u32,
    count: u32,
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Self { number, count }),
            _ => Err("write `N/M` for the N-th of M parts, such as `1/4`".to_string()),
        }
    }
}

impl Partition {
    /// Removes what belongs to other parts from the files found below a root.
    pub fn keep(self, extraction: &mut Extraction, root: &Path) -> PartitionTally {
        let before = extraction.units.len();
        extraction.units.retain(|unit| self.holds(&unit.path(), root));
        extraction.parts.retain(|part| self.holds(&part.path(), root));
        extraction.unresolved.retain(|unresolved| self.holds(&unresolved.span.file.path, root));
        extraction.beyond.retain(|beyond| self.holds(&beyond.span.file.path, root));
        extraction.unread.retain(|unread| self.holds(&unread.span.file.path, root));
        PartitionTally {
            number: self.number,
            count: self.count,
            units: extraction.units.len(),
            left_to_others: before - extraction.units.len(),
        }
    }

    /// Whether a path is in this part. The result is the same on all machines: the path is relative, with a fixed
    /// separator.
    fn holds(self, path: &Path, root: &Path) -> bool {
        let path = path.strip_prefix(root).unwrap_or(path);
        let mut digest = Digest::default();
        path.components().for_each(|part| digest.add(&part.as_os_str().to_string_lossy()));
        // 60 bits of the hash, so that the parts of a million files differ in size only by chance.
        let number = digest.finish().get(..15).and_then(|start| u64::from_str_radix(start, 16).ok());
        number.unwrap_or(0) % u64::from(self.count) + 1 == u64::from(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u32, count: u32, path: &str) -> bool {
        Partition { number, count }.holds(Path::new(path), Path::new("/w"))
    }

    #[test]
    fn each_file_is_of_one_part_whatever_others_there_are() {
        let mut sizes = [0; 4];
        for file in 0..400 {
            let path = format!("/w/kernels/{file}.cu");
            let parts: Vec<u32> = (1..=4).filter(|number| part(*number, 4, &path)).collect();
            assert_eq!(parts.len(), 1, "{path}: {parts:?}");
            sizes[parts[0] as usize - 1] += 1;
        }
        assert!(sizes.iter().all(|size| (70..130).contains(size)), "{sizes:?}");
        assert!(part(1, 1, "/w/a.cu"));
    }

    #[test]
    fn a_worktree_elsewhere_has_the_same_parts() {
        let of = |root: &str| -> Vec<bool> {
            let partition = Partition { number: 2, count: 3 };
            let paths = (0..50).map(|file| format!("{root}/src/{file}.cu"));
            paths.map(|path| partition.holds(Path::new(&path), Path::new(root))).collect()
        };
        assert_eq!(of("/w"), of("/home/ci/checkout"));
    }

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!("2/5".parse(), Ok(Partition { number: 2, count: 5 }));
        for text in ["0/5", "6/5", "2", "a/b", "1/0", "-1/2", "1/2/3", ""] {
            assert!(text.parse::<Partition>().is_err(), "{text}");
        }
    }
}
