//! Groups of results: what they are asked, what becomes of them, and what is made of changed
//! ones.

use super::agents;
use super::disk::Base;
use super::judge::Judge;
use super::memory::{Memory, MemoryError};
use bouncer_compiler::{Input, Options, compile, load};
use bouncer_engine::gate::Gate;
use bouncer_plan::{Plan, Verdict};
use bouncer_system::moment::Moment;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const POLICY: &str = include_str!("../../../examples/hook.yaml");

fn now() -> Moment {
    Moment::now()
}

/// About 40 KB of words, with one host in it.
fn page(number: usize) -> Value {
    let words: Vec<String> = (0..1200)
        .map(|word| {
            format!(
                "about parcel {:x} and",
                (number * 1200 + word) * 2_654_435_761
            )
        })
        .collect();
    let words = words.join(" ");
    json!(format!(
        "{words} see https://host{number}.example/x, please"
    ))
}

/// A memory with so many pages, each from its own process.
fn remembered(path: &Path, pages: usize) {
    for number in 0..pages {
        let mut memory = Memory::open(path).unwrap();
        let session = memory.lock("s", &now()).unwrap();
        session
            .remember(Some("agent"), "read", &page(number))
            .unwrap();
        session.commit().unwrap();
    }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("hook.db");
    (place, path)
}

/// The verdict on a command, and what its reason says.
fn judged(path: &Path, command: &str) -> Result<(Verdict, String), MemoryError> {
    let options = Options {
        packs: true,
        heuristics: true,
    };
    let input = Input {
        name: "policy.yaml",
        text: POLICY,
    };
    let loaded = load(&[input], &options).unwrap();
    let gate = Gate::new(Plan::load(compile(&loaded.policy).unwrap()).unwrap());
    let event = json!({"event": "before", "session": "s", "tool": "shell", "cwd": "/nowhere",
        "arguments": {"command": command}});
    let event = agents::by_name("plain")
        .unwrap()
        .read(event.to_string().as_bytes())
        .unwrap();
    let mut memory = Memory::open(path)?;
    let now = now();
    let session = memory.lock("s", &now)?;
    let judge = Judge {
        gate: &gate,
        base: &Base::default(),
        session: &session,
        now: &now,
        budgets: None,
        needs_results: false,
    };
    match judge.judge(&event) {
        Ok((judged, _)) => Ok((judged.record.verdict, judged.record.reason)),
        Err(super::judge::JudgeError::Memory(error)) => Err(error),
        Err(error) => panic!("{error:?}"),
    }
}

const COMMANDS: [&str; 5] = [
    "curl https://host1.example/x",
    "curl https://host19.example/y",
    "curl https://host11.example/x -d @file",
    "curl https://elsewhere.example/x",
    "ls",
];

#[test]
fn a_verdict_is_the_one_that_all_results_lead_to() {
    let (_place, path) = place();
    remembered(&path, 24);
    let grouped: Vec<_> = COMMANDS
        .iter()
        .map(|command| judged(&path, command).unwrap())
        .collect();
    let count = |table: &str| -> i64 {
        let connection = Connection::open(&path).unwrap();
        connection
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                row.get(0)
            })
            .unwrap()
    };
    assert!(count("digest") >= 3 && count("digest_page") > 3);
    let connection = Connection::open(&path).unwrap();
    connection.execute("DELETE FROM digest", []).unwrap();
    drop(connection);
    for (command, grouped) in COMMANDS.iter().zip(grouped) {
        let (verdict, reason) = judged(&path, command).unwrap();
        assert_eq!(grouped, (verdict, reason), "{command}");
    }
}

#[test]
fn only_the_group_that_says_it_is_asked_about() {
    let (_place, path) = place();
    remembered(&path, 24);
    let mut memory = Memory::open(&path).unwrap();
    let session = memory.lock("s", &now()).unwrap();
    let groups = session.groups().unwrap();
    let mut pages = session.pages().unwrap();
    for number in 0..24 {
        let host = format!("https://host{number}.example/z");
        let asked = groups
            .iter()
            .map(|group| group.may_name(&mut pages, &host).unwrap());
        let found: Vec<usize> = asked
            .enumerate()
            .filter(|(_, may)| *may)
            .map(|(at, _)| at)
            .collect();
        assert!(found.len() <= 1, "{number} {found:?}");
    }
    let all: u64 = groups.iter().map(|group| group.results).sum();
    assert!(all > 15 && groups.windows(2).all(|pair| pair[0].last == pair[1].before));
    let open = session
        .results_between(groups.last().unwrap().last, i64::MAX)
        .unwrap();
    assert_eq!(all as usize + open.len(), 24);
}

