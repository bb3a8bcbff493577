//! Servers that are reached over HTTP, behind the gateway and behind `bouncer run`.

use super::gateway::{Agent, Place};
use super::http_peer::HttpPeer;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn policy(servers: &[(&str, &str)]) -> String {
    let server = |(name, url): &(&str, &str)| {
        format!(
            "  {name}: {{url: '{url}', headers: {{Authorization: 'Bearer ${{TOKEN}}', X-Two: b}}}}\n"
        )
    };
    let all: String = servers.iter().map(server).collect();
    format!(
        "version: 1\npacks: []\nheuristics: false\naudit: {{path: audit.jsonl}}\nrules:\n  - {{tool: '*__silent', action: deny, reason: not that one}}\n  - {{tool: '*', action: allow}}\nservers:\n{all}"
    )
}

fn gateway(place: &Place) -> Agent {
    let mut command = place.command(&["gateway"]);
    command.env("TOKEN", "s3cr3t");
    Agent::start(command, &place.path("stderr"))
}

#[test]
fn a_server_over_http_is_gated_like_any_other() {
    let peer = HttpPeer::start();
    let place = Place::new("bouncer.yaml", &policy(&[("far", &peer.url())]));
    let mut agent = gateway(&place);
    agent.until_tools(|tools| tools.len() == 10);
    let said = json!({"say": "a\nb\u{2028}é"});
    let (text, failed) = agent.call("far__echo", said.clone());
    let told = said["say"].to_string();
    assert!(!failed && text == told, "{text}");
    let (text, failed) = agent.call("far__stream", json!({}));
    assert!(!failed && text == "streamed", "{text}");
    // What is denied never reaches it.
    let (text, failed) = agent.call("far__silent", json!({}));
    assert!(failed && text.contains("not that one"), "{text}");
    // It speaks by itself, too.
    peer.wait_for(|seen| seen.method == "GET");
    std::thread::sleep(Duration::from_millis(100));
    let before = agent.heard.len();
    peer.say(&json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "hello"}}));
    let until = Instant::now() + Duration::from_secs(10);
    while !agent.heard[before..].contains(&"notifications/message".to_owned()) {
        assert!(Instant::now() < until);
        agent.tools();
    }
    assert_eq!(agent.leave(), 0);
    let goodbye = peer.wait_for(|seen| seen.method == "DELETE");
    for seen in peer.seen() {
        let called = seen.json()["params"]["name"].clone();
        assert_ne!(called, "silent");
        assert_eq!(seen.path, "/mcp");
        assert_eq!(seen.header("authorization"), Some("Bearer s3cr3t"));
        assert_eq!(seen.header("x-two"), Some("b"));
        if seen.json()["method"] == "initialize" {
            assert_eq!(seen.header("mcp-session-id"), None);
        } else {
            assert_eq!(
                seen.header("mcp-session-id"),
                goodbye.header("mcp-session-id")
            );
            assert_eq!(seen.header("mcp-protocol-version"), Some("2025-06-18"));
        }
    }
    let order: Vec<Value> = peer
        .seen()
        .iter()
        .map(|seen| seen.json()["method"].clone())
        .collect();
    assert_eq!(
        order[..2],
        [json!("initialize"), json!("notifications/initialized")]
    );
    for file in ["stderr", "audit.jsonl"] {
        let text = std::fs::read_to_string(place.path(file)).unwrap();
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}

#[test]
fn what_a_server_says_wrong_harms_only_its_own_call() {
    let peer = HttpPeer::start();
    let place = Place::new("bouncer.yaml", &policy(&[("far", &peer.url())]));
    let mut agent = gateway(&place);
    agent.until_tools(|tools| tools.len() == 10);
    for (tool, why) in [
        ("cut", "ended the stream before its answer"),
        ("big", "longer than the limit"),
        ("moved", "HTTP status 307; redirections are not followed"),
        ("html", "neither with JSON nor with a stream"),
        ("other", "before its answer"),
    ] {
        let (text, failed) = agent.call(&format!("far__{tool}"), json!({}));
        assert!(failed && text.contains(why), "{tool}: {text}");
        let (_, failed) = agent.call("far__echo", json!({"say": 1}));
        assert!(!failed, "after {tool}");
    }
    let (text, failed) = agent.call("far__garbage", json!({}));
    assert!(!failed && text == "after the garbage", "{text}");
    assert_eq!(agent.leave(), 0);
}

#[test]
fn a_server_that_hangs_dies_or_forgets_holds_up_no_other() {
    let (far, near) = (HttpPeer::start(), HttpPeer::start());
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/mcp", listener.local_addr().unwrap())
    };
    let servers = [("far", far.url()), ("near", near.url()), ("nobody", nobody)];
    let servers: Vec<(&str, &str)> = servers.iter().map(|(n, u)| (*n, u.as_str())).collect();
    let place = Place::new("bouncer.yaml", &policy(&servers));
    let mut agent = gateway(&place);
    agent.until_tools(|tools| tools.len() == 20);
    let (text, failed) = agent.call("nobody__x", json!({}));
    assert!(failed && text.contains("does not run"), "{text}");
    // One call hangs while others go on.
    agent.send(
        &json!({"jsonrpc": "2.0", "id": "hangs", "method": "tools/call",
        "params": {"name": "far__hang", "arguments": {}}}),
    );
    far.wait_for(|seen| seen.json()["params"]["name"] == "hang");
    for name in ["far__echo", "near__echo"] {
        let (_, failed) = agent.call(name, json!({"say": 1}));
        assert!(!failed);
    }
    far.kill();
    let answer = agent.until_answer(&json!("hangs"));
    assert!(answer["error"]["message"].is_string(), "{answer}");
    agent.until_tools(|tools| tools.len() == 10);
    let (_, failed) = agent.call("near__echo", json!({"say": 1}));
    assert!(!failed);
    // It comes back, and is found again.
    let again = HttpPeer::start_at(far.address);
    agent.until_tools(|tools| tools.len() == 20);
    let (_, failed) = agent.call("far__echo", json!({"say": 1}));
    assert!(!failed);
    // It forgets the session, as after a restart behind a balancer: nobody notices.
    again.forget();
    let (_, failed) = agent.call("far__echo", json!({"say": 1}));
    assert!(!failed);
    assert_eq!(agent.leave(), 0);
    let errors = std::fs::read_to_string(place.path("stderr")).unwrap();
    assert!(
        errors.contains("server \"nobody\"") && errors.contains("refused"),
        "{errors}"
    );
}

