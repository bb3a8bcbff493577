//! `init` and `uninstall`.

use super::{Place, read};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

#[test]
fn init_guards_a_server_and_uninstall_leaves_no_trace() {
    let place = Place::new("adopt-init");
    let original = place.config();
    let config = place.write(".mcp.json", &original);

    // Nobody is there to agree.
    let (code, stdout, stderr) = place.run(&["init"]);
    assert_eq!(code, 1);
    assert!(stdout.contains("mail: will be guarded"), "{stdout}");
    assert!(
        stdout.contains("far: not guarded: it speaks the older transport"),
        "{stdout}"
    );
    assert!(
        stdout.contains("Claude Code:") && stdout.contains("\n  +"),
        "{stdout}"
    );
    assert!(stderr.contains("nothing was written"), "{stderr}");
    assert_eq!(read(&config), original);

    let (code, stdout, stderr) = place.run(&["init", "--yes"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.contains("mail: pinned 4 tools"), "{stdout}");
    let wrapped = read(&config);
    assert!(wrapped.contains("// my servers"), "{wrapped}");
    assert!(
        wrapped.contains("mailserver\", \"demo-server\"] },"),
        "{wrapped}"
    );
    let lock = place.dir.join(".mcp.json.bouncer.lock");
    assert!(read(&lock).contains("send_email"));

    // The entry starts the server, held to its lock.
    let args = wrapped_args(&wrapped);
    assert_eq!(args[..4], ["run", "--server", "mail", "--tools"]);
    let tools = list_tools(&place, &args);
    assert!(tools.contains("send_email"), "{tools}");

    let (code, stdout, _) = place.run(&["init", "--yes"]);
    assert_eq!((code, read(&config)), (0, wrapped.clone()));
    assert!(
        stdout.contains("mail: already guarded") && stdout.contains("nothing to change"),
        "{stdout}"
    );

    let (code, _, stderr) = place.run(&["uninstall", "--yes"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(read(&config), original);
    assert_eq!(place.beside(".mcp.json"), Vec::<String>::new());

    // Changed since: only the entry is changed back.
    let (code, ..) = place.run(&["init", "--yes", "--no-pin"]);
    assert_eq!(code, 0);
    let edited = read(&config).replace("// my servers", "// all my servers");
    std::fs::write(&config, &edited).unwrap();
    let (code, stdout, _) = place.run(&["uninstall", "--yes"]);
    assert_eq!(code, 0, "{stdout}");
    assert_eq!(
        read(&config),
        original.replace("// my servers", "// all my servers")
    );
}

fn wrapped_args(config: &str) -> Vec<String> {
    let plain: String = config
        .lines()
        .filter(|line| !line.trim().starts_with("//"))
        .collect();
    let value: Value = serde_json::from_str(&plain).unwrap();
    serde_json::from_value(value["mcpServers"]["mail"]["args"].clone()).unwrap()
}

/// What a client sees that starts the entry.
fn list_tools(place: &Place, args: &[String]) -> String {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut child = place
        .bouncer(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut answer = String::new();
    for _ in 0..2 {
        answer.clear();
        std::io::BufRead::read_line(&mut lines, &mut answer).unwrap();
    }
    drop(input);
    child.wait().unwrap();
    answer
}

#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("adopt-links");
    let real = place.write("dotfiles/claude.json", &place.config());
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    let link = place.dir.join("home/.claude.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let (code, stdout, _) = place.run(&["init", "--client", "claude-code", "--yes", "--no-pin"]);
    assert_eq!(code, 0, "{stdout}");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        std::fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(read(&real).contains("\"run\""));
    let copies = place.beside("dotfiles/claude.json");
    assert_eq!(copies.len(), 1, "{copies:?}");
    let copy = place.dir.join("dotfiles").join(&copies[0]);
    assert_eq!(
        std::fs::metadata(copy).unwrap().permissions().mode() & 0o777,
        0o640
    );
}

#[test]
fn a_server_that_does_not_start_is_guarded_all_the_same() {
    let place = Place::new("adopt-broken");
    let text = r#"{"mcpServers": {"broken": {"command": "/does/not/exist"}, "ok": {"command": "x", "args": ["${input:key}"]}}}"#;
    let config = place.write("c.json", text);
    let (code, stdout, stderr) = place.run(&["init", "--config", "c.json", "--yes"]);
    assert_eq!(code, 1, "{stdout}");
    assert!(
        stderr.contains("broken: its tools could not be written down"),
        "{stderr}"
    );
    assert!(
        stdout.contains("ok: not pinned, since only the client"),
        "{stdout}"
    );
    let text = read(&config);
    assert!(
        text.contains("\"--server\", \"broken\", \"--\", \"/does/not/exist\""),
        "{text}"
    );
    let (code, _, stderr) = place.run(&["init", "--config", "c.json", "--server", "other"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("there is no server `other`"), "{stderr}");
    place.write("bad.json", "{\"mcpServers\": {}, \"mcpServers\": {}}");
    let (code, _, stderr) = place.run(&["init", "--config", "bad.json"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("duplicate key"), "{stderr}");
}

#[test]
fn a_gateway_takes_the_place_of_all_servers() {
    let place = Place::new("adopt-gateway");
    let original = place.config();
    let config = place.write(".cursor/mcp.json", &original);
    let (code, stdout, stderr) = place.run(&["init", "--gateway", "--yes"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let text = read(&config);
    assert!(
        text.contains("\"gateway\"") && !text.contains("demo-server"),
        "{text}"
    );
    assert!(text.contains("https://far.example/mcp"), "{text}");
    let policy = place.dir.join(".cursor/mcp.json.bouncer.yaml");
    let (code, _, stderr) = place.run(&["compile", policy.to_str().unwrap(), "-o", "x.plan"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(read(&policy).contains("\"demo-server\""));
    let (code, ..) = place.run(&["uninstall", "--yes"]);
    assert_eq!((code, read(&config)), (0, original));
}

#[test]
fn a_gateway_holds_its_servers_to_a_lock_only_if_it_has_all_of_them() {
    let place = Place::new("adopt-gateway-lock");
    let original = place.config();
    let config = place.write(".cursor/mcp.json", &original);
    // Again after `uninstall`, where the policy is left as it was written.
    for _ in 0..2 {
        let (code, stdout, stderr) = place.run(&["init", "--gateway", "--yes"]);
        assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
        assert!(read(&config).contains("--tools"));
        let (code, ..) = place.run(&["uninstall", "--yes"]);
        assert_eq!((code, read(&config)), (0, original.clone()));
    }
    let policy = place.dir.join(".cursor/mcp.json.bouncer.yaml");
    std::fs::write(&policy, format!("{}# mine\n", read(&policy))).unwrap();
    let (code, _, stderr) = place.run(&["init", "--gateway", "--yes"]);
    assert!(code != 0 && stderr.contains("exists already"), "{stderr}");
    std::fs::remove_file(&policy).unwrap();
    let placeholder = original.replacen(
        "\"command\"",
        "\"env\": {\"A\": \"${HOME}\"}, \"command\"",
        1,
    );
    assert_ne!(placeholder, original);
    std::fs::write(&config, &placeholder).unwrap();
    let (code, stdout, stderr) = place.run(&["init", "--gateway", "--yes"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.contains("whenever it starts"), "{stdout}");
    assert!(!read(&config).contains("--tools"), "{}", read(&config));
}

#[test]
fn what_was_edited_between_two_runs_is_changed_back_too() {
    let place = Place::new("adopt-edited");
    let program = place.dir.join("mailserver").display().to_string();
    let server = |name: &str| json!({name: {"command": program, "args": ["demo-server"]}});
    let config = place.write(".mcp.json", &place.config());
    let mut value: Value = json!({"mcpServers": server("mail")});
    std::fs::write(&config, value.to_string()).unwrap();
    assert_eq!(place.run(&["init", "--yes"]).0, 0);

    // A second server, added to what `init` wrote.
    value = serde_json::from_str(&read(&config)).unwrap();
    value["mcpServers"]["more"] = server("x")["x"].clone();
    std::fs::write(&config, value.to_string()).unwrap();
    assert_eq!(place.run(&["init", "--yes"]).0, 0);

    let (code, stdout, stderr) = place.run(&["uninstall", "--yes"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let after: Value = serde_json::from_str(&read(&config)).unwrap();
    for name in ["mail", "more"] {
        assert_eq!(after["mcpServers"][name]["command"], program.as_str());
    }
    assert!(!place.dir.join(".mcp.json.bouncer.lock").exists());
}
