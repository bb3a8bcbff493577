//! A client that costs little, and what the system says about the process it talks to.

use crate::contestants::Contestant;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A client with its server or proxy.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: String,
    prefix: &'static str,
    /// Calls made so far.
    pub made: usize,
}

impl Client {
    /// Starts the process and waits for the list of tools.
    pub fn start(contestant: &Contestant) -> Self {
        let log = std::fs::File::create(contestant.directory.join("stderr")).expect("a log");
        let mut child = Command::new(&contestant.program)
            .args(&contestant.args)
            .env("HOME", &contestant.directory)
            .current_dir(&contestant.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", contestant.program.display()));
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut client = Self {
            child,
            input,
            output,
            line: String::new(),
            prefix: contestant.prefix,
            made: 0,
        };
        client.say(
            r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
        );
        client.hear("init");
        client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client.say(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
        client.hear("list");
        assert!(client.line.contains("search_notes"), "{}", client.line);
        client
    }

    fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        input
            .write_all(format!("{line}\n").as_bytes())
            .expect("writable");
    }

    /// Reads lines until one holds the id.
    fn hear(&mut self, id: &str) {
        let id = format!(r#""id":"{id}""#);
        loop {
            self.read();
            // Python's and Node's JSON writers differ in spaces.
            if self.line.replace("\": \"", "\":\"").contains(&id) {
                return;
            }
        }
    }

    fn read(&mut self) {
        self.line.clear();
        let length = self.output.read_line(&mut self.line).expect("readable");
        assert!(length > 0, "the process ended");
    }

    /// The next call: three searches, then a mail to a trusted destination.
    fn message(&mut self) -> String {
        self.made += 1;
        let (n, prefix) = (self.made, self.prefix);
        let (tool, arguments) = if n % 4 == 0 {
            (
                "send_email",
                format!(
                    r#"{{"to":"alice@corp.example","subject":"notes {n}","body":"{}"}}"#,
                    "What was decided stands in the notes of the meeting. ".repeat(4)
                ),
            )
        } else {
            (
                "search_notes",
                format!(
                    r#"{{"query":"select id, title, created_at from notes_{n} where region = 'eu-west' and active = true order by id limit 50","path":"/srv/notes/{n}/2026","limit":50,"options":{{"timeout_ms":3000,"dry_run":false,"tags":["agent","auto"]}}}}"#
                ),
            )
        };
        format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"{prefix}{tool}","arguments":{arguments}}}}}"#
        )
    }

    /// Reads the answer to a call, and makes sure that the call got through.
    fn answer(&mut self) {
        loop {
            self.read();
            if self.line.contains("note-") {
                return;
            }
            assert!(!self.line.contains("\"id\""), "not a result: {}", self.line);
        }
    }

    /// Makes one call; how long it takes.
    pub fn call(&mut self) -> Duration {
        let message = self.message();
        let start = Instant::now();
        self.say(&message);
        self.answer();
        start.elapsed()
    }

    /// Makes calls, one after the other.
    pub fn calls(&mut self, n: usize) {
        for _ in 0..n {
            self.call();
        }
    }

    /// Makes calls with so many in flight; how long all take.
    pub fn burst(&mut self, n: usize, in_flight: usize) -> Duration {
        let messages: Vec<String> = (0..n).map(|_| self.message()).collect();
        let (first, rest) = messages.split_at(in_flight.min(n));
        let start = Instant::now();
        for message in first {
            self.say(message);
        }
        for message in rest {
            self.answer();
            self.say(message);
        }
        for _ in first {
            self.answer();
        }
        start.elapsed()
    }

    /// CPU time of the process' threads, in nanoseconds; children do not count.
    pub fn cpu(&self) -> f64 {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = std::fs::read_dir(tasks).expect("a /proc");
        let times = tasks.filter_map(|task| {
            let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<f64>().ok()
        });
        times.sum()
    }

    /// Resident memory of the process, in megabytes.
    pub fn resident(&self) -> f64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).expect("a /proc");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.expect("VmRSS") * 1024.0 / 1e6
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if start.elapsed() > Duration::from_secs(3) {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
