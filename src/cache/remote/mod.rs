//! Results shared by machines: a place behind the folder of results that each of them has.
//!
//! A result that is not in the folder is looked for here, and is kept in the folder; a new one is sent here by threads of its own.
//! Nothing depends on it: a place that does not answer is not asked again in this run. What is read is checked as an entry of the
//! folder is (`store.rs`), so that a damaged or misplaced one counts as missing.
//!
//! The address comes from the environment alone. The checked tree has no say in it: results decide what a report says.

mod address;
mod folder;
mod queue;
#[cfg(feature = "remote-cache")]
mod service;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use address::{Address, Kind};
use queue::Queue;

/// Environment variable with the address.
pub const VARIABLE: &str = "CARGO_LMEM_REMOTE_CACHE";

/// How long an answer may take.
const PATIENCE: Patience = Patience { first: Duration::from_secs(3), later: Duration::from_secs(10) };

/// How long the end of a run waits for what is still to be sent.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// Larger entries are neither sent nor taken.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// Threads that send. Each waits for an answer most of its time.
const SENDERS: usize = 4;

/// A place that holds entries by name. An error means that the place itself is of no use now.
trait Place: Send + Sync {
    /// The bytes of an entry; `None` if there is none.
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, String>;

    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), String>;
}

/// The first answer tells whether there is anything at the address; a later one may bring much.
struct Patience {
    first: Duration,
    later: Duration,
}

/// The remote cache of a run.
pub struct Remote {
    place: Arc<dyn Place>,
    shown: String,
    patience: Patience,
    has_answered: AtomicBool,
    trouble: Mutex<Trouble>,
    queue: Arc<Queue>,
    senders: OnceLock<()>,
}

/// Why a place is no longer used. One that refuses entries may still be read from: machines of pull requests often may not write.
#[derive(Default)]
struct Trouble {
    reading: Option<String>,
    writing: Option<String>,
}

impl Remote {
    /// The place at an address.
    ///
    /// # Errors
    /// The address is wrong, lacks what is needed beside it in the environment, or needs another build of this program.
    pub fn open(address: &str, is_offline: bool) -> Result<Arc<Self>, String> {
        let parsed = Address::parse(address)?;
        let place: Arc<dyn Place> = match parsed.kind {
            Kind::Folder => Arc::new(folder::Folder::new(PathBuf::from(parsed.path))),
            _ if is_offline => return Err("`--offline` was given".to_string()),
            _ => service(&parsed)?,
        };
        Ok(Arc::new(Self::new(place, address, PATIENCE)))
    }

    fn new(place: Arc<dyn Place>, shown: &str, patience: Patience) -> Self {
        Self {
            place,
            shown: shown.to_string(),
            patience,
            has_answered: AtomicBool::new(false),
            trouble: Mutex::default(),
            queue: Arc::default(),
            senders: OnceLock::new(),
        }
    }

    /// The bytes of an entry, unchecked.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        if self.trouble(|trouble| trouble.reading.is_some()) {
            return None;
        }
        let (sender, receiver) = mpsc::channel();
        let (place, name) = (Arc::clone(&self.place), name.to_string());
        // A thread for each question: that of a file on a server that is gone may hang, and cannot be ended.
        std::thread::Builder::new().spawn(move || drop(sender.send(place.get(&name)))).ok()?;
        let limit = match self.has_answered.load(Ordering::Relaxed) {
            true => self.patience.later,
            false => self.patience.first,
        };
        let answer = receiver.recv_timeout(limit);
        match answer.unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs()))) {
            Ok(found) => {
                self.has_answered.store(true, Ordering::Relaxed);
                found
            }
            Err(why) => {
                self.trouble(|trouble| trouble.reading.get_or_insert(why).clone());
                self.queue.give_up();
                None
            }
        }
    }

    /// Sends an entry that lies in a file, some time later.
    pub fn send(self: &Arc<Self>, name: String, path: PathBuf) {
        if self.trouble(|trouble| trouble.reading.is_some() || trouble.writing.is_some()) {
            return;
        }
        self.queue.add((name, path));
        self.senders.get_or_init(|| {
            for _ in 0..SENDERS {
                let remote = Arc::clone(self);
                // With fewer of them, or none, less is sent.
                drop(std::thread::Builder::new().spawn(move || remote.send_all()));
            }
        });
    }

    /// Waits until everything is sent, though not longer than `limit`. Returns what to tell the user.
    pub fn settle(&self, limit: Duration) -> Option<String> {
        let left = self.queue.wait(Instant::now() + limit);
        let shown = &self.shown;
        let trouble = self.trouble(|trouble| (trouble.reading.clone(), trouble.writing.clone()));
        match trouble {
            (Some(why), _) => Some(format!("remote cache `{shown}` not used any further: {why}")),
            (None, Some(why)) => Some(format!("nothing more was written to remote cache `{shown}`: {why}")),
            (None, None) => (left > 0).then(|| format!("remote cache `{shown}` is slow: {left} results were not sent")),
        }
    }

    /// What a thread that sends does: it ends with the program.
    fn send_all(&self) {
        loop {
            let (name, path) = self.queue.next();
            // An entry may have been removed meanwhile, to make room.
            let sent = match lmem_base::places::read_own(&path, MAX_BYTES) {
                Ok(bytes) => self.place.put(&name, bytes),
                Err(_) => Ok(()),
            };
            if let Err(why) = sent {
                self.trouble(|trouble| trouble.writing.get_or_insert(why).clone());
                self.queue.give_up();
            }
            // Last: who waits for the queue asks then what went wrong.
            self.queue.done();
        }
    }

    fn trouble<T>(&self, look: impl FnOnce(&mut Trouble) -> T) -> T {
        look(&mut self.trouble.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(feature = "remote-cache")]
fn service(address: &Address) -> Result<Arc<dyn Place>, String> {
    Ok(Arc::new(service::Service::new(address)?))
}

#[cfg(not(feature = "remote-cache"))]
fn service(_: &Address) -> Result<Arc<dyn Place>, String> {
    Err("this build has shared folders alone; `cargo install cargo-lmem --features remote-cache` has services"
        .to_string())
}

/// The remote cache that the environment names, opened once.
static OF_ENVIRONMENT: OnceLock<Option<Result<Arc<Remote>, String>>> = OnceLock::new();

/// The remote cache that the environment names, one for all parts of a run: what does not answer is asked once.
pub fn of_environment(is_offline: bool) -> Option<Arc<Remote>> {
    let opened = OF_ENVIRONMENT.get_or_init(|| address().map(|address| Remote::open(&address, is_offline)));
    opened.as_ref()?.as_ref().ok().map(Arc::clone)
}

/// Waits for what is still to be sent, for a bounded time. Returns what to tell the user of the remote cache.
pub fn settle() -> Option<String> {
    match OF_ENVIRONMENT.get()?.as_ref()? {
        Ok(remote) => remote.settle(LAST_WAIT),
        Err(why) => Some(format!("no remote cache: {why}")),
    }
}

/// The address, as it may be shown; `None` if there is none. One that cannot be read may hold a password.
pub fn shown() -> Option<String> {
    let address = address()?;
    Some(Address::parse(&address).map_or_else(|why| format!("none: {why}"), |_| address))
}

fn address() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|address| !address.is_empty())
}

#[cfg(test)]
mod tests;
