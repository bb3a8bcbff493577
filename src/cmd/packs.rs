//! `bouncer packs`: what is built in.

use crate::cli::PacksCommand;
use crate::output::{Failure, Outcome};
use bouncer_compiler::packs;
use bouncer_compiler::policy::Contract;
use bouncer_compiler::{Input, Options};
use std::io::Write;

/// Runs the command.
pub fn run(command: &PacksCommand) -> Outcome {
    match command {
        PacksCommand::List { json } => list(*json),
        PacksCommand::Show { name } => show(name),
    }
}

/// The contracts of one pack.
fn contracts(name: &str) -> Result<Vec<Contract>, Failure> {
    let text = format!("version: 1\npacks: [{name}]\n");
    let input = Input {
        name: "packs",
        text: &text,
    };
    let loaded = bouncer_compiler::load(
        &[input],
        &Options {
            packs: true,
            heuristics: false,
        },
    )
    .map_err(|_| Failure::Message(format!("the built-in pack `{name}` does not load")))?;
    Ok(loaded.policy.contracts)
}

fn list(json: bool) -> Outcome {
    let mut stdout = std::io::stdout().lock();
    let mut rows = Vec::new();
    for pack in packs::all() {
        let contracts = contracts(pack.name)?;
        let description = pack
            .text
            .lines()
            .find_map(|line| line.strip_prefix("description:"))
            .map_or("", str::trim)
            .trim_matches('"');
        let gated = contracts
            .iter()
            .filter(|contract| contract.exfiltrating)
            .count();
        if json {
            let tools: Vec<&str> = contracts
                .iter()
                .map(|contract| contract.key.as_str())
                .collect();
            rows.push(serde_json::json!({
                "name": pack.name, "description": description, "tools": tools, "gated": gated,
            }));
        } else {
            writeln!(
                stdout,
                "{:<12} {:>3} tools, {gated:>2} gated  {description}",
                pack.name,
                contracts.len()
            )?;
        }
    }
    if json {
        writeln!(stdout, "{}", serde_json::Value::Array(rows))?;
    }
    Ok(0)
}

fn show(name: &str) -> Outcome {
    let guesses = packs::heuristics().into_iter().chain([packs::effects()]);
    let mut files = packs::all().iter().copied().chain(guesses);
    let Some(pack) = files.find(|pack| pack.name == name) else {
        let names: Vec<&str> = packs::all().iter().map(|pack| pack.name).collect();
        return Err(Failure::Message(format!(
            "there is no pack `{name}`; there are {}, heuristics and effects",
            names.join(", ")
        )));
    };
    write!(std::io::stdout().lock(), "{}", pack.text)?;
    Ok(0)
}
