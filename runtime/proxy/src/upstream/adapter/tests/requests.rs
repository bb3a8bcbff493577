//! Requests that are answered as they are.

use crate::upstream::adapter::tests::*;

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
