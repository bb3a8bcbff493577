use crate::session::tests::rig::{call, quick, with};

#[test]
fn what_is_not_understood_passes_byte_for_byte() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["allow"]).await;
        for line in [
            r#"{ "jsonrpc" : "2.0","method":"x/y", "params":{"b":1.0,"a":1e400,"_meta":{"\u0061":12345678901234567890123}}, "more":[] ,"id":"\u0061"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}"#,
            "{\"jsonrpc\":\"2.0\",\"id\":1.50,\"method\":\"resources/read\",\"params\":{\"uri\":\"\u{2028}\"}}",
            "  {\"id\":-0,\"method\":\"prompts/got\"}\t\r",
        ] {
            rig.client.send(line).await;
            assert_eq!(
                rig.server.line().await.unwrap(),
                line.trim_end_matches('\r')
            );
        }
        for line in [
            r#"{"id":"a","jsonrpc":"2.0","result":{"z":1.0,"a":[ ]}, "x":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"hé"}}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"error":{"code":-1,"message":"no"}}"#,
        ] {
            rig.server.send(line).await;
            assert_eq!(rig.client.line().await.unwrap(), line);
        }
        assert_eq!(
            *rig.told.borrow(),
            [
                r#"untrusted x/y {"a":[],"z":1.0}"#,
                r#"untrusted notifications/message {"data":"hé"}"#,
                r#"untrusted resources/read {"code":-1,"message":"no"}"#,
            ]
        );
    });
}

#[test]
fn an_introduction_is_recorded_before_the_client_reads_it() {
    with(quick(), None, async |rig| {
        rig.client
            .send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#)
            .await;
        rig.server.line().await.unwrap();
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"instructions":"hear, hear"}}"#;
        rig.server.send(answer).await;
        assert_eq!(rig.client.line().await.unwrap(), answer);
        let told = [r#"introduction {"instructions":"hear, hear"}"#];
        assert_eq!(*rig.told.borrow(), told);
    });
}

#[test]
fn requests_of_the_server_are_answered_by_the_client_only_once() {
    with(quick(), None, async |rig| {
        rig.start("{}", &[]).await;
        let answer = r#"{"jsonrpc":"2.0","id":"q","result":{}}"#;
        rig.client.send(answer).await;
        rig.server.silence().await;
        let ask = r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":["m"]}}"#;
        rig.server.send(ask).await;
        assert_eq!(rig.client.line().await.unwrap(), ask);
        rig.server.send(ask).await;
        rig.client.silence().await;
        rig.client.send(answer).await;
        assert_eq!(rig.server.line().await.unwrap(), answer);
        rig.client.send(answer).await;
        rig.server.silence().await;
        assert_eq!(
            *rig.told.borrow(),
            [r#"untrusted sampling/createMessage {"messages":["m"]}"#]
        );
    });
}

#[test]
fn a_batch_of_the_server_is_taken_apart() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["allow"]).await;
        rig.client.send(&call("1", "allow", "{}")).await;
        rig.server.line().await;
        rig.server
            .send(r#"[ {"jsonrpc":"2.0","method":"n"} ,{"jsonrpc":"2.0","id":1,"result":{"content":[]}}]"#)
            .await;
        assert_eq!(
            rig.client.line().await.unwrap(),
            r#"{"jsonrpc":"2.0","method":"n"}"#
        );
        assert_eq!(rig.client.json().await["id"], 1);
        rig.until(r#"record allow {"content":[]}"#).await;
    });
}

#[test]
fn a_task_is_recorded_under_its_tool() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["allow", "deny"]).await;
        let line = r#"{"id":1,"method":"tools/call","params":{"name":"allow","task":{"ttl":1}}}"#;
        rig.client.send(line).await;
        assert_eq!(rig.server.line().await.unwrap(), line);
        rig.server
            .send(r#"{"id":1,"result":{"task":{"taskId":"t"}}}"#)
            .await;
        rig.client.line().await;
        rig.client
            .send(r#"{"id":2,"method":"tasks/result","params":{"taskId":"t"}}"#)
            .await;
        rig.server.line().await;
        rig.server
            .send(r#"{"id":2,"result":{"content":["x"]}}"#)
            .await;
        rig.client.line().await;
        rig.until(r#"record allow {"content":["x"]}"#).await;
        rig.client
            .send(r#"{"id":3,"method":"tools/call","params":{"name":"deny","task":{}}}"#)
            .await;
        let denial = rig.client.json().await;
        assert!(
            denial["error"]["message"]
                .as_str()
                .unwrap()
                .starts_with("[bouncer blocked] ")
        );
    });
}
