//! Many conversations at once through `bouncer gateway --listen`, in front of many servers
//! over loopback.
//!
//! `cargo bench --bench load -- [AGENTS [SERVERS [CALLS]]] [faults] [direct]`: 500
//! conversations, 20 servers and 10,000 calls if nothing is said, and ten times as many
//! calls after that, to see whether memory grows. With `faults`, a quarter of the servers
//! fail in one way or another, agents vanish, and the policy changes twice a second. With
//! `direct`, the agents speak to one server without a gateway first: what the harness itself
//! can do. Prints Markdown. Fails if a call went out without a permit, was not answered, or
//! is not in the log exactly once.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../../tests/load/mod.rs"]
mod load;

use load::agents::{Crowd, Plan, Times};
use load::farm::{Farm, Manner};
use load::gateway::{Gateway, write_policy, write_tokens};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Of one token there may be half of all conversations, and 256 open requests.
const PRINCIPALS: usize = 5;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|given| given == word);
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let number = |at: usize, or: u64| numbers.get(at).copied().unwrap_or(or);
    let (agents, servers, calls) = (number(0, 500), number(1, 20), number(2, 10_000));
    let place = tempfile::tempdir().unwrap();
    if has("direct") {
        direct(agents as usize, calls);
    }
    run(
        place.path(),
        agents as usize,
        servers as usize,
        calls,
        has("faults"),
    );
}

fn manners(servers: usize, faults: bool) -> Vec<Manner> {
    let failing = [
        Manner::Hangs(200),
        Manner::Garbage(20),
        Manner::Dies(500),
        Manner::Slow(Duration::from_millis(20)),
    ];
    let manner = |at: usize| match at % 4 {
        3 if faults => failing[at / 4 % failing.len()],
        _ => Manner::Good,
    };
    (0..servers).map(manner).collect()
}

/// The same agents against one server, without a gateway.
fn direct(agents: usize, calls: u64) {
    let farm = Farm::start(&[Manner::Good]);
    let ledger = Arc::clone(&farm.ledger);
    let mut crowd = Crowd::open(farm.address(0), agents, 3, ledger, |_| String::new());
    crowd.bare = true;
    let times = crowd.call(&plan(1, calls, false));
    println!("direct, {agents} agents, one server:\n\n{HEAD}");
    row("direct", &times, None);
    println!();
}

const HEAD: &str = "| | calls/s | p50 | p90 | p99 | slowest | CPU of the gateway a call | resident after it |\n|---|---|---|---|---|---|---|---|";

fn row(name: &str, times: &Times, gateway: Option<(Duration, u64)>) {
    let quantile = |share| times.quantile(share).as_secs_f64() * 1e3;
    let calls = times.each.len() as f64;
    let own = gateway.map_or_else(
        || "| – | – |".to_owned(),
        |(cpu, resident)| {
            format!(
                "| {:.0} µs | {:.1} MiB |",
                cpu.as_secs_f64() * 1e6 / calls,
                resident as f64 / f64::from(1 << 20)
            )
        },
    );
    println!(
        "| {name} | {:.0} | {:.1} ms | {:.1} ms | {:.1} ms | {:.0} ms {own}",
        times.per_second(),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(1.0)
    );
}

fn plan(servers: usize, calls: u64, faults: bool) -> Plan {
    let on = |every| if faults { every } else { 0 };
    Plan {
        servers,
        forbidden: 10,
        maybe: on(8),
        vanish: on(37),
        cancel: on(101),
        calls,
    }
}

fn run(directory: &Path, agents: usize, servers: usize, calls: u64, faults: bool) {
    let farm = Farm::start(&manners(servers, faults));
    write_policy(directory, &farm.yaml(), true);
    write_tokens(directory, PRINCIPALS);
    let most = agents.to_string();
    let options = [
        "--tokens",
        "tokens",
        "--max-conversations",
        &most,
        "--provenance-limit",
        "1",
    ];
    let bouncer = env!("CARGO_BIN_EXE_bouncer").as_ref();
    let gateway = Gateway::start(bouncer, directory, &options);
    let idle = gateway.resident();
    let began = Instant::now();
    let ledger = Arc::clone(&farm.ledger);
    let token = |number| format!("t{}", number % PRINCIPALS);
    let mut crowd = Crowd::open(gateway.address, agents, servers * 3, ledger, token);
    println!(
        "{agents} conversations over {servers} servers, all open and with all tools after {:.1} s, {:.1} s of the gateway's CPU; resident {:.1} MiB, before them {:.1} MiB; {} open files{}:\n\n{HEAD}",
        began.elapsed().as_secs_f64(),
        gateway.cpu().as_secs_f64(),
        gateway.resident() as f64 / f64::from(1 << 20),
        idle as f64 / f64::from(1 << 20),
        gateway.open_files(),
        if faults { "; with faults" } else { "" }
    );
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if faults {
            scope.spawn(|| {
                let mut strict = false;
                while !over.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(500));
                    farm.restart_all_that_hang();
                    write_policy(directory, &farm.yaml(), strict);
                    gateway.signal("-HUP");
                    strict = !strict;
                }
            });
        }
        for (name, count) in [("first", calls), ("ten times as many", 10 * calls)] {
            let before = gateway.cpu();
            let times = crowd.call(&plan(servers, count, faults));
            let cpu = gateway.cpu() - before;
            row(
                &format!("{name}: {count}"),
                &times,
                Some((cpu, gateway.resident())),
            );
        }
        over.store(true, Ordering::SeqCst);
    });
    let made = crowd.calls();
    // What vanished agents asked last is still under way.
    std::thread::sleep(Duration::from_millis(500));
    drop(crowd);
    assert_eq!(gateway.stop(), 143);
    let log = directory.join("audit.jsonl");
    let sums = farm.ledger.settle(&log, made, |server| farm.loses(server));
    let verify = Command::new(env!("CARGO_BIN_EXE_bouncer"))
        .args(["audit", "verify", "--audit"])
        .arg(&log)
        .output()
        .unwrap();
    assert!(verify.status.success(), "{verify:?}");
    println!(
        "\n{sums:?}\n\n{}",
        String::from_utf8_lossy(&verify.stdout).trim_end()
    );
}
