//! The log by pages: every line once, whatever the file's size and however it was rotated.

use super::backwards;
use super::log::Log;
use bouncer_audit::{Arguments, Audit, Entry, Options, Outcome};
use bouncer_engine::gate::VerdictRecord;
use bouncer_plan::Stage;
use serde_json::Value;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

fn backwards_of(bytes: &[u8]) -> Vec<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let mut lines = Vec::new();
    let open = File::open(file.path()).unwrap();
    let start = backwards::each(&open, bytes.len() as u64, &mut |at, line| {
        let from = usize::try_from(at).unwrap();
        assert!(bytes[from..].starts_with(line));
        lines.push(String::from_utf8(line.to_vec()).unwrap());
        ControlFlow::Continue(())
    });
    assert_eq!(start.unwrap(), 0);
    lines
}

#[test]
fn lines_come_from_the_end_whatever_their_length() {
    assert_eq!(backwards_of(b""), Vec::<String>::new());
    assert_eq!(backwards_of(b"a\nb\n"), ["b", "a"]);
    // The end of a file may be a line that is still being written.
    assert_eq!(backwards_of(b"a\nb"), ["b", "a"]);
    assert_eq!(backwards_of(b"\n\na\n"), ["a", "", ""]);
    for length in [1, 65_534, 65_535, 65_536, 65_537, 200_000] {
        let long = "x".repeat(length);
        let text = format!("first\n{long}\nlast\n");
        let lines = backwards_of(text.as_bytes());
        assert_eq!(lines, ["last", &long, "first"], "{length}");
    }
}

fn write(path: &Path, options: &Options, calls: std::ops::Range<u64>) {
    let mut audit = Audit::open_with(path, "c1", "plan", options).unwrap();
    for call in calls {
        let text = format!("{{\"n\":{call},\"big\":12345678901234567890123}}");
        audit
            .write(&Entry {
                call,
                server: Some("s"),
                tool: Some(if call % 2 == 0 { "even" } else { "odd" }),
                judged_as: None,
                arguments: Arguments::Json(text.as_bytes()),
                record: &VerdictRecord::denial(Stage::Rule, "rule", "because".to_owned()),
                approval: None,
                outcome: Outcome::Blocked,
                latency: Duration::ZERO,
            })
            .unwrap();
    }
}

fn ask(log: &Log, query: &[(&str, &str)]) -> Value {
    let query: Vec<(String, String)> = query
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let said = log.page(&query);
    assert_eq!(said.status, 200, "{}", String::from_utf8_lossy(&said.body));
    serde_json::from_slice(&said.body).unwrap()
}

#[test]
fn pages_have_every_line_once_also_while_the_log_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let rotating = Options {
        rotate: Some(8192),
        ..Options::default()
    };
    write(&path, &rotating, 0..300);
    assert!(bouncer_audit::files(&path).unwrap().len() > 3);
    let log = Log::new(path.clone());
    let mut seen = Vec::new();
    let mut next = String::new();
    for round in 0.. {
        let value = ask(&log, &[("before", &next), ("limit", "7")]);
        for line in value["lines"].as_array().unwrap() {
            assert!(
                line["arguments"]
                    .as_str()
                    .unwrap()
                    .contains("12345678901234567890123")
            );
            seen.push(line["call"].as_u64().unwrap());
        }
        // Lines, and files, that come meanwhile do not move the place.
        write(&path, &rotating, 1000 + round * 10..1010 + round * 10);
        match value["next"].as_str() {
            Some(place) => next = place.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, (0..300).rev().collect::<Vec<_>>());
    let odd = ask(
        &log,
        &[("tool", "odd"), ("limit", "200"), ("text", "\"N\":2")],
    );
    let calls: Vec<u64> = odd["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["call"].as_u64().unwrap())
        .collect();
    let wanted = |n: &u64| n % 2 == 1 && n.to_string().starts_with('2');
    assert_eq!(calls, (0..300).rev().filter(wanted).collect::<Vec<_>>());
    let said = log.counts(&[("tool".to_owned(), "even".to_owned())]);
    let value: Value = serde_json::from_slice(&said.body).unwrap();
    assert_eq!(value["whole"], true);
    assert_eq!(value["counts"]["tools"].as_object().unwrap().len(), 1);
    let said = log.chain();
    let value: Value = serde_json::from_slice(&said.body).unwrap();
    assert_eq!(value["fault_count"], 0);
}

#[test]
fn one_answer_reads_no_more_than_its_share() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let line = format!("{{\"time\":\"t\",\"reason\":\"{}\"}}\n", "x".repeat(1000));
    std::fs::write(&path, line.repeat(40_000)).unwrap();
    let log = Log::new(path);
    let value = ask(&log, &[("text", "nowhere")]);
    assert_eq!(value["lines"], serde_json::json!([]));
    let read = value["read"].as_u64().unwrap();
    assert!(read < 17 * 1024 * 1024, "{read}");
    let (mut next, mut rounds) = (value["next"].clone(), 1);
    while let Some(place) = next.as_str().map(str::to_owned) {
        next = ask(&log, &[("text", "nowhere"), ("before", &place)])["next"].clone();
        rounds += 1;
    }
    assert_eq!(rounds, 3);
}

#[test]
fn what_is_no_line_is_counted_and_shown_to_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    std::fs::write(
        &path,
        "garbage\n{\"time\":\"t\",\"verdict\":\"deny\"}\n\u{0}\n{\"time\":1}\n",
    )
    .unwrap();
    let value = ask(&Log::new(path), &[]);
    assert_eq!(value["lines"].as_array().unwrap().len(), 1);
    assert_eq!(value["unreadable"], 3);
    for place in ["1", "x-1", "1-", "-1", "1-1-1"] {
        let said = Log::new("x".into()).page(&[("before".to_owned(), place.to_owned())]);
        assert_eq!(said.status, 400, "{place}");
    }
}
