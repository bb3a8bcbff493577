//! Servers of both kinds, and some that are neither, behind an interpreter.

use super::super::link::{Endpoint, Reach};
use super::super::process::ServerCommand;
use super::super::tests::rig::Peer;
use super::*;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, split};
use tokio::task::LocalSet;
use tokio::time::timeout;

const META: &str = "io.modelcontextprotocol/";
const SOON: Duration = Duration::from_secs(5);

/// The client's side.
struct Client {
    input: Output,
    output: tokio::io::Lines<BufReader<Input>>,
    questions: Questions,
}

impl Client {
    async fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string()).await;
    }

    async fn send_line(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
        self.input.flush().await.unwrap();
    }

    async fn line(&mut self) -> Option<String> {
        let next = timeout(SOON, self.output.next_line());
        next.await.expect("nothing came").unwrap()
    }

    async fn json(&mut self) -> Value {
        serde_json::from_str(&self.line().await.expect("it ended")).unwrap()
    }

    async fn silence(&mut self) {
        let next = timeout(Duration::from_millis(60), self.output.next_line());
        if let Ok(line) = next.await {
            panic!("unexpected: {line:?}");
        }
    }
}

fn pace() -> Pace {
    Pace {
        discover: Duration::from_millis(100),
        answers: Duration::from_millis(700),
        first_pause: Duration::from_millis(10),
    }
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": "h", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"elicitation": {}, "sampling": {}, "tasks": {}},
        "clientInfo": {"name": "c", "version": "1"}}})
}

fn run(test: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test());
}

fn begin(order: Order) -> (Client, Peer, Rc<Cell<bool>>) {
    let (near, far) = duplex(1 << 16);
    let (output, input) = split(near);
    let older = Rc::new(Cell::new(false));
    let manner = Manner {
        order,
        pace: pace(),
        max_message: 256 * 1024,
        older: Rc::clone(&older),
    };
    let ends = Ends {
        input: Box::pin(input),
        output: Box::pin(output),
        again: None,
    };
    let (input, output, questions) = interpret(ends, manner);
    let client = Client {
        input,
        output: BufReader::new(output).lines(),
        questions,
    };
    (client, Peer::new(far), older)
}

async fn reply(server: &mut Peer, request: &Value, member: &str, value: &Value) {
    let line = json!({"jsonrpc": "2.0", "id": request["id"], member: value});
    server.send(&line.to_string()).await;
}

fn discovered() -> Value {
    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "instructions": "be kind",
        "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "tasks": {},
            "resources": {"subscribe": true}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n", "version": "2"}}})
}

/// A connection to a server of the newer version, introduced.
async fn newer() -> (Client, Peer) {
    let (mut client, mut server, _) = begin(Order::NewerFirst);
    client.send(&hello()).await;
    let discover = server.json().await;
    reply(&mut server, &discover, "result", &discovered()).await;
    client.json().await;
    (client, server)
}

fn call(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "t", "arguments": {"a": 1}}})
}

#[test]
fn a_server_of_an_older_version_is_handed_over() {
    run(async || {
        let (mut client, mut server, older) = begin(Order::OlderFirst);
        let hello = hello().to_string();
        client.send_line(&hello).await;
        client.send_line("early").await;
        assert_eq!(server.line().await.unwrap(), hello);
        server.send(r#"{"method":"notifications/message"}"#).await;
        server.send(r#"{"id":"h", "result":{}}"#).await;
        server.send("more").await;
        assert_eq!(
            client.line().await.unwrap(),
            r#"{"method":"notifications/message"}"#
        );
        assert_eq!(client.line().await.unwrap(), r#"{"id":"h", "result":{}}"#);
        assert_eq!(client.line().await.unwrap(), "more");
        assert_eq!(server.line().await.unwrap(), "early");
        assert!(older.get());
        // Nothing is read any more, however long.
        let long = "x".repeat(1 << 20);
        let (sent, came) = tokio::join!(client.send_line(&long), server.line());
        assert_eq!((sent, came), ((), Some(long)));
        client.input.shutdown().await.unwrap();
        assert_eq!(server.line().await, None);
        server.send("last words").await;
        assert_eq!(client.line().await.unwrap(), "last words");
        server.close().await;
        assert_eq!(client.line().await, None);
    });
}

#[test]
fn a_client_that_does_not_introduce_itself_gets_the_server_itself() {
    run(async || {
        for order in [Order::OlderFirst, Order::NewerFirst] {
            let (mut client, mut server, _) = begin(order);
            server.send("before").await;
            client.send_line("anything").await;
            client.send_line("else").await;
            assert_eq!(server.line().await.unwrap(), "anything");
            assert_eq!(server.line().await.unwrap(), "else");
            assert_eq!(client.line().await.unwrap(), "before");
            drop(client);
            assert_eq!(server.line().await, None);
        }
    });
}

#[test]
fn a_server_that_refuses_the_introduction_may_be_newer() {
    run(async || {
        let (mut client, mut server, older) = begin(Order::OlderFirst);
        client.send(&hello()).await;
        let asked = server.json().await;
        reply(
            &mut server,
            &asked,
            "error",
            &json!({"code": -32601, "message": "no"}),
        )
        .await;
        let discover = server.json().await;
        assert_eq!(discover["method"], "server/discover");
        let meta = &discover["params"]["_meta"];
        assert_eq!(meta[format!("{META}protocolVersion")], "2026-07-28");
        assert_eq!(
            meta[format!("{META}clientCapabilities")],
            json!({"elicitation": {}, "sampling": {}})
        );
        reply(&mut server, &discover, "result", &discovered()).await;
        let answer = client.json().await;
        assert_eq!(answer["id"], "h");
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], "2025-06-18");
        assert_eq!(result["serverInfo"]["name"], "n");
        assert_eq!(result["instructions"], "be kind");
        assert_eq!(result["capabilities"].get("tasks"), None);
        assert!(!older.get());
        // One that is neither keeps its own refusal.
        let (mut client, mut server, older) = begin(Order::OlderFirst);
        client.send(&hello()).await;
        for _ in 0..2 {
            let asked = server.json().await;
            reply(
                &mut server,
                &asked,
                "error",
                &json!({"code": -1, "message": asked["method"]}),
            )
            .await;
        }
        let answer = client.json().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["message"]),
            (&json!("h"), &json!("initialize"))
        );
        assert!(!older.get());
    });
}

