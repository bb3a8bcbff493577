//! Each client's format as it is found in the wild, there and back.

use super::remote::{self, Remote};
use super::*;
use std::path::Path;

const CLAUDE_DESKTOP: &str = r#"{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/Users/ann/Desktop"
      ]
    },
    "weather": { "command": "uvx", "args": ["mcp-weather"], "env": {"KEY": "abc"} },
    "bare": {
      "command": "C:\\tools\\server.exe"
    }
  }
}
"#;

const VSCODE: &str = "{\r\n\t// asked for once\r\n\t\"inputs\": [\r\n\t\t{ \"type\": \"promptString\", \"id\": \"key\", \"password\": true },\r\n\t],\r\n\t\"servers\": {\r\n\t\t\"perplexity\": {\r\n\t\t\t\"type\": \"stdio\",\r\n\t\t\t\"command\": \"npx\", // comes with node\r\n\t\t\t\"args\": [\"-y\", /* pinned */ \"server-perplexity-ask@1\"],\r\n\t\t\t\"env\": { \"API_KEY\": \"${input:key}\" },\r\n\t\t},\r\n\t\t\"remote\": { \"type\": \"http\", \"url\": \"https://api.example/mcp\" },\r\n\t},\r\n}\r\n";

const ZED: &str = r#"// Zed settings
{
  "theme": "One Dark", /* nice */
  "context_servers": {
    // an older form
    "old": {
      "command": {
        "path": "node",
        "args": ["server.js"],
        "env": {}
      },
      "settings": {}
    },
    "new": {
      "source": "custom",
      "command": "node",
      "args": [
        // first
        "server.js", // trailing
      ],
      "env": {},
    },
    "extension": { "settings": {} }
  },
  "vim_mode": true,
}
"#;

const CODEX: &str = r#"# my settings
model = "gpt-5"

[mcp_servers.docs]
command = "npx" # from node
args = ["-y", "docs-server"]
env = { TOKEN = "t" }

[mcp_servers.many]
command = "python3"
args = [
    # the module
    "-m",
    "many", # comment
]
startup_timeout_sec = 20

[mcp_servers.many.env]
LEVEL = "debug"

[mcp_servers.bare]
command = "bare"

[mcp_servers."with space"]
url = "https://x.example/mcp"

[projects."/home/ann"]
trust_level = "trusted"
"#;

const CLAUDE_CODE: &str = r#"{"numStartups": 12, "mcpServers": {"fs": {"type": "stdio", "command": "npx", "args": ["fs"], "env": {}}},
 "projects": {"/home/ann/a.b": {"allowedTools": [], "mcpServers": {"db": {"command": "db", "args": []}}}, "/x": {}}}"#;

