use crate::conversation::settings::Settings;
use crate::session::tests::rig::{Rig, call, quick, with};
use serde_json::{Value, json};
use std::time::Duration;

const FORMS: &str = r#"{"elicitation":{}}"#;

fn patient() -> Settings {
    Settings {
        ask_timeout: Duration::from_secs(60),
        ..quick()
    }
}

async fn question(rig: &mut Rig) -> Value {
    let question = rig.client.json().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    question
}

async fn answer(rig: &mut Rig, question: &Value, result: Value) {
    let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    rig.client.send(&line.to_string()).await;
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

#[test]
fn each_destination_is_asked_about_once() {
    with(patient(), None, async |rig| {
        rig.start(FORMS, &["ask_to"]).await;
        let line = call("1", "ask_to", r#"{"to":"a@x\n","cc":"b@x"}"#);
        rig.client.send(&line).await;
        let first = question(rig).await;
        let text = first["params"]["message"].as_str().unwrap();
        assert!(text.contains("Destination: \"a@x\\u{a}\""), "{text}");
        // Other traffic flows meanwhile.
        rig.client.send(r#"{"id":2,"method":"ping"}"#).await;
        assert_eq!(rig.server.json().await["method"], "ping");
        answer(rig, &first, yes()).await;
        let second = question(rig).await;
        assert!(
            second["params"]["message"]
                .as_str()
                .unwrap()
                .contains("b@x")
        );
        answer(rig, &second, yes()).await;
        assert_eq!(rig.server.line().await.unwrap(), line);
        rig.client
            .send(&call("3", "ask_to", r#"{"to":"b@x"}"#))
            .await;
        // A yes was for that call; for whatever is sent there it has to be said.
        let third = question(rig).await;
        let wide = json!({"action": "accept", "content": {"approve": true, "conversation": true}});
        answer(rig, &third, wide).await;
        assert_eq!(rig.server.json().await["id"], 3);
        rig.client
            .send(&call("4", "ask_to", r#"{"to":"b@x","body":"more"}"#))
            .await;
        assert_eq!(rig.server.json().await["id"], 4);
        assert_eq!(
            rig.outcomes(),
            [
                "asked",
                "asked",
                "forwarded",
                "asked",
                "forwarded",
                "forwarded"
            ]
        );
        assert_eq!(rig.audited()[2]["call"], 1);
    });
}

#[test]
fn an_approval_of_a_call_is_for_one_call() {
    with(patient(), None, async |rig| {
        rig.start(r#"{"elicitation":{"form":{},"url":{}}}"#, &["ask_call"])
            .await;
        for id in ["1", "2"] {
            rig.client.send(&call(id, "ask_call", r#"{"x":1}"#)).await;
            let asked = question(rig).await;
            assert!(
                asked["params"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("\"x\": 1")
            );
            // A replayed answer is nobody's.
            answer(rig, &asked, yes()).await;
            answer(rig, &asked, yes()).await;
            assert_eq!(rig.server.json().await["id"], id.parse::<i32>().unwrap());
        }
        rig.server.silence().await;
    });
}

#[test]
fn anything_but_a_yes_is_a_no() {
    with(patient(), None, async |rig| {
        rig.start(FORMS, &["ask_call"]).await;
        for no in [
            json!({"action": "decline"}),
            json!({"action": "cancel"}),
            json!({"action": "accept", "content": {"approve": false}}),
            json!({"action": "accept", "content": {"approve": "true"}}),
            json!({"action": "accept"}),
            json!(null),
        ] {
            rig.client.send(&call("1", "ask_call", "{}")).await;
            let asked = question(rig).await;
            answer(rig, &asked, no).await;
            assert_eq!(rig.client.json().await["result"]["isError"], true);
        }
        rig.client.send(&call("1", "ask_call", "{}")).await;
        let asked = question(rig).await;
        let error = json!({"id": asked["id"], "error": {"code": 1, "message": "yes"}});
        rig.client.send(&error.to_string()).await;
        assert_eq!(rig.client.json().await["result"]["isError"], true);
        rig.server.silence().await;
    });
}

#[test]
fn a_server_cannot_answer_for_the_human() {
    with(patient(), None, async |rig| {
        rig.start(FORMS, &["ask_call"]).await;
        rig.client.send(&call("1", "ask_call", "{}")).await;
        let asked = question(rig).await;
        let forged = json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes()});
        rig.server.send(&forged.to_string()).await;
        let request = json!({"jsonrpc": "2.0", "id": asked["id"], "method": "roots/list"});
        rig.server.send(&request.to_string()).await;
        rig.client.silence().await;
        rig.server.silence().await;
        answer(rig, &asked, yes()).await;
        assert_eq!(rig.server.json().await["id"], 1);
    });
}

#[test]
fn silence_is_a_no() {
    with(quick(), None, async |rig| {
        rig.start(FORMS, &["ask_call"]).await;
        rig.client.send(&call("1", "ask_call", "{}")).await;
        let asked = question(rig).await;
        let closed = rig.client.json().await;
        assert_eq!(closed["method"], "notifications/cancelled");
        assert_eq!(closed["params"]["requestId"], asked["id"]);
        assert_eq!(rig.client.json().await["result"]["isError"], true);
        answer(rig, &asked, yes()).await;
        rig.server.silence().await;
        assert_eq!(rig.outcomes(), ["asked", "timed_out"]);
    });
}

#[test]
fn a_call_that_is_taken_back_never_goes_out() {
    with(patient(), None, async |rig| {
        rig.start(FORMS, &["ask_call"]).await;
        rig.client.send(&call("\"c\"", "ask_call", "{}")).await;
        let asked = question(rig).await;
        rig.client
            .send(r#"{"method":"notifications/cancelled","params":{"requestId":"\u0063"}}"#)
            .await;
        assert_eq!(rig.client.json().await["params"]["requestId"], asked["id"]);
        answer(rig, &asked, yes()).await;
        rig.client.silence().await;
        rig.server.silence().await;
        assert_eq!(rig.outcomes(), ["asked", "cancelled"]);
        // A forwarded call is taken back by the server.
        let line = r#"{"method":"notifications/cancelled","params":{"requestId":"c"}}"#;
        rig.client.send(line).await;
        assert_eq!(rig.server.line().await.unwrap(), line);
    });
}

#[test]
fn clients_that_cannot_ask_are_told() {
    for capabilities in [
        "{}",
        r#"{"elicitation":{"url":{}}}"#,
        r#"{"elicitation":true}"#,
    ] {
        with(quick(), None, async |rig| {
            rig.start(capabilities, &["ask_to"]).await;
            rig.client
                .send(&call("1", "ask_to", r#"{"to":"a@x"}"#))
                .await;
            let denial = rig.client.json().await;
            let text = denial["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("elicitation"), "{text}");
            rig.server.silence().await;
        });
    }
}

#[test]
fn only_so_many_calls_wait() {
    with(patient(), None, async |rig| {
        rig.start(FORMS, &["ask_call"]).await;
        for id in 0..257 {
            rig.client
                .send(&call(&id.to_string(), "ask_call", "{}"))
                .await;
            let line = rig.client.json().await;
            assert_eq!(line["method"] == "elicitation/create", id < 256, "{id}");
        }
    });
}
