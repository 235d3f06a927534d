//! Lines that may include a file, or define the name of one.

/// Longer names are none of files.
const MAX_NAME_BYTES: usize = 256;

/// Whether a line may be a directive that asks for a file, or define the name of one.
pub fn may_name_files(line: &str) -> bool {
    ["include", "embed", "import", "define"].iter().any(|word| line.contains(word))
}

/// What a line has in quotation marks.
pub fn quoted(line: &str) -> impl Iterator<Item = &str> {
    between(line, '"', b'"')
}

/// What a line has in angle brackets.
pub fn angled(line: &str) -> impl Iterator<Item = &str> {
    between(line, '<', b'>')
}

fn between(line: &str, open: char, close: u8) -> impl Iterator<Item = &str> {
    let behind = line.match_indices(open).map(move |(at, _)| &line[at + 1..]);
    let length = move |rest: &str| rest.bytes().take(MAX_NAME_BYTES).position(|byte| byte == close);
    behind.filter_map(move |rest| Some(&rest[..length(rest)?])).filter(|name| !name.is_empty())
}
