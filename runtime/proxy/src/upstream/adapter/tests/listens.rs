//! Changes.

use crate::upstream::adapter::tests::*;

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