#[test]
fn who_is_asked_first_and_says_no_or_nothing_is_introduced_to() {
    run(async || {
        for answer in [
            Some(json!({"id": 0, "error": {"code": -32601, "message": "no"}})),
            Some(json!({"id": 0, "error": {"code": -32602, "message": "no"}})),
            Some(json!({"id": 0, "error": "garbage"})),
            Some(json!({"id": 0, "result": {"content": []}})),
            Some(json!({"id": 0, "result": {"supportedVersions": "2026-07-28"}})),
            Some(json!({"id": 0, "result": {"supportedVersions": ["2025-11-25"]}})),
            Some(json!({"id": 0, "error": {"code": -32022, "message": "no",
                "data": {"supported": ["2025-06-18"]}}})),
            None,
        ] {
            let (mut client, mut server, older) = begin(Order::NewerFirst);
            client.send(&hello()).await;
            let discover = server.json().await;
            assert_eq!(discover["method"], "server/discover");
            server.send("garbage").await;
            if let Some(mut answer) = answer {
                answer["id"] = discover["id"].clone();
                server.send(&answer.to_string()).await;
            }
            assert_eq!(server.line().await.unwrap(), hello().to_string());
            assert!(older.get());
            assert_eq!(client.line().await.unwrap(), "garbage");
            server.send("answer").await;
            assert_eq!(client.line().await.unwrap(), "answer");
        }
    });
}

#[test]
fn versions_that_nobody_knows_are_refused() {
    run(async || {
        for answer in [
            json!({"result": {"supportedVersions": ["2027-01-01"]}}),
            json!({"result": {"supportedVersions": []}}),
            json!({"error": {"code": -32022, "message": "no", "data": {"supported": ["2027-01-01"]}}}),
            // It refuses what it says it speaks.
            json!({"error": {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}}),
            json!({"error": {"code": -32022, "message": "no"}}),
            json!({"error": {"code": -32020, "message": "headers"}}),
        ] {
            let (mut client, mut server, older) = begin(Order::NewerFirst);
            client.send(&hello()).await;
            let discover = server.json().await;
            let mut answer = answer;
            answer["id"] = discover["id"].clone();
            server.send(&answer.to_string()).await;
            let refused = client.json().await;
            assert_eq!(refused["id"], "h");
            assert!(refused["error"]["message"].is_string(), "{refused}");
            assert!(!older.get());
            server.silence().await;
        }
    });
}

#[test]
fn a_server_that_does_not_survive_the_question_is_started_again() {
    run(async || {
        let script = r#"while read -r line; do case "$line" in *server/discover*) exit 3;; *) echo "$line";; esac; done"#;
        let command = ServerCommand {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            ..ServerCommand::default()
        };
        let mut reach = Reach::new(Endpoint::Command(command), 1 << 16);
        reach.order = Order::NewerFirst;
        for _ in 0..2 {
            let link = reach.connect().unwrap();
            let mut client = Client {
                input: link.input,
                output: BufReader::new(link.output).lines(),
                questions: link.questions,
            };
            client.send(&hello()).await;
            assert_eq!(client.line().await.unwrap(), hello().to_string());
            // Nobody holds on to what it hears.
            client.input = Box::pin(tokio::io::sink());
            assert_eq!(client.line().await, None);
            let mut never = super::super::stop::Stop::new(std::future::pending::<()>());
            let ended = link.far.end(SOON, &mut never).await;
            assert!(ended.status.is_some_and(|status| status.success()));
        }
    });
}

