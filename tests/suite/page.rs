//! `bouncer gateway --ui` from outside: who gets in, what is decided, and what is not.
//! `tests/page` has the same page in a real browser.

use super::gateway::{Agent, Place};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

fn policy(more: &str) -> String {
    let program = json!(env!("CARGO_BIN_EXE_bouncer"));
    format!(
        "version: 1\npacks: []\nheuristics: false\naudit: {{path: audit.jsonl}}\napproval: {{path: approvals.db{more}}}\nrules:\n  - {{tool: mail__send_email, action: ask, reason: look at it}}\n  - {{tool: '*', action: allow}}\nservers:\n  mail: {{command: {program}, args: [demo-server]}}\n"
    )
}

/// A gateway with a page, and an agent in front of it.
struct Rig {
    place: Place,
    agent: Agent,
    address: SocketAddr,
    token: String,
}

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: Value,
}

impl Rig {
    fn new(more: &str) -> Self {
        let place = Place::new("bouncer.yaml", &policy(more));
        let flags = ["gateway", "--ui", "127.0.0.1:0", "--ui-link", "link"];
        let agent = Agent::start(place.command(&flags), &place.path("stderr"));
        let link = std::fs::read_to_string(place.path("link")).unwrap();
        let rest = link.trim().strip_prefix("http://").unwrap();
        let (address, token) = rest.split_once("/#token=").unwrap();
        Self {
            agent,
            address: address.parse().unwrap(),
            token: token.to_owned(),
            place,
        }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.place.path("stderr")).unwrap()
    }

    /// A request with these headers and no others, but for its length.
    fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!(
            "content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ));
        let mut stream = TcpStream::connect(self.address).unwrap();
        let timeout = Some(Duration::from_secs(30));
        stream.set_read_timeout(timeout).unwrap();
        // What is too long is answered before it was read.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).unwrap_or("0").parse().unwrap();
        Reply {
            status,
            head: head.to_ascii_lowercase(),
            body: serde_json::from_str(body).unwrap_or(Value::Null),
        }
    }

    /// As the page's own scripts ask, but for what `changed` says; an empty value leaves
    /// a header out.
    fn ask(&self, method: &str, path: &str, changed: &[(&str, &str)], body: &str) -> Reply {
        let host = self.address.to_string();
        let bearer = format!("Bearer {}", self.token);
        let own = [
            ("host", host.as_str()),
            ("authorization", bearer.as_str()),
            ("bouncer-page", "1"),
            ("content-type", "application/json"),
            ("sec-fetch-site", "same-origin"),
        ];
        let mut headers: Vec<(&str, &str)> = own
            .into_iter()
            .filter(|(name, _)| !changed.iter().any(|(other, _)| other == name))
            .collect();
        headers.extend(changed.iter().filter(|(_, value)| !value.is_empty()));
        self.raw(method, path, &headers, body)
    }

    fn decide(&self, id: &str, choice: &str) -> Reply {
        let body = json!({ "id": id, "choice": choice }).to_string();
        self.ask("POST", "/api/approvals", &[], &body)
    }

    fn waiting(&self) -> Vec<String> {
        let reply = self.ask("GET", "/api/approvals", &[], "");
        assert_eq!(reply.status, 200, "{reply:?}");
        let waiting = reply.body["waiting"].as_array().unwrap();
        let id = |record: &Value| record["id"].as_str().unwrap().to_owned();
        waiting.iter().map(id).collect()
    }

    /// Sends a mail; whether it went out, and what was said.
    fn mail(&mut self, to: &str) -> (bool, String) {
        let arguments = json!({"to": [to], "subject": "s", "body": "b"});
        let params = json!({"name": "mail__send_email", "arguments": arguments});
        let answer = self.agent.request("tools/call", &params);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        (answer["result"]["isError"] != true, text.to_owned())
    }

    /// Has a mail asked about; the id under which it waits.
    fn asked(&mut self, to: &str) -> String {
        let (went, said) = self.mail(to);
        assert!(!went, "{said}");
        let id = said.split("request ").nth(1).expect(&said);
        id.split(' ').next().unwrap().to_owned()
    }
}

