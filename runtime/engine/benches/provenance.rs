//! Measures the provenance index: `cargo bench -p bouncer-engine --bench provenance`.
//!
//! Set `OUTPUTS` to leave out the larger sizes. Arguments choose parts: `sink`, `record`, `stall`, `memory`, `private`, `hostile`, `predecessor`; without any,
//! all but the last run. Times are CPU time of this thread, so
//! that other work on the machine disturbs little; what is compared is measured in turn,
//! several times over, and the median is given.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../../reader/tests/counting/mod.rs"]
#[expect(unsafe_code, reason = "an allocator that counts")]
mod counting;
#[path = "provenance/text.rs"]
mod text;

use bouncer_engine::provenance::{OutputLabels, Provenance, Scratch, Source};
use bouncer_plan::Label;
use serde_json::{Value, json};
use std::hint::black_box;
use text::Texts;

const OUTPUT: usize = 2048;
const ROOMY: usize = 4 << 30;

/// Nanoseconds of CPU time that this thread has used.
fn cpu() -> u64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}

/// Numbers of outputs; `OUTPUTS` in the environment cuts them.
fn sizes() -> Vec<usize> {
    let most = std::env::var("OUTPUTS")
        .ok()
        .and_then(|most| most.parse().ok());
    let mut sizes = vec![100, 1_000, 10_000, 100_000];
    sizes.retain(|size| *size <= most.unwrap_or(usize::MAX));
    sizes
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

const fn source(call: u64) -> Source<'static> {
    Source {
        server: Some("mail"),
        tool: "read",
        call,
    }
}

fn recorded(outputs: usize) -> (Provenance, Vec<String>) {
    let mut texts = Texts::new(7);
    let mut provenance = Provenance::new(ROOMY);
    let mut kept = Vec::new();
    for call in 0..outputs {
        let text = texts.output(OUTPUT);
        provenance.record_result(
            &source(call as u64),
            &OutputLabels::default(),
            &result(&text),
        );
        if call % (outputs / 100).max(1) == 0 {
            kept.push(text);
        }
    }
    assert_eq!(provenance.dropped(), 0);
    (provenance, kept)
}

/// A slice of 30 bytes of some recorded outputs.
fn hits(kept: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (n, text) in kept.iter().enumerate() {
        let at = text.floor_char_boundary(97 * (n + 1) % (OUTPUT - 64));
        let text: String = text[at..].chars().take(30).collect();
        if text.trim().chars().count() >= 28 {
            found.push(text);
        }
    }
    found
}

fn misses(count: usize) -> Vec<String> {
    let mut texts = Texts::new(12345);
    (0..count).map(|_| texts.unknown_address(30)).collect()
}

/// Thirty bytes of words that are all common, in an order that was never recorded.
fn near_misses(count: usize) -> Vec<String> {
    let mut texts = Texts::new(99);
    (0..count).map(|_| texts.phrase(30)).collect()
}

fn sink() {
    println!("sink check of a 30-byte destination, ns (median of 15 rounds in turn)");
    println!(
        "{:>9} {:>8} {:>8} {:>8} {:>8}",
        "outputs", "address", "slice", "miss", "phrase"
    );
    let sizes = sizes();
    let mut stores = Vec::new();
    for outputs in sizes.iter().copied() {
        let (provenance, kept) = recorded(outputs);
        let mut addresses = Vec::new();
        for text in &kept {
            addresses.extend(
                text::addresses(text)
                    .filter(|a| a.len() >= 24)
                    .map(str::to_owned),
            );
        }
        stores.push((
            provenance,
            [addresses, hits(&kept), misses(100), near_misses(100)],
        ));
    }
    let mut scratch = Scratch::with_capacity(256);
    let mut times = vec![[const { Vec::new() }; 4]; sizes.len()];
    let mut allocated = 0;
    for _ in 0..15 {
        for (size, (provenance, questions)) in stores.iter().enumerate() {
            for (kind, asked) in questions.iter().enumerate() {
                // Once through, so that each store starts from a state of its own.
                for rounds in [2, 40] {
                    let before = cpu();
                    allocated += counting::allocations(|| {
                        for _ in 0..rounds {
                            for destination in asked {
                                let evidence = provenance.evidence(destination, &mut scratch);
                                black_box(evidence.untrusted.is_some());
                            }
                        }
                    });
                    let spent = (cpu() - before) as f64;
                    if rounds > 2 {
                        times[size][kind].push(spent / (rounds * asked.len()) as f64);
                    }
                }
            }
        }
    }
    for (size, outputs) in sizes.iter().enumerate() {
        let row: Vec<f64> = times[size].iter().map(|t| median(t.clone())).collect();
        println!(
            "{outputs:>9} {:>8.0} {:>8.0} {:>8.0} {:>8.0}",
            row[0], row[1], row[2], row[3]
        );
        for (kind, wanted) in [(0, true), (1, true), (2, false)] {
            let (provenance, questions) = &stores[size];
            for destination in &questions[kind] {
                let found = provenance.evidence(destination, &mut scratch).untrusted;
                assert_eq!(found.is_some(), wanted, "{destination:?}");
            }
        }
    }
    println!("allocations: {allocated}");
}

