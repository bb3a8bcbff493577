//! Which version a server turns out to speak.

use crate::upstream::adapter::tests::*;
use crate::upstream::connection::{Endpoint, Reach};
use crate::upstream::process::ServerCommand;

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
            let mut never = crate::wire::stop::Stop::new(std::future::pending::<()>());
            let ended = link.far.end(SOON, &mut never).await;
            assert!(ended.status.is_some_and(|status| status.success()));
        }
    });
}

/// A server may say a lot before it hears what was said meanwhile.
#[test]
fn neither_waits_for_the_other() {
    run(async || {
        let (mut client, mut server, _) = begin(Order::OlderFirst);
        client.send(&hello()).await;
        for _ in 0..40 {
            client.send_line(&"c".repeat(3000)).await;
        }
        server.json().await;
        let answer = json!({"id": "h", "result": {}}).to_string();
        let says = async {
            server.send(&answer).await;
            for _ in 0..100 {
                server.send(&"s".repeat(3000)).await;
            }
            for _ in 0..40 {
                assert_eq!(server.line().await.unwrap().len(), 3000);
            }
        };
        let hears = async {
            assert_eq!(client.line().await.unwrap(), answer);
            for _ in 0..100 {
                assert_eq!(client.line().await.unwrap().len(), 3000);
            }
        };
        tokio::join!(says, hears);
    });
}
