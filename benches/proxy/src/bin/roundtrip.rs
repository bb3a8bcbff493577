//! Times calls end to end: direct, through bouncer and through its predecessors.
//!
//! `roundtrip BOUNCER PREDECESSORS [quick] [starts] [trips] [bursts]`: the binary to test, and
//! the directory into which `benches/predecessors/install.sh` has put the two others; without
//! names of parts, all of them. Prints Markdown.
//!
//! All contestants run at the same time and take turns, so that the load of the machine
//! meets all of them; what is reported are medians over the turns.

#[path = "../client.rs"]
mod client;
#[path = "../contestants.rs"]
mod contestants;

use client::Client;
use contestants::{Contestant, contestants};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much is measured.
struct Size {
    starts: usize,
    rounds: usize,
    calls: usize,
    burst: usize,
}

const FULL: Size = Size {
    starts: 9,
    rounds: 25,
    calls: 200,
    burst: 1_000,
};
const QUICK: Size = Size {
    starts: 3,
    rounds: 5,
    calls: 50,
    burst: 500,
};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bouncer, predecessors, rest @ ..] = args.as_slice() else {
        eprintln!("usage: roundtrip BOUNCER PREDECESSORS [quick] [starts] [trips] [bursts]");
        std::process::exit(2);
    };
    let size = if rest.iter().any(|arg| arg == "quick") {
        QUICK
    } else {
        FULL
    };
    let wanted = |part: &str| {
        let mut parts = rest.iter().filter(|arg| *arg != "quick").peekable();
        parts.peek().is_none() || parts.any(|arg| arg == part)
    };
    let directory = std::env::temp_dir().join(format!("bouncer-roundtrip-{}", std::process::id()));
    let (bouncer, predecessors) = (PathBuf::from(bouncer), PathBuf::from(predecessors));
    let list = |micros: u32| {
        let directory = directory.join(micros.to_string());
        contestants(&bouncer, &predecessors, &directory, micros)
    };
    if wanted("starts") {
        starts(&list(0), &size);
    }
    if wanted("trips") {
        trips(&list(0), &size);
    }
    if wanted("bursts") {
        let lists = [
            ("at once", 0),
            ("after 1 ms", 1_000),
            ("after 10 ms", 10_000),
        ];
        bursts(&lists.map(|(name, micros)| (name, list(micros))), &size);
    }
    let _ = std::fs::remove_dir_all(&directory);
}

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((last as f64 * q).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// From starting a process to the answer to `tools/list`, and what is resident then.
fn starts(list: &[Contestant], size: &Size) {
    let mut times = vec![Vec::new(); list.len()];
    let mut resident = vec![Vec::new(); list.len()];
    for _ in 0..size.starts {
        for (n, contestant) in list.iter().enumerate() {
            let start = Instant::now();
            let client = Client::start(contestant);
            times[n].push(start.elapsed().as_secs_f64() * 1e3);
            std::thread::sleep(Duration::from_millis(20));
            resident[n].push(client.resident());
        }
    }
    println!("| | start to `tools/list` | over direct | resident then |\n|---|---|---|---|");
    for (n, contestant) in list.iter().enumerate() {
        let over: Vec<f64> = times[n].iter().zip(&times[0]).map(|(a, b)| a - b).collect();
        println!(
            "| {} | {:.1} ms | {:+.1} ms | {:.1} MB |",
            contestant.name,
            median(&times[n]),
            median(&over),
            median(&resident[n])
        );
    }
    println!();
}

/// One call after the other.
fn trips(list: &[Contestant], size: &Size) {
    let mut clients: Vec<Client> = list.iter().map(Client::start).collect();
    for client in &mut clients {
        client.calls(size.calls);
    }
    let empty = || vec![Vec::new(); list.len()];
    let (mut p50, mut p99, mut cpu) = (empty(), empty(), empty());
    let mut all = empty();
    for _ in 0..size.rounds {
        for (n, client) in clients.iter_mut().enumerate() {
            let before = client.cpu();
            let mut times: Vec<f64> = (0..size.calls).map(|_| micros(client.call())).collect();
            cpu[n].push((client.cpu() - before) / size.calls as f64 / 1e3);
            p50[n].push(median(&times));
            p99[n].push(quantile(&times, 0.99));
            all[n].append(&mut times);
        }
    }
    println!("| | p50 | p99 | added p50 | added p99 | added p50 against bouncer | CPU per call |");
    println!("|---|---|---|---|---|---|---|");
    let added = |table: &[Vec<f64>], n: usize| -> Vec<f64> {
        table[n].iter().zip(&table[0]).map(|(a, b)| a - b).collect()
    };
    for (n, contestant) in list.iter().enumerate() {
        let ours = added(&p50, 1);
        let ratios: Vec<f64> = added(&p50, n)
            .iter()
            .zip(&ours)
            .map(|(a, b)| a / b)
            .collect();
        println!(
            "| {} | {:.0} µs | {:.0} µs | {:+.0} µs | {:+.0} µs | {:.1}x | {:.0} µs |",
            contestant.name,
            median(&all[n]),
            quantile(&all[n], 0.99),
            median(&added(&p50, n)),
            median(&added(&p99, n)),
            median(&ratios),
            median(&cpu[n])
        );
    }
    println!();
    for client in &mut clients {
        let made = client.made;
        client.calls(10_000usize.saturating_sub(made));
    }
    println!("| | resident after 10,000 calls |\n|---|---|");
    for (contestant, client) in list.iter().zip(&clients) {
        println!("| {} | {:.1} MB |", contestant.name, client.resident());
    }
    println!();
}

/// Thirty-two calls in flight, with servers that take different times.
fn bursts(lists: &[(&str, Vec<Contestant>)], size: &Size) {
    println!("| 32 in flight, the server answers | | calls a second | of direct | CPU per call |");
    println!("|---|---|---|---|---|");
    for (name, list) in lists {
        let mut clients: Vec<Client> = list.iter().map(Client::start).collect();
        let mut rates = vec![Vec::new(); list.len()];
        let mut cpu = vec![Vec::new(); list.len()];
        for round in 0..=size.rounds.div_ceil(3) {
            for (n, client) in clients.iter_mut().enumerate() {
                let before = client.cpu();
                let time = client.burst(size.burst, 32);
                if round > 0 {
                    rates[n].push(size.burst as f64 / time.as_secs_f64());
                    cpu[n].push((client.cpu() - before) / size.burst as f64 / 1e3);
                }
            }
        }
        for (n, contestant) in list.iter().enumerate() {
            let shares: Vec<f64> = rates[n].iter().zip(&rates[0]).map(|(a, b)| a / b).collect();
            println!(
                "| {name} | {} | {:.0} | {:.0} % | {:.1} µs |",
                contestant.name,
                median(&rates[n]),
                median(&shares) * 100.0,
                median(&cpu[n])
            );
        }
    }
}