#[test]
fn a_call_that_is_taken_back_is_let_go() {
    let peer = HttpPeer::start();
    let place = Place::new("bouncer.yaml", &policy(&[("far", &peer.url())]));
    let mut agent = gateway(&place);
    agent.until_tools(|tools| tools.len() == 10);
    agent.send(
        &json!({"jsonrpc": "2.0", "id": "hangs", "method": "tools/call",
        "params": {"name": "far__hang", "arguments": {}}}),
    );
    let call = peer.wait_for(|seen| seen.json()["params"]["name"] == "hang");
    agent.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "hangs"}}),
    );
    let cancel = peer.wait_for(|seen| seen.json()["method"] == "notifications/cancelled");
    assert_eq!(cancel.json()["params"]["requestId"], call.json()["id"]);
    assert_eq!(agent.leave(), 0);
}

#[test]
fn one_server_over_http_is_run_and_pinned_alone() {
    let peer = HttpPeer::start();
    let config = json!({"mcpServers": {"far": {"type": "http", "url": peer.url(),
        "headers": {"Authorization": "Bearer x"}}}});
    let place = Place::new("bouncer.yaml", &policy(&[]).replace("servers:\n", ""));
    std::fs::write(place.path("mcp.json"), config.to_string()).unwrap();
    let from = ["--config", "mcp.json", "--upstream-name", "far"];
    let pin = [&["pin", "--output", "lock.json"], &from[..]].concat();
    let (code, output, errors) = place.run(&pin);
    assert!(
        code == 0 && output.contains("pinned 10 tools"),
        "{output}{errors}"
    );
    let run = [
        &["run", "--policy", "bouncer.yaml", "--tools", "lock.json"],
        &from[..],
    ]
    .concat();
    let mut agent = Agent::start(place.command(&run), &place.path("stderr"));
    let (text, failed) = agent.call("echo", json!({"say": "x"}));
    assert!(!failed && text == "\"x\"", "{text}");
    let (_, failed) = agent.call("silent", json!({}));
    assert!(failed);
    assert_eq!(agent.leave(), 0);
    peer.wait_for(|seen| seen.method == "DELETE");
}

#[test]
fn what_cannot_be_an_address_or_a_header_is_refused_at_the_start() {
    for (server, why) in [
        (
            "{url: 'http://x/mcp', headers: {Mcp-Session-Id: a}}",
            "set by the transport",
        ),
        (
            "{url: 'http://x/mcp', headers: {Mcp-Param-Region: a}}",
            "set by the transport",
        ),
        (
            "{url: 'http://x/mcp', headers: {'a b': c}}",
            "no name of a header",
        ),
        (
            "{url: 'http://x/mcp', headers: {A: '${BROKEN}'}}",
            "control character",
        ),
        ("{url: '${BROKEN}', headers: {}}", "`url`"),
        (
            "{url: 'http://me:pw@x/mcp'}",
            "put credentials into `headers`",
        ),
        (
            "{url: '${BOUNCER_TEST_UNSET}'}",
            "`BOUNCER_TEST_UNSET` is not set",
        ),
    ] {
        let policy = format!("version: 1\nservers: {{far: {server}}}\n");
        let place = Place::new("bouncer.yaml", &policy);
        let mut command = place.command(&["gateway"]);
        command.env("BROKEN", "hidden\r\nX-Injected: 1");
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(1) && errors.contains(why),
            "{server}: {errors}"
        );
        assert!(
            !errors.contains("hidden") && !errors.contains("pw@"),
            "{errors}"
        );
    }
}

#[test]
fn a_server_that_hangs_up_is_asked_again_where_that_does_no_harm() {
    let peer = HttpPeer::start();
    peer.hang_up_on("tools/list");
    let place = Place::new("bouncer.yaml", &policy(&[("far", &peer.url())]));
    let mut agent = gateway(&place);
    agent.until_tools(|tools| tools.len() == 10);
    // A call may have been carried out: it is not made twice, and its agent is told.
    peer.hang_up_on("tools/call");
    let (text, failed) = agent.call("far__echo", json!({"say": 1}));
    assert!(failed && text.contains("broke the connection"), "{text}");
    assert!(text.contains("is not known"), "{text}");
    let calls = peer.seen().into_iter();
    let calls = calls.filter(|seen| seen.json()["method"] == "tools/call");
    assert_eq!(calls.count(), 1);
    let (_, failed) = agent.call("far__echo", json!({"say": 1}));
    assert!(!failed);
    assert_eq!(agent.leave(), 0);
}
