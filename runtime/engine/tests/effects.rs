//! How well the guess at what tools do agrees with people who read what the tools say of
//! themselves: on the tools of real servers, of which half are held out.
//!
//! `tests/fixtures/effects` holds the labels and the list of the servers that nobody looks
//! at while the words of `packs/effects.yaml` are chosen. `BOUNCER_EFFECTS=errors` shows
//! what is wrong in the other half; of the held-out half there are only sums.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use bouncer_engine::effects::{classify, common_prefix, schema_arguments};
use bouncer_plan::{Effect, Effects};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// One tool: what it is taken to do, and what it does.
struct Judged {
    server: String,
    tool: String,
    guess: Effects,
    label: Effects,
}

/// Tools with labels, each half apart: those to choose words by, and those held out.
fn judged() -> [Vec<Judged>; 2] {
    let held_out = std::fs::read_to_string(fixtures().join("effects/held-out.txt")).unwrap();
    let held_out: BTreeSet<&str> = held_out.lines().collect();
    let mut halves = [Vec::new(), Vec::new()];
    for entry in std::fs::read_dir(fixtures().join("effects")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let server = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let labels: BTreeMap<String, Vec<String>> = serde_json::from_value(json(&path)).unwrap();
        let lists = ["tools", "tools/more"]
            .map(|folder| fixtures().join(folder).join(format!("{server}.json")));
        let listed = json(lists.iter().find(|list| list.exists()).unwrap());
        let tools = listed["tools"].as_array().unwrap();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        assert_eq!(tools.len(), labels.len(), "{server}: labels and tools");
        let names: Vec<String> = tools.iter().map(name).collect();
        let prefix = common_prefix(names.iter().map(String::as_str));
        for tool in tools {
            let schema = &tool["inputSchema"];
            let guess = classify(
                prefix,
                tool["name"].as_str().unwrap(),
                schema_arguments(schema),
            );
            let label = labels.get(&name(tool)).unwrap();
            halves[usize::from(held_out.contains(server.as_str()))].push(Judged {
                server: server.clone(),
                tool: name(tool),
                guess: guess.effects,
                label: label
                    .iter()
                    .map(|effect| effect.parse::<Effect>().unwrap())
                    .collect(),
            });
        }
    }
    halves
}

/// Found, missed, and seen where there is none.
#[derive(Clone, Copy)]
struct Counts {
    found: usize,
    missed: usize,
    wrong: usize,
}

impl Counts {
    fn of(half: &[Judged], effect: Effect) -> Self {
        let count = |guess: bool, label: bool| {
            let same = |one: &&Judged| {
                one.guess.contains(effect) == guess && one.label.contains(effect) == label
            };
            half.iter().filter(same).count()
        };
        Self {
            found: count(true, true),
            missed: count(false, true),
            wrong: count(true, false),
        }
    }

    fn recall(self) -> f64 {
        ratio(self.found, self.missed)
    }

    fn precision(self) -> f64 {
        ratio(self.found, self.wrong)
    }
}

#[allow(clippy::cast_precision_loss)]
fn ratio(part: usize, rest: usize) -> f64 {
    part as f64 / (part + rest).max(1) as f64
}

/// The recall and precision that are wanted on the servers that are held out.
const WANTED: [(Effect, f64, f64); 8] = [
    (Effect::Send, 0.95, 0.85),
    (Effect::Publish, 0.85, 0.70),
    (Effect::Fetch, 0.95, 0.85),
    (Effect::Run, 0.95, 0.85),
    (Effect::Pay, 0.85, 0.85),
    (Effect::Grant, 0.85, 0.85),
    (Effect::Destroy, 0.95, 0.85),
    (Effect::Act, 0.85, 0.85),
];

/// What is reached where it is less than wanted. Numbers only go up, and a line goes when it
/// is not needed any more.
const SHORT: [(Effect, f64, f64); 4] = [
    (Effect::Send, 0.92, 0.85),
    (Effect::Fetch, 0.93, 0.84),
    (Effect::Run, 0.87, 0.82),
    (Effect::Act, 0.60, 0.85),
];

/// `cargo test -p bouncer-engine --test effects -- --nocapture` shows the table.
#[test]
fn guesses_agree_with_labels() {
    let halves = judged();
    println!("half      effect    recall          precision");
    for (half, name) in halves.iter().zip(["tuning", "held out"]) {
        let servers: BTreeSet<&str> = half.iter().map(|one| one.server.as_str()).collect();
        println!("{name}: {} tools of {} servers", half.len(), servers.len());
        for effect in Effect::ALL {
            let counts = Counts::of(half, effect);
            println!(
                "{name:9} {effect:9} {:.2} ({:3}/{:3})  {:.2} ({:3}/{:3})",
                counts.recall(),
                counts.found,
                counts.found + counts.missed,
                counts.precision(),
                counts.found,
                counts.found + counts.wrong,
            );
        }
    }
    if std::env::var_os("BOUNCER_EFFECTS").is_some() {
        for one in &halves[0] {
            if one.guess != one.label {
                let missed = one.label.without(one.guess);
                let wrong = one.guess.without(one.label);
                println!("{} {}: -[{missed}] +[{wrong}]", one.server, one.tool);
            }
        }
    }
    let mut wrong = Vec::new();
    for (effect, recall, precision) in WANTED {
        let counts = Counts::of(&halves[1], effect);
        let reaches =
            |recall, precision| counts.recall() >= recall && counts.precision() >= precision;
        let short = SHORT.iter().find(|(short, ..)| *short == effect);
        let (least, least_precise) = short
            .map_or((recall, precision), |&(_, recall, precision)| {
                (recall, precision)
            });
        if !reaches(least, least_precise) {
            wrong.push(format!("{effect} is below what it was"));
        } else if short.is_some() && reaches(recall, precision) {
            wrong.push(format!("{effect} is as wanted: its line in SHORT can go"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join(", "));
}
