//! Criterion over the policies and calls of `targets`, one group a subject, for changes
//! of one's own: `cargo bench -p bouncer-compiler --bench decide`, change something, again.
//!
//! Time is the thread's CPU time, so that other programs disturb little.

#![allow(missing_docs)]

mod common;

use common::policies::{self, Request};
use common::{Bench, cpu_ns};
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Duration;

/// Measures with the thread's CPU clock.
struct CpuTime;

static NANOSECONDS: WallTime = WallTime;

impl Measurement for CpuTime {
    type Intermediate = u64;
    type Value = Duration;

    fn start(&self) -> u64 {
        cpu_ns()
    }
    fn end(&self, start: u64) -> Duration {
        Duration::from_nanos(cpu_ns() - start)
    }
    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }
    fn zero(&self) -> Duration {
        Duration::ZERO
    }
    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }
    fn formatter(&self) -> &dyn ValueFormatter {
        NANOSECONDS.formatter()
    }
}

/// One bench a size: each judges its requests in turn.
fn group(
    criterion: &mut Criterion<CpuTime>,
    name: &str,
    cases: impl IntoIterator<Item = (usize, String, Vec<Request>)>,
) {
    let mut group = criterion.benchmark_group(name);
    for (size, policy, requests) in cases {
        let mut bench = Bench::new(&policy, &requests);
        let bytes: usize = requests.iter().map(|request| request.arguments.len()).sum();
        group.throughput(Throughput::Bytes((bytes / requests.len()) as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            let mut requests = requests.iter().cycle();
            bencher.iter(|| requests.next().map(|request| bench.decide(request)));
        });
    }
    group.finish();
}

fn decide(criterion: &mut Criterion<CpuTime>) {
    let typical = vec![policies::typical_request()];
    group(criterion, "typical", [(311, policies::typical(), typical)]);
    let sized = |(size, policy_and_requests): (usize, (String, Vec<Request>))| {
        (size, policy_and_requests.0, policy_and_requests.1)
    };
    let sizes = [10, 1000, 100_000];
    group(
        criterion,
        "rules",
        sizes.map(|n| sized((n, policies::spread(n)))),
    );
    group(
        criterion,
        "literals",
        sizes.map(|n| sized((n, policies::literals(n)))),
    );
    for (name, anchored) in [("anchored", true), ("unanchored", false)] {
        let cases = [10, 1000].map(|n| sized((n, policies::regexes(n, anchored))));
        group(criterion, name, cases);
    }
    let leaves = [1, 100, 10_000].map(|n| (n, policies::typical(), vec![policies::recipients(n)]));
    group(criterion, "leaves", leaves);
    let bytes =
        [100, 10_000, 1_000_000].map(|n| (n, policies::typical(), vec![policies::sized(n)]));
    group(criterion, "bytes", bytes);
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = decide
}
criterion_main!(benches);
