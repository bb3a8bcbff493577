use crate::session::tests::rig::{call, quick, with};
use std::path::Path;

#[test]
fn an_allowed_call_goes_out_as_it_came_and_its_result_is_recorded_first() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["allow", "a\\\"b"]).await;
        let line = r#"{ "params" : {"name":"al\u006cow","arguments":{"n":1.0,"b":"\u0041"},"_meta":{"progressToken":1}},"method":"tools\u002fcall","jsonrpc":"2.0","id":7 } "#;
        rig.client.send(line).await;
        assert_eq!(rig.server.line().await.unwrap(), line);
        let answer =
            r#"{"jsonrpc":"2.0","id":7.0,"result":{"content":[{"type":"text","text":"x"}]}}"#;
        rig.server.send(answer).await;
        assert_eq!(rig.client.line().await.unwrap(), answer);
        assert_eq!(
            *rig.told.borrow(),
            [
                "judge allow First allow",
                r#"record allow {"content":[{"text":"x","type":"text"}]}"#
            ]
        );
        let audited = rig.audited();
        assert_eq!(audited[0]["outcome"], "forwarded");
        assert_eq!(audited[0]["arguments"]["b"], "A");
        // An error is a result too.
        rig.client.send(&call("8", "allow", "{}")).await;
        rig.server.line().await;
        rig.server
            .send(r#"{"id":8,"error":{"code":1,"message":"m"}}"#)
            .await;
        rig.client.line().await;
        rig.until(r#"record allow {"code":1,"message":"m"}"#).await;
    });
}