fn options() -> Vec<String> {
    let words = ["run", "--server", "x", "--tools", "/tmp/a b.lock", "--"];
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn parse(name: &str, text: &str) -> Document {
    Document::parse(Path::new(name), text).unwrap()
}

/// Wraps all that can be wrapped; gives the text and how many there were.
fn wrapped(name: &str, text: &str) -> (String, usize) {
    let mut document = parse(name, text);
    let mut count = 0;
    for entry in document.entries() {
        if let Kind::Plain(_) = entry.kind {
            document.wrap(&entry, "/opt/bouncer", &options()).unwrap();
            count += 1;
        }
    }
    (document.text(), count)
}

#[test]
fn what_is_wrapped_is_seen_whatever_the_program_is_called() {
    let kind = |program: &str, args: &str| {
        let text =
            format!(r#"{{"mcpServers": {{"x": {{"command": "{program}", "args": [{args}]}}}}}}"#);
        parse("mcp.json", &text).entries().remove(0).kind
    };
    let wrapped = r#""run", "--server", "x", "--", "npx", "s""#;
    for program in [
        "bouncer",
        "/usr/bin/bouncer",
        "/usr/bin/bouncer-gate",
        "C:/b/Bouncer.EXE",
    ] {
        assert!(
            matches!(kind(program, wrapped), Kind::Wrapped { .. }),
            "{program}"
        );
    }
    for (program, args) in [
        ("bouncer.sh", ""),
        ("/srv/bouncer.py", r#""run""#),
        ("uv", r#""run", "--", "s""#),
    ] {
        assert!(matches!(kind(program, args), Kind::Plain(_)), "{program}");
    }
}

#[test]
fn marks_and_line_ends_of_toml_stay() {
    let plain = "model = \"m\" # mine\n\n[mcp_servers.a]\ncommand = \"x\"\n";
    for text in [
        plain.replace('\n', "\r\n"),
        plain.trim_end().to_owned(),
        format!("\u{feff}{plain}"),
        format!("\u{feff}{}", plain.trim_end().replace('\n', "\r\n")),
    ] {
        assert_eq!(parse("config.toml", &text).text(), text);
        let (wrapped, count) = wrapped("config.toml", &text);
        assert_eq!(count, 1);
        assert_eq!(wrapped.contains('\r'), text.contains('\r'));
        let mut document = parse("config.toml", &wrapped);
        for entry in document.entries() {
            document.unwrap_entry(&entry).unwrap();
        }
        assert!(document.text().starts_with(text.split('[').next().unwrap()));
    }
}

#[test]
fn every_clients_file_comes_back_as_it_was() {
    for (name, text, servers) in [
        ("claude_desktop_config.json", CLAUDE_DESKTOP, 3),
        ("mcp.json", VSCODE, 1),
        ("settings.json", ZED, 2),
        ("config.toml", CODEX, 3),
        (".claude.json", CLAUDE_CODE, 2),
    ] {
        let before = parse(name, text);
        assert_eq!(before.text(), text, "{name}: only reading changes nothing");
        let (wrapped, count) = wrapped(name, text);
        assert_eq!(count, servers, "{name}");
        let mut after = parse(name, &wrapped);
        for (old, new) in before.entries().iter().zip(after.entries()) {
            match (&old.kind, &new.kind) {
                (Kind::Plain(old), Kind::Wrapped { launch, options: o }) => {
                    assert_eq!(old, launch, "{name}");
                    assert_eq!(*o, options(), "{name}");
                }
                (old, new) => assert_eq!(old, new, "{name}"),
            }
        }
        // A second time there is nothing to wrap.
        assert_eq!(self::wrapped(name, &wrapped), (wrapped.clone(), 0));
        for entry in after.entries() {
            if let Kind::Wrapped { .. } = entry.kind {
                after.unwrap_entry(&entry).unwrap();
            }
        }
        let back = after.text();
        // Where there were no arguments, an empty list may stay.
        let without = |text: &str| {
            let text = text.replace(
                "\"C:\\\\tools\\\\server.exe\",\n      \"args\": []",
                "\"C:\\\\tools\\\\server.exe\"",
            );
            text.replace("command = \"bare\"\nargs = []\n", "command = \"bare\"\n")
        };
        assert_eq!(without(&back), text, "{name}");
    }
}

#[test]
fn comments_and_layout_stay() {
    let (text, _) = wrapped("mcp.json", VSCODE);
    for kept in [
        "\t// asked for once\r\n",
        "// comes with node\r\n",
        "/* pinned */",
        "\"${input:key}\"",
        "\"command\": \"/opt/bouncer\"",
    ] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    assert!(!text.replace("\r\n", "").contains('\n'), "{text:?}");
    let (text, _) = wrapped("settings.json", ZED);
    for kept in [
        "// first\n",
        "// trailing\n",
        "/* nice */",
        "\"vim_mode\": true,",
    ] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    let (text, _) = wrapped("config.toml", CODEX);
    for kept in [
        "# from node",
        "# the module",
        "# comment",
        "'run'",
        "\"--\", \"npx\", \"-y\"",
    ] {
        let kept = if kept == "'run'" { "[\"run\"" } else { kept };
        assert!(text.contains(kept), "{kept} in {text}");
    }
}

#[test]
fn what_an_older_init_wrote_is_understood() {
    let text = r#"{"mcpServers": {"fs": {"command": "bouncer",
      "args": ["run", "--config", "/c.json", "--upstream-name", "fs"],
      "x-bouncer-upstream": {"command": "npx", "args": ["-y", "fs"]}}}}"#;
    let mut document = parse("c.json", text);
    let entry = document.entries().remove(0);
    assert!(matches!(&entry.kind, Kind::Stashed(launch) if launch.program == "npx"));
    assert!(document.wrap(&entry, "b", &options()).is_err());
    document.unwrap_entry(&entry).unwrap();
    let entry = document.entries().remove(0);
    assert!(matches!(&entry.kind, Kind::Plain(launch) if launch.args == ["-y", "fs"]));
}

#[test]
fn the_kinds_of_entries() {
    let text = r#"{"mcpServers": {
      "a": {"command": "/usr/bin/bouncer", "args": ["serve"]},
      "b": {"command": "C:\\x\\bouncer.exe", "args": ["gateway", "--observe"]},
      "c": {"serverUrl": "https://c"},
      "d": {"command": 1}, "e": [], "f": {},
      "g": {"command": "bouncer", "args": ["run", "--"]}}}"#;
    let kinds: Vec<Kind> = parse("x.json", text)
        .entries()
        .into_iter()
        .map(|e| e.kind)
        .collect();
    assert_eq!(
        kinds,
        [
            Kind::Bouncer {
                subcommand: "serve".into(),
                observes: false,
            },
            Kind::Bouncer {
                subcommand: "gateway".into(),
                observes: true,
            },
            Kind::Remote(Remote {
                url: "https://c".into(),
                ..Remote::default()
            }),
            Kind::Other(ConfigError::Wrong("command".to_owned(), "a string")),
            Kind::Other(ConfigError::WrongWhole("an object")),
            Kind::Other(ConfigError::Missing("command".to_owned())),
            Kind::Other(ConfigError::NoCommandBehind),
        ]
    );
}