#[test]
fn who_is_not_the_page_gets_nothing_done() {
    let mut rig = Rig::new("");
    let id = rig.asked("a@b.example");
    let body = json!({ "id": id, "choice": "once" }).to_string();
    let long = format!("{{\"id\": \"{}\"}}", "x".repeat(20_000));
    let own = format!("http://{}", rig.address);
    let post = "/api/approvals";
    // The status; method, path, what differs from the page's own headers, and the body.
    type Case<'a> = (u16, &'a str, &'a str, &'a [(&'a str, &'a str)], &'a str);
    let cases: &[Case<'_>] = &[
        (401, "GET", post, &[("authorization", "")], ""),
        (401, "POST", post, &[("authorization", "")], &body),
        (401, "POST", post, &[("authorization", "Bearer 00")], &body),
        (
            401,
            "POST",
            post,
            &[("authorization", &format!("Basic {}", rig.token))],
            &body,
        ),
        (401, "GET", "/api/nothing", &[("authorization", "")], ""),
        (
            401,
            "GET",
            &format!("{post}?token={}", rig.token),
            &[("authorization", "")],
            "",
        ),
        (
            401,
            "GET",
            post,
            &[
                ("authorization", ""),
                ("cookie", &format!("token={}", rig.token)),
            ],
            "",
        ),
        (403, "POST", post, &[("host", "evil.example")], &body),
        (403, "GET", post, &[("host", "evil.example")], ""),
        (403, "GET", "/", &[("host", "evil.example")], ""),
        (400, "GET", "/", &[("host", "")], ""),
        (
            403,
            "POST",
            post,
            &[("origin", "https://evil.example")],
            &body,
        ),
        (403, "POST", post, &[("origin", "null")], &body),
        // Another port of this machine is another page.
        (
            403,
            "POST",
            post,
            &[("origin", "http://127.0.0.1:1")],
            &body,
        ),
        (403, "POST", post, &[("origin", "http://localhost")], &body),
        (
            403,
            "POST",
            post,
            &[("sec-fetch-site", "cross-site")],
            &body,
        ),
        (403, "POST", post, &[("sec-fetch-site", "same-site")], &body),
        (
            403,
            "GET",
            "/page.js",
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
            "",
        ),
        (403, "POST", post, &[("bouncer-page", "")], &body),
        (403, "POST", post, &[("bouncer-page", "2")], &body),
        (415, "POST", post, &[("content-type", "text/plain")], &body),
        (
            415,
            "POST",
            post,
            &[("content-type", "application/x-www-form-urlencoded")],
            &body,
        ),
        (415, "POST", post, &[("content-type", "")], &body),
        (413, "POST", post, &[], &long),
        (400, "POST", post, &[], "{"),
        (400, "POST", post, &[], ""),
        (400, "POST", post, &[], &json!({ "id": id }).to_string()),
        (
            400,
            "POST",
            post,
            &[],
            &json!({ "id": id, "choice": "approve" }).to_string(),
        ),
        (
            400,
            "POST",
            post,
            &[],
            &json!({ "id": id, "choice": "once", "more": 1 }).to_string(),
        ),
        (
            404,
            "POST",
            post,
            &[],
            &json!({ "id": "req_'; --", "choice": "once" }).to_string(),
        ),
        (404, "POST", "/api/approval", &[], &body),
        (404, "GET", "/api/approval?id=req_nothing", &[], ""),
        (405, "PUT", post, &[], &body),
        (405, "DELETE", post, &[], ""),
        (405, "OPTIONS", post, &[], ""),
        (405, "POST", "/", &[], &body),
        (405, "HEAD", "/", &[], ""),
        (404, "GET", "/../Cargo.toml", &[], ""),
        (404, "GET", "/%2e%2e/page.js", &[], ""),
        (404, "GET", "//page.js", &[], ""),
        (404, "GET", "/page.js/", &[], ""),
        (404, "GET", "/link", &[], ""),
        (404, "GET", "/api/../page.js", &[], ""),
        (400, "GET", "/api/log?since=yesterday", &[], ""),
        (400, "GET", "/api/log?before=x", &[], ""),
    ];
    for (status, method, path, changed, body) in cases {
        let reply = rig.ask(method, path, changed, body);
        assert_eq!(
            reply.status, *status,
            "{method} {path} {changed:?} {body:.60}: {reply:?}"
        );
        closed(&reply);
    }
    // Whole targets name a host as well.
    let reply = rig.ask("GET", "http://evil.example/api/approvals", &[], "");
    assert_eq!(reply.status, 403);
    // Nothing of this decided anything.
    assert_eq!(rig.waiting(), [id.as_str()]);
    assert!(!rig.mail("a@b.example").0);
    for (path, kind) in [
        ("/", "text/html"),
        ("/page.js", "text/javascript"),
        ("/page.css", "text/css"),
    ] {
        let reply = rig.ask("GET", path, &[("authorization", ""), ("origin", "")], "");
        assert_eq!(reply.status, 200);
        assert!(
            reply.head.contains(&format!("content-type: {kind}")),
            "{}",
            reply.head
        );
        closed(&reply);
    }
    // A link from elsewhere opens the page, which says nothing without its token.
    let link = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("authorization", ""),
    ];
    assert_eq!(rig.ask("GET", "/", &link, "").status, 200);
    let reply = rig.ask("POST", post, &[("origin", &own)], &body);
    assert_eq!(
        (reply.status, &reply.body["status"]),
        (200, &json!("approved"))
    );
    closed(&reply);
    let said = rig.said();
    let log = std::fs::read_to_string(rig.place.path("audit.jsonl")).unwrap();
    assert!(!said.contains(&rig.token) && !log.contains(&rig.token));
    assert!(said.contains("page at http://127.0.0.1:"), "{said}");
}

