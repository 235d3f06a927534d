//! Host compilers that the user's flags for nvcc name.

/// Options of nvcc that name the host compiler, or the folder that it lies in.
const OPTIONS: [&str; 4] = ["--compiler-bindir", "-compiler-bindir", "--ccbin", "-ccbin"];

/// A word of a text of flags.
#[derive(Debug, PartialEq, Eq)]
pub enum Word {
    /// The host compiler, or its folder, as it is written.
    Host(String),
    Other(String),
}

/// The words of a text of flags: a variable's.
pub fn words(flags: &str) -> Vec<Word> {
    let by_space = || flags.split_whitespace().map(str::to_string).collect();
    let mut words = shlex::split(flags).unwrap_or_else(by_space).into_iter();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let joined = OPTIONS.iter().find_map(|option| name.strip_prefix(option)).filter(|path| path.starts_with('/'));
        let host = match joined {
            Some(path) => Some(path.to_string()),
            None if OPTIONS.contains(&name) => {
                Some(value.map(str::to_string).or_else(|| words.next()).unwrap_or_default())
            }
            None => None,
        };
        found.push(host.map_or(Word::Other(word), Word::Host));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_name_host_compilers() {
        let named = |flags: &str| {
            let named = words(flags).into_iter().filter_map(|word| match word {
                Word::Host(path) => Some(path),
                Word::Other(_) => None,
            });
            named.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(named("-O3 -ccbin /a/g++ --compiler-bindir=/b -DX"), "/a/g++ /b");
        assert_eq!(named("-ccbin/a/g++ -compiler-bindir '/c d'"), "/a/g++ /c d");
        assert_eq!(named("-ccbin"), "");
        assert_eq!(words("-I/a -DX=1"), ["-I/a", "-DX=1"].map(|word| Word::Other(word.to_string())));
    }
}
