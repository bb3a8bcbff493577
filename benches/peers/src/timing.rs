//! Times several contestants in turns, on the thread's CPU clock.
//!
//! Other load on the machine slows a wall clock, not this one; what it does to caches and
//! to the clock rate hits all contestants alike, because their turns alternate.

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;

/// Nanoseconds of CPU time that this thread has used.
pub fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// What is timed: work on the `k`-th of `n` calls.
pub trait Work {
    /// Does one; whether the call is denied.
    fn one(&mut self, k: usize) -> bool;
    /// Does all of them; how many are denied.
    fn pass(&mut self, n: usize) -> usize;
}

impl<F: FnMut(usize) -> bool> Work for F {
    fn one(&mut self, k: usize) -> bool {
        self(k)
    }

    fn pass(&mut self, n: usize) -> usize {
        (0..n).filter(|k| black_box(self(black_box(*k)))).count()
    }
}

/// A turn takes about this long, at least one pass.
const TURN: f64 = 3e6;
/// All turns of a comparison take about this long.
const BUDGET: f64 = 15e9;

/// Nanoseconds per call: a row per contestant, a column per round. The first round only
/// warms up and sets the length of the turns.
pub fn rounds(works: &mut [&mut dyn Work], n: usize) -> Vec<Vec<f64>> {
    let turn = |work: &mut dyn Work, passes: usize| {
        let start = now();
        for _ in 0..passes {
            black_box(work.pass(n));
        }
        (now() - start) / passes as f64
    };
    let passes: Vec<usize> = works
        .iter_mut()
        .map(|work| {
            turn(*work, 1);
            let per_pass = turn(*work, 1).max(1.0);
            (TURN / per_pass).clamp(1.0, 1e6) as usize
        })
        .collect();
    let start = now();
    let mut table = vec![Vec::new(); works.len()];
    for round in 0..31 {
        for ((work, passes), row) in works.iter_mut().zip(&passes).zip(&mut table) {
            row.push(turn(*work, *passes) / n as f64);
        }
        if round >= 6 && now() - start > BUDGET {
            break;
        }
    }
    table
}

/// The middle value.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}

/// The median over rounds of `row` relative to `base` in the same round.
pub fn ratio(row: &[f64], base: &[f64]) -> f64 {
    let ratios: Vec<f64> = row.iter().zip(base).map(|(a, b)| a / b).collect();
    median(&ratios)
}

/// A time with its unit.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}