/// Whatever is changed is an error, never a result that is passed over.
#[test]
fn what_was_changed_is_an_error() {
    for change in [
        "UPDATE digest_page SET bits = zeroblob(2040)",
        "UPDATE digest_page SET bits = x'00'",
        "UPDATE digest_page SET n = n + 1000000",
        "DELETE FROM digest_page",
        "UPDATE digest SET tokens = zeroblob(length(tokens))",
        "UPDATE digest SET last = last + 1 WHERE id = 1",
        "UPDATE digest SET before = 5 WHERE id = 1",
        "UPDATE digest SET results = 1 WHERE id = 2",
        "UPDATE digest SET said = NULL",
        "UPDATE digest SET tools = '[]'",
        "UPDATE digest SET tools = 'x'",
        "UPDATE digest SET pages = 1",
        "DELETE FROM digest WHERE id = 1",
        "DELETE FROM digest WHERE id = 2",
        "UPDATE digest SET session = 'other' WHERE id = 1",
    ] {
        let (_place, path) = place();
        remembered(&path, 24);
        let connection = Connection::open(&path).unwrap();
        assert!(connection.execute(change, []).unwrap() > 0, "{change}");
        drop(connection);
        let judged = judged(&path, "curl https://host1.example/x");
        assert!(
            matches!(judged, Err(MemoryError::Changed)),
            "{change}: {judged:?}"
        );
    }
}

#[test]
fn groups_of_another_version_are_made_anew() {
    let (_place, path) = place();
    remembered(&path, 24);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute("UPDATE digest SET version = 0", [])
        .unwrap();
    drop(connection);
    let mut memory = Memory::open(&path).unwrap();
    let session = memory.lock("s", &now()).unwrap();
    assert!(session.groups().unwrap().is_empty());
    session.remember(Some("agent"), "read", &page(24)).unwrap();
    let groups = session.groups().unwrap();
    assert!(groups.len() >= 3 && groups.first().unwrap().before == 0);
}

#[test]
fn memory_of_an_earlier_layout_goes_on() {
    let (_place, path) = place();
    remembered(&path, 3);
    let connection = Connection::open(&path).unwrap();
    let drop_all = "DROP TABLE digest; DROP TABLE digest_page; PRAGMA user_version = 2;";
    connection.execute_batch(drop_all).unwrap();
    drop(connection);
    remembered(&path, 24);
    let mut memory = Memory::open(&path).unwrap();
    let session = memory.lock("s", &now()).unwrap();
    assert!(session.groups().unwrap().len() >= 3);
    assert_eq!(session.results().unwrap().len(), 27);
}

#[test]
fn groups_are_forgotten_with_their_results() {
    let (_place, path) = place();
    let mut memory = Memory::open(&path).unwrap();
    let session = memory.lock("s", &now()).unwrap();
    for number in 0..60 {
        let text = json!(format!("{number} {}", "some words ".repeat(60_000)));
        session.remember(None, "read", &text).unwrap();
    }
    let groups = session.groups().unwrap();
    assert!(
        groups.first().unwrap().before > 0 && groups.len() < 40,
        "{}",
        groups.len()
    );
    session.commit().unwrap();
    let count = || -> (i64, i64) {
        let connection = Connection::open(&path).unwrap();
        let of = |what: &str| connection.query_row(what, [], |row| row.get(0)).unwrap();
        (
            of("SELECT count(*) FROM digest_page"),
            of("SELECT coalesce(sum(pages), 0) FROM digest"),
        )
    };
    let (pages, counted) = count();
    assert!(pages > 0 && pages == counted);
    let late = Moment {
        boot: "another".into(),
        boot_ms: 0,
        wall_ms: now().wall_ms + 8 * 24 * 3600 * 1000,
    };
    let session = memory.lock("new", &late).unwrap();
    session.commit().unwrap();
    assert_eq!(count(), (0, 0));
}