#[test]
fn a_denied_call_never_goes_out() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["deny"]).await;
        rig.client.send(&call(r#""\u0061""#, "deny", "{}")).await;
        let line = rig.client.line().await.unwrap();
        assert!(
            line.starts_with(r#"{"jsonrpc":"2.0","id":"\u0061","result":"#),
            "{line}"
        );
        assert!(line.contains("[bouncer blocked] deny by script"));
        assert!(line.contains(r#""at":"p.yaml:1:2""#) && line.contains(r#""isError":true"#));
        rig.client.send(&call("2", "unheard_of", "{}")).await;
        let denial = rig.client.json().await;
        assert_eq!(
            denial["result"]["_meta"]["bouncer/verdict"]["contract"],
            "pinning"
        );
        rig.server.silence().await;
        assert_eq!(rig.outcomes(), ["blocked", "blocked"]);
        // The log says what the reply says.
        assert_eq!(rig.audited()[1]["verdict"], "deny");
        assert_eq!(
            denial["result"]["_meta"]["bouncer/verdict"]["verdict"],
            "deny"
        );
    });
}

#[test]
fn a_call_that_nobody_waits_for_is_judged_too() {
    with(quick(), None, async |rig| {
        rig.start(r#"{"elicitation":{}}"#, &["allow", "deny", "ask_call"])
            .await;
        for tool in ["deny", "ask_call"] {
            rig.client
                .send(&format!(
                    r#"{{"method":"tools/call","params":{{"name":"{tool}"}}}}"#
                ))
                .await;
        }
        rig.client.silence().await;
        rig.server.silence().await;
        let line = r#"{"method":"tools/call","params":{"name":"allow"}}"#;
        rig.client.send(line).await;
        assert_eq!(rig.server.line().await.unwrap(), line);
        assert_eq!(rig.outcomes(), ["blocked", "nobody_to_ask", "forwarded"]);
    });
}

#[test]
fn tricks_are_refused_and_logged() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["allow"]).await;
        let cases: &[(&[u8], &str)] = &[
            (br#"{"id":1,"method":"tools/call","params":{"name":"allow","arguments":{"a":1,"a":2}}}"#, "1"),
            (br#"{"id":1,"method":"ping","method":"tools/call","params":{"name":"allow"}}"#, "1"),
            (br#"{"id":1,"Method":"tools/call","params":{"name":"allow"}}"#, "1"),
            (br#"{"id":1,"method":"tools/call","params":{"name":"allow","Name":"x"}}"#, "1"),
            (br#"{"id":1,"method":"tools/call","params":{"name":["allow"]}}"#, "1"),
            (br#"{"id":1,"method":"tools/call","params":["allow"]}"#, "1"),
            (br#"{"id":1,"method":"tools/call"}"#, "1"),
            (br#"{"id":1,"method":"Tools/Call","params":{"name":"allow"}}"#, "1"),
            (br#"{"id":1,"method":"tools/call ","params":{"name":"allow"}}"#, "1"),
            (br#"{"id":1,"method":"tools/call\u0000","params":{"name":"allow"}}"#, "1"),
            (br#"{"id":1,"method":["tools/call"],"params":{"name":"allow"}}"#, "1"),
            (br#"{"id":1,"method":"tools/call","params":{"name":"allow"},"result":{}}"#, "1"),
            (br#"{"id":null,"method":"tools/call","params":{"name":"allow"}}"#, "null"),
            (br#"{"id":{},"method":"tools/call","params":{"name":"allow"}}"#, "null"),
            (br#"{"id":1,"id":2,"method":"tools/call","params":{"name":"allow"}}"#, "null"),
            (b"{\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\r{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"allow\"}}\r}}", "1"),
            (b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"allow\",\"arguments\":{\"a\":\"\xff\"}}}", "1"),
            (b"\xef\xbb\xbf{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"allow\"}}", "1"),
            (b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"allow\"}}\x00", "1"),
            (b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"allow\"}}{}", "1"),
            (br#"{"id":1,"method":"tools/call","params":{"name":"allow","arguments":{"a":"\ud800"}}}"#, "1"),
            (b"\"tools/call\"", "null"),
            (b"tools/call", "null"),
        ];
        for (line, id) in cases {
            rig.client.send_bytes(line).await;
            let answer = rig.client.line().await.unwrap();
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#);
            assert!(
                answer.starts_with(&start),
                "{} {answer}",
                String::from_utf8_lossy(line)
            );
        }
        let deep = call(
            "3",
            "allow",
            &format!("{}{}", "[".repeat(50_000), "]".repeat(50_000)),
        );
        rig.client.send(&deep).await;
        assert_eq!(rig.client.json().await["id"], 3);
        let long = call(
            "4",
            "allow",
            &format!("{{\"a\":\"{}\"}}", "x".repeat(300_000)),
        );
        rig.client.send(&long).await;
        assert!(
            rig.client.json().await["error"]["message"]
                .as_str()
                .unwrap()
                .contains("longer")
        );
        rig.server.silence().await;
        assert!(rig.told.borrow().is_empty());
        let audited = rig.audited();
        assert_eq!(audited.len(), cases.len() + 2);
        assert!(audited.iter().all(|line| line["contract"] == "malformed"));
    });
}

#[test]
fn batches_are_refused_one_by_one() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["allow"]).await;
        let batch = format!(
            r#" [{}, {{"method":"ping","id":"b"}}, {{"method":"n"}}, 3]"#,
            call("1", "allow", "{}")
        );
        rig.client.send(&batch).await;
        let answer = rig.client.json().await;
        assert_eq!(answer.as_array().unwrap().len(), 2);
        assert_eq!(
            (&answer[0]["id"], &answer[1]["id"]),
            (&1.into(), &"b".into())
        );
        for empty in [
            "[]",
            "[[",
            r#"[{"method":"tools/call","params":{"name":"allow"}}]"#,
        ] {
            rig.client.send(empty).await;
            assert!(rig.client.json().await["error"].is_object());
        }
        rig.server.silence().await;
    });
}

#[test]
fn an_open_id_is_not_opened_again() {
    with(quick(), None, async |rig| {
        rig.start("{}", &["allow"]).await;
        rig.client.send(&call("1", "allow", "{}")).await;
        rig.server.line().await;
        for line in [
            call("1.0", "allow", "{}"),
            r#"{"id":1,"method":"ping"}"#.to_owned(),
        ] {
            rig.client.send(&line).await;
            assert!(rig.client.json().await["error"].is_object());
        }
        rig.server.send(r#"{"id":1,"result":{}}"#).await;
        rig.client.line().await;
        rig.client.send(&call("1", "allow", "{}")).await;
        rig.server.line().await;
    });
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_log_nothing_goes_out() {
    with(quick(), Some(Path::new("/dev/full")), async |rig| {
        rig.start(r#"{"elicitation":{}}"#, &["allow", "ask_call", "deny"])
            .await;
        for tool in ["allow", "ask_call", "deny"] {
            rig.client.send(&call("1", tool, "{}")).await;
            assert_eq!(rig.client.json().await["result"]["isError"], true, "{tool}");
        }
        rig.server.silence().await;
    });
}
