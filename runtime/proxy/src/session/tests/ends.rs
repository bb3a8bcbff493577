use crate::conversation::settings::Settings;
use crate::session::relay::End;
use crate::session::tests::rig::{call, quick, with};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn when_the_server_ends_everybody_is_told() {
    with(quick(), None, async |rig| {
        rig.start(r#"{"elicitation":{}}"#, &["allow", "ask_call"])
            .await;
        rig.client.send(&call("1", "allow", "{}")).await;
        rig.client.send(r#"{"id":"p","method":"ping"}"#).await;
        rig.client.send(&call("2", "ask_call", "{}")).await;
        rig.client.json().await;
        rig.server.line().await;
        rig.server.line().await;
        rig.server.close().await;
        let mut answered = vec![];
        while let Some(line) = rig.client.line().await {
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            let failed = line["error"].is_object() || line["result"]["isError"] == true;
            assert!(failed, "{line}");
            answered.push(line["id"].to_string());
        }
        answered.sort();
        assert_eq!(answered, ["\"p\"", "1", "2"]);
        assert_eq!((&mut rig.proxy).await.unwrap(), End::Server);
    });
}

#[test]
fn when_the_client_ends_the_server_may_say_its_last() {
    with(quick(), None, async |rig| {
        rig.client.send(&call("1", "allow", "{}")).await;
        rig.client.close().await;
        let list = rig.server.json().await;
        let answer = json!({"id": list["id"], "result": {"tools": [{"name": "allow"}]}});
        rig.server.send(&answer.to_string()).await;
        assert_eq!(rig.server.json().await["method"], "tools/call");
        assert_eq!(rig.server.line().await, None);
        rig.server.send(r#"{"id":1,"result":{}}"#).await;
        assert_eq!(rig.client.json().await["id"], 1);
        rig.server.close().await;
        assert_eq!((&mut rig.proxy).await.unwrap(), End::Client);
    });
}

#[test]
fn a_server_that_does_not_end_is_left() {
    with(quick(), None, async |rig| {
        rig.start(r#"{"elicitation":{}}"#, &["ask_call"]).await;
        rig.client.send(&call("1", "ask_call", "{}")).await;
        rig.client.json().await;
        rig.client.close().await;
        assert_eq!(rig.server.line().await, None);
        assert_eq!(rig.client.json().await["result"]["isError"], true);
        assert_eq!((&mut rig.proxy).await.unwrap(), End::Client);
        assert_eq!(rig.outcomes(), ["asked", "nobody_to_ask"]);
    });
}

#[test]
fn being_told_to_stop_ends_it() {
    with(quick(), None, async |rig| {
        rig.start("{}", &[]).await;
        rig.stop.take().unwrap().send(()).unwrap();
        assert_eq!(rig.server.line().await, None);
        assert_eq!((&mut rig.proxy).await.unwrap(), End::Stopped(()));
    });
}

#[test]
fn being_told_to_stop_hurries_an_end_that_is_under_way() {
    let patient = Settings {
        grace: Duration::from_secs(8),
        ..quick()
    };
    with(patient, None, async |rig| {
        rig.start("{}", &[]).await;
        rig.client.close().await;
        assert_eq!(rig.server.line().await, None);
        let start = Instant::now();
        rig.stop.take().unwrap().send(()).unwrap();
        assert_eq!((&mut rig.proxy).await.unwrap(), End::Client);
        assert!(start.elapsed() < Duration::from_secs(4));
    });
}

#[test]
fn a_server_that_does_not_listen_does_not_stop_its_own_voice() {
    with(quick(), None, async |rig| {
        rig.start("{}", &[]).await;
        let line = format!(r#"{{"method":"n","params":"{}"}}"#, "x".repeat(200_000));
        let send = async {
            for _ in 0..40 {
                rig.client.send(&line).await;
            }
        };
        let blocked = tokio::time::timeout(Duration::from_millis(300), send).await;
        assert!(blocked.is_err());
        rig.server.send(r#"{"method":"still/here"}"#).await;
        assert_eq!(rig.client.json().await["method"], "still/here");
    });
}
