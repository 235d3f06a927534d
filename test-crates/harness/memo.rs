//! What several tests ask for, found out once.

use std::sync::{Arc, Mutex, OnceLock};

use super::Problem;

type Answer<T> = Result<Arc<T>, Problem>;

/// An answer that is there, or is being found out.
type Pending<T> = Arc<OnceLock<Answer<T>>>;

/// Answers by name. Who asks for one that is being found out waits for it; other names do not wait.
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
