//! Answers that ask for something first.

use crate::conversation::related::Related;
use crate::upstream::adapter::tests::*;

fn elicit(words: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"message": words,
        "requestedSchema": {"type": "object", "properties": {}}}})
}

#[test]
fn what_a_server_asks_for_goes_back_with_the_same_request() {
    run(async || {
        let (mut client, mut server) = newer().await;
        let line = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{ "b":1.0,"c":"\u0041" }}}"#;
        client.send_line(line).await;
        let first = server.line().await.unwrap();
        let request: Value = serde_json::from_str(&first).unwrap();
        let id = &request["id"];
        server
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"one":{},"two":{{"method":"sampling/createMessage","params":{{"maxTokens":1}}}}}},"requestState":"s\u0041"}}}}"#, elicit("name?")))
            .await;
        let (one, two) = (client.json().await, client.json().await);
        assert_eq!(one["method"], "elicitation/create");
        assert_eq!(two["params"], json!({"maxTokens": 1}));
        let related = client.questions.borrow()[one["id"].as_str().unwrap()].clone();
        assert_eq!(
            related,
            Related {
                request: Key::Whole(7),
                name: "one".to_owned(),
                of: 2
            }
        );
        client
            .send(&json!({"jsonrpc": "2.0", "id": two["id"], "result": {"role": "assistant"}}))
            .await;
        server.silence().await;
        client.send_line(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"n":1.0}}}}}}"#, one["id"])).await;
        let again = server.line().await.unwrap();
        let arguments = r#""arguments":{ "b":1.0,"c":"\u0041" }"#;
        assert!(
            first.contains(arguments) && again.contains(arguments),
            "{again}"
        );
        assert!(again.contains(r#""requestState":"s\u0041""#), "{again}");
        assert!(again.contains(r#""content":{"n":1.0}"#), "{again}");
        let request: Value = serde_json::from_str(&again).unwrap();
        assert_ne!(&request["id"], id);
        assert_eq!(
            request["params"]["inputResponses"]["two"],
            json!({"role": "assistant"})
        );
        assert!(client.questions.borrow().is_empty());
        // The next round has its own, and nothing of the first.
        let asked =
            json!({"resultType": "input_required", "inputRequests": {"three": elicit("colour?")}});
        reply(&mut server, &request, "result", &asked).await;
        let three = client.json().await;
        client
            .send(&json!({"jsonrpc": "2.0", "id": three["id"], "result": {"action": "decline"}}))
            .await;
        let request = server.json().await;
        assert_eq!(
            request["params"]["inputResponses"],
            json!({"three": {"action": "decline"}})
        );
        assert_eq!(request["params"].get("requestState"), None);
        // A state alone is given back at once.
        reply(
            &mut server,
            &request,
            "result",
            &json!({"resultType": "input_required", "requestState": "later"}),
        )
        .await;
        let request = server.json().await;
        assert_eq!(request["params"]["requestState"], "later");
        assert_eq!(request["params"].get("inputResponses"), None);
        reply(&mut server, &request, "result", &json!({"content": []})).await;
        let answer = client.json().await;
        assert_eq!(
            (&answer["id"], &answer["result"]),
            (&json!(7), &json!({"content": []}))
        );
    });
}

#[test]
fn nobody_else_answers_and_nothing_is_answered_twice() {
    run(async || {
        let (mut client, mut server) = newer().await;
        client.send(&call(1)).await;
        let request = server.json().await;
        let asked = json!({"resultType": "input_required", "inputRequests": {"a": elicit("a"), "b": elicit("b")}});
        reply(&mut server, &request, "result", &asked).await;
        let (a, b) = (client.json().await, client.json().await);
        let yes = |id: &Value| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}});
        client.send(&yes(&json!("made up"))).await;
        client.send(&yes(&a["id"])).await;
        client.send(&yes(&a["id"])).await;
        // The answer to a request that was made again already.
        reply(&mut server, &request, "result", &json!({"content": []})).await;
        server.silence().await;
        client.silence().await;
        // A client that cannot say ends it all.
        client.send(&json!({"jsonrpc": "2.0", "id": b["id"], "error": {"code": -32601, "message": "no"}})).await;
        let answer = client.json().await;
        assert_eq!(answer["id"], 1);
        assert!(answer["error"].is_object());
        server.silence().await;
        // Taken back while the client is asked.
        client.send(&call(2)).await;
        let request = server.json().await;
        reply(&mut server, &request, "result", &asked).await;
        let (a, _) = (client.json().await, client.json().await);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})).await;
        for _ in 0..2 {
            assert_eq!(client.json().await["method"], "notifications/cancelled");
        }
        client.send(&yes(&a["id"])).await;
        server.silence().await;
        // And one that says nothing.
        client.send(&call(3)).await;
        let request = server.json().await;
        reply(&mut server, &request, "result", &asked).await;
        let (_, _) = (client.json().await, client.json().await);
        for _ in 0..2 {
            assert_eq!(client.json().await["method"], "notifications/cancelled");
        }
        assert!(
            client.json().await["error"]["message"]
                .as_str()
                .unwrap()
                .contains("in time")
        );
        assert!(client.questions.borrow().is_empty());
    });
}

