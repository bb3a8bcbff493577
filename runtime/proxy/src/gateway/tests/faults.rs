//! Servers that hang, die and come back.

use crate::gateway::tests::rig::{answer, call, introduce, list, patience, with};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::time::timeout;

const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

#[test]
fn a_server_that_hangs_holds_nobody_up() {
    with(&["hung", "well"], patience(), async |rig| {
        let _silent = rig.servers[0].accept().await;
        let began = Instant::now();
        rig.hello().await;
        let mut well = rig.servers[1].accept().await;
        introduce(&mut well, &json!({"tools": {}})).await;
        let introduction = rig.client.json().await;
        assert!(began.elapsed() < Duration::from_millis(1500));
        // It may turn out to do everything.
        assert!(introduction["result"]["capabilities"]["prompts"].is_object());
        rig.client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        list(&mut well, &json!({"tools": {}}), &["allow"]).await;
        assert_eq!(rig.tools().await, ["well__allow"]);
        rig.client.send(&call("1", "well__allow", "{}")).await;
        let asked = well.json().await;
        answer(&mut well, &asked, &json!({})).await;
        assert_eq!(rig.client.json().await["id"], 1);
        rig.client.send(&call("2", "hung__x", "{}")).await;
        let why = rig.client.json().await["result"]["content"][0]["text"].to_string();
        assert!(why.contains("still starting"), "{why}");
    });
}

#[test]
fn a_server_that_dies_comes_back() {
    with(&["a", "b"], patience(), async |rig| {
        let tools = json!({"tools": {}});
        let servers = [
            (tools.clone(), &["allow"][..]),
            (tools.clone(), &["allow"][..]),
        ];
        let mut peers = rig.start(&servers).await;
        rig.client.send(&call("1", "a__allow", "{}")).await;
        peers[0].json().await;
        peers[0]
            .send(r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#)
            .await;
        let question = rig.client.json().await["id"].clone();
        // It breaks for good, in the middle of a call.
        rig.servers[0].broken.set(true);
        drop(peers.remove(0));
        let mut heard = Vec::new();
        for _ in 0..3 {
            heard.push(rig.client.json().await);
        }
        let failed = heard
            .iter()
            .find(|line| line["id"] == 1)
            .expect("an answer");
        assert!(failed["error"]["message"].to_string().contains("has ended"));
        assert!(
            heard
                .iter()
                .any(|line| line["method"] == "notifications/tools/list_changed")
        );
        assert!(
            heard
                .iter()
                .any(|line| line["params"]["requestId"] == question)
        );
        assert_eq!(rig.tools().await, ["b__allow"]);
        rig.client.send(&call("2", "a__allow", "{}")).await;
        let why = rig.client.json().await["result"]["content"][0]["text"].to_string();
        assert!(why.contains("does not run"), "{why}");
        // The other goes on.
        rig.client.send(&call("3", "b__allow", "{}")).await;
        let asked = peers[0].json().await;
        answer(&mut peers[0], &asked, &json!({})).await;
        assert_eq!(rig.client.json().await["id"], 3);
        // It can be started again.
        rig.servers[0].broken.set(false);
        let mut back = rig.servers[0].accept().await;
        introduce(&mut back, &tools).await;
        list(&mut back, &tools, &["allow", "new"]).await;
        assert_eq!(rig.client.line().await.unwrap(), CHANGED);
        assert_eq!(rig.tools().await, ["a__allow", "a__new", "b__allow"]);
    });
}

#[test]
fn a_server_that_answers_garbage_is_started_again() {
    with(&["a"], patience(), async |rig| {
        rig.hello().await;
        for version in ["1999-01-01", "2025-11-25"] {
            let mut peer = rig.servers[0].accept().await;
            let hello = peer.json().await;
            let result = json!({"protocolVersion": version, "capabilities": {}});
            answer(&mut peer, &hello, &result).await;
            if version == "1999-01-01" {
                // Its input is closed.
                assert_eq!(peer.line().await, None);
            }
        }
        assert_eq!(rig.client.json().await["id"], "hello");
    });
}

#[test]
fn changed_tools_are_shown_once_they_are_known() {
    with(&["x", "x__y"], patience(), async |rig| {
        let tools = json!({"tools": {"listChanged": true}});
        let servers = [(tools.clone(), &["a"][..]), (tools.clone(), &["allow"][..])];
        let mut peers = rig.start(&servers).await;
        peers[0].send(CHANGED).await;
        for _ in 0..2 {
            let asked = peers[0].json().await;
            assert_eq!(asked["method"], "tools/list");
            let tools =
                json!([{"name": "a", "inputSchema": {}}, {"name": "y__allow", "inputSchema": {}}]);
            answer(&mut peers[0], &asked, &json!({"tools": tools})).await;
        }
        assert_eq!(rig.client.line().await.unwrap(), CHANGED);
        // Two tools would have the name `x__y__allow`: neither has it now.
        assert_eq!(rig.tools().await, ["x__a"]);
        rig.client.send(&call("1", "x__y__allow", "{}")).await;
        assert_eq!(rig.client.json().await["result"]["isError"], true);
        peers[0].silence().await;
        peers[1].silence().await;
    });
}

#[test]
fn the_end_of_the_client_ends_all() {
    with(&["a", "b"], patience(), async |rig| {
        let _hung = rig.servers[0].accept().await;
        rig.hello().await;
        let mut peer = rig.servers[1].accept().await;
        introduce(&mut peer, &json!({})).await;
        rig.client.json().await;
        rig.client.close().await;
        assert_eq!(peer.line().await, None);
        let code = timeout(Duration::from_secs(5), &mut rig.gateway).await;
        assert_eq!(code.unwrap().unwrap(), 0);
    });
}

#[test]
fn a_signal_ends_all() {
    with(&["a"], patience(), async |rig| {
        let mut peers = rig.start(&[(json!({"tools": {}}), &["allow"][..])]).await;
        rig.client.send(&call("1", "a__allow", "{}")).await;
        peers[0].json().await;
        rig.stop.take().unwrap().send(143).unwrap();
        let failed = rig.client.json().await;
        assert_eq!(failed["id"], 1);
        assert!(failed["error"].is_object(), "{failed}");
        let code = timeout(Duration::from_secs(5), &mut rig.gateway).await;
        assert_eq!(code.unwrap().unwrap(), 143);
    });
}
