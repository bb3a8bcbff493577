//! A stdio MCP server that costs as little as possible, so that what is measured is the
//! proxy in front of it. `upstream [MICROSECONDS]`: each call takes that long, without
//! using the processor and without holding up the others.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::io::{BufRead, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
}

const TOOLS: &str = r#"[
{"name":"search_notes","description":"Searches the notes.","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"path":{"type":"string"},"limit":{"type":"integer"},"options":{"type":"object"}},"required":["query"]}},
{"name":"read_note","description":"Reads a note.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},
{"name":"write_note","description":"Writes a note.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path","text"]}},
{"name":"send_email","description":"Sends a mail.","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"subject":{"type":"string"},"body":{"type":"string"}},"required":["to","body"]}}
]"#;

/// The answer to a line, without a newline; none to notifications.
fn answer(line: &str, calls: &mut u64) -> Option<(String, bool)> {
    let message: Message<'_> = serde_json::from_str(line).expect("a JSON-RPC message");
    let id = message.id?.get();
    let (result, is_call) = match message.method? {
        "initialize" => (
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}"#
                .to_owned(),
            false,
        ),
        "tools/list" => (format!(r#"{{"tools":{}}}"#, TOOLS.replace('\n', "")), false),
        "tools/call" => {
            *calls += 1;
            let n = *calls;
            // Different in each call, as results are; half a kilobyte.
            let text = format!(
                "result {n}: {}",
                format_args!(
                    "note-{n}.md says: the meeting of team {t} is on day {d}, bring the \
                     numbers of quarter {q} and ask person{n}@corp.example about room {r}. {fill}",
                    t = n % 97,
                    d = n % 365,
                    q = n % 4,
                    r = n % 1000,
                    fill = "Nothing else was decided; the rest of the page is empty. ".repeat(6)
                )
            );
            (format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#), true)
        }
        _ => ("{}".to_owned(), false),
    };
    Some((
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        is_call,
    ))
}

fn main() {
    let micros: u64 = std::env::args()
        .nth(1)
        .map_or(0, |text| text.parse().expect("a number"));
    let delay = Duration::from_micros(micros);
    let (sender, receiver) = mpsc::channel::<(Instant, String)>();
    let writer = (micros > 0).then(|| {
        std::thread::spawn(move || {
            for (due, line) in receiver {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                say(&line);
            }
        })
    });
    let mut calls = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("readable input");
        let Some((answer, is_call)) = answer(&line, &mut calls) else {
            continue;
        };
        if writer.is_some() {
            let due = Instant::now() + if is_call { delay } else { Duration::ZERO };
            let _ = sender.send((due, answer));
        } else {
            say(&answer);
        }
    }
    drop(sender);
    if let Some(writer) = writer {
        let _ = writer.join();
    }
}

/// One line, one write.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // `Stdout` writes a line through when it ends.
    let _ = out.write_all(format!("{line}\n").as_bytes());
    let _ = out.flush();
}
