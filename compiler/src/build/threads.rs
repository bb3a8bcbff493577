//! Work shared out among threads, with results in the order of the work.
//!
//! Who asks for the most threads gets what is left: the lists of patterns share them
//! out first, and a list that takes long gets those that have nothing else to do. How
//! many there are shows in the time only. Knows nothing of what is worked on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{Builder, Scope, ScopedJoinHandle, available_parallelism, scope};
use std::time::Duration;

/// Threads at most, however many cores there are: each may need five times
/// the memory of the largest DFA.
pub const MAX_THREADS: usize = 8;
/// A pattern may nest deep, and is read recursively: as much stack as a main thread has.
const STACK: usize = 8 << 20;
/// Between two calls of `tick`, at most.
const TICK: Duration = Duration::from_millis(100);

/// How many threads may still be started.
#[derive(Debug, Default)]
pub struct Threads {
    spare: AtomicUsize,
}

impl Threads {
    /// As many threads as that; with one everything is done where it is asked for.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let spare = if count > 1 { count } else { 0 };
        Self {
            spare: AtomicUsize::new(spare.min(MAX_THREADS)),
        }
    }

    /// As many as the machine has cores for this process, up to [`MAX_THREADS`].
    #[must_use]
    pub fn available() -> usize {
        available_parallelism()
            .map_or(1, usize::from)
            .min(MAX_THREADS)
    }

    /// Builds all of `0..count` and hands them over in that order, to the thread that
    /// calls, which also calls `tick` now and then.
    pub fn in_order<R: Send>(
        &self,
        count: usize,
        build: impl Fn(usize) -> R + Sync,
        mut take: impl FnMut(R),
        mut tick: impl FnMut(),
    ) {
        let next = AtomicUsize::new(0);
        let (sender, built) = mpsc::channel();
        let work = |sender: mpsc::Sender<(usize, R)>| {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= count || sender.send((at, build(at))).is_err() {
                    break;
                }
            }
        };
        let work = &work;
        scope(|scope| {
            let workers = self.start(scope, count, || {
                let sender = sender.clone();
                move || work(sender)
            });
            drop(sender);
            if workers.is_empty() {
                for at in 0..count {
                    take(build(at));
                    tick();
                }
                return;
            }
            let mut early: Vec<Option<R>> = (0..count).map(|_| None).collect();
            let mut taken = 0;
            loop {
                match built.recv_timeout(TICK) {
                    Ok((at, result)) => {
                        if let Some(slot) = early.get_mut(at) {
                            *slot = Some(result);
                        }
                        while let Some(result) = early.get_mut(taken).and_then(Option::take) {
                            take(result);
                            taken += 1;
                        }
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    // All workers are through; a panic of one is passed on by the scope.
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
                tick();
            }
        });
    }

    /// What becomes of each item, in the order of the items.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, f: impl Fn(T) -> R + Sync) -> Vec<R> {
        let count = items.len();
        let items: Vec<Mutex<Option<T>>> = items
            .into_iter()
            .map(|item| Mutex::new(Some(item)))
            .collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(slot) = items.get(at) else { break };
                let item = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
                done.extend(item.map(|item| (at, f(item))));
            }
            done
        };
        let work = &work;
        let mut done = scope(|scope| {
            let helpers = self.start(scope, count.saturating_sub(1), || move || work());
            let mut done = work();
            for helper in helpers {
                match helper.join() {
                    Ok(more) => done.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            done
        });
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, result)| result).collect()
    }

    /// Starts as many threads as are left, and as `most`.
    fn start<'s, 'e, R, W>(
        &'e self,
        scope: &'s Scope<'s, 'e>,
        most: usize,
        work: impl Fn() -> W,
    ) -> Vec<ScopedJoinHandle<'s, R>>
    where
        R: Send + 's,
        W: FnOnce() -> R + Send + 's,
    {
        let mut started = Vec::new();
        while started.len() < most {
            let Some(place) = self.take_place() else {
                break;
            };
            let work = work();
            let thread = Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, move || {
                    let _place = place;
                    work()
                });
            // A system that gives no more threads does with those it gave.
            let Ok(thread) = thread else { break };
            started.push(thread);
        }
        started
    }

    fn take_place(&self) -> Option<Place<'_>> {
        self.spare
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |spare| {
                spare.checked_sub(1)
            })
            .ok()
            .map(|_| Place(&self.spare))
    }
}

/// The right to run, given back when it is no longer used.
struct Place<'t>(&'t AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
