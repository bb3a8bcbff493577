//! How servers and clients outside speak, where that is not quite as written: each behaviour by
//! a server by hand, through `run` and through the gateway.

mod http;
mod stdio;

use super::gateway::{Agent, Place};
use serde_json::json;

const ALL: &str = "version: 1\npacks: []\nheuristics: false\naudit: {path: audit.jsonl}\nrules: [{tool: '*', action: allow}]\n";

fn script() -> String {
    format!(
        "{}/tests/suite/manners/server.py",
        env!("CARGO_MANIFEST_DIR")
    )
}

/// A place with the policy of a gateway in front of servers that behave so.
fn place(servers: &[(&str, &str)]) -> Place {
    let server = |(name, how): &(&str, &str)| {
        let args = json!([script(), how]);
        format!("  {name}: {{command: python3, args: {args}}}\n")
    };
    let servers: String = servers.iter().map(server).collect();
    Place::new("bouncer.yaml", &format!("{ALL}servers:\n{servers}"))
}

fn gateway(place: &Place, more: &[&str]) -> Agent {
    let arguments = [&["gateway"], more].concat();
    Agent::start(place.command(&arguments), &place.path("stderr"))
}

/// `bouncer run` in front of one of them.
fn run(how: &str, more: &[&str]) -> (Place, Agent) {
    let place = Place::new("bouncer.yaml", ALL);
    let script = script();
    let server = ["--", "python3", script.as_str(), how];
    let arguments = [&["run", "--policy", "bouncer.yaml"], more, &server].concat();
    let agent = Agent::start(place.command(&arguments), &place.path("stderr"));
    (place, agent)
}

/// `run` and a client that says exactly what it wants to.
struct Raw {
    child: std::process::Child,
    said: std::io::BufReader<std::process::ChildStdout>,
    _place: Place,
}

fn raw_run(how: &str) -> Raw {
    use std::process::Stdio;
    let place = Place::new("bouncer.yaml", ALL);
    let script = script();
    let arguments = [
        "run",
        "--policy",
        "bouncer.yaml",
        "--",
        "python3",
        &script,
        how,
    ];
    let mut child = place
        .command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let said = std::io::BufReader::new(child.stdout.take().unwrap());
    Raw {
        child,
        said,
        _place: place,
    }
}

impl Raw {
    fn send(&mut self, message: &serde_json::Value) {
        use std::io::Write;
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn next(&mut self) -> serde_json::Value {
        use std::io::BufRead;
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line:?}"))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
