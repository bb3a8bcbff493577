//! The targets that this project holds itself to, measured as ratios in one run.
//!
//! `cargo bench -p bouncer-compiler --bench targets [FILTER]` prints one Markdown table per
//! subject. Contenders take turns, batch by batch, on the thread's CPU clock, and
//! ratios are medians over the rounds, so that a busy machine disturbs little.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod common;

use bouncer_plan::Plan;
use bouncer_plan::Verdict;
use common::policies::{self, Request};
use common::{Bench, Contender, cpu_ns, peak_mib, plan_bytes, race};
use std::hint::black_box;

const ROUNDS: usize = 41;

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    let subjects: [(&str, fn()); 9] = [
        ("typical", typical),
        ("rules", rules),
        ("regexes", regexes),
        ("literals", literals),
        ("leaves", leaves),
        ("sizes", sizes),
        ("floors", floors),
        ("load", load),
        ("compile", compile),
    ];
    for (name, run) in subjects {
        if name.contains(&filter) {
            run();
        }
    }
}

fn head(title: &str, columns: &[&str]) {
    println!("\n**{title}**\n");
    println!("| {} |", columns.join(" | "));
    println!("|{}|", "---|".repeat(columns.len()).trim_end_matches('|'));
}

fn ignored_any(bytes: &str) -> impl FnMut() + '_ {
    move || {
        let ignored: serde::de::IgnoredAny =
            serde_json::from_slice(black_box(bytes.as_bytes())).unwrap();
        black_box(ignored);
    }
}

fn typical() {
    let request = policies::typical_request();
    let requests = [request.clone()];
    let mut bench = Bench::new(&policies::typical(), &requests);
    assert_eq!(bench.decide(&request), Verdict::Allow);
    let limits = bouncer_reader::json::Limits::default();
    let mut scratch = bouncer_reader::json::Scratch::new(&limits);
    let mut contenders = [
        Contender::new(
            "`IgnoredAny` over the same bytes",
            ignored_any(&request.arguments),
        ),
        bench.contender("decide, from bytes", &requests),
        Contender::new("of which: the strict reader alone", || {
            bouncer_reader::json::validate_object(
                black_box(request.arguments.as_bytes()),
                &limits,
                &mut scratch,
            )
            .unwrap();
        }),
    ];
    race(&mut contenders, ROUNDS);
    head(
        &format!(
            "One call, {} bytes of arguments: sink gate, two constraints, ten rules",
            request.arguments.len()
        ),
        &["what", "ns", "against `IgnoredAny`"],
    );
    let [floor, ..] = &contenders;
    for contender in &contenders {
        println!(
            "| {} | {:.0} | {:.2} |",
            contender.name,
            contender.median(),
            contender.ratio(floor)
        );
    }
}

/// Times the same kind of call under policies of growing size, all in one race.
fn growth(title: &str, column: &str, cases: Vec<(String, Bench, Vec<Request>)>) {
    let mut cases = cases;
    let mut contenders: Vec<Contender<'_>> = cases
        .iter_mut()
        .map(|(name, bench, requests)| {
            for request in requests.iter() {
                bench.decide(request);
            }
            bench.contender(name.clone(), requests)
        })
        .collect();
    race(&mut contenders, ROUNDS);
    head(title, &[column, "ns a call", "against the first"]);
    for contender in &contenders {
        println!(
            "| {} | {:.0} | {:.2} |",
            contender.name,
            contender.median(),
            contender.ratio(&contenders[0])
        );
    }
}

fn rules() {
    let cases = [10, 100, 1000, 10_000, 100_000]
        .map(|count| {
            let (policy, requests) = policies::spread(count);
            (count.to_string(), Bench::new(&policy, &requests), requests)
        })
        .into();
    growth("Rules over tools, ten a tool", "rules", cases);
}

fn regexes() {
    for anchored in [true, false] {
        // More than a thousand unanchored ones take minutes to compile.
        let largest = if anchored { 10_000 } else { 1000 };
        let cases = [10, 100, 1000, 10_000]
            .into_iter()
            .filter(|count| *count <= largest)
            .map(|count| {
                let (policy, requests) = policies::regexes(count, anchored);
                (count.to_string(), Bench::new(&policy, &requests), requests)
            })
            .collect();
        let kind = if anchored { "anchored" } else { "unanchored" };
        growth(
            &format!("Regexes on one argument of 200 bytes, {kind}"),
            "regexes",
            cases,
        );
    }
}

fn literals() {
    let cases = [10, 100, 1000, 10_000, 100_000]
        .map(|count| {
            let (policy, requests) = policies::literals(count);
            (count.to_string(), Bench::new(&policy, &requests), requests)
        })
        .into();
    growth("Literals in one list", "literals", cases);
}

