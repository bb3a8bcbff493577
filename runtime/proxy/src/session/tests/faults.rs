use crate::session::tests::rig::{call, quick, with};

#[test]
fn garbage_of_the_server_is_dropped() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["allow"]).await;
        rig.client.send(&call("1", "allow", "{}")).await;
        rig.server.line().await;
        let deep = "[".repeat(100_000);
        let garbage: Vec<&[u8]> = vec![
            b"Server listening",
            b"\xff\xfe\x00",
            b"{}",
            b"[]",
            b"",
            b"   ",
            b"null",
            b"{\"method\":5}",
            b"{\"method\":\"x\",\"id\":null}",
            b"{\"method\":\"x\",\"params\":{\"a\":\"\\ud800\"}}",
            br#"{"id":"unknown","result":{}}"#,
            br#"{"id":"unknown","result":{"a":1,"a":2}}"#,
            deep.as_bytes(),
        ];
        for line in garbage {
            rig.server.send_bytes(line).await;
        }
        let answer = r#"{"id":1,"result":{"content":[]}}"#;
        rig.server.send(answer).await;
        assert_eq!(rig.client.line().await.unwrap(), answer);
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what"}}"#;
        rig.server.send(error).await;
        assert_eq!(rig.client.line().await.unwrap(), error);
        rig.until("untrusted error").await;
    });
}

#[test]
fn an_answer_that_cannot_be_read_becomes_an_error() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["allow"]).await;
        let deep = format!(
            r#"{{"id":1,"result":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let long = format!(r#"{{"result":"{}","id":1}}"#, "x".repeat(300_000));
        let bad: Vec<&[u8]> = vec![
            br#"{"id":1,"result":{"a":1,"a":2}}"#,
            br#"{"id":1,"result":{"a":"\ud800"}}"#,
            b"{\"id\":1,\"result\":{\"a\":\"\xff\"}}",
            br#"{"result":{"content":[],"jsonrpc":"2.0","id":2},"id":1"#,
            br#"{"id":1,"result":1e999}"#,
            br#"{"id":1,"result":{},"error":{}}"#,
            br#"{"id":1,"result":{},"Result":{}}"#,
            br#"{"id":1}"#,
            b"{\"id\":1,\"result\":\r{}}",
            deep.as_bytes(),
            long.as_bytes(),
        ];
        for line in bad {
            rig.client.send(&call("1.0", "allow", "{}")).await;
            rig.server.line().await;
            rig.server.send_bytes(line).await;
            let answer = rig.client.line().await.unwrap();
            let shown = String::from_utf8_lossy(line.get(..60).unwrap_or(line));
            assert!(
                answer.starts_with(r#"{"jsonrpc":"2.0","id":1.0,"error""#),
                "{shown}: {answer}"
            );
        }
        assert!(
            !rig.told
                .borrow()
                .iter()
                .any(|told| told.starts_with("record"))
        );
    });
}

#[test]
fn large_messages_pass() {
    let mut settings = quick();
    settings.max_message = 16 << 20;
    with(settings, None, async |rig| {
        rig.start("{}", &["allow"]).await;
        let line = call(
            "1",
            "allow",
            &format!("{{\"a\":\"{}\"}}", "x".repeat(3 << 20)),
        );
        let ((), heard) = tokio::join!(rig.client.send(&line), rig.server.line());
        assert_eq!(heard.unwrap(), line);
        let line = format!(r#"{{"id":1,"result":"{}"}}"#, "y".repeat(10 << 20));
        let ((), heard) = tokio::join!(rig.server.send(&line), rig.client.line());
        assert_eq!(heard.unwrap(), line);
    });
}
