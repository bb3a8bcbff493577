//! Many conversations at once over many servers, some of which die, hang, crawl or talk
//! garbage, with agents that vanish and a policy that changes meanwhile. The full size is
//! `benches/load`.

use super::command::bouncer;
use super::load_rig::agents::{Crowd, Plan};
use super::load_rig::farm::{Farm, Manner};
use super::load_rig::gateway::{Gateway, write_policy, write_tokens};
use super::load_rig::ledger::lines;
use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const AGENTS: usize = 50;
/// Of one token there may be half of all conversations.
const PRINCIPALS: usize = 3;

fn start(directory: &Path, farm: &Farm, agents: usize, arguments: &[&str]) -> Gateway {
    write_policy(directory, &farm.yaml(), true);
    write_tokens(directory, PRINCIPALS);
    let agents = agents.to_string();
    let common = ["--tokens", "tokens", "--max-conversations", &agents];
    let all = [&common, arguments].concat();
    Gateway::start(env!("CARGO_BIN_EXE_bouncer").as_ref(), directory, &all)
}

fn is_clean(log: &Path) {
    let output = bouncer()
        .args(["audit", "verify", "--audit"])
        .arg(log)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
}

#[test]
fn nothing_is_lost_among_many_agents_and_failing_servers() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    let farm = Farm::start(&[
        Manner::Good,
        Manner::Slow(Duration::from_millis(15)),
        Manner::Hangs(40),
        Manner::Garbage(9),
        Manner::Dies(150),
    ]);
    let gateway = start(directory, &farm, AGENTS, &[]);
    let ledger = std::sync::Arc::clone(&farm.ledger);
    let tools = 5 * 3;
    let mut crowd = Crowd::open(gateway.address, AGENTS, tools, ledger, |number| {
        format!("t{}", number % PRINCIPALS)
    });
    let over = AtomicBool::new(false);
    let plan = Plan {
        servers: 5,
        forbidden: 10,
        maybe: 4,
        vanish: 37,
        cancel: 41,
        calls: 3_000,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut strict = false;
            while !over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(400));
                // What hangs is ended; whoever waits is told. One is restarted under load.
                farm.restart_all_that_hang();
                farm.restart(4);
                write_policy(directory, &farm.yaml(), strict);
                gateway.signal("-HUP");
                strict = !strict;
            }
        });
        crowd.call(&plan);
        over.store(true, Ordering::SeqCst);
    });
    let calls = crowd.calls();
    // What vanished agents asked last is still under way.
    std::thread::sleep(Duration::from_millis(500));
    drop(crowd);
    assert_eq!(gateway.stop(), 143);
    let log = directory.join("audit.jsonl");
    let sums = farm.ledger.settle(&log, calls, |server| farm.loses(server));
    eprintln!("{sums:?}");
    assert!(sums.done > 1_000 && sums.denied > 300, "{sums:?}");
    is_clean(&log);
    // Of the tool about which two policies differ, each call is judged by the plan that
    // its line names.
    let mut plans = [HashSet::new(), HashSet::new()];
    for line in lines(&log) {
        if line["tool"] == "maybe" && line["contract"] == "rule" {
            plans[usize::from(line["verdict"] == "deny")].insert(line["plan"].to_string());
        }
    }
    assert_eq!(plans.each_ref().map(HashSet::len), [1, 1], "{plans:?}");
    assert!(plans[0].is_disjoint(&plans[1]));
}

#[test]
fn memory_stays_flat_however_many_calls_there_are() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    let farm = Farm::start(&[Manner::Good; 3]);
    let gateway = start(directory, &farm, 12, &["--provenance-limit", "1"]);
    let ledger = std::sync::Arc::clone(&farm.ledger);
    let mut crowd = Crowd::open(gateway.address, 12, 9, ledger, |number| {
        format!("t{}", number % PRINCIPALS)
    });
    let plan = |calls| Plan {
        servers: 3,
        forbidden: 10,
        maybe: 0,
        vanish: 50,
        cancel: 0,
        calls,
    };
    // First until what is remembered is full.
    crowd.call(&plan(8_000));
    let few = gateway.resident();
    crowd.call(&plan(8_000));
    let many = gateway.resident();
    let calls = crowd.calls();
    // What vanished agents asked last is still under way.
    std::thread::sleep(Duration::from_millis(500));
    drop(crowd);
    assert_eq!(gateway.stop(), 143);
    eprintln!("{few} bytes after 8000 calls, {many} after {calls}");
    assert!(
        many < few + few / 5 + (4 << 20),
        "{few} bytes after 8000 calls, {many} after {calls}"
    );
    let log = directory.join("audit.jsonl");
    farm.ledger.settle(&log, calls, |_| false);
    is_clean(&log);
}
