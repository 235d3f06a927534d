//! Caches results that several tests need, so that each is computed once.

use std::sync::{Arc, Mutex, OnceLock};

use super::Problem;

type Answer<T> = Result<Arc<T>, Problem>;

/// A result that is known, or being computed.
type Pending<T> = Arc<OnceLock<Answer<T>>>;

/// Results by name. A request for a result that is being computed waits; requests for other names do not.
pub struct Memo<T>(Mutex<Vec<(String, Pending<T>)>>);

impl<T> Memo<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    pub fn get(&self, name: &str, find: impl FnOnce() -> Result<T, Problem>) -> Answer<T> {
        let answer = {
            let mut known = self.0.lock().expect("no thread has panicked");
            match known.iter().find(|(of, _)| of == name) {
                Some((_, answer)) => answer.clone(),
                None => {
                    let answer: Pending<T> = Arc::default();
                    known.push((name.to_string(), answer.clone()));
                    answer
                }
            }
        };
        answer.get_or_init(|| find().map(Arc::new)).clone()
    }
}
