//! Servers that are reached at a URL: `init` puts bouncer before them in place.

use super::{Place, read};
use crate::http_peer::{HttpPeer, status};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Stdio;

/// A server that wants a log-in from everybody.
fn locked() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = crate::http_peer::read_head(&mut BufReader::new(&mut stream));
            let _ = status(&mut stream, "401 Unauthorized");
        }
    });
    url
}

/// Calls `echo` through an entry as a client starts it.
fn echo(place: &Place, entry: &Value, more: &[(&str, &str)]) -> (Value, String) {
    let args: Vec<&str> = entry["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| arg.as_str().unwrap())
        .collect();
    let mut command = place.bouncer(&args);
    for (name, value) in entry["env"].as_object().unwrap() {
        command.env(name, value.as_str().unwrap());
    }
    command.envs(more.iter().copied());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"say": "hi"}}}),
    ] {
        let _ = writeln!(input, "{message}");
    }
    let answer = lines
        .by_ref()
        .map_while(Result::ok)
        .map(|line| serde_json::from_str::<Value>(&line).unwrap())
        .find(|message| message["id"] == 2)
        .unwrap_or_default();
    drop(input);
    let output = child.wait_with_output().unwrap();
    (answer, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_server_at_a_url_is_guarded_in_place_and_put_back() {
    let place = Place::new("adopt-remote");
    let peer = HttpPeer::start();
    let original = format!(
        "{{\n  \"mcpServers\": {{\n    // ours\n    \"far\": {{ \"type\": \"http\", \"url\": \"{}\", \"headers\": {{ \"Authorization\": \"Bearer s3cr\\\"t\" }}, \"timeout\": 5 }},\n    \
         \"open\": {{ \"url\": \"{0}\" }},\n    \"closed\": {{ \"url\": \"{}\" }},\n    \"old\": {{ \"type\": \"sse\", \"url\": \"http://127.0.0.1:1/sse\" }},\n    \
         \"login\": {{ \"url\": \"{0}\", \"oauth\": {{}} }}\n  }}\n}}\n",
        peer.url(),
        locked()
    );
    let config = place.write(".mcp.json", &original);
    let (code, stdout, _) = place.run(&["init", "--yes"]);
    assert_eq!(code, 0, "{stdout}");
    for said in [
        "far: pinned 10 tools",
        "open: asking it once",
        "closed: stays as it is, not guarded",
        "old: not guarded: it speaks the older transport",
        "login: not guarded: the client logs in there",
    ] {
        assert!(stdout.contains(said), "{said}: {stdout}");
    }
    let text = read(&config);
    let plain: String = text
        .lines()
        .filter(|line| !line.contains("//") || line.contains("://"))
        .collect();
    let value: Value = serde_json::from_str(&plain).unwrap();
    let far = &value["mcpServers"]["far"];
    assert_eq!(
        (&far["type"], &far["timeout"]),
        (&json!("stdio"), &json!(5))
    );
    assert!(
        far.get("url").is_none() && far.get("headers").is_none(),
        "{text}"
    );
    assert!(!far["args"].to_string().contains("s3cr"), "{text}");
    assert!(value["mcpServers"]["closed"].get("command").is_none());
    assert!(text.contains("// ours"), "{text}");

    let (answer, stderr) = echo(&place, far, &[]);
    assert_eq!(answer["result"]["content"][0]["text"], "\"hi\"", "{stderr}");
    let called = peer.wait_for(|seen| seen.json()["params"]["name"] == "echo");
    assert_eq!(called.header("authorization"), Some("Bearer s3cr\"t"));

    let (code, stdout, _) = place.run(&["init", "--yes"]);
    assert_eq!((code, read(&config)), (0, text.clone()), "{stdout}");
    assert!(stdout.contains("far: already guarded"), "{stdout}");
    let (_, stdout, _) = place.run(&["doctor"]);
    assert!(
        stdout.contains("far: guarded by") && stdout.contains("closed: not guarded"),
        "{stdout}"
    );

    // Changed since: the entries alone are put back.
    std::fs::write(&config, text.replace("// ours", "// mine")).unwrap();
    let (code, ..) = place.run(&["uninstall", "--yes"]);
    assert_eq!(code, 0);
    let back = read(&config);
    assert!(
        back.contains("// mine") && !back.contains("BOUNCER_UPSTREAM"),
        "{back}"
    );
    let of = |text: &str| -> Value {
        let plain: String = text
            .lines()
            .filter(|line| !line.contains("//") || line.contains("://"))
            .collect();
        serde_json::from_str(&plain).unwrap()
    };
    assert_eq!(of(&back), of(&original));
    // Not changed: byte for byte.
    std::fs::write(&config, &original).unwrap();
    assert_eq!(place.run(&["init", "--yes"]).0, 0);
    assert_eq!(place.run(&["uninstall", "--yes"]).0, 0);
    assert_eq!(read(&config), original);
}

#[test]
fn a_token_in_a_variable_stays_there() {
    let place = Place::new("adopt-remote-codex");
    let peer = HttpPeer::start();
    let original = format!(
        "[mcp_servers.far]\nurl = \"{}\" # ours\nbearer_token_env_var = \"FAR_TOKEN\"\nhttp_headers = {{ X-Two = \"b\" }}\ntool_timeout_sec = 9\n",
        peer.url()
    );
    let config = place.write("home/.codex/config.toml", &original);
    let (code, stdout, stderr) = place.run(&["init", "--client", "codex", "--yes"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let text = read(&config);
    assert!(
        text.contains("env_vars = [\"FAR_TOKEN\"]") && text.contains("tool_timeout_sec = 9"),
        "{text}"
    );
    let value: toml_edit::DocumentMut = text.parse().unwrap();
    let far = &value["mcp_servers"]["far"];
    let args: Vec<&str> = far["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| arg.as_str().unwrap())
        .collect();
    let held = far["env"]["BOUNCER_UPSTREAM"].as_str().unwrap();
    let entry = json!({"args": args, "env": {"BOUNCER_UPSTREAM": held}});
    let (answer, stderr) = echo(&place, &entry, &[("FAR_TOKEN", "t0k")]);
    assert_eq!(answer["result"]["content"][0]["text"], "\"hi\"", "{stderr}");
    let called = peer.wait_for(|seen| seen.json()["params"]["name"] == "echo");
    assert_eq!(called.header("authorization"), Some("Bearer t0k"));
    assert_eq!(called.header("x-two"), Some("b"));
    // Without it nothing is sent, and the message says which it is.
    let (_, stderr) = echo(&place, &entry, &[]);
    assert!(stderr.contains("`FAR_TOKEN` is not set"), "{stderr}");
    assert_eq!(place.run(&["uninstall", "--client", "codex", "--yes"]).0, 0);
    assert_eq!(read(&config), original);
}
