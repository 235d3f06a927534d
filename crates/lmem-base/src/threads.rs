//! Threads that a system may refuse: with fewer, a run is slower and nothing else.

use std::thread::Builder;

/// Does work on up to `count` threads at once. Where the system gives fewer, those do it, and this thread in any case.
pub fn work_on(count: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        // The first refusal is not the last.
        let is_refused = |_: &usize| Builder::new().spawn_scoped(scope, &work).is_err();
        let _ = (1..count).find(is_refused);
        if count > 0 {
            work();
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_work_is_done_once() {
        for threads in [1, 2, 7] {
            let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
            work_on(threads, || {
                while let Some(item) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|item| *item < 100) {
                    done.lock().unwrap().push(item);
                }
            });
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..100).collect::<Vec<_>>());
        }
        work_on(0, || unreachable!("there is nothing to do"));
    }
}
