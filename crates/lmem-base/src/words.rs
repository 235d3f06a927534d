//! Wording of messages.

use crate::gpu::MAX_PADDING;

/// The most similar name in `known`, for "did you mean".
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.replace('_', "-").to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.replace('_', "-").to_lowercase());
    let best = known.map(|known| (distance(known), known)).min_by_key(|(distance, _)| *distance);
    best.filter(|(distance, known)| *distance * 3 <= known.len().max(3)).map(|(_, known)| known)
}

/// `128 B`.
pub fn bytes(count: u64) -> String {
    format!("{count} B")
}

/// How labels of indices begin that are the same in all threads of a warp.
pub const UNIFORM: &str = "uniform, ";

/// Maximum length of a label, in characters.
pub const MAX_LABEL: usize = 60;

/// The label of a stack object: its bytes per thread relative to the variable's size, then its local loads and stores.
/// `32 B + 16 B padding per thread; 29 local loads`. The object may also be a whole structure of the named member, or
/// smaller than the variable. One without bytes in the frame has a size that only the run time knows.
pub fn object_label(name: &str, size: u64, object: u64, traffic: (u64, u64)) -> String {
    let share = match (object.checked_sub(size), name.split_once('.')) {
        // Memory of `alloca`.
        _ if object == 0 => "run-time size".to_string(),
        (Some(0), _) => bytes(object),
        (Some(_), Some((whole, _))) => format!("{} (all of `{whole}`)", bytes(object)),
        // Each call of its function that was inlined may have the variable once.
        (Some(rest), None) if rest > MAX_PADDING => format!("{} each, {} in all", bytes(size), bytes(object)),
        (Some(padding), None) => format!("{} + {} padding", bytes(size), bytes(padding)),
        (None, _) => format!("{} of {}", bytes(object), bytes(size)),
    };
    let traffic = local_accesses(traffic);
    let whole = format!("{share} per thread; {traffic}");
    match traffic.is_empty() {
        true => format!("{share} per thread"),
        false if whole.chars().count() > MAX_LABEL => format!("{share}; {traffic}"),
        false => whole,
    }
}

/// `29 local loads, 29 stores`
pub fn local_accesses((loads, stores): (u64, u64)) -> String {
    match (loads, stores) {
        (0, 0) => String::new(),
        (0, stores) => plural(stores, "local store"),
        (loads, 0) => plural(loads, "local load"),
        (loads, stores) => format!("{}, {}", plural(loads, "local load"), plural(stores, "store")),
    }
}

/// The names as a list: `` `a`, `b` and `c` ``.
pub fn list(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

/// `1 byte`, `2 bytes`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("{count} {noun}") } else { format!("{count} {noun}s") }
}