/// What every answer has to carry.
fn closed(reply: &Reply) {
    for line in [
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
        "frame-ancestors 'none'",
        "form-action 'none'",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(reply.head.contains(line), "{line}: {}", reply.head);
    }
    for never in [
        "access-control-allow",
        "set-cookie",
        "unsafe-inline",
        "\r\nserver:",
    ] {
        assert!(!reply.head.contains(never), "{never}: {}", reply.head);
    }
}

#[test]
fn one_yes_is_one_call() {
    let mut rig = Rig::new("");
    let id = rig.asked("a@b.example");
    assert_eq!(rig.decide(&id, "once").status, 200);
    for choice in ["once", "conversation"] {
        let again = rig.decide(&id, choice);
        assert_eq!(again.status, 409);
        assert_eq!(
            again.body["error"],
            format!("request `{id}` is approved already")
        );
    }
    assert!(rig.mail("a@b.example").0);
    assert!(!rig.mail("a@b.example").0);
    assert_eq!(rig.decide(&id, "once").status, 409);
    // A no stands, and takes back what was not used yet.
    let id = rig.asked("c@d.example");
    assert_eq!(rig.decide(&id, "once").status, 200);
    assert_eq!(rig.decide(&id, "deny").status, 200);
    assert_eq!(rig.decide(&id, "once").status, 409);
    let (went, said) = rig.mail("c@d.example");
    assert!(!went && said.contains("a human has denied it"), "{said}");
}

#[test]
fn a_yes_for_the_conversation_is_for_this_one() {
    let mut rig = Rig::new("");
    let id = rig.asked("a@b.example");
    let reply = rig.decide(&id, "conversation");
    assert_eq!((reply.status, &reply.body["lasting"]), (200, &json!(true)));
    for _ in 0..3 {
        assert!(rig.mail("a@b.example").0);
    }
    assert!(!rig.mail("a@b.example ").0, "another call");
    let log = rig.place.audited("audit.jsonl");
    let rests = |line: &&Value| line["approval"] == *id && line["outcome"] == "forwarded";
    assert_eq!(log.iter().filter(rests).count(), 3);
    // Another gateway is another conversation, over the same store.
    let flags = ["gateway", "--audit", "other.jsonl"];
    let mut other = Agent::start(rig.place.command(&flags), &rig.place.path("other"));
    let params = json!({"name": "mail__send_email", "arguments": {"to": ["a@b.example"], "subject": "s", "body": "b"}});
    let answer = other.request("tools/call", &params);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(rig.waiting().len(), 2, "and shows on the same page");
    let (code, listed, _) = rig.place.run(&["list", "--policy", "bouncer.yaml"]);
    assert_eq!(code, 0);
    assert!(
        listed.contains("for the conversation; used 3 times"),
        "{listed}"
    );
    // Who takes it back takes it back from all.
    let (code, _, errors) = rig.place.run(&["deny", &id, "--policy", "bouncer.yaml"]);
    assert_eq!(code, 0, "{errors}");
    assert!(!rig.mail("a@b.example").0);
}

