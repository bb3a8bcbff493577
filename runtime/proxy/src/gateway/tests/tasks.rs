use crate::gateway::tests::rig::{Peer, Rig, answer, timeouts, with};
use serde_json::{Value, json};

const RELATED: &str = "io.modelcontextprotocol/related-task";

fn able() -> Value {
    json!({"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}})
}

/// Two servers that take calls as tasks, and a client that speaks the version with tasks.
fn with_tasks(test: impl AsyncFnOnce(&mut Rig, Vec<Peer>)) {
    with(&["a", "b"], timeouts(), async |rig| {
        rig.version = "2025-11-25";
        let tools = &["allow", "deny", "allow_other"][..];
        let peers = rig.start(&[(able(), tools), (able(), tools)]).await;
        test(rig, peers).await;
    });
}

async fn send(peer: &mut Peer, method: &str, id: Value, params: Value) {
    let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    peer.send(&line.to_string()).await;
}

/// Calls a tool as a task; the server gives it that id. The client's id for it.
async fn start(rig: &mut Rig, server: &mut Peer, tool: &str, own: &str) -> String {
    begin(rig, server, tool, own).await.0
}

/// The same, with the number of the call.
async fn begin(rig: &mut Rig, server: &mut Peer, tool: &str, own: &str) -> (String, Value) {
    let params = json!({"name": tool, "arguments": {"x": 1}, "task": {"ttl": 60000}, "_meta": {"progressToken": "p"}});
    send(&mut rig.client, "tools/call", json!(1), params).await;
    let call = server.json().await;
    assert_eq!(call["params"]["task"], json!({"ttl": 60000}));
    assert_eq!(call["params"]["_meta"]["progressToken"], call["id"]);
    let task = json!({"taskId": own, "status": "working", "ttl": 60000, "statusMessage": "soon"});
    answer(server, &call, &json!({"task": task})).await;
    let made = rig.client.json().await;
    assert_eq!(made["id"], 1);
    assert_eq!(made["result"]["task"]["statusMessage"], "soon");
    let shown = made["result"]["task"]["taskId"].as_str().unwrap();
    assert!(
        shown.starts_with(tool.split("__").next().unwrap()),
        "{shown}"
    );
    (shown.to_owned(), call["id"].clone())
}

async fn error(rig: &mut Rig, method: &str, params: Value) -> String {
    send(&mut rig.client, method, json!("e"), params).await;
    let answer = rig.client.json().await;
    assert_eq!(answer["id"], "e", "{answer}");
    answer["error"]["message"]
        .as_str()
        .expect("an error")
        .to_owned()
}

#[test]
fn equal_ids_of_two_servers_are_kept_apart() {
    with_tasks(async |rig, mut peers| {
        let capabilities = &rig.introduction["result"]["capabilities"]["tasks"];
        let offered = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        assert_eq!(*capabilities, offered);
        let one = start(rig, &mut peers[0], "a__allow", "1").await;
        let two = start(rig, &mut peers[1], "b__allow", "1").await;
        assert_ne!(one, two);
        for (at, shown) in [(1, &two), (0, &one)] {
            let task = json!({"taskId": shown});
            send(&mut rig.client, "tasks/get", json!("g"), task.clone()).await;
            let asked = peers[at].json().await;
            assert_eq!(asked["params"], json!({"taskId": "1"}));
            let state = json!({"taskId": "1", "status": "completed"});
            answer(&mut peers[at], &asked, &state).await;
            let told = rig.client.json().await;
            assert_eq!(
                told["result"],
                json!({"taskId": shown, "status": "completed"})
            );

            send(&mut rig.client, "tasks/result", json!("r"), task.clone()).await;
            let asked = peers[at].json().await;
            assert_eq!(asked["params"], json!({"taskId": "1"}));
            let result = json!({"content": [at], "_meta": {"z": 1, RELATED: {"taskId": "1"}}});
            answer(&mut peers[at], &asked, &result).await;
            // Recorded as what the call returned, before the client has it.
            let told = rig.client.json().await;
            let recorded = format!("record allow {result}");
            assert!(rig.told.borrow().contains(&recorded), "{:?}", rig.told);
            let meta = json!({"z": 1, RELATED: {"taskId": shown}});
            assert_eq!(told["result"], json!({"content": [at], "_meta": meta}));

            send(&mut rig.client, "tasks/cancel", json!("c"), task).await;
            let asked = peers[at].json().await;
            assert_eq!(asked["method"], "tasks/cancel");
            let refusal = json!({"jsonrpc": "2.0", "id": asked["id"],
                "error": {"code": -32602, "message": "it is over"}});
            peers[at].send(&refusal.to_string()).await;
            assert_eq!(rig.client.json().await["error"]["message"], "it is over");
        }
        send(&mut rig.client, "tasks/list", json!("l"), json!({})).await;
        let list = rig.client.json().await["result"]["tasks"].clone();
        let state = |shown| json!({"taskId": shown, "status": "completed", "ttl": 60000});
        assert_eq!(list, json!([state(&one), state(&two)]));
        let audited = rig.audited();
        assert_eq!(audited.len(), 2);
        assert_eq!(audited[1]["tool"], "allow");
        peers[0].silence().await;
        peers[1].silence().await;
    });
}

#[test]
fn only_tasks_of_the_conversation_are_asked_about() {
    with_tasks(async |rig, mut peers| {
        let one = start(rig, &mut peers[0], "a__allow", "1").await;
        for id in [
            json!("1"),
            json!("a__1"),
            json!("b__1"),
            json!(""),
            json!(1),
        ] {
            for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
                let why = error(rig, method, json!({"taskId": id})).await;
                assert!(why.contains("task"), "{why}");
            }
        }
        let why = error(rig, "tasks/update", json!({"taskId": one})).await;
        assert!(why.contains("does not go through"), "{why}");
        error(rig, "tasks/list", json!({"cursor": "x"})).await;
        // Nor is anything else said with regard to one.
        for (tool, id) in [
            ("a__allow", "1"),
            ("a__allow", "x"),
            ("b__allow", one.as_str()),
        ] {
            let about = json!({"name": tool, "arguments": {}, "_meta": {RELATED: {"taskId": id}}});
            send(&mut rig.client, "tools/call", json!(2), about).await;
            let blocked = rig.client.json().await;
            assert_eq!(blocked["result"]["isError"], true, "{blocked}");
        }
        peers[0].silence().await;
        peers[1].silence().await;
        let about =
            json!({"name": "a__allow", "arguments": {}, "_meta": {RELATED: {"taskId": one}}});
        send(&mut rig.client, "tools/call", json!(2), about).await;
        let call = peers[0].json().await;
        assert_eq!(call["params"]["_meta"][RELATED], json!({"taskId": "1"}));
        // An answer about another task is none.
        send(
            &mut rig.client,
            "tasks/get",
            json!("g"),
            json!({"taskId": one}),
        )
        .await;
        let asked = peers[0].json().await;
        answer(
            &mut peers[0],
            &asked,
            &json!({"taskId": "2", "status": "x"}),
        )
        .await;
        let told = rig.client.json().await;
        assert_eq!(told["error"]["code"], -32603, "{told}");
    });
}

#[test]
fn calls_that_want_a_task_are_judged_and_need_one_who_takes_them() {
    with(&["a", "b"], timeouts(), async |rig| {
        rig.version = "2025-11-25";
        let plain = json!({"tools": {}});
        let tools = &["allow", "deny"][..];
        let mut peers = rig.start(&[(able(), tools), (plain, tools)]).await;
        let call = |tool: &str| json!({"name": tool, "arguments": {}, "task": {}});
        for (tool, expected) in [
            ("a__deny", "by script"),
            ("b__allow", "does not take calls as tasks"),
            ("a__nothing", "no such tool"),
        ] {
            let why = error(rig, "tools/call", call(tool)).await;
            assert!(why.contains(expected), "{why}");
        }
        assert_eq!(rig.audited().len(), 3);
        peers[0].silence().await;
        peers[1].silence().await;
        // One that is answered at once is answered.
        send(&mut rig.client, "tools/call", json!(1), call("a__allow")).await;
        let asked = peers[0].json().await;
        answer(&mut peers[0], &asked, &json!({"content": []})).await;
        assert_eq!(rig.client.json().await["result"], json!({"content": []}));
        // A task that cannot be told from others is no answer.
        for task in [
            json!(1),
            json!({}),
            json!({"taskId": 5}),
            json!({"taskId": ""}),
        ] {
            send(&mut rig.client, "tools/call", json!(1), call("a__allow")).await;
            let asked = peers[0].json().await;
            answer(&mut peers[0], &asked, &json!({"task": task})).await;
            let told = rig.client.json().await;
            assert_eq!(told["error"]["code"], -32603, "{told}");
        }
    });
}

#[test]
fn earlier_versions_have_no_tasks() {
    with(&["a"], timeouts(), async |rig| {
        let mut peers = rig.start(&[(able(), &["allow"][..])]).await;
        let capabilities = &rig.introduction["result"]["capabilities"];
        assert_eq!(capabilities.get("tasks"), None);
        let call = json!({"name": "a__allow", "arguments": {}, "task": {}});
        for (method, params) in [("tools/call", call), ("tasks/list", json!({}))] {
            let why = error(rig, method, params).await;
            assert!(why.contains("2025-11-25"), "{why}");
        }
        peers[0].silence().await;
    });
}

#[test]
fn what_is_said_of_a_task_has_the_clients_id() {
    with_tasks(async |rig, mut peers| {
        let (one, number) = begin(rig, &mut peers[0], "a__allow", "1").await;
        let notify = |method: &str, params: Value| {
            json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
        };
        let about = |id: &str| json!({RELATED: {"taskId": id}});
        let status = |id: &str| json!({"taskId": id, "status": "input_required"});
        // Of this server, and of another that has no such task.
        let said = notify("notifications/tasks/status", status("1"));
        peers[1].send(&said).await;
        peers[0].send(&said).await;
        assert_eq!(rig.client.json().await["params"], status(&one));
        let untrusted = format!("untrusted notifications/tasks/status {}", status("1"));
        assert!(rig.told.borrow().contains(&untrusted));
        for (at, id) in [(0, "1"), (1, "1"), (1, one.as_str())] {
            let params = json!({"level": "info", "data": "d", "_meta": about(id)});
            peers[at]
                .send(&notify("notifications/message", params))
                .await;
            let heard = rig.client.json().await;
            let expected = if at == 0 { about(&one) } else { json!({}) };
            assert_eq!(heard["params"]["_meta"], expected);
        }
        // The call is answered, and its progress goes on.
        let number = &number;
        let params = json!({"progressToken": number, "progress": 1, "_meta": about("1")});
        peers[1]
            .send(&notify("notifications/progress", params.clone()))
            .await;
        peers[0]
            .send(&notify("notifications/progress", params))
            .await;
        let heard = rig.client.json().await;
        assert_eq!(heard["params"]["progressToken"], "p");
        assert_eq!(heard["params"]["_meta"], about(&one));
        // A question goes the way of all questions.
        let question = json!({"message": "m", "task": {"ttl": 1}, "_meta": about("1")});
        send(&mut peers[0], "elicitation/create", json!("q"), question).await;
        let asked = rig.client.json().await;
        assert_eq!(
            asked["params"],
            json!({"message": "m", "_meta": about(&one)})
        );
        let reply = json!({"jsonrpc": "2.0", "id": asked["id"],
            "result": {"action": "accept", "_meta": about(&one)}});
        rig.client.send(&reply.to_string()).await;
        let heard = peers[0].json().await;
        assert_eq!(heard["id"], "q");
        assert_eq!(heard["result"]["_meta"], about("1"));
        // Another server does not learn whose task it is.
        send(
            &mut peers[1],
            "elicitation/create",
            json!("q"),
            json!({"_meta": about("1")}),
        )
        .await;
        let asked = rig.client.json().await;
        assert_eq!(asked["params"]["_meta"], json!({}));
        let reply = json!({"jsonrpc": "2.0", "id": asked["id"],
            "result": {"action": "accept", "_meta": about(&one)}});
        rig.client.send(&reply.to_string()).await;
        assert_eq!(peers[1].json().await["result"]["_meta"], json!({}));
        // Servers have no tasks of the client.
        send(
            &mut peers[1],
            "tasks/result",
            json!("t"),
            json!({"taskId": "1"}),
        )
        .await;
        assert_eq!(peers[1].json().await["error"]["code"], -32601);
        rig.client.silence().await;
    });
}

#[test]
fn tasks_end_with_their_server() {
    with_tasks(async |rig, mut peers| {
        let one = start(rig, &mut peers[0], "a__allow", "1").await;
        let two = start(rig, &mut peers[1], "b__allow", "1").await;
        send(
            &mut rig.client,
            "tasks/result",
            json!("r"),
            json!({"taskId": one}),
        )
        .await;
        peers[0].json().await;
        drop(peers.remove(0));
        let mut heard = rig.client.json().await;
        while heard["id"] != "r" {
            heard = rig.client.json().await;
        }
        assert!(heard["error"].is_object(), "{heard}");
        let why = error(rig, "tasks/get", json!({"taskId": one})).await;
        assert!(why.contains("no task"), "{why}");
        send(
            &mut rig.client,
            "tasks/get",
            json!("g"),
            json!({"taskId": two}),
        )
        .await;
        assert_eq!(peers[0].json().await["params"]["taskId"], "1");
    });
}

#[test]
fn one_id_for_tasks_of_two_tools_is_refused() {
    with_tasks(async |rig, mut peers| {
        let one = start(rig, &mut peers[0], "a__allow", "1").await;
        let call = json!({"name": "a__allow_other", "arguments": {}, "task": {}});
        send(&mut rig.client, "tools/call", json!(1), call).await;
        let asked = peers[0].json().await;
        answer(&mut peers[0], &asked, &json!({"task": {"taskId": "1"}})).await;
        assert_eq!(rig.client.json().await["error"]["code"], -32603);
        error(rig, "tasks/result", json!({"taskId": one})).await;
        peers[0].silence().await;
    });
}
