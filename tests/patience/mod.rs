//! A limit for tests of work that must not grow faster than its input. It only bounds how long
//! a test waits; how long work takes on a quiet machine is for the benches to say.

use std::sync::mpsc::channel;
use std::time::Duration;

/// Does the work, and fails if it does not end: what grows with the square of these inputs
/// would take hours.
pub fn ends<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, waiting) = channel();
    std::thread::spawn(move || done.send(work()));
    let answer = waiting.recv_timeout(Duration::from_secs(120));
    answer.unwrap_or_else(|why| panic!("{what}: {why}"))
}