#[test]
fn every_request_says_who_speaks() {
    run(async || {
        let (mut client, mut server) = newer().await;
        let line = r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"t","arguments":{ "b":1.0 },"_meta":{"progressToken":4}}}"#;
        client.send_line(line).await;
        let sent = server.line().await.unwrap();
        assert!(sent.contains(r#""arguments":{ "b":1.0 }"#), "{sent}");
        let request: Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(request["params"]["_meta"]["progressToken"], 4);
        assert_eq!(
            request["params"]["_meta"][format!("{META}clientInfo")]["name"],
            "c"
        );
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4,"progress":1}}"#).await;
        assert_eq!(client.json().await["params"]["progressToken"], 4);
        reply(
            &mut server,
            &request,
            "result",
            &json!({"resultType": "complete", "content": []}),
        )
        .await;
        let answer = client.json().await;
        assert_eq!(
            (&answer["id"], &answer["result"]["content"]),
            (&json!("x"), &json!([]))
        );
        // What the newer version does not have any more is answered here.
        client
            .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
            .await;
        assert_eq!(client.json().await["result"], json!({}));
        client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "info"}})).await;
        assert_eq!(client.json().await["result"], json!({}));
        client
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}))
            .await;
        client.send(&hello()).await;
        assert!(client.json().await["error"].is_object());
        client.send(&call(3)).await;
        let request = server.json().await;
        assert_eq!(
            request["params"]["_meta"][format!("{META}logLevel")],
            "info"
        );
        reply(
            &mut server,
            &request,
            "error",
            &json!({"code": 1, "message": "m"}),
        )
        .await;
        assert_eq!(client.json().await["error"]["code"], 1);
        // A request that is taken back.
        client.send(&call(4)).await;
        let request = server.json().await;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}})).await;
        let cancelled = server.json().await;
        assert_eq!(cancelled["params"]["requestId"], request["id"]);
        reply(&mut server, &request, "result", &json!({})).await;
        client.silence().await;
    });
}

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
fn changes_are_listened_for() {
    run(async || {
        let (mut client, mut server) = newer().await;
        client
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        let listen = server.json().await;
        assert_eq!(listen["method"], "subscriptions/listen");
        assert_eq!(
            listen["params"]["notifications"],
            json!({"toolsListChanged": true})
        );
        let tagged = |listen: &Value, method: &str, more: Value| {
            let mut params = more;
            // Some servers give a text back for a number.
            params["_meta"] =
                json!({"io.modelcontextprotocol/subscriptionId": listen["id"].to_string()});
            json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
        };
        let acknowledged = "notifications/subscriptions/acknowledged";
        server
            .send(&tagged(&listen, acknowledged, json!({"notifications": {}})))
            .await;
        client.silence().await;
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        server
            .send(&tagged(
                &listen,
                "notifications/tools/list_changed",
                json!({"x": 1}),
            ))
            .await;
        assert_eq!(client.json().await, changed);
        // What ends is opened again, and something may have been missed.
        reply(
            &mut server,
            &listen,
            "result",
            &json!({"resultType": "complete"}),
        )
        .await;
        let listen = server.json().await;
        assert_eq!(listen["method"], "subscriptions/listen");
        client.silence().await;
        server.send(&tagged(&listen, acknowledged, json!({}))).await;
        assert_eq!(client.json().await, changed);
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": listen["id"]}}).to_string()).await;
        let listen = server.json().await;
        // Who says that there is no such thing is not asked again.
        reply(
            &mut server,
            &listen,
            "error",
            &json!({"code": -32601, "message": "no"}),
        )
        .await;
        server.silence().await;
        // Resources.
        let about = |id: u32, what: &str, uri: &str| {
            json!({"jsonrpc": "2.0", "id": id,
            "method": format!("resources/{what}"), "params": {"uri": uri}})
        };
        client.send(&about(1, "subscribe", "a://1")).await;
        assert_eq!(client.json().await["result"], json!({}));
        let first = server.json().await;
        assert_eq!(
            first["params"]["notifications"],
            json!({"resourceSubscriptions": ["a://1"]})
        );
        client.send(&about(2, "subscribe", "a://2")).await;
        client.json().await;
        let second = server.json().await;
        assert_eq!(
            second["params"]["notifications"]["resourceSubscriptions"],
            json!(["a://1", "a://2"])
        );
        server.send(&tagged(&second, acknowledged, json!({}))).await;
        assert_eq!(server.json().await["params"]["requestId"], first["id"]);
        let updated = "notifications/resources/updated";
        server
            .send(&tagged(&second, updated, json!({"uri": "a://3"})))
            .await;
        server
            .send(&tagged(&second, updated, json!({"uri": "a://2", "x": "y"})))
            .await;
        assert_eq!(client.json().await["params"], json!({"uri": "a://2"}));
        // The client leaves.
        client.input.shutdown().await.unwrap();
        assert_eq!(server.json().await["params"]["requestId"], second["id"]);
        assert_eq!(server.line().await, None);
    });
}
