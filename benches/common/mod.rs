//! What all benches share: a clock that other programs do not disturb, interleaved
//! medians, and policies of any size with calls that fit them.

#![allow(
    dead_code,
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

pub mod policies;

use bouncer_compiler::{Input, Options, compile, load};
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Plan;
use bouncer_plan::Verdict;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;

/// CPU time of this thread, in nanoseconds.
pub fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Peak resident memory of this process so far, in MiB. Linux only.
pub fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace()
        .nth(1)?
        .parse::<u64>()
        .ok()
        .map(|kib| kib / 1024)
}

/// One thing to time, against others in the same run.
pub struct Contender<'a> {
    pub name: String,
    run: Box<dyn FnMut() + 'a>,
    calls: usize,
    samples: Vec<f64>,
}

impl<'a> Contender<'a> {
    pub fn new(name: impl Into<String>, run: impl FnMut() + 'a) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
            calls: 1,
            samples: Vec::new(),
        }
    }

    /// Nanoseconds per call in the median batch.
    pub fn median(&self) -> f64 {
        median(&self.samples)
    }

    /// The median over the rounds of this contender's time divided by the other's in the
    /// same round.
    pub fn ratio(&self, other: &Self) -> f64 {
        let ratios: Vec<f64> = self
            .samples
            .iter()
            .zip(&other.samples)
            .map(|(a, b)| a / b)
            .collect();
        median(&ratios)
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Times the contenders in turn, batch by batch, on the thread's CPU clock. A batch takes
/// about a millisecond.
pub fn race(contenders: &mut [Contender<'_>], rounds: usize) {
    for contender in contenders.iter_mut() {
        // Warm up, and find how many calls make a batch.
        (contender.run)();
        loop {
            let start = cpu_ns();
            for _ in 0..contender.calls {
                (contender.run)();
            }
            if cpu_ns() - start > 500_000 || contender.calls > 1 << 24 {
                break;
            }
            contender.calls *= 2;
        }
        contender.samples.clear();
    }
    for _ in 0..rounds {
        for contender in contenders.iter_mut() {
            let start = cpu_ns();
            for _ in 0..contender.calls {
                (contender.run)();
            }
            let spent = (cpu_ns() - start) as f64;
            contender.samples.push(spent / contender.calls as f64);
        }
    }
}

/// A gate with its tools pinned, and a conversation.
pub struct Bench {
    pub gate: Gate,
    pub conversation: Conversation,
}

/// Compiles a policy without packs or heuristics.
pub fn plan_bytes(policy: &str) -> Vec<u8> {
    let input = Input {
        name: "bench.yaml",
        text: policy,
    };
    let options = Options {
        packs: false,
        heuristics: false,
    };
    let loaded = load(&[input], &options).unwrap_or_else(|_| panic!("the policy does not load"));
    compile(&loaded.policy).unwrap_or_else(|errors| panic!("{errors:?}"))
}

impl Bench {
    pub fn new(policy: &str, requests: &[policies::Request]) -> Self {
        Self::of_plan(Plan::load(plan_bytes(policy)).unwrap(), requests)
    }

    /// Pins the tools that the requests name.
    pub fn of_plan(plan: Plan, requests: &[policies::Request]) -> Self {
        let mut gate = Gate::new(plan);
        let mut listed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for request in requests {
            listed
                .entry(&request.server)
                .or_default()
                .insert(&request.tool);
        }
        for (server, tools) in listed {
            let tools: Vec<ToolDefinition> = tools
                .into_iter()
                .map(|name| ToolDefinition::from_json(serde_json::json!({ "name": name })).unwrap())
                .collect();
            gate.pin(Some(server), &tools, None);
        }
        let conversation = gate.conversation();
        Self { gate, conversation }
    }

    pub fn decide(&mut self, request: &policies::Request) -> Verdict {
        let call = Call::hypothetical(
            Some(&request.server),
            &request.tool,
            Some(black_box(request.arguments.as_bytes())),
        );
        self.gate
            .decide(&mut self.conversation, &call, Attempt::First, 1)
            .verdict()
    }

    /// Judges all requests, over and over, one a call.
    pub fn contender<'a>(
        &'a mut self,
        name: impl Into<String>,
        requests: &'a [policies::Request],
    ) -> Contender<'a> {
        let mut next = 0;
        Contender::new(name, move || {
            black_box(self.decide(&requests[next]));
            next += 1;
            if next == requests.len() {
                next = 0;
            }
        })
    }
}
