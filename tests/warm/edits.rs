//! Random edits of test crates, another toolkit, and each kind of damage on its own.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;

use super::{Given, Numbers, Place, copy, same, toolkit};

/// What may become of an entry of the cache.
const DAMAGES: [Damage; 7] = [
    Damage::Cut,
    Damage::Emptied,
    Damage::Flipped,
    Damage::Longer,
    Damage::Swapped,
    Damage::FolderInPlace,
    Damage::Gone,
];

#[derive(Debug, Clone, Copy)]
enum Damage {
    Cut,
    Emptied,
    Flipped,
    Longer,
    Swapped,
    FolderInPlace,
    Gone,
}

impl Damage {
    fn befall(self, entry: &Path, other: &Path, numbers: &mut Numbers) -> Result<(), Failed> {
        let mut bytes = fs_err::read(entry)?;
        match self {
            Self::Cut => fs_err::write(entry, &bytes[..numbers.below(bytes.len())])?,
            Self::Emptied => fs_err::write(entry, "")?,
            Self::Flipped => {
                let at = numbers.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << numbers.below(8);
                }
                fs_err::write(entry, bytes)?;
            }
            Self::Longer => {
                bytes.extend_from_slice(b"more");
                fs_err::write(entry, bytes)?;
            }
            Self::Swapped => {
                let others = fs_err::read(other)?;
                fs_err::write(other, bytes)?;
                fs_err::write(entry, others)?;
            }
            Self::FolderInPlace => {
                fs_err::remove_file(entry)?;
                fs_err::create_dir(entry)?;
            }
            Self::Gone => fs_err::remove_file(entry)?,
        }
        Ok(())
    }
}

/// One kind of damage befalls half of the entries, then the other half: nothing of it is in the output, and the run after that finds
/// all mended.
pub fn every_kind_of_damage_is_a_miss() -> Result<(), Failed> {
    let place = Place::new(toolkit()?)?;
    let given = Given { arguments: vec!["-Iinclude".to_string()], variables: Vec::new() };
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let cold = place.run(&given, &["--no-verify", "--no-cache"])?;
    place.run(&given, &["--no-verify"])?;
    for damage in DAMAGES {
        for half in 0..2 {
            let entries = place.entries();
            for (at, entry) in entries.iter().enumerate().filter(|(at, _)| at % 2 == half) {
                // An entry that was swapped with this one has its turn behind it.
                let other = &entries[(at + 2) % entries.len()];
                if entry.is_file() && other.is_file() {
                    damage.befall(entry, other, &mut numbers)?;
                }
            }
            same(&place.run(&given, &["--no-verify"])?, &cold, &format!("{damage:?}"))?;
            let again = place.run(&given, &["--no-verify"])?;
            same(&again, &cold, &format!("{damage:?}, again"))?;
            if !again.2.contains("from the cache") {
                return Err(format!("nothing was kept after {damage:?}: {}", again.2).into());
            }
        }
    }
    Ok(())
}

/// Another toolkit, with a header of its own of a name that the first does not have. What the one compiled is no answer for the other.
/// A header that changes within a toolkit's own folder is not noticed: its fingerprint stands for all that it has.
pub fn toolkits_do_not_answer_for_each_other() -> Result<(), Failed> {
    let first = Place::new(toolkit()?)?;
    let linked = first.folder.path().join("toolkit");
    links(&first.toolkit, &linked)?;
    links(&first.toolkit.join("include"), &linked.join("include"))?;
    links(&first.toolkit.join("bin"), &linked.join("bin"))?;
    // nvcc looks for the rest beside itself, behind links.
    for name in ["nvcc", "nvcc.profile"] {
        fs_err::remove_file(linked.join("bin").join(name))?;
        fs_err::copy(first.toolkit.join("bin").join(name), linked.join("bin").join(name))?;
    }
    fs_err::write(linked.join("include/size.cuh"), "#define SIZE 33\n")?;
    let given = Given::default();
    let mut place = first;
    let other = place.toolkit.clone();
    for (round, toolkit) in [&linked, &other, &linked, &other].into_iter().enumerate() {
        place.toolkit.clone_from(toolkit);
        let cold = place.run(&given, &["--no-verify", "--no-cache"])?;
        same(&place.run(&given, &["--no-verify"])?, &cold, &format!("toolkit {round}"))?;
        same(&place.run(&given, &["--no-verify"])?, &cold, &format!("toolkit {round}, again"))?;
    }
    Ok(())
}

/// A folder whose entries are links to those of another; folders that are there stay.
fn links(from: &Path, to: &Path) -> Result<(), Failed> {
    if to.is_symlink() {
        fs_err::remove_file(to)?;
    }
    fs_err::create_dir_all(to)?;
    for entry in fs_err::read_dir(from)? {
        let entry = entry?;
        std::os::unix::fs::symlink(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Crates without dependencies, with headers, names of many kinds, settings and comments.
const CRATES: [&str; 4] = ["headers", "names", "configured", "rolled_loop"];

/// Lines of any source come twice, go, change places, or have other numbers.
pub fn random_edits_of_test_crates() -> Result<(), Failed> {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let given = Given::default();
    for name in CRATES {
        let place = Place::new(toolkit()?)?;
        let root = place.path("");
        fs_err::remove_dir_all(&root)?;
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("test-crates").join(name), &root)?;
        place.run(&given, &["--no-verify"])?;
        for _ in 0..4 {
            let what = edit(&root, &mut numbers)?;
            let cold = place.run(&given, &["--no-verify", "--no-cache"])?;
            same(&place.run(&given, &["--no-verify"])?, &cold, &format!("{what} of {name}"))?;
            same(&place.run(&given, &["--no-verify"])?, &cold, &format!("{what} of {name}, again"))?;
        }
    }
    Ok(())
}

fn edit(root: &Path, numbers: &mut Numbers) -> Result<String, Failed> {
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "cu" || extension == "cuh");
    let walk = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_map(Result::ok);
    let sources: Vec<PathBuf> = walk.map(walkdir::DirEntry::into_path).filter(is_source).collect();
    let path = &sources[numbers.below(sources.len())];
    let text = fs_err::read_to_string(path)?;
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let (at, other) = (numbers.below(lines.len()), numbers.below(lines.len()));
    let what = match numbers.below(5) {
        0 => {
            lines.insert(at, lines[at].clone());
            "a line twice"
        }
        1 => {
            lines.remove(at);
            "a line less"
        }
        2 => {
            lines.swap(at, other);
            "lines in another order"
        }
        3 => {
            lines.insert(at, "// more".to_string());
            "a comment"
        }
        _ => {
            let digit = char::from_digit(1 + numbers.below(9) as u32, 10).unwrap_or('1');
            for line in &mut lines {
                *line = line.replace("16", &format!("1{digit}")).replace("32", &format!("3{digit}"));
            }
            "other numbers"
        }
    };
    fs_err::write(path, lines.join("\n") + "\n")?;
    Ok(format!("{what} in {}", path.strip_prefix(root)?.display()))
}
