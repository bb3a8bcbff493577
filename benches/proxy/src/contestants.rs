//! What is compared, each with a policy in a format it reads.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A way to the server.
pub struct Contestant {
    pub name: &'static str,
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Where it keeps its files.
    pub directory: PathBuf,
    /// What stands before the tools' names.
    pub prefix: &'static str,
}

/// The contracts, for mcp-bouncer and for bouncer.
const CONTRACTS: &str = r"search_notes:
  arg_patterns:
    query: '[^;]*'
send_email:
  exfiltrating: true
  sink_params: [to, cc, bcc]
  trusted_destinations: [alice@corp.example, bob@corp.example]
";

/// The rules, for border-patrol and for bouncer.
const RULES: &str = r#"rules:
  - {tool: "bench__search_notes", match: {args.query: {regex: "(?i)^\\s*(drop|truncate|alter|grant)\\b"}}, action: deny}
  - {tool: "bench__search_notes", match: {args.query: {regex: "(?i)^\\s*(delete|update)\\b"}}, action: ask}
  - {tool: "bench__search_notes", match: {args.query: {contains: "pg_catalog"}}, action: deny}
  - {tool: "bench__search_notes", match: {args.query: {regex: "(?i)\\binto\\s+outfile\\b"}}, action: deny}
  - {tool: "bench__search_notes", match: {args.path: {contains: "/etc/"}}, action: deny}
  - {tool: "bench__search_notes", match: {args.path: {regex: "^/srv/secret/"}}, action: deny}
  - {tool: "bench__write_note", match: {args.path: {contains: ".."}}, action: deny}
  - {tool: "bench__*", match: {args.body: {regex: "(?i)password\\s*[:=]"}}, action: deny}
  - {tool: "bench__*", match: {args.text: {contains: "BEGIN PRIVATE KEY"}}, action: deny}
  - {tool: "*__delete_*", action: ask}
defaults: {onDestructiveHint: ask, onUnknown: allow}
"#;

/// All of them: direct first, bouncer second. Calls of the server take `micros`.
pub fn contestants(
    bouncer: &Path,
    predecessors: &Path,
    directory: &Path,
    micros: u32,
) -> Vec<Contestant> {
    let upstream = std::env::current_exe()
        .expect("a path")
        .with_file_name("upstream");
    let delay = micros.to_string();
    let absolute = |path: &Path| std::path::absolute(path).expect("a path");
    let file = |name: &str, file: &str, text: &str| {
        let directory = directory.join(name);
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join(file);
        std::fs::write(&path, text).expect("writable");
        path
    };
    let contestant = |name, program: PathBuf, args: &[&str], folder: &str, prefix| {
        let directory = directory.join(folder);
        std::fs::create_dir_all(&directory).expect("a directory");
        let args = args.iter().map(OsString::from).collect();
        Contestant {
            name,
            program,
            args,
            directory,
            prefix,
        }
    };
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let server = text(&upstream);

    let contracts = file("bouncer", "contracts.yaml", CONTRACTS);
    let rules = file("bouncer", "rules.yaml", RULES);
    let bouncer = absolute(bouncer);
    let plan = directory.join("bouncer/policy.plan");
    let compiled = Command::new(&bouncer)
        .arg("compile")
        .args([&contracts, &rules])
        .arg("-o")
        .arg(&plan)
        .status();
    assert!(
        compiled.is_ok_and(|status| status.success()),
        "the policy does not compile"
    );

    let patrol = file(
        "border-patrol",
        "border-patrol.yaml",
        &format!("servers: {{bench: {{command: {server:?}, args: [\"{delay}\"]}}}}\n{RULES}"),
    );
    let python = file("mcp-bouncer", "contracts.yaml", CONTRACTS);
    let config = file(
        "mcp-bouncer",
        "config.json",
        &format!(
            r#"{{"mcpServers":{{"bench":{{"command":"bouncer","args":[],"x-bouncer-upstream":{{"command":{server:?},"args":["{delay}"]}}}}}}}}"#
        ),
    );
    let predecessors = absolute(predecessors);
    let cli = predecessors.join("node_modules/border-patrol-mcp/dist/cli.js");
    let (plan, patrol) = (text(&plan), text(&patrol));
    let (python, config, cli) = (text(&python), text(&config), text(&cli));
    vec![
        contestant("direct", upstream, &[&delay], "direct", ""),
        contestant(
            "bouncer",
            bouncer,
            &[
                "run",
                "--plan",
                &plan,
                "--server",
                "bench",
                "--audit",
                "audit.jsonl",
                "--",
                &server,
                &delay,
            ],
            "bouncer",
            "",
        ),
        contestant(
            "border-patrol-mcp 0.1.0",
            PathBuf::from("node"),
            &[&cli, "serve", "--config", &patrol],
            "border-patrol",
            "bench__",
        ),
        contestant(
            "bouncer-mcp 0.1.4",
            predecessors.join("venv/bin/bouncer"),
            &[
                "run",
                "--config",
                &config,
                "--upstream-name",
                "bench",
                "--policy",
                &python,
            ],
            "mcp-bouncer",
            "",
        ),
    ]
}
