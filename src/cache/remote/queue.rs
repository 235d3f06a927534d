//! What is still to be sent, for a few threads.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// An entry's name, and the file with its bytes: entries are large, and are read when their turn comes.
pub type Job = (String, PathBuf);

#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// Jobs that a thread has taken and not finished.
    taken: usize,
    is_given_up: bool,
}

impl Queue {
    pub fn add(&self, job: Job) {
        let mut state = self.state();
        if !state.is_given_up {
            state.waiting.push_back(job);
            self.changed.notify_all();
        }
    }

    /// Takes the next job, and waits for one if there is none.
    pub fn next(&self) -> Job {
        let mut state = self.state();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                state.taken += 1;
                return job;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that a job is finished, whatever came of it.
    pub fn done(&self) {
        self.state().taken -= 1;
        self.changed.notify_all();
    }

    /// Forgets all jobs, later ones too. Nobody waits for those that a thread has taken.
    pub fn give_up(&self) {
        let mut state = self.state();
        state.waiting.clear();
        state.is_given_up = true;
        self.changed.notify_all();
    }

    /// Waits until all jobs are finished or the time is over; returns how many are not.
    pub fn wait(&self, until: Instant) -> usize {
        let limit = until.saturating_duration_since(Instant::now());
        let is_busy = |state: &mut State| !state.is_given_up && state.waiting.len() + state.taken > 0;
        let waited = self.changed.wait_timeout_while(self.state(), limit, is_busy);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting.len() + state.taken
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