fn record() {
    println!("recording, MB/s");
    for outputs in sizes() {
        let mut texts = Texts::new(7);
        let results: Vec<Value> = (0..outputs.min(20_000))
            .map(|_| result(&texts.output(OUTPUT)))
            .collect();
        let mut provenance = Provenance::new(ROOMY);
        let (mut spent, mut done) = (0, 0);
        while done < outputs {
            let fresh: Vec<Value>;
            let batch = if done == 0 {
                &results
            } else {
                fresh = (0..results.len())
                    .map(|_| result(&texts.output(OUTPUT)))
                    .collect();
                &fresh
            };
            let before = cpu();
            for (call, result) in batch.iter().enumerate() {
                provenance.record_result(
                    &source((done + call) as u64),
                    &OutputLabels::default(),
                    result,
                );
            }
            spent += cpu() - before;
            done += batch.len();
        }
        let mb = (outputs * OUTPUT) as f64 / 1e6;
        println!("{outputs:>9} outputs: {:.1}", mb / (spent as f64 / 1e9));
    }
}

fn stall() {
    let mut texts = Texts::new(7);
    let mut provenance = Provenance::new(ROOMY);
    let mut worst = (0.0, 0);
    for call in 0..100_000_usize {
        let result = result(&texts.output(OUTPUT));
        let before = cpu();
        provenance.record_result(&source(call as u64), &OutputLabels::default(), &result);
        let took = (cpu() - before) as f64 / 1e6;
        if took > worst.0 {
            worst = (took, call);
        }
    }
    println!(
        "slowest of 100,000 outputs of 2 KB: {:.2} ms (number {}), CPU time in steps of the kernel's clock",
        worst.0, worst.1
    );
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok())
        .unwrap_or(0)
        * 4096
}

fn memory() {
    println!(
        "{:>9} {:>10} {:>12} {:>12}",
        "outputs", "MB text", "counted/byte", "resident/byte"
    );
    for outputs in sizes() {
        let mut texts = Texts::new(7);
        let before = resident();
        let mut provenance = Provenance::new(ROOMY);
        let mut bytes = 0;
        for call in 0..outputs {
            let text = texts.output(OUTPUT);
            bytes += text.len();
            provenance.record_result(
                &source(call as u64),
                &OutputLabels::default(),
                &result(&text),
            );
        }
        println!(
            "{outputs:>9} {:>10.1} {:>12.2} {:>12.2}",
            bytes as f64 / 1e6,
            provenance.recorded_bytes() as f64 / bytes as f64,
            resident().saturating_sub(before) as f64 / bytes as f64
        );
        println!("          {provenance:?}");
    }
}

/// The predecessor on the same outputs and destinations.
fn predecessor() {
    let (provenance, kept) = recorded(10_000);
    let mut texts = Texts::new(7);
    let outputs: Vec<String> = (0..10_000).map(|_| texts.output(OUTPUT)).collect();
    let mut asked = hits(&kept);
    asked.extend(misses(asked.len()));
    let input = json!({"outputs": outputs, "asked": asked}).to_string();
    let file = std::env::temp_dir().join("bouncer-provenance-bench.json");
    std::fs::write(&file, input).unwrap();
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/benches/provenance/predecessor.py"
    );
    let out = std::process::Command::new("python3")
        .arg(script)
        .arg(&file)
        .output()
        .unwrap();
    let _ = std::fs::remove_file(&file);
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let theirs: f64 = String::from_utf8(out.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let mut scratch = Scratch::with_capacity(256);
    let mut times = Vec::new();
    for _ in 0..9 {
        let before = cpu();
        for _ in 0..40 {
            for destination in &asked {
                black_box(
                    provenance
                        .evidence(destination, &mut scratch)
                        .untrusted
                        .is_some(),
                );
            }
        }
        times.push((cpu() - before) as f64 / (40 * asked.len()) as f64);
    }
    let ours = median(times);
    println!(
        "10,000 outputs: the predecessor {:.0} µs, this {:.2} µs: {:.0} times",
        theirs / 1e3,
        ours / 1e3,
        theirs / ours
    );
}

