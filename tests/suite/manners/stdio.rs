//! Servers on standard streams.

use super::{gateway, place, run};
use serde_json::json;
use std::time::{Duration, Instant};

/// What they say of themselves cannot be read, each in another way, and what is said of that.
const UNREADABLE: [(&str, &str); 4] = [
    ("bom", "cannot be read"),
    ("twice", "cannot be read"),
    ("nan", "cannot be read"),
    ("too-long", "longer than the limit of 16 MiB"),
];

#[test]
fn a_server_may_ask_whether_somebody_is_there_before_it_answers() {
    // The gateway answers by itself.
    let place = place(&[("s", "pings")]);
    let mut agent = gateway(&place, &[]);
    agent.until_tools(|tools| tools.len() == 4);
    assert_eq!(agent.leave(), 0);
    // Through `run` it is the client that is asked.
    let mut raw = super::raw_run("pings");
    raw.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}));
    let ping = raw.next();
    assert_eq!(ping["method"], "ping", "{ping}");
    raw.send(&json!({"jsonrpc": "2.0", "id": ping["id"], "result": {}}));
    let answer = raw.next();
    assert_eq!(answer["result"]["serverInfo"]["name"], "pings", "{answer}");
}

#[test]
fn an_introduction_that_cannot_be_read_fails_at_once_and_says_so() {
    for (how, why) in UNREADABLE {
        let began = Instant::now();
        let (_place, agent) = run(how, &[]);
        let told = agent.introduction["error"]["message"].to_string();
        assert!(told.contains(why), "{how}: {told}");
        assert!(began.elapsed() < Duration::from_secs(10), "{how}");
    }
    let servers = UNREADABLE.map(|(how, _)| (how, how));
    let place = place(&servers);
    let mut agent = gateway(&place, &[]);
    for (how, why) in UNREADABLE {
        let (text, failed) = agent.call(&format!("{how}__echo"), json!({}));
        assert!(failed && text.contains(why), "{how}: {text}");
        assert!(text.contains("try again in "), "{how}: {text}");
    }
}

#[test]
fn lines_that_are_no_messages_are_let_go() {
    let (_place, mut agent) = run("chatty", &[]);
    let server = &agent.introduction["result"]["serverInfo"]["name"];
    assert_eq!(server, "chatty");
    assert!(!agent.call("echo", json!({})).1);
}

#[test]
fn a_number_that_comes_back_as_a_text_finds_its_request() {
    let (_place, mut agent) = run("text-ids", &[]);
    // The helper compares ids as they are: the client sees its own.
    let (text, failed) = agent.call("echo", json!({"a": 1}));
    assert!(!failed && text.contains(r#"{"a": 1}"#), "{text}");
    let place = place(&[("s", "text-ids")]);
    let mut agent = gateway(&place, &[]);
    agent.until_tools(|tools| tools.len() == 4);
    assert!(!agent.call("s__echo", json!({})).1);
}

#[test]
fn what_is_null_is_not_there() {
    for through_gateway in [false, true] {
        let (_place, mut agent, tool) = if through_gateway {
            let place = place(&[("s", "nulls")]);
            let mut agent = gateway(&place, &[]);
            agent.until_tools(|tools| tools.len() == 4);
            (place, agent, "s__echo")
        } else {
            let (place, agent) = run("nulls", &[]);
            (place, agent, "echo")
        };
        // The server gets none at all.
        let params = json!({"name": tool, "arguments": null});
        let answer = agent.request("tools/call", &params);
        let text = answer["result"]["content"][0]["text"].to_string();
        assert!(text.contains(r#"\"given\": \"nothing\""#), "{answer}");
        let answer = agent.request("ping", &json!(null));
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
}

#[test]
fn progress_of_another_or_too_late_is_not_passed_on() {
    let (_place, mut agent) = run("plain", &[]);
    let params = json!({"name": "progress", "arguments": {}, "_meta": {"progressToken": "mine"}});
    let answer = agent.request("tools/call", &params);
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    // What came late would be here by now.
    assert!(!agent.call("echo", json!({})).1);
    let progress = agent
        .heard
        .iter()
        .filter(|m| *m == "notifications/progress");
    assert_eq!(progress.count(), 1, "{:?}", agent.heard);
}

#[test]
fn the_longest_message_is_a_setting() {
    let (_place, mut agent) = run("plain", &[]);
    let (text, failed) = agent.call("long", json!({}));
    assert!(failed && text.contains("limit of 16 MiB"), "{text}");
    let (_place, mut agent) = run("plain", &["--max-message", "32M"]);
    let (text, failed) = agent.call("long", json!({}));
    assert!(!failed && text.len() == 18 << 20, "{}", text.len());
    let place = place(&[("s", "plain")]);
    let mut agent = gateway(&place, &["--max-message", "32M"]);
    agent.until_tools(|tools| tools.len() == 4);
    assert!(!agent.call("s__long", json!({})).1);
}

#[test]
fn what_a_server_names_is_read_from_it() {
    let place = place(&[("one", "names:one"), ("two", "names:two")]);
    let mut agent = gateway(&place, &[]);
    agent.until_tools(|tools| tools.len() == 8);
    let read = |agent: &mut super::Agent, uri: &str| {
        let answer = agent.request("resources/read", &json!({"uri": uri}));
        answer["result"]["contents"][0]["text"].to_string()
    };
    // Both have a page of that name, and both name that document: whoever was called is meant.
    for (tool, who) in [("one__echo", "of names:one"), ("two__echo", "of names:two")] {
        assert!(!agent.call(tool, json!({})).1);
        for uri in ["ui://page", "doc://shared"] {
            assert_eq!(read(&mut agent, uri), format!("{who:?}"), "{uri}");
        }
    }
}

#[test]
fn slow_servers_are_told_of_when_they_are_there() {
    let place = place(&[("slow", "slow"), ("quick", "plain")]);
    let mut agent = gateway(&place, &["--wait-for-servers", "0"]);
    let (text, failed) = agent.call("slow__echo", json!({}));
    assert!(
        failed && text.contains("still starting; try again in 5 s"),
        "{text}"
    );
    let tools = agent.tools();
    assert!(!tools.contains(&"slow__echo".to_owned()), "{tools:?}");
    let until = Instant::now() + Duration::from_secs(20);
    let changed = "notifications/tools/list_changed".to_owned();
    while !agent.heard.contains(&changed) || agent.tools().len() < 8 {
        assert!(Instant::now() < until, "{:?}", agent.heard);
        agent.request("ping", &json!({}));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!agent.call("slow__echo", json!({})).1);
    let (text, failed) = agent.call("slow__nothing", json!({}));
    assert!(failed && text.contains("no such tool"), "{text}");
    // It ends: whoever calls it is told, and when to come back.
    let (text, failed) = agent.call("slow__die", json!({}));
    assert!(failed && text.contains("no such tool"), "{text}");
}
