//! Spans of calls, handed to a collector: what stands in them, whose trace goes on, and that
//! no call waits for a collector.

use super::gateway::{Agent, Place};
use super::http_peer::read_head;
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A request as a collector gets it: its first line, its headers, its body.
type Request = (String, Vec<(String, String)>, Value);

/// A collector; what it got comes out of the receiver.
fn collector() -> (SocketAddr, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while let Ok((line, headers)) = read_head(&mut reader) {
                let length = headers.iter().find(|(name, _)| name == "content-length");
                let mut body = vec![0; length.unwrap().1.parse().unwrap()];
                reader.read_exact(&mut body).unwrap();
                let body = serde_json::from_slice(&body).unwrap();
                let _ = sender.send((line, headers, body));
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{{}}").unwrap();
            }
        }
    });
    (address, receiver)
}

fn place() -> Place {
    let program = json!(env!("CARGO_BIN_EXE_bouncer"));
    Place::new(
        "bouncer.yaml",
        &format!(
            "version: 1\npacks: []\nheuristics: false\naudit: {{path: audit.jsonl}}\nrules:\n  - {{tool: mail__delete_message, action: deny, reason: never}}\n  - {{tool: '*', action: allow}}\nservers:\n  mail: {{command: {program}, args: [demo-server]}}\n"
        ),
    )
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes
        .iter()
        .find(|attribute| attribute["key"] == key)?;
    let value = &found["value"];
    value["stringValue"].as_str().or(value["intValue"].as_str())
}

#[test]
fn every_call_is_a_span_of_the_agents_trace() {
    let (address, got) = collector();
    let place = place();
    let mut command = place.command(&["gateway", "--policy", "bouncer.yaml"]);
    command
        .env(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            format!("http://{address}/base/"),
        )
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")
        .env("OTEL_SERVICE_NAME", "gate");
    let mut agent = Agent::start(command, &place.path("stderr"));
    agent.until_tools(|tools| tools.len() == 4);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let meta = json!({"traceparent": format!("00-{trace}-b7ad6b7169203331-01")});
    let call = |tool: &str, meta: &Value| json!({"name": tool, "arguments": {"id": 5, "token": "secret-value"}, "_meta": meta});
    agent.request("tools/call", &call("mail__list_contacts", &meta));
    agent.request("tools/call", &call("mail__delete_message", &json!({})));
    // A trace that nobody keeps is not kept here either.
    let unkept = json!({"traceparent": format!("00-{trace}-b7ad6b7169203331-00")});
    agent.request("tools/call", &call("mail__read_inbox", &unkept));
    let mut spans = Vec::new();
    while spans.len() < 2 {
        let (line, headers, body) = got.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(line, "POST /base/v1/traces HTTP/1.1");
        assert!(headers.contains(&("x-key".to_owned(), "a b".to_owned())));
        assert!(!body.to_string().contains("secret-value"), "{body}");
        let resource = &body["resourceSpans"][0];
        assert_eq!(
            attribute(&resource["resource"], "service.name"),
            Some("gate")
        );
        spans.extend(
            resource["scopeSpans"][0]["spans"]
                .as_array()
                .unwrap()
                .clone(),
        );
    }
    let [one, two] = &spans[..] else {
        panic!("{spans:#?}");
    };
    assert_eq!(one["name"], "tools/call list_contacts");
    assert_eq!(
        (&one["traceId"], &one["parentSpanId"]),
        (&json!(trace), &json!("b7ad6b7169203331"))
    );
    assert_eq!(one["status"], json!({}));
    let log = place.audited("audit.jsonl");
    for (key, value) in [
        ("gen_ai.tool.name", "list_contacts"),
        ("bouncer.server", "mail"),
        ("bouncer.verdict", "allow"),
        ("bouncer.outcome", "forwarded"),
        (
            "gen_ai.conversation.id",
            log[0]["conversation"].as_str().unwrap(),
        ),
        ("bouncer.plan", log[0]["plan"].as_str().unwrap()),
    ] {
        assert_eq!(attribute(one, key), Some(value), "{one:#}");
    }
    assert!(
        attribute(one, "bouncer.latency_us")
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 0
    );
    let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
    assert!(time(one, "startTimeUnixNano") < time(one, "endTimeUnixNano"));
    assert_eq!(attribute(two, "bouncer.verdict"), Some("deny"));
    assert!(
        attribute(two, "bouncer.rule")
            .unwrap()
            .starts_with("bouncer.yaml:6:"),
        "{two:#}"
    );
    assert_eq!(two["status"]["code"], 2);
    assert_ne!(two["traceId"], one["traceId"]);
    assert_eq!(agent.leave(), 0);
}

#[test]
fn no_call_waits_for_a_collector() {
    // One that takes connections and never answers, and one that is not there.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for address in [silent.local_addr().unwrap(), gone] {
        let place = place();
        let endpoint = format!("http://{address}");
        let command = place.command(&[
            "gateway",
            "--policy",
            "bouncer.yaml",
            "--otlp-endpoint",
            &endpoint,
        ]);
        let mut agent = Agent::start(command, &place.path("stderr"));
        agent.until_tools(|tools| tools.len() == 4);
        let began = Instant::now();
        for _ in 0..500 {
            let (_, failed) = agent.call("mail__list_contacts", json!({}));
            assert!(!failed);
        }
        assert!(began.elapsed() < Duration::from_secs(60));
        assert_eq!(agent.leave(), 0);
        let said = std::fs::read_to_string(place.path("stderr")).unwrap();
        assert!(
            said.matches("spans of calls are lost").count() <= 1,
            "{said}"
        );
        assert!(
            address != gone || said.contains("spans of calls are lost"),
            "{said}"
        );
    }
    let place = place();
    let (code, _, errors) = place.run(&[
        "gateway",
        "--policy",
        "bouncer.yaml",
        "--otlp-endpoint",
        "here",
    ]);
    assert!(
        code == 1 && errors.contains("`--otlp-endpoint`"),
        "{errors}"
    );
}