#[test]
fn the_command_line_approves_for_a_conversation_which_ends_with_the_gateway() {
    let mut rig = Rig::new("");
    let id = rig.asked("a@b.example");
    let policy = ["--policy", "bouncer.yaml"];
    let flags = ["approve", &id, "--for-conversation"];
    let (code, said, errors) = rig.place.run(&[&flags[..], &policy].concat());
    assert_eq!(code, 0, "{errors}");
    assert!(
        said.contains("as often as the conversation makes it"),
        "{said}"
    );
    assert!(rig.mail("a@b.example").0 && rig.mail("a@b.example").0);
    let link = rig.place.path("link");
    let mode = link.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let Rig { place, agent, .. } = rig;
    assert_eq!(agent.leave(), 0);
    assert!(!link.exists(), "the link goes with the gateway");
    let (_, listed, _) = place.run(&[&["list", "--status", "expired"][..], &policy].concat());
    assert!(listed.contains(&id), "{listed}");
}

#[test]
fn what_has_lapsed_is_not_approved() {
    let mut rig = Rig::new(", timeoutSeconds: 1");
    let id = rig.asked("a@b.example");
    std::thread::sleep(Duration::from_millis(1100));
    for choice in ["once", "conversation", "deny"] {
        let reply = rig.decide(&id, choice);
        assert_eq!(reply.status, 409, "{reply:?}");
    }
    assert_eq!(rig.waiting(), Vec::<String>::new());
    assert!(!rig.mail("a@b.example").0);
}

#[test]
fn a_token_is_for_one_gateway() {
    let (one, mut two) = (Rig::new(""), Rig::new(""));
    let id = two.asked("a@b.example");
    assert_ne!(one.token, two.token);
    let stolen = format!("Bearer {}", one.token);
    let body = json!({ "id": id, "choice": "once" }).to_string();
    let reply = two.ask(
        "POST",
        "/api/approvals",
        &[("authorization", &stolen)],
        &body,
    );
    assert_eq!(reply.status, 401);
    // Nor does its page know of what waits in another's store.
    assert_eq!(one.decide(&id, "once").status, 404);
    assert_eq!(one.waiting(), Vec::<String>::new());
    assert!(!two.mail("a@b.example").0);
}

