//! Demangled function names and their template arguments.

use std::fmt;

use crate::casts::without_casts;
use crate::inert;

/// The end of the mangled name of a destructor that also frees its object.
pub const DELETING: &str = "D0Ev";

/// `running_mean<32>` for `_Z12running_meanILi32EEvPKfPfi`; a name that is not mangled is kept. Machine code can have
/// names of any characters: those that act on a terminal or a log are replaced.
pub fn demangle(name: &str) -> String {
    inert::name(&demangled(name))
}

fn demangled(name: &str) -> String {
    let name = without_copy_number(name).unwrap_or(name);
    // `f` alone would demangle to the type `float`.
    if !name.starts_with("_Z") {
        return name.to_string();
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let demangled = written(name, &options);
    let demangled =
        demangled.map_or_else(|| name.to_string(), |demangled| without_casts(&without_unit_scopes(&demangled)));
    // A class has both, with different figures.
    if name.ends_with(DELETING) { format!("{demangled} (deleting)") } else { demangled }
}

/// A mangled name with parameters and result; `None` if it is none, or too long.
pub fn demangle_whole(name: &str) -> Option<String> {
    written(name, &cpp_demangle::DemangleOptions::new())
}

/// Limit on bytes of a demangled name. Substitutions may double it with every few letters.
const MAX_DEMANGLED: usize = 16 << 10;

/// A mangled name as the demangler writes it; `None` if it is none, or too long.
fn written(name: &str, options: &cpp_demangle::DemangleOptions) -> Option<String> {
    let mut bounded = Bounded(String::new());
    cpp_demangle::Symbol::new(name).ok()?.structured_demangle(&mut bounded, options).ok()?;
    Some(bounded.0)
}

/// Ends the writing where the limit is.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// `f` for `_INTERNAL_647cb2e6_4_k_cu_main::f`: nvcc's scope for the `static` functions of a file, of which a source has nothing.
fn without_unit_scopes(name: &str) -> String {
    const SCOPE: &str = "_INTERNAL_";
    let mut rest = name;
    let mut kept = String::new();
    while let Some(at) = rest.find(SCOPE) {
        let scope = &rest[at..];
        let length = scope.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(scope.len());
        let is_start = !rest[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        kept.push_str(&rest[..at]);
        match scope[length..].strip_prefix("::").filter(|_| is_start) {
            Some(behind) => rest = behind,
            None => {
                kept.push_str(&scope[..length]);
                rest = &scope[length..];
            }
        }
    }
    kept + rest
}

/// The number of parameters that a mangled name lists, without the object of a method; `None` for one that is not mangled.
pub fn parameter_count(name: &str) -> Option<usize> {
    let name = without_copy_number(name).unwrap_or(name);
    let is_mangled = name.starts_with("_Z");
    let demangled = is_mangled.then(|| written(name, &cpp_demangle::DemangleOptions::new().no_return_type()))??;
    let mut list = demangled.get(..=demangled.rfind(')')?)?.chars().rev();
    list.next();
    let (mut depth, mut count, mut is_empty) = (0_usize, 1, true);
    for character in list {
        match character {
            '(' if depth == 0 => return Some(if is_empty { 0 } else { count }),
            ')' | '>' | '}' | ']' => depth += 1,
            '(' | '<' | '{' | '[' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => count += 1,
            _ => {}
        }
        is_empty = false;
    }
    None
}

/// The last template argument list `<…>` of a demangled name.
pub fn template_arguments(name: &str) -> Vec<String> {
    let Some(inner) = name.strip_suffix('>') else { return Vec::new() };
    let mut depth = 0usize;
    let mut arguments = vec![String::new()];
    for character in inner.chars().rev() {
        match character {
            '>' | ')' => depth += 1,
            '<' if depth == 0 => break,
            '<' | '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (character, depth) {
            (',', 0) => arguments.push(String::new()),
            _ => {
                if let Some(last) = arguments.last_mut() {
                    last.insert(0, character);
                }
            }
        }
    }
    arguments.iter().rev().map(|argument| argument.trim().to_string()).collect()
}

/// `float[W]` → `float[32]`
pub fn bind(type_text: &str, parameters: &[String], arguments: &[String]) -> String {
    let mut text = type_text.to_string();
    for (parameter, argument) in parameters.iter().zip(arguments) {
        // `(Mode)2` for an enumerator.
        let value = argument.rsplit(')').next().filter(|value| !value.is_empty()).unwrap_or(argument);
        if text == *parameter {
            text = value.to_string();
        }
        text = text.replace(&format!("[{parameter}]"), &format!("[{value}]"));
        if let Some(rest) = text.strip_prefix(&format!("{parameter}[")) {
            text = format!("{value}[{rest}");
        }
    }
    text
}

/// `f` for `f$1`.
pub fn without_copy_number(name: &str) -> Option<&str> {
    let (name, number) = name.rsplit_once('$')?;
    (!name.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted_without_the_object() {
        let counts = [
            ("_Z7perturbfPKfP5StatePfi", Some(5)),
            ("_Z4packIhLj64EEvPT_", Some(1)),
            ("_ZNK4Ring2atEi", Some(1)),
            ("_ZN4Ring5clearEv", Some(0)),
            ("_Z5applyPFviiERA4_i", Some(2)),
            ("_ZN5StackISt4pairIiiEE4pushERKS1_", Some(1)),
            ("plain", None),
        ];
        for (name, expected) in counts {
            assert_eq!(parameter_count(name), expected, "{name}");
        }
    }

    #[test]
    fn names_that_double_are_kept_as_they_are() {
        // `P<P<P<int, int>, P<int, int>>, …>`
        let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let doubled = (0..35).map(|level| format!("S_IS{0}_S{0}_E", char::from(digits[level])));
        let name = format!("_Z1kI1PIiiE{}EvT_", doubled.collect::<String>());
        assert_eq!((demangle(&name), parameter_count(&name), demangle_whole(&name)), (name.clone(), None, None));
        assert_eq!(demangle_whole("_Z4RingIfLi32EE").as_deref(), Some("Ring<float, 32>"));
    }

    #[test]
    fn names_of_kernels() {
        assert_eq!(demangle("_Z12running_meanILi32EEvPKfPfi"), "running_mean<32>");
        assert_eq!(demangle("_Z4packIhLj64EEvPT_"), "pack<unsigned char, 64>");
        assert_eq!(demangle("_ZN31_INTERNAL_647cb2e6_4_k_cu_main_7band_ofEPi"), "band_of");
        assert_eq!(without_unit_scopes("f<_INTERNAL_1_k_cu::S>(_INTERNAL_2)"), "f<S>(_INTERNAL_2)");
        assert_eq!(without_unit_scopes("my_INTERNAL_1::f"), "my_INTERNAL_1::f");
        assert_eq!(demangle("_ZN5StoreIiED1Ev"), "Store<int>::~Store");
        assert_eq!(demangle("_ZN5StoreIiED0Ev"), "Store<int>::~Store (deleting)");
        assert_eq!((demangle("plain").as_str(), demangle("f").as_str()), ("plain", "f"));
        assert_eq!(template_arguments("f<A<1, 2>, 32>"), ["A<1, 2>", "32"]);
        assert_eq!(bind("T", &["T".into()], &["Large".into()]), "Large");
        assert_eq!(bind("T[W][4]", &["T".into(), "W".into()], &["float".into(), "32".into()]), "float[32][4]");
    }
}