#[test]
fn what_a_server_must_not_ask_is_an_error() {
    run(async || {
        let (mut client, mut server) = newer().await;
        let asks =
            |requests: Value| json!({"resultType": "input_required", "inputRequests": requests});
        let many: serde_json::Map<String, Value> =
            (0..33).map(|n| (format!("q{n}"), elicit("?"))).collect();
        let results = [
            json!({"resultType": "input_required"}),
            json!({"resultType": "input_required", "requestState": 1}),
            json!({"resultType": "input_required", "requestState": null}),
            asks(json!([])),
            asks(json!({"a": 1})),
            asks(json!({"a": {"method": "roots/list"}})),
            asks(json!({"a": {"method": "tools/call", "params": {"name": "other"}}})),
            asks(
                json!({"a": {"method": "elicitation/create", "params": {"mode": "url", "url": "https://a"}}}),
            ),
            asks(json!({"a": {"method": "elicitation/create", "params": {"mode": "new"}}})),
            asks(json!({"a": {"method": "sampling/createMessage", "params": []}})),
            asks(json!({"x".repeat(300): elicit("?")})),
            asks(many.into()),
            json!({"resultType": "task", "taskId": "1"}),
            json!({"resultType": "Complete"}),
            json!({"resultType": null}),
            json!({"resultType": ["input_required"]}),
            json!([1]),
            json!(null),
        ];
        for result in &results {
            client.send(&call(1)).await;
            let request = server.json().await;
            reply(&mut server, &request, "result", result).await;
            let answer = client.json().await;
            assert_eq!(answer["id"], 1, "{result}");
            assert_eq!(answer["error"]["code"], -32603, "{result}: {answer}");
            server.silence().await;
        }
        // Only some requests may be answered so.
        client
            .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
            .await;
        let request = server.json().await;
        reply(
            &mut server,
            &request,
            "result",
            &asks(json!({"a": elicit("?")})),
        )
        .await;
        assert!(client.json().await["error"].is_object());
        // Both, neither, and what cannot be read.
        for line in [
            r#"{"jsonrpc":"2.0","id":ID,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":ID}"#,
            r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","resultType":"input_required"}}"#,
            r#"{"jsonrpc":"2.0","id":ID,"result":{"#,
        ] {
            client.send(&call(1)).await;
            let request = server.json().await;
            server
                .send(&line.replace("ID", &request["id"].to_string()))
                .await;
            let answer = client.json().await;
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&json!(1), &json!(-32603)),
                "{line}"
            );
        }
        // Servers have no requests of their own.
        server
            .send(r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}"#)
            .await;
        server
            .send(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#)
            .await;
        client.silence().await;
        // An answer past the limit is an error for the one that waits.
        client.send(&call(1)).await;
        server.json().await;
        server.send(&"x".repeat(300 * 1024)).await;
        assert!(
            client.json().await["error"]["message"]
                .as_str()
                .unwrap()
                .contains("limit")
        );
    });
}