#[test]
fn a_store_that_breaks_approves_nothing_and_stops_nothing() {
    let mut rig = Rig::new("");
    let id = rig.asked("a@b.example");
    for file in ["approvals.db-wal", "approvals.db-shm", "approvals.db"] {
        let _ = std::fs::remove_file(rig.place.path(file));
    }
    std::fs::write(rig.place.path("approvals.db"), [7; 8192]).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    // What is open already may be read once more; it is not what anybody writes to.
    loop {
        let reply = rig.decide(&id, "once");
        if reply.status == 503 || Instant::now() > until {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let params = json!({"name": "mail__read_inbox", "arguments": {}});
    let answer = rig.agent.request("tools/call", &params);
    assert_ne!(answer["result"]["isError"], true, "{answer}");
}

#[test]
fn nobody_at_the_door_holds_up_a_call() {
    let mut rig = Rig::new("");
    // More than there are places, and all of them say nothing, or half a request.
    let idle: Vec<TcpStream> = (0..150)
        .filter_map(|number| {
            let mut stream = TcpStream::connect(rig.address).ok()?;
            if number % 2 == 0 {
                let _ = stream.write_all(b"GET /api/approvals HTTP/1.1\r\nhost: lo");
            }
            Some(stream)
        })
        .collect();
    assert!(idle.len() > 100);
    for _ in 0..20 {
        let params = json!({"name": "mail__read_inbox", "arguments": {}});
        let answer = rig.agent.request("tools/call", &params);
        assert_ne!(answer["result"]["isError"], true, "{answer}");
    }
    drop(idle);
    assert_eq!(rig.waiting(), Vec::<String>::new());
}

#[test]
fn only_on_loopback_and_a_taken_port_is_no_reason_to_stop() {
    let rig = Rig::new("");
    let (code, _, errors) = rig.place.run(&["gateway", "--ui", "0.0.0.0:0"]);
    assert_eq!(code, 1);
    for word in ["only handed out on loopback", "TLS", "token", "--ui-host"] {
        assert!(errors.contains(word), "{word}: {errors}");
    }
    let address = rig.address.to_string();
    let flags = ["gateway", "--ui", &address, "--audit", "other.jsonl"];
    let mut other = Agent::start(rig.place.command(&flags), &rig.place.path("other"));
    assert_eq!(other.tools().len(), 4);
    let said = std::fs::read_to_string(rig.place.path("other")).unwrap();
    assert!(said.contains("is taken"), "{said}");
}

#[test]
fn servers_policy_and_log_are_as_the_gateway_has_them() {
    let mut rig = Rig::new("");
    rig.asked("a@b.example");
    let get = |path: &str| rig.ask("GET", path, &[], "").body;
    let until = Instant::now() + Duration::from_secs(30);
    let servers = loop {
        let value = get("/api/servers");
        let all = value["conversations"].as_object().unwrap();
        let server = all.values().next().map(|servers| servers[0].clone());
        if let Some(server) = server.filter(|server| server["tools"][0]["pin"] == "pinned") {
            break (server, value["counts"].clone());
        }
        assert!(Instant::now() < until, "{value}");
    };
    let (server, counts) = servers;
    assert_eq!(server["name"], "mail");
    let tools = server["tools"].as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    let send = tool("send_email");
    assert_eq!(
        (&send["pin"], &send["may"]),
        (&json!("pinned"), &json!(["ask"]))
    );
    assert_eq!(tool("read_inbox")["may"], json!(["allow"]));
    assert_eq!(send["contract"], Value::Null);
    assert_eq!(counts[0]["verdict"], "ask");
    let policy = loop {
        let value = get("/api/policy");
        if !value["verified"].is_null() {
            break value;
        }
        assert!(Instant::now() < until, "{value}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(policy["files"][0]["name"], "bouncer.yaml");
    assert!(policy["verified"]["findings"].is_array(), "{policy}");
    let log = get("/api/log?verdict=ask");
    assert_eq!(log["lines"].as_array().unwrap().len(), 1, "{log}");
    assert_eq!(
        log["lines"][0]["reason"]
            .as_str()
            .unwrap()
            .split(';')
            .next(),
        Some("look at it")
    );
    // Arguments are a text: scripts would round their numbers.
    assert!(log["lines"][0]["arguments"].is_string());
    assert_eq!(get("/api/log?verdict=deny")["lines"], json!([]));
    assert_eq!(get("/api/log/chain")["fault_count"], 0);
    assert_eq!(get("/api/log/counts")["counts"]["verdicts"]["ask"], 1);
    let about = get("/api/about");
    assert_eq!(
        (&about["observes"], &about["failure"]),
        (&json!(false), &Value::Null)
    );
}

#[test]
fn a_button_stops_everything_and_lets_it_go_on() {
    let mut rig = Rig::new("");
    let inbox = |rig: &mut Rig| rig.agent.call("mail__read_inbox", json!({}));
    assert!(!inbox(&mut rig).1);
    let halted = |rig: &Rig| rig.ask("GET", "/api/about", &[], "").body["halted"].clone();
    assert_eq!(halted(&rig), Value::Null);
    for wrong in ["", "{}", r#"{"halt":1}"#, r#"{"halt":true,"x":1}"#] {
        assert_eq!(
            rig.ask("POST", "/api/halt", &[], wrong).status,
            400,
            "{wrong}"
        );
    }
    assert!(!inbox(&mut rig).1);
    assert_eq!(
        rig.ask("POST", "/api/halt", &[], r#"{"halt":true}"#).status,
        200
    );
    let (text, failed) = inbox(&mut rig);
    assert!(failed && text.contains("stopped on the page"), "{text}");
    assert_eq!(halted(&rig), "stopped on the page");
    assert_eq!(
        rig.ask("POST", "/api/halt", &[], r#"{"halt":false}"#)
            .status,
        200
    );
    assert!(!inbox(&mut rig).1);
    assert_eq!(halted(&rig), Value::Null);
}
