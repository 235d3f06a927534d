//! Trial.
use clap::Parser;
use std::error::Error as _;
use std::sync::atomic::*;
static CANCEL: AtomicBool = AtomicBool::new(false);
fn main() {
    ctrlc::set_handler(|| CANCEL.store(true, Ordering::Relaxed)).unwrap();
    let cargo_lmem::cli::Cargo::Lmem(l) = cargo_lmem::cli::Cargo::parse();
    let r = match l.command {
        Some(cargo_lmem::cli::Command::Toolkit(t)) => {
            cargo_lmem::toolkit::run(&t.command, std::env::var("PIN").ok().as_deref(), &CANCEL)
        }
        _ => {
            let s = cargo_lmem::toolkit::select(
                cargo_lmem::toolkit::Request {
                    choice: l.check.toolkit.as_deref(),
                    configured: None,
                    offline: l.check.offline,
                    quiet: l.check.quiet,
                },
                &CANCEL,
            );
            s.map(|s| {
                let t = std::time::Instant::now();
                println!(
                    "{:#?}\n{}\n{:?} {:?}\n{:?}",
                    s,
                    s.toolkit.fingerprint(),
                    s.toolkit.include_dirs(),
                    t.elapsed(),
                    if std::env::var("COMP").is_ok() {
                        [cargo_lmem::toolkit::Component::Nvdisasm, cargo_lmem::toolkit::Component::Curand]
                            .map(|c| cargo_lmem::toolkit::component(&s.toolkit, c, l.check.offline, false, &CANCEL))
                            .to_vec_dbg()
                    } else {
                        String::new()
                    }
                )
            })
        }
    };
    if let Err(e) = r {
        eprintln!("error: {e}");
        let mut s = e.source();
        while let Some(c) = s {
            eprintln!("caused by: {c}");
            s = c.source();
        }
        for h in e.hints() {
            eprintln!("hint: {h}");
        }
        std::process::exit(3)
    }
}
trait D {
    fn to_vec_dbg(self) -> String;
}
impl<T: std::fmt::Debug, const N: usize> D for [T; N] {
    fn to_vec_dbg(self) -> String {
        format!("{self:?}")
    }
}
