//! Tasks for contributors: `cargo xtask new-lint NAME`.

mod new_lint;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask new-lint NAME

Writes a lint that works, with its test crate, registration and row in README.md; CONTRIBUTING.md says how to go on.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ["new-lint", name] = arguments.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    match new_lint::write(root, name) {
        Ok(()) => {
            println!("{}", new_lint::next_steps(name));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
