//! What goes to which server, and what comes back under which id.

use crate::gateway::tests::rig::{answer, call, introduce, list, patience, with};
use serde_json::{Value, json};

fn tools_only() -> Value {
    json!({"tools": {}})
}

#[test]
fn all_tools_have_their_servers_name() {
    with(&["a", "b"], patience(), async |rig| {
        rig.hello().await;
        let mut peers = Vec::new();
        for server in &mut rig.servers {
            let mut peer = server.accept().await;
            introduce(&mut peer, &json!({"tools": {}, "logging": {}})).await;
            peers.push(peer);
        }
        let introduction = rig.client.json().await;
        assert_eq!(introduction["id"], "hello");
        let result = &introduction["result"];
        assert_eq!(result["protocolVersion"], "2025-06-18");
        assert_eq!(
            result["capabilities"],
            json!({"tools": {"listChanged": true}, "logging": {}})
        );
        assert_eq!(
            result["instructions"],
            "Server \"a\":\nbe kind\n\nServer \"b\":\nbe kind"
        );
        rig.client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        list(&mut peers[0], &tools_only(), &["allow", "x"]).await;
        list(&mut peers[1], &tools_only(), &["allow"]).await;
        assert_eq!(rig.tools().await, ["a__allow", "a__x", "b__allow"]);
        // Said once only.
        rig.hello().await;
        assert_eq!(rig.client.json().await["error"]["code"], -32600);
    });
}

#[test]
fn a_call_keeps_its_bytes_and_its_id() {
    with(&["a", "b"], patience(), async |rig| {
        let servers = [
            (tools_only(), &["allow"][..]),
            (tools_only(), &["allow"][..]),
        ];
        let mut peers = rig.start(&servers).await;
        let line = |id: &str, name: &str| {
            format!(
                r#"{{"id": {id},"jsonrpc":"2.0", "method":"tools/call","params":{{"_meta":{{"progressToken":7,"k":1}}, "arguments":{{ "n":1.50e2, "name":"a__allow" }},"name":"{name}"}}}}"#
            )
        };
        rig.client
            .send(&line(r#""\u0061""#, r"a_\u005fallow"))
            .await;
        rig.client.send(&line("1.0", "b__allow")).await;
        let mut numbers = Vec::new();
        for peer in &mut peers {
            let text = peer.line().await.unwrap();
            let start = text.strip_prefix(r#"{"id": "#).unwrap();
            let number = start.split(',').next().unwrap().to_owned();
            assert_eq!(
                text,
                line(&number, "allow").replace(r#"n":7"#, &format!(r#"n":{number}"#))
            );
            numbers.push(number);
        }
        assert_ne!(numbers[0], numbers[1]);
        // Neither may answer, nor report progress, for the other.
        let (mut a, mut b) = (peers.remove(0), peers.remove(0));
        let progress = |token: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
            )
        };
        b.send(&progress(&numbers[0])).await;
        b.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#,
            numbers[0]
        ))
        .await;
        rig.client.silence().await;
        a.send(&progress(&numbers[0])).await;
        assert_eq!(rig.client.line().await.unwrap(), progress("7"));
        b.send(&format!(
            r#"{{"jsonrpc":"2.0", "id":{} ,"result":{{"b":1.0}}}}"#,
            numbers[1]
        ))
        .await;
        assert_eq!(
            rig.client.line().await.unwrap(),
            r#"{"jsonrpc":"2.0", "id":1.0 ,"result":{"b":1.0}}"#
        );
        a.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#,
            numbers[0]
        ))
        .await;
        assert_eq!(
            rig.client.line().await.unwrap(),
            r#"{"jsonrpc":"2.0","id":"\u0061","result":{}}"#
        );
        // Late progress is nobody's.
        a.send(&progress(&numbers[0])).await;
        rig.client.silence().await;
        let audited = rig.audited();
        assert_eq!(audited.len(), 2);
        assert_eq!(
            (&audited[0]["server"], &audited[0]["tool"]),
            (&json!("a"), &json!("allow"))
        );
        assert_eq!(
            (&audited[1]["server"], &audited[1]["call"]),
            (&json!("b"), &json!(2))
        );
        assert_eq!(
            rig.told
                .borrow()
                .iter()
                .filter(|what| what.starts_with("record "))
                .count(),
            2
        );
    });
}

#[test]
fn denials_and_unknown_tools_are_answered_and_logged() {
    with(&["a", "b"], patience(), async |rig| {
        let servers = [(tools_only(), &["deny"][..]), (tools_only(), &[][..])];
        let mut peers = rig.start(&servers).await;
        for (id, tool) in [
            ("1", "a__deny"),
            ("2", "a__nothing"),
            ("3", "deny"),
            ("4", "b__deny"),
        ] {
            rig.client.send(&call(id, tool, "{}")).await;
            let denial = rig.client.json().await;
            assert_eq!(denial["id"].to_string(), id);
            assert_eq!(denial["result"]["isError"], true, "{denial}");
        }
        let task = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a__deny","arguments":{},"task":{}}}"#;
        rig.client.send(task).await;
        assert_eq!(rig.client.json().await["error"]["code"], -32001);
        for line in ["{", r#"[{"jsonrpc":"2.0","id":6,"method":"ping"}]"#] {
            rig.client.send(line).await;
            rig.client.line().await.unwrap();
        }
        let audited = rig.audited();
        let tools: Vec<&Value> = audited.iter().map(|line| &line["tool"]).collect();
        assert_eq!(
            tools,
            ["deny", "a__nothing", "deny", "b__deny", "a__deny", "", ""]
                .map(|tool| if tool.is_empty() {
                    Value::Null
                } else {
                    json!(tool)
                })
                .iter()
                .collect::<Vec<_>>()
        );
        assert_eq!(audited[1]["server"], Value::Null);
        assert_eq!(audited[1]["contract"], "pinning");
        peers[0].silence().await;
        peers[1].silence().await;
    });
}