/// Calls of growing size under one policy.
fn growing_calls(title: &str, column: &str, cases: Vec<(usize, Request)>) {
    let policy = policies::typical();
    let mut benches: Vec<(usize, Bench, [Request; 1])> = cases
        .into_iter()
        .map(|(size, request)| {
            let requests = [request];
            (size, Bench::new(&policy, &requests), requests)
        })
        .collect();
    let mut sizes = Vec::new();
    let mut contenders = Vec::new();
    for (size, bench, requests) in &mut benches {
        assert_eq!(bench.decide(&requests[0]), Verdict::Allow);
        sizes.push((*size, requests[0].arguments.len()));
        contenders.push(bench.contender(size.to_string(), &*requests));
        contenders.push(Contender::new("", ignored_any(&requests[0].arguments)));
    }
    race(&mut contenders, ROUNDS);
    head(
        title,
        &[
            column,
            "bytes",
            "ns a call",
            "ns each",
            "ns a byte",
            "against `IgnoredAny`",
        ],
    );
    for ((size, bytes), pair) in sizes.iter().zip(contenders.chunks(2)) {
        let ns = pair[0].median();
        println!(
            "| {size} | {bytes} | {ns:.0} | {:.1} | {:.2} | {:.2} |",
            ns / *size as f64,
            ns / *bytes as f64,
            pair[0].ratio(&pair[1])
        );
    }
}

fn leaves() {
    let cases = [1, 10, 100, 1000, 10_000].map(|leaves| (leaves, policies::recipients(leaves)));
    growing_calls("Leaves in one argument (a sink)", "leaves", cases.into());
}

fn sizes() {
    let cases = [100, 1000, 10_000, 100_000, 1_000_000].map(|size| (size, policies::sized(size)));
    growing_calls("Bytes of arguments", "size", cases.into());
}

fn floors() {
    use regex_automata::dfa::{Automaton, dense};
    let (policy, requests) = policies::regexes(1000, false);
    let mut bench = Bench::new(&policy, &requests);
    let text = policies::query_request(200).arguments;
    let patterns: Vec<String> = (0..1000)
        .map(|n| format!(r"(?i-u)(drop|truncate)\s+(table\s+)?tbl_{n}x"))
        .collect();
    let dfa = dense::Builder::new()
        .configure(dense::Config::new().match_kind(regex_automata::MatchKind::All))
        .build_many(&patterns)
        .unwrap();
    let names: std::collections::HashMap<String, u32> =
        (0..1000).map(|n| (format!("server__tool{n}"), n)).collect();
    let mut contenders = [
        Contender::new("`IgnoredAny`", ignored_any(&text)),
        Contender::new("a dense DFA of 1,000 regexes over the bytes", || {
            let mut state = dfa
                .start_state(&regex_automata::util::start::Config::new())
                .unwrap();
            for &byte in black_box(text.as_bytes()) {
                state = dfa.next_state(state, byte);
            }
            black_box(state);
        }),
        Contender::new("a look-up in a `HashMap` of 1,000 names", || {
            black_box(names.get(black_box("server__tool577")));
        }),
        bench.contender("decide: 1,000 regexes on one argument", &requests),
    ];
    race(&mut contenders, ROUNDS);
    head(
        &format!("Floors, {} bytes of arguments", text.len()),
        &["what", "ns"],
    );
    for contender in &contenders {
        println!("| {} | {:.0} |", contender.name, contender.median());
    }
}

fn load() {
    head(
        "Loading a plan, all checks included",
        &[
            "plan",
            "bytes",
            "bytes a rule",
            "ms",
            "against hashing with BLAKE3",
        ],
    );
    for (name, count, policy) in [
        ("1,000 rules over tools", 1000, policies::spread(1000).0),
        (
            "100,000 rules over tools",
            100_000,
            policies::spread(100_000).0,
        ),
        (
            "1,000 regexes on one argument",
            1000,
            policies::regexes(1000, false).0,
        ),
        ("100,000 literals", 1, policies::literals(100_000).0),
    ] {
        let bytes: std::sync::Arc<[u8]> = plan_bytes(&policy).into();
        let mut contenders = [
            Contender::new("load", || {
                black_box(Plan::load(std::sync::Arc::clone(&bytes)).unwrap());
            }),
            Contender::new("hash", || {
                black_box(blake3::hash(black_box(&bytes)));
            }),
        ];
        race(&mut contenders, 15);
        let [load, hash] = &contenders;
        println!(
            "| {name} | {} | {} | {:.3} | {:.2} |",
            bytes.len(),
            bytes.len() / count,
            load.median() / 1e6,
            load.ratio(hash)
        );
    }
}

fn compile() {
    head(
        "Compiling",
        &["policy", "s of CPU", "plan bytes", "peak MiB so far"],
    );
    for (name, policy) in [
        (
            "10,000 regex rules over 1,000 tools",
            policies::spread_regexes(10_000).0,
        ),
        (
            "100,000 rules over 10,000 tools",
            policies::spread(100_000).0,
        ),
        (
            "1,000 regexes on one argument",
            policies::regexes(1000, false).0,
        ),
    ] {
        let start = cpu_ns();
        let plan = plan_bytes(&policy);
        println!(
            "| {name} | {:.2} | {} | {} |",
            (cpu_ns() - start) as f64 / 1e9,
            plan.len(),
            peak_mib().unwrap_or(0)
        );
    }
}
