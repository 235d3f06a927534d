//! Words of messages.

/// The name among `known` that `name` was probably meant to be.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.replace('_', "-").to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.replace('_', "-").to_lowercase());
    let best = known.map(|known| (distance(known), known)).min_by_key(|(distance, _)| *distance);
    best.filter(|(distance, known)| *distance * 3 <= known.len().max(3)).map(|(_, known)| known)
}

/// `1 byte`, `2 bytes`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("{count} {noun}") } else { format!("{count} {noun}s") }
}