#[test]
fn requests_of_servers_do_not_mix() {
    with(&["a", "b"], patience(), async |rig| {
        let servers = [(tools_only(), &[][..]), (tools_only(), &[][..])];
        let mut peers = rig.start(&servers).await;
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":"t"},"x":1}}"#;
        let mut numbers = Vec::new();
        for peer in &mut peers {
            peer.send(request).await;
            let asked = rig.client.json().await;
            assert_eq!(asked["params"]["_meta"]["progressToken"], asked["id"]);
            numbers.push(asked["id"].clone());
        }
        assert_ne!(numbers[0], numbers[1]);
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": numbers[1], "progress": 1}});
        rig.client.send(&progress.to_string()).await;
        assert_eq!(peers[1].json().await["params"]["progressToken"], "t");
        for at in [1, 0] {
            let answer = json!({"jsonrpc": "2.0", "id": numbers[at], "result": {"at": at}});
            rig.client.send(&answer.to_string()).await;
            // Once only.
            rig.client.send(&answer.to_string()).await;
            let heard = peers[at].json().await;
            assert_eq!(
                (&heard["id"], &heard["result"]["at"]),
                (&json!(1), &json!(at))
            );
        }
        peers[0].silence().await;
        // One that is taken back.
        peers[0].send(request).await;
        let asked = rig.client.json().await;
        peers[0]
            .send(
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            )
            .await;
        assert_eq!(rig.client.json().await["params"]["requestId"], asked["id"]);
    });
}

#[test]
fn cancellations_reach_the_server_that_works() {
    with(&["a", "b"], patience(), async |rig| {
        let servers = [(tools_only(), &[][..]), (tools_only(), &["allow"][..])];
        let mut peers = rig.start(&servers).await;
        rig.client.send(&call("\"x\"", "b__allow", "{}")).await;
        let number = peers[1].json().await["id"].clone();
        for id in ["\"x\"", "\"y\""] {
            let cancel = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            );
            rig.client.send(&cancel).await;
        }
        assert_eq!(peers[1].json().await["params"]["requestId"], number);
        peers[0].silence().await;
        peers[1].silence().await;
    });
}

#[test]
fn resources_and_prompts_find_their_servers() {
    with(&["a", "b"], patience(), async |rig| {
        let all = json!({"resources": {}, "prompts": {}, "completions": {}, "logging": {}});
        let mut peers = rig
            .start(&[(json!({}), &[][..]), (json!({}), &[][..])])
            .await;
        // Offered by nobody.
        rig.client
            .send(r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#)
            .await;
        assert_eq!(rig.client.json().await["result"], json!({"resources": []}));
        peers.clear();
        for server in &mut rig.servers {
            let mut peer = server.accept().await;
            introduce(&mut peer, &all).await;
            list(&mut peer, &all, &[]).await;
            // The client has seen a list without this server's resources.
            let notice = rig.client.json().await;
            assert_eq!(notice["method"], "notifications/resources/list_changed");
            peers.push(peer);
        }
        // The level goes to both, and the answer does not wait for them.
        rig.client
            .send(
                r#"{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}"#,
            )
            .await;
        assert_eq!(rig.client.json().await["result"], json!({}));
        for peer in &mut peers {
            assert_eq!(peer.json().await["params"]["level"], "info");
        }
        // Not listed yet: the gateway looks for it.
        rig.client
            .send(r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"b://1"}}"#)
            .await;
        for (server, peer) in peers.iter_mut().enumerate() {
            let asked = peer.json().await;
            assert_eq!(asked["method"], "resources/list");
            let uri = ["a://1", "b://1"][server];
            answer(
                peer,
                &asked,
                &json!({"resources": [{"uri": uri}, {"uri": "both://1"}]}),
            )
            .await;
        }
        for peer in &mut peers {
            let asked = peer.json().await;
            assert_eq!(asked["method"], "resources/templates/list");
            answer(peer, &asked, &json!({"resourceTemplates": []})).await;
        }
        let read = peers[1].json().await;
        assert_eq!(read["params"]["uri"], "b://1");
        answer(&mut peers[1], &read, &json!({"contents": []})).await;
        assert_eq!(rig.client.json().await["id"], 3);
        rig.client
            .send(
                r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"both://1"}}"#,
            )
            .await;
        let why = rig.client.json().await["error"]["message"].to_string();
        assert!(why.contains("listed by the servers"), "{why}");
        // Prompts.
        rig.client
            .send(r#"{"jsonrpc":"2.0","id":5,"method":"prompts/list"}"#)
            .await;
        for peer in &mut peers {
            let asked = peer.json().await;
            answer(peer, &asked, &json!({"prompts": [{"name": "p", "x": 1}]})).await;
        }
        assert_eq!(
            rig.client.json().await["result"]["prompts"],
            json!([{"name": "a__p", "x": 1}, {"name": "b__p", "x": 1}])
        );
        rig.client
            .send(r#"{"jsonrpc":"2.0","id":6,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a__p"},"argument":{"name":"n","value":"v"}}}"#)
            .await;
        let asked = peers[0].json().await;
        assert_eq!(asked["params"]["ref"]["name"], "p");
        assert_eq!(asked["params"]["argument"]["name"], "n");
        rig.client
            .send(r#"{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{}}"#)
            .await;
        assert_eq!(rig.client.json().await["error"]["code"], -32601);
        peers[1].silence().await;
    });
}
