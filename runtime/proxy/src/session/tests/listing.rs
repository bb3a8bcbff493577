use crate::conversation::settings::Settings;
use crate::session::tests::rig::{call, quick, with};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn all_pages_are_read_before_the_first_call_is_judged() {
    with(quick(), None, async |rig| {
        rig.client
            .send(r#"{"method":"notifications/initialized"}"#)
            .await;
        rig.server.line().await;
        rig.client.send(&call("1", "allow", "{}")).await;
        for (page, next) in [("a", json!("2")), ("allow", Value::Null)] {
            let list = rig.server.json().await;
            assert_eq!(list["method"], "tools/list");
            let tools = json!([{"name": page, "inputSchema": 5}, {"title": "nameless"}, 7]);
            let answer = json!({"id": list["id"], "result": {"tools": tools, "nextCursor": next}});
            rig.server.send(&answer.to_string()).await;
        }
        assert_eq!(rig.server.json().await["method"], "tools/call");
        assert_eq!(rig.told.borrow()[0], "pin a,allow");
    });
}

#[test]
fn a_cursor_that_does_not_advance_ends_it() {
    with(quick(), None, async |rig| {
        rig.client
            .send(r#"{"method":"notifications/initialized"}"#)
            .await;
        rig.server.line().await;
        for page in ["a", "b"] {
            let list = rig.server.json().await;
            let tools = json!([{"name": page}, {"name": "twice", "description": page}]);
            let answer = json!({"id": list["id"], "result": {"tools": tools, "nextCursor": "c"}});
            rig.server.send(&answer.to_string()).await;
        }
        rig.until("pin a,b").await;
        assert_eq!(rig.told.borrow()[0], "pin a,b");
    });
}

#[test]
fn a_server_that_does_not_list_has_no_known_tools() {
    with(quick(), None, async |rig| {
        rig.client.send(&call("1", "allow", "{}")).await;
        assert_eq!(rig.server.json().await["method"], "tools/list");
        let denial = rig.client.json().await;
        assert_eq!(
            denial["result"]["_meta"]["bouncer/verdict"]["contract"],
            "pinning"
        );
        rig.server.silence().await;
    });
    with(quick(), None, async |rig| {
        for id in ["1", "2"] {
            rig.client.send(&call(id, "allow", "{}")).await;
            let list = rig.server.json().await;
            let answer = json!({"id": list["id"], "error": {"code": -32601, "message": "no"}});
            rig.server.send(&answer.to_string()).await;
            assert_eq!(rig.client.json().await["result"]["isError"], true);
        }
        assert!(!rig.told.borrow().iter().any(|told| told.starts_with("pin")));
    });
}

#[test]
fn a_call_that_waits_for_the_listing_can_be_taken_back() {
    with(quick(), None, async |rig| {
        rig.client.send(&call("1", "allow", "{}")).await;
        let list = rig.server.json().await;
        rig.client
            .send(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#)
            .await;
        let answer = json!({"id": list["id"], "result": {"tools": [{"name": "allow"}]}});
        rig.server.send(&answer.to_string()).await;
        rig.until("pin allow").await;
        rig.server.silence().await;
        rig.client.silence().await;
    });
}

#[test]
fn changes_are_observed() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["a"]).await;
        rig.client.send(r#"{"id":5,"method":"tools/list"}"#).await;
        rig.server.line().await;
        rig.server
            .send(r#"{"id":5,"result":{"tools":[{"name":"b"}]}}"#)
            .await;
        assert_eq!(rig.client.json().await["id"], 5);
        assert_eq!(*rig.told.borrow(), ["observe b"]);
        let changed = r#"{"method":"notifications/tools/list_changed"}"#;
        rig.server.send(changed).await;
        assert_eq!(rig.client.line().await.unwrap(), changed);
        let list = rig.server.json().await;
        // Another change while the list is under way: it is read again.
        rig.server.send(changed).await;
        rig.client.line().await;
        let answer = json!({"id": list["id"], "result": {"tools": [{"name": "c"}]}});
        rig.server.send(&answer.to_string()).await;
        rig.until("observe c").await;
        assert_eq!(rig.server.json().await["method"], "tools/list");
    });
}

#[test]
fn a_call_waits_until_a_change_is_known() {
    let patient = Settings {
        listing_timeout: Duration::from_secs(5),
        ..quick()
    };
    with(patient, None, async |rig| {
        rig.start("{}", &["allow"]).await;
        let changed = r#"{"method":"notifications/tools/list_changed"}"#;
        rig.server.send(changed).await;
        rig.client.line().await;
        let list = rig.server.json().await;
        rig.client.send(&call("1", "allow", "{}")).await;
        rig.server.silence().await;
        let answer = json!({"id": list["id"], "result": {"tools": [{"name": "allow"}]}});
        rig.server.send(&answer.to_string()).await;
        assert_eq!(rig.server.json().await["method"], "tools/call");
        let told = rig.told.borrow();
        let observed = told.iter().position(|line| line == "observe allow");
        let judged = told.iter().position(|line| line.starts_with("judge allow"));
        assert!(observed.is_some() && observed < judged, "{told:?}");
    });
}

#[test]
fn what_the_client_saw_first_counts() {
    with(quick(), None, async |rig| {
        rig.client.send(r#"{"id":5,"method":"tools/list"}"#).await;
        rig.server.line().await;
        rig.server
            .send(r#"{"id":5,"result":{"tools":[{"name":"shown"}]}}"#)
            .await;
        rig.client.line().await;
        rig.client
            .send(r#"{"method":"notifications/initialized"}"#)
            .await;
        rig.server.line().await;
        let list = rig.server.json().await;
        let answer = json!({"id": list["id"], "result": {"tools": [{"name": "pinned"}]}});
        rig.server.send(&answer.to_string()).await;
        rig.until("observe").await;
        assert_eq!(*rig.told.borrow(), ["pin pinned", "observe shown"]);
    });
}

#[test]
fn clients_without_a_handshake_lend_their_meta() {
    with(quick(), None, async |rig| {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": 1});
        let line = json!({"id": 1, "method": "server/discover", "params": {"_meta": meta}});
        rig.client.send(&line.to_string()).await;
        rig.server.line().await;
        rig.client.send(&call("2", "allow", "{}")).await;
        let list = rig.server.json().await;
        let meta = &list["params"]["_meta"];
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        assert!(meta.get("progressToken").is_none());
    });
}

#[test]
fn so_do_those_that_begin_with_a_call() {
    with(quick(), None, async |rig| {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"sampling": {}}, "progressToken": 1});
        let line = json!({"id": 0, "method": "tools/call",
            "params": {"name": "allow", "arguments": {}, "_meta": meta}});
        rig.client.send(&line.to_string()).await;
        // A server of two versions would take a request without it for one of an older client.
        let list = rig.server.json().await;
        assert_eq!(list["method"], "tools/list");
        let mut lent = meta.clone();
        lent.as_object_mut().unwrap().remove("progressToken");
        assert_eq!(list["params"]["_meta"], lent);
    });
}
