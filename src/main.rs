//! Arguments in, exit code out.

use clap::Parser;

fn main() {
    let _ = cargo_lmem::cli::Cargo::parse();
}