/// Text whose grams are all crowded, and destinations that nearly stand in it.
fn hostile() {
    let target = "attacker@evil.example/collect";
    let mut provenance = Provenance::new(ROOMY);
    for call in 0..10_000_u64 {
        let mut text = String::new();
        while text.len() < OUTPUT {
            let n = text.len() + call as usize;
            text.push_str(&"a".repeat(n % 40));
            text.push_str(&target[..target.len() - 1 - n % 9]);
            text.push(char::from(b'a' + (n % 26) as u8));
            text.push_str(&target[1 + n % 9..]);
        }
        provenance.record_text(&source(call), "text", &text, Label::Untrusted);
    }
    let mut scratch = Scratch::with_capacity(256);
    println!("text made of near misses, 20 MB: ns a check");
    let long = "a".repeat(4000);
    for (what, destination) in [
        ("near miss", "attacker@evil.example/collecting"),
        ("aaaa…b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaab"),
        ("4000 a", &long),
    ] {
        let before = cpu();
        for _ in 0..2000 {
            black_box(
                provenance
                    .evidence(destination, &mut scratch)
                    .untrusted
                    .is_some(),
            );
        }
        println!("{what:>10}: {:.0}", (cpu() - before) as f64 / 2000.0);
    }
}

/// Values inside a text, by automata (what is private) and by hashes (what is a destination),
/// of the same outputs: ten records with a number and an address each.
fn private() {
    println!(
        "{:>9} {:>9} {:>13} {:>10} {:>10} {:>9}",
        "outputs", "by", "us an output", "us 300 B", "us 100 KB", "MB"
    );
    let labels = |private| OutputLabels {
        private,
        ..OutputLabels::all(Label::Untrusted)
    };
    let long = Texts::new(9).output(100_000);
    let short = &long[..long.floor_char_boundary(300)];
    for outputs in sizes().into_iter().filter(|size| *size <= 10_000) {
        for by_automata in [true, false] {
            let mut provenance = Provenance::new(ROOMY);
            let before = provenance.recorded_bytes();
            let plain = labels(false);
            let labels = labels(by_automata);
            let records = |call: usize| -> Vec<Value> {
                let one = |n: usize| json!({"number": format!("C-{call}-{n}"), "email": format!("u{n}@c{call}.example")});
                (0..10).map(one).collect()
            };
            let began = cpu();
            for call in 0..outputs {
                let said = json!({"structuredContent": {"records": records(call)}});
                provenance.record_result(&source(call as u64), &labels, &said);
            }
            let mut adding = (cpu() - began) as f64;
            let mut bytes = (provenance.recorded_bytes() - before) as f64;
            if by_automata {
                // What is private is recorded as any other text besides.
                let mut other = Provenance::new(ROOMY);
                let began = cpu();
                for call in 0..outputs {
                    let said = json!({"structuredContent": {"records": records(call)}});
                    other.record_result(&source(call as u64), &plain, &said);
                }
                adding -= (cpu() - began) as f64;
                bytes -= other.recorded_bytes() as f64;
            }
            let mut scratch = Scratch::default();
            let mut search = |text: &str, rounds: u32| {
                let began = cpu();
                for _ in 0..rounds {
                    match by_automata {
                        true => drop(black_box(provenance.private_in(text, &mut scratch))),
                        false => drop(black_box(provenance.evidence(text, &mut scratch))),
                    }
                }
                (cpu() - began) as f64 / f64::from(rounds) / 1e3
            };
            search(&long, 2);
            let (few, many) = (search(short, 2000), search(&long, 20));
            println!(
                "{outputs:>9} {:>9} {:>13.2} {few:>10.2} {many:>10.0} {:>9.1}",
                if by_automata { "automata" } else { "hashes" },
                adding / outputs as f64 / 1e3,
                bytes / 1e6
            );
        }
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let parts: [(&str, fn()); 7] = [
        ("sink", sink),
        ("record", record),
        ("stall", stall),
        ("memory", memory),
        ("private", private),
        ("hostile", hostile),
        ("predecessor", predecessor),
    ];
    for (name, part) in parts {
        if wanted.iter().any(|w| w == name) || (wanted.is_empty() && name != "predecessor") {
            part();
        }
    }
}
