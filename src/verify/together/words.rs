//! What a suggestion for several variables says.

/// The title of one suggestion, from the variables and the titles of their own: once, if they say the same of each.
pub fn title(parts: &[(&str, &str)]) -> String {
    let quoted = |name: &str| format!("`{name}`");
    let Some((first, title)) = parts.first() else { return String::new() };
    let mut names: Vec<String> = parts.iter().map(|(name, _)| quoted(name)).collect();
    names.dedup();
    if let [only] = names.as_slice() {
        return format!("for each {only}, {title}");
    }
    let names = listed(&names);
    let general = |name: &str, title: &str| title.replace(&quoted(name), "`…`");
    let are_equal = parts.iter().all(|(name, own)| general(name, own) == general(first, title));
    match (are_equal, title.contains(&quoted(first))) {
        (true, true) => title.replacen(&quoted(first), &format!("each of {names}"), 1),
        (true, false) => format!("for each of {names}, {title}"),
        (false, _) => together(parts),
    }
}

/// What is done to each, then once what holds for several: `replace 256 by your largest block size`.
fn together(parts: &[(&str, &str)]) -> String {
    let (mut clauses, mut conditions): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for (name, title) in parts {
        let mut of_title = title.split("; ");
        let what = of_title.next().unwrap_or_default();
        let is_named = what.contains(&format!("`{name}`"));
        clauses.push(if is_named { what.to_string() } else { format!("for `{name}`, {what}") });
        for condition in of_title {
            // One of them may say more: `(128 is from k.cu:9)`, `(128 is from k.cu:9, one-dimensional)`.
            let says = |one: &str, other: &str| one.starts_with(other.trim_end_matches(')'));
            match conditions.iter_mut().find(|known| says(known, condition) || says(condition, known)) {
                Some(known) if condition.len() > known.len() => *known = condition,
                Some(_) => {}
                None => conditions.push(condition),
            }
        }
    }
    let conditions = conditions.into_iter().map(str::to_string);
    format!("together: {}", clauses.into_iter().chain(conditions).collect::<Vec<_>>().join("; "))
}

/// `a, b and c`
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
