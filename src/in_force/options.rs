//! Options of a run, from the command line, the environment, or their defaults.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};

use crate::cache;
use crate::cli::CheckArgs;

use super::{InForce, Origin};

/// Variables for the folder of results and toolkits.
const CACHE_VARIABLES: [&str; 2] = ["CARGO_LMEM_CACHE_DIR", "XDG_CACHE_HOME"];

/// Options that override a key of the settings.
const KEYS: [(&str, &str); 3] = [("arch", "arch"), ("toolkit", "toolkit"), ("baseline", "baseline")];

/// Options that are shown as levels of lints.
const LEVELS: [&str; 4] = ["allow", "warn", "deny", "forbid"];

/// The command-line option that overrides a key.
pub(super) fn overriding(key: &str, matches: &ArgMatches) -> Option<InForce> {
    let (_, id) = KEYS.iter().find(|(known, _)| *known == key)?;
    let is_typed = matches.value_source(id) == Some(ValueSource::CommandLine);
    is_typed.then(|| InForce {
        key: key.to_string(),
        value: value(id, matches),
        origin: Origin::CommandLine { option: format!("--{key}") },
    })
}

/// All options with a value, except those shown elsewhere.
pub(super) fn options(matches: &ArgMatches) -> Vec<InForce> {
    let command = CheckArgs::augment_args(Command::default());
    let arguments = command.get_arguments().filter_map(|argument| {
        let (id, name) = (argument.get_id().as_str(), argument.get_long()?);
        let is_elsewhere = KEYS.iter().any(|(_, known)| *known == id) || LEVELS.contains(&id) || id == "message_format";
        let origin = match matches.value_source(id).filter(|_| !is_elsewhere)? {
            ValueSource::CommandLine => Origin::CommandLine { option: format!("--{name}") },
            ValueSource::EnvVariable => {
                Origin::Environment { variable: argument.get_env()?.to_string_lossy().into_owned() }
            }
            _ => Origin::Default,
        };
        Some(InForce { key: name.to_string(), value: value(id, matches), origin })
    });
    arguments.chain(cache_settings()).collect()
}

fn value(id: &str, matches: &ArgMatches) -> String {
    let raw = matches.get_raw(id).into_iter().flatten();
    raw.map(|value| value.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn cache_settings() -> impl Iterator<Item = InForce> {
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let origin = |names: &[&'static str]| match names.iter().find(|name| set(name)) {
        Some(name) => Origin::Environment { variable: name.to_string() },
        None => Origin::Default,
    };
    let folder = cuda_toolkit::cache_root().ok().map(|root| InForce {
        key: "cache folder".to_string(),
        value: root.display().to_string(),
        origin: origin(&CACHE_VARIABLES),
    });
    let limit = InForce {
        key: "cache size".to_string(),
        value: format!("{} MiB", cache::limit() >> 20),
        origin: origin(&[cache::MAX_VARIABLE]),
    };
    let remote = cache::remote::shown().map(|value| InForce {
        key: "remote cache".to_string(),
        value,
        origin: origin(&[cache::remote::VARIABLE]),
    });
    folder.into_iter().chain([limit]).chain(remote)
}