#[test]
fn a_server_that_never_has_enough_is_stopped() {
    run(async || {
        let (mut client, mut server) = newer().await;
        client.send(&call(1)).await;
        let mut rounds = 0;
        let answer = loop {
            let request = server.json().await;
            rounds += 1;
            assert!(rounds < 100);
            let asked = json!({"resultType": "input_required", "requestState": format!("{rounds}"),
                "inputRequests": {"a": elicit("more?")}});
            reply(&mut server, &request, "result", &asked).await;
            let said = client.json().await;
            if said["method"] != "elicitation/create" {
                break said;
            }
            client
                .send(&json!({"jsonrpc": "2.0", "id": said["id"], "result": {"action": "accept"}}))
                .await;
        };
        assert_eq!(answer["id"], 1);
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("more than 16 times"),
            "{answer}"
        );
        server.silence().await;
    });
}

#[test]
fn who_asks_nothing_and_does_not_answer_is_not_asked_for_ever() {
    run(async || {
        let (mut client, mut server) = newer().await;
        client.send(&call(7)).await;
        let mut requests = 0;
        let answer = loop {
            tokio::select! {
                request = server.json() => {
                    requests += 1;
                    let later = json!({"resultType": "input_required", "requestState": "later"});
                    reply(&mut server, &request, "result", &later).await;
                }
                answer = client.output.next_line() => break answer.unwrap().unwrap(),
            }
        };
        assert_eq!(requests, 8);
        assert!(answer.contains("without asking for anything"), "{answer}");
    });
}

#[test]
fn a_task_is_for_who_said_so_with_the_request() {
    run(async || {
        let (mut client, mut server) = newer().await;
        let able = |more: Value| {
            let mut capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
            capabilities
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            json!({format!("{META}clientCapabilities"): capabilities})
        };
        let task = json!({"resultType": "task", "taskId": "1", "status": "working"});
        let ask = |method: &str, meta: Value| {
            json!({"jsonrpc": "2.0", "id": 1, "method": method,
                "params": {"name": "t", "taskId": "1", "_meta": meta}})
        };
        for (method, meta, passes) in [
            ("tools/call", able(json!({})), true),
            ("tools/call", json!({}), false),
            // What other requests come to is never a task.
            ("prompts/get", able(json!({})), false),
            ("tasks/get", able(json!({})), false),
        ] {
            client.send(&ask(method, meta)).await;
            let request = server.json().await;
            reply(&mut server, &request, "result", &task).await;
            let answer = client.json().await;
            assert_eq!(answer["result"] == task, passes, "{method}: {answer}");
            assert_eq!(answer["error"]["code"] == -32603, !passes);
        }
        // What a task asks for is held against what its client can do.
        let asks = json!({"resultType": "complete", "taskId": "1", "status": "input_required",
            "inputRequests": {"a": elicit("?")}});
        let mut forgetful = asks.clone();
        forgetful.as_object_mut().unwrap().remove("resultType");
        for (asks, more, passes) in [
            (&asks, json!({"elicitation": {}}), true),
            (&asks, json!({}), false),
            (&forgetful, json!({}), false),
        ] {
            client.send(&ask("tasks/get", able(more))).await;
            let request = server.json().await;
            reply(&mut server, &request, "result", asks).await;
            let answer = client.json().await;
            assert_eq!(answer["result"] == *asks, passes, "{answer}");
        }
        // Nobody listens to tasks.
        server
            .send(r#"{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"1"}}"#)
            .await;
        client.silence().await;
    });
}

#[test]
fn a_client_with_an_introduction_has_no_tasks_of_this_version() {
    run(async || {
        let (mut client, mut server, _) = begin(Order::OlderFirst);
        client.send(&hello()).await;
        let hello = server.json().await;
        let refused =
            json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}});
        reply(&mut server, &hello, "error", &refused).await;
        let discover = server.json().await;
        let mut found = discovered();
        found["capabilities"]["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
        reply(&mut server, &discover, "result", &found).await;
        let introduced = client.json().await;
        let extensions = &introduced["result"]["capabilities"]["extensions"];
        assert_eq!(*extensions, json!({}), "{introduced}");
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let meta = json!({format!("{META}clientCapabilities"): capabilities});
        client
            .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "t", "_meta": meta}}))
            .await;
        let request = server.json().await;
        let said = &request["params"]["_meta"][format!("{META}clientCapabilities")];
        assert_eq!(said["extensions"], json!({}), "{request}");
        let task = json!({"resultType": "task", "taskId": "1", "status": "working"});
        reply(&mut server, &request, "result", &task).await;
        assert_eq!(client.json().await["error"]["code"], -32603);
    });
}
