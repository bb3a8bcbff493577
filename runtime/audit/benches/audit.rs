//! What a line of the audit log costs: chained, beside a plain append of the same bytes.
//!
//! Interleaved rounds, medians; other work on the machine moves all of them alike.

#![allow(missing_docs, clippy::unwrap_used)]

use bouncer_audit::{Arguments, Audit, Entry, Options, Outcome, Sync};
use bouncer_engine::gate::VerdictRecord;
use bouncer_plan::{Stage, Verdict};
use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

/// Lines of one round.
const LINES: u32 = 500;
/// The same, where each waits for the disk.
const SLOW_LINES: u32 = 10;
/// Rounds.
const ROUNDS: usize = 41;

fn entry<'a>(record: &'a VerdictRecord, arguments: &'a [u8]) -> Entry<'a> {
    Entry {
        call: 1,
        server: Some("mail"),
        tool: Some("send_email"),
        judged_as: None,
        arguments: Arguments::Json(arguments),
        record,
        approval: None,
        outcome: Outcome::Forwarded,
        latency: Duration::from_micros(40),
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let reason = "nothing in the policy objects".to_owned();
    let record = VerdictRecord {
        verdict: Verdict::Allow,
        ..VerdictRecord::denial(Stage::Default, "default", reason)
    };
    let arguments = br#"{"to":["bob@partner.example"],"subject":"report","body":"the quarterly report, with all that belongs to it"}"#;
    let open = |name: &str, sync: Sync| {
        let options = Options { rotate: None, sync };
        Audit::open_with(
            &directory.path().join(name),
            "conversation",
            "0123456789abcdef",
            &options,
        )
        .unwrap()
    };
    let mut none = open("none", Sync::None);
    let mut second = open("second", Sync::Second);
    let mut each = open("each", Sync::Line);
    let mut device = Audit::open("/dev/null".as_ref(), "conversation", "0123456789abcdef").unwrap();
    none.write(&entry(&record, arguments)).unwrap();
    let line = std::fs::read(directory.path().join("none")).unwrap();
    let plain = directory.path().join("plain");
    let mut plain = OpenOptions::new()
        .append(true)
        .create(true)
        .open(plain)
        .unwrap();
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..ROUNDS {
        let mut round = |slot: usize, work: &mut dyn FnMut()| {
            let lines = if slot == 4 { SLOW_LINES } else { LINES };
            let began = Instant::now();
            for _ in 0..lines {
                work();
            }
            let each = began.elapsed().as_secs_f64() / f64::from(lines) * 1e6;
            if let Some(times) = times.get_mut(slot) {
                times.push(each);
            }
        };
        round(0, &mut || plain.write_all(black_box(&line)).unwrap());
        round(1, &mut || {
            device.write(black_box(&entry(&record, arguments))).unwrap()
        });
        round(2, &mut || {
            none.write(black_box(&entry(&record, arguments))).unwrap()
        });
        round(3, &mut || {
            second.write(black_box(&entry(&record, arguments))).unwrap()
        });
        round(4, &mut || {
            each.write(black_box(&entry(&record, arguments))).unwrap()
        });
    }
    println!("a line of {} bytes, median of {ROUNDS} rounds:", line.len());
    let names = [
        "append of the same bytes, nothing else",
        "making and chaining the line, to /dev/null",
        "the log, --audit-sync none",
        "the log, --audit-sync second",
        "the log, --audit-sync line",
    ];
    let base = median(times.first().cloned().unwrap_or_default());
    for (name, times) in names.iter().zip(times) {
        let time = median(times);
        println!("{time:8.2} µs  {:5.2} x  {name}", time / base);
    }
}
