//! Times bouncer next to other policy engines: the same rules, the same calls, one process.
//!
//! `bouncer-peers [SIZE…]` prints tables in Markdown. Before anything is timed, every engine
//! has to give every call the verdict that the call was made to get; otherwise it aborts.

mod cases;
mod engines;
mod floors;
mod timing;

use cases::{Spread, Tests, calls, rules};
use engines::{Calls, Engine};
use std::rc::Rc;
use timing::{Work, median, ratio, time};

const CALLS: usize = 64;

fn load(tests: Tests, spread: Spread, rules: &[cases::Rule], calls: &Calls) -> Vec<Engine> {
    let one_tool = spread == Spread::OneTool;
    let mut list = vec![
        engines::bouncer::load(rules, calls),
        engines::loops::sliced(rules, calls),
    ];
    if tests == Tests::Regexes {
        list.push(engines::loops::set(rules, calls));
    } else {
        list.push(engines::cedar::load(rules, calls));
    }
    list.push(engines::regorus::load(rules, calls));
    list.push(engines::cel::sliced(rules, calls));
    if !one_tool {
        // On one tool there is nothing to slice.
        list.push(engines::loops::all(rules, calls));
        list.push(engines::cel::all(rules, calls));
    }
    list
}

/// Aborts unless all engines give all calls the verdict they should get.
fn agree(list: &mut [Engine], calls: &Calls) {
    for engine in list {
        let name = engine.name;
        let mut ways: Vec<&mut Box<dyn Work>> = vec![&mut engine.arguments, &mut engine.message];
        ways.extend(&mut engine.prepared);
        for way in ways {
            for (k, call) in calls.iter().enumerate() {
                let got = way.one(k);
                assert_eq!(got, call.denied, "{name} disagrees on {}", call.message);
            }
        }
    }
}

/// Where an engine's rows stand in the table of times.
struct Place {
    name: &'static str,
    load: f64,
    prepared: Option<usize>,
    arguments: usize,
    message: usize,
}

fn compare(tests: Tests, spread: Spread, size: usize) {
    let rules = rules(size, tests, spread);
    let calls: Calls = Rc::new(calls(&rules, spread, CALLS));
    let mut list = load(tests, spread, &rules, &calls);
    agree(&mut list, &calls);
    let mut floors = floors::all(&calls);

    // One run: every way of every engine, and the floors, in turns.
    let mut works: Vec<&mut dyn Work> = Vec::new();
    let mut places = Vec::new();
    for engine in &mut list {
        works.push(&mut *engine.arguments);
        works.push(&mut *engine.message);
        let message = works.len() - 1;
        let prepared = engine.prepared.as_mut().map(|prepared| {
            works.push(&mut **prepared);
            works.len() - 1
        });
        let (name, load, arguments) = (engine.name, engine.load, message - 1);
        places.push(Place {
            name,
            load,
            prepared,
            arguments,
            message,
        });
    }
    let first_floor = works.len();
    let names: Vec<&str> = floors.iter().map(|floor| floor.name).collect();
    works.extend(
        floors
            .iter_mut()
            .map(|floor| &mut *floor.work as &mut dyn Work),
    );
    let times = timing::rounds(&mut works, CALLS);

    print_engines(&places, &times);
    let bytes = |part: fn(&cases::Call) -> usize| calls.iter().map(part).sum::<usize>() / CALLS;
    println!(
        "\nFloors of the same run ({} bytes of arguments in {} of message):\n",
        bytes(|call| call.arguments.len()),
        bytes(|call| call.message.len())
    );
    println!("| floor | time | bouncer from the arguments / this |\n|---|---|---|");
    for (name, row) in names.iter().zip(&times[first_floor..]) {
        let share = ratio(&times[places[0].arguments], row);
        println!("| {name} | {} | {share:.2} |", time(median(row)));
    }
    println!();
}

fn print_engines(places: &[Place], times: &[Vec<f64>]) {
    let (arguments, message) = (&times[places[0].arguments], &times[places[0].message]);
    let cell = |row: &[f64], base: &[f64]| {
        let (middle, ratio) = (time(median(row)), ratio(row, base));
        match ratio {
            ratio if ratio < 10.0 => format!("{middle} ({ratio:.1}x)"),
            ratio => format!("{middle} ({ratio:.0}x)"),
        }
    };
    println!("| engine | load | call prepared | from the arguments | from the message |");
    println!("|---|---|---|---|---|");
    for place in places {
        // Without a prepared form: the bytes are what it decides on.
        let prepared = match place.prepared {
            Some(prepared) => cell(&times[prepared], arguments),
            None => "the arguments' bytes".to_owned(),
        };
        println!(
            "| {} | {} | {prepared} | {} | {} |",
            place.name,
            time(place.load),
            cell(&times[place.arguments], arguments),
            cell(&times[place.message], message)
        );
    }
}

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .map(|size| size.parse().expect("sizes are numbers of rules"))
        .collect();
    let sizes = if sizes.is_empty() {
        vec![10, 100, 1_000, 10_000]
    } else {
        sizes
    };
    for (tests, what) in [(Tests::Texts, "text tests"), (Tests::Regexes, "regexes")] {
        for &size in &sizes {
            println!("### {size} rules, {what}, ten a tool\n");
            compare(tests, Spread::TenATool, size);
        }
    }
    for (tests, what) in [(Tests::Texts, "text tests"), (Tests::Regexes, "regexes")] {
        for &size in sizes.iter().filter(|size| **size <= 1_000) {
            println!("### {size} rules, {what}, all on one tool\n");
            compare(tests, Spread::OneTool, size);
        }
    }
}