#[test]
fn doubtful_files_are_refused() {
    for (name, text, part) in [
        (
            "a.json",
            "{\"a\": {\"b\": 1, \"\\u0062\": 2}}",
            "duplicate key `a.b`",
        ),
        ("a.json", "[]", "no JSON object"),
        ("a.json", "{\"a\": 1 \"b\": 2}", ""),
        ("a.json", "{'a': 1}", ""),
        ("a.toml", "a = 1\na = 2", "duplicate key"),
    ] {
        let error = Document::parse(Path::new(name), text).unwrap_err();
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
    // A mark at the beginning stays.
    let text = "\u{feff}{\"mcpServers\": {}}";
    assert_eq!(parse("a.json", text).text(), text);
}

#[test]
fn entries_are_added_and_removed() {
    let mut document = parse("claude.json", CLAUDE_DESKTOP);
    for entry in document.entries() {
        document.remove(&entry).unwrap();
    }
    let section = ["mcpServers".to_owned()];
    document
        .add(&section, "bouncer", "bouncer", &["gateway".into()])
        .unwrap();
    let text = document.text();
    assert_eq!(parse("claude.json", &text).entries().len(), 1, "{text}");
    assert!(text.contains("globalShortcut"), "{text}");
    let mut document = parse("c.toml", CODEX);
    for entry in document.entries() {
        document.remove(&entry).unwrap();
    }
    let section = ["mcp_servers".to_owned()];
    document
        .add(&section, "bouncer", "bouncer", &["gateway".into()])
        .unwrap();
    let text = document.text();
    assert_eq!(parse("c.toml", &text).entries().len(), 1, "{text}");
    assert!(text.contains("trust_level"), "{text}");
}

/// Entries of servers that are reached at a URL, as each client writes them.
const REMOTE: [(&str, &str); 6] = [
    (
        ".mcp.json",
        r#"{"mcpServers": {"a": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}, "b": {"command": "b"}}}"#,
    ),
    (
        "mcp.json",
        "{\n\t\"servers\": {\n\t\t// the service\n\t\t\"a\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"https://a.example/mcp\", // where\n\t\t\t\"headers\": { \"X-Key\": \"${input:key}\" },\n\t\t},\n\t},\n}\n",
    ),
    (
        "mcp.json",
        r#"{ "mcpServers": { "a": { "headers": { "api-key": "k" }, "url": "https://a.example/mcp", "env": { "A": "1" } } } }"#,
    ),
    (
        "mcp_config.json",
        r#"{ "mcpServers": { "a": { "serverUrl": "https://a.example/mcp", "headers": { "Authorization": "Bearer x" }, "disabled": false } } }"#,
    ),
    (
        "settings.json",
        "{\n  \"context_servers\": {\n    \"a\": {\n      \"url\": \"https://a.example/mcp\",\n      \"headers\": { \"Authorization\": \"Bearer x\" }\n    }\n  }\n}\n",
    ),
    (
        "config.toml",
        "[mcp_servers.a]\nurl = \"https://a.example/mcp\" # where\nbearer_token_env_var = \"TOKEN\"\nstartup_timeout_sec = 20\n\n[mcp_servers.a.http_headers]\nX-Team = \"b\"\n\n[mcp_servers.a.env_http_headers]\nX-Other = \"OTHER\"\n\n[projects.x]\ntrust_level = \"trusted\" # kept\n",
    ),
];

#[test]
fn servers_at_a_url_are_fronted_there_and_back() {
    let words = ["run", "--server", "a", remote::OPTION, remote::VARIABLE];
    let options: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let value = |name: &str, text: &str| match parse(name, text) {
        Document::Json(json) => json.value(),
        Document::Toml(toml) => toml.value(),
    };
    for (name, text) in REMOTE {
        let mut document = parse(name, text);
        let entry = document.entries().remove(0);
        let Kind::Remote(before) = &entry.kind else {
            panic!("{name}: {entry:?}");
        };
        assert_eq!(before.unreachable, None, "{name}");
        assert!(before.has_credentials(), "{name}");
        document.front(&entry, "/opt/bouncer", &options).unwrap();
        let fronted = document.text();
        let mut document = parse(name, &fronted);
        let entry = document.entries().remove(0);
        let Kind::Fronted {
            remote, options: o, ..
        } = &entry.kind
        else {
            panic!("{name}: {fronted}");
        };
        assert_eq!((remote, o), (before, &options), "{name}: {fronted}");
        assert!(document.front(&entry, "b", &options).is_err(), "{name}");
        let root = value(name, &fronted);
        let servers = ["mcpServers", "servers", "context_servers", "mcp_servers"];
        let servers = servers.iter().find_map(|key| root.get(*key)).unwrap();
        for gone in ["url", "serverUrl", "headers", "http_headers"] {
            assert!(servers["a"].get(gone).is_none(), "{name}: {fronted}");
        }
        for kept in [
            "// the service",
            "# kept",
            "disabled",
            "\"A\": \"1\"",
            "startup_timeout_sec",
        ] {
            assert_eq!(
                fronted.contains(kept),
                text.contains(kept),
                "{kept}: {fronted}"
            );
        }
        document.unwrap_entry(&entry).unwrap();
        let back = document.text();
        assert_eq!(value(name, &back), value(name, text), "{name}: {back}");
    }
}

#[test]
fn what_cannot_be_fronted_is_known() {
    for (entry, why) in [
        (r#"{"type": "sse", "url": "http://x"}"#, "older transport"),
        (
            r#"{"url": "http://x", "oauth": {"clientId": "c"}}"#,
            "logs in",
        ),
        (
            r#"{"url": "http://x", "headersHelper": "/bin/x"}"#,
            "logs in",
        ),
    ] {
        let remote = Remote::parse(entry).unwrap();
        assert!(remote.unreachable.unwrap().contains(why), "{entry}");
    }
    for wrong in [
        "",
        "[]",
        "{}",
        r#"{"url": 1}"#,
        r#"{"url": "x", "headers": {"a": 1}}"#,
    ] {
        assert!(Remote::parse(wrong).is_err(), "{wrong}");
    }
    let text = r#"{"mcpServers": {"a": {"command": "bouncer", "args": ["run", "--upstream-env", "BOUNCER_UPSTREAM"]}}}"#;
    let entry = parse("a.json", text).entries().remove(0);
    assert!(
        matches!(&entry.kind, Kind::Other(why) if why.to_string().contains("BOUNCER_UPSTREAM"))
    );
}

const OPENCODE: &str = r#"{
  "$schema": "https://opencode.ai/config.json",
  // ours
  "mcp": {
    "files": {"type": "local", "command": ["npx", "-y", "files"], "environment": {"A": "b"}, "enabled": true},
    "held": {"type": "local", "command": ["x"], "environment": {"T": "{env:TOKEN}"}},
    "far": {"type": "remote", "url": "https://x.example/mcp"}
  }
}
"#;

#[test]
fn opencode_has_the_program_and_its_arguments_in_one_list() {
    let (text, count) = wrapped("opencode.json", OPENCODE);
    assert_eq!(count, 2, "{text}");
    assert!(
        text.contains("// ours") && text.contains("\"environment\": {\"A\": \"b\"}"),
        "{text}"
    );
    let mut document = parse("opencode.json", &text);
    let entries = document.entries();
    let files = entries.iter().find(|entry| entry.name == "files").unwrap();
    let Kind::Wrapped {
        launch,
        options: before,
    } = &files.kind
    else {
        panic!("{files:?}");
    };
    assert_eq!(before, &options());
    assert_eq!((launch.program.as_str(), launch.args.len()), ("npx", 2));
    assert_eq!(launch.env, [("A".to_owned(), "b".to_owned())]);
    let held = entries.iter().find(|entry| entry.name == "held").unwrap();
    assert!(held.launch().unwrap().has_placeholders());
    let far = entries.iter().find(|entry| entry.name == "far").unwrap();
    assert!(far.remote().unwrap().unreachable.is_some());
    for entry in entries.iter().filter(|entry| entry.launch().is_some()) {
        document.unwrap_entry(entry).unwrap();
    }
    let value = |text: &str| match parse("opencode.json", text) {
        Document::Json(json) => json.value(),
        Document::Toml(_) => unreachable!(),
    };
    assert_eq!(value(&document.text()), value(OPENCODE));
    // VS Code's `mcp.servers` is not one of opencode's servers.
    let sections: Vec<_> = parse("s.json", r#"{"mcp": {"servers": {"a": {"command": "x"}}}}"#)
        .entries()
        .into_iter()
        .map(|entry| entry.section.join("."))
        .collect();
    assert_eq!(sections, ["mcp.servers"]);
    // A gateway is one of them.
    let mut document = parse("opencode.json", OPENCODE);
    document
        .add(
            &["mcp".to_owned()],
            "bouncer",
            "/opt/bouncer",
            &["gateway".to_owned()],
        )
        .unwrap();
    let entries = document.entries();
    let own = entries
        .iter()
        .find(|entry| entry.name == "bouncer")
        .unwrap();
    assert!(matches!(&own.kind, Kind::Bouncer { subcommand, .. } if subcommand == "gateway"));
}

#[test]
fn gemini_names_addresses_in_its_own_way() {
    let text = r#"{"theme": "x", "mcpServers": {"a": {"command": "npx", "args": ["s"], "cwd": "/w", "trust": false},
        "b": {"httpUrl": "https://x.example/mcp", "headers": {"X": "y"}}, "c": {"url": "https://x.example/sse"}}}"#;
    let entries = parse("settings.json", text).entries();
    assert!(matches!(&entries[0].kind, Kind::Plain(launch) if launch.cwd.as_deref() == Some("/w")));
    for (entry, url) in entries[1..]
        .iter()
        .zip(["https://x.example/mcp", "https://x.example/sse"])
    {
        assert_eq!(entry.remote().unwrap().url, url);
    }
}
