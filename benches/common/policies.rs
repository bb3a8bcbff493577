//! Policies of any size, and calls under them.

use std::fmt::Write as _;

/// A call to judge.
#[derive(Clone, Debug)]
pub struct Request {
    pub server: String,
    pub tool: String,
    pub arguments: String,
}

impl Request {
    pub fn new(server: &str, tool: &str, arguments: impl Into<String>) -> Self {
        Self {
            server: server.to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.into(),
        }
    }
}

/// A mail tool with a sink gate, two constraints and ten rules.
pub fn typical() -> String {
    let mut policy = String::from(
        r#"version: 1
packs: []
tools:
  mail__send:
    exfiltrating: true
    sink_params: [to]
    trusted_destinations: ["*@corp.example", "billing@vendor.example", "*.trusted.example"]
    write_params: [attachment]
    allowed_path_prefixes: ["/srv/out", "/tmp/mail"]
    arg_patterns: { format: "plain|html" }
rules:
"#,
    );
    for condition in [
        r#"args.subject matches /^(urgent|wire transfer)\b/i"#,
        r#"args.body matches /\b(password|passwd|api[_-]?key)\s*[:=]/i"#,
        r#"args.body contains "BEGIN PRIVATE KEY""#,
        r#"args.body contains "confidential""#,
        r#"args.attachment starts_with "/srv/out/private/""#,
        r#"args.attachment matches /\.(pem|key|p12)$/"#,
        r#"args.to in ["root@corp.example", "board@corp.example"]"#,
        r#"args.priority >= 9"#,
        r#"args.format == "raw" and args.subject contains "invoice""#,
        r#"args.reply_to exists"#,
    ] {
        rule(&mut policy, "mail__send", condition);
    }
    policy
}

/// About 300 bytes of arguments that the typical policy lets pass.
pub fn typical_request() -> Request {
    Request::new(
        "mail",
        "send",
        concat!(
            r#"{"to":"jane.doe@corp.example","subject":"Minutes of the meeting on Tuesday","#,
            r#""body":"Dear Jane,\n\nhere are the minutes of our meeting. The next one is on the 12th; please tell me by Friday if the date does not suit you.\n\nBest regards","#,
            r#""attachment":"/srv/out/minutes-2026-11.pdf","format":"plain","priority":3}"#
        ),
    )
}

fn rule(policy: &mut String, tool: &str, condition: &str) {
    let condition = condition.replace('\'', "''");
    // Short, so that 100,000 rules fit the limit of a policy file.
    let _ = writeln!(
        policy,
        "- {{tool: {tool}, when: '{condition}', action: deny}}"
    );
}

const HEAD: &str = "version: 1\npacks: []\nrules:\n";

/// Rules a tool, in [`spread`] and [`spread_regexes`].
pub const PER_TOOL: usize = 10;

/// `rules` rules of four kinds, ten a tool, ten tools a server.
pub fn spread(rules: usize) -> (String, Vec<Request>) {
    let mut policy = HEAD.to_owned();
    let tools = (rules / PER_TOOL).max(1);
    for tool in 0..tools {
        let name = format!("s{}__t{tool}", tool / 10);
        for n in 0..PER_TOOL {
            let id = tool * PER_TOOL + n;
            let condition = match n % 4 {
                0 => format!(r#"args.q == "secret {id}""#),
                1 => format!(r#"args.q contains "word_{id}_x""#),
                2 => format!(r#"args.path starts_with "/srv/a{id}/""#),
                _ => format!(r#"args.env == "p{id}" and args.q contains "purge_{id}""#),
            };
            rule(&mut policy, &name, &condition);
        }
    }
    (policy, spread_requests(tools))
}

/// `rules` regexes, ten a tool.
pub fn spread_regexes(rules: usize) -> (String, Vec<Request>) {
    let mut policy = HEAD.to_owned();
    let tools = (rules / PER_TOOL).max(1);
    for tool in 0..tools {
        let name = format!("s{}__t{tool}", tool / 10);
        for n in 0..PER_TOOL {
            let id = tool * PER_TOOL + n;
            let condition =
                format!(r"args.q matches /^(drop|truncate|delete)\s+(table\s+)?tbl_{id}(?-u:\b)/i");
            rule(&mut policy, &name, &condition);
        }
    }
    (policy, spread_requests(tools))
}

/// 128 calls over the tools of a spread policy; one in four hits a rule.
fn spread_requests(tools: usize) -> Vec<Request> {
    (0..128)
        .map(|n| {
            let tool = n * 7919 % tools;
            let id = tool * PER_TOOL + 1;
            let query = match n % 4 {
                0 => format!("please take word_{id}_x out of the list"),
                1 => format!("drop table tbl_{id} ; select 1 from the_other_table"),
                _ => "select name, email from customers where id = 42 and active".to_owned(),
            };
            Request::new(
                &format!("s{}", tool / 10),
                &format!("t{tool}"),
                format!(
                    r#"{{"q":"{query}","path":"/srv/data/reports/2026/november.csv","env":"staging","limit":100,"options":{{"timeout_ms":30000,"format":"csv","columns":["name","email","created_at"],"dry_run":false}},"comment":"the weekly report for the sales team"}}"#
                ),
            )
        })
        .collect()
}

/// `count` regexes on one argument of one tool.
pub fn regexes(count: usize, anchored: bool) -> (String, Vec<Request>) {
    let mut policy = HEAD.to_owned();
    let start = if anchored { "^" } else { "" };
    for n in 0..count {
        let condition =
            format!(r"args.query matches /{start}(drop|truncate)\s+(table\s+)?tbl_{n}x/i");
        rule(&mut policy, "db__query", &condition);
    }
    (policy, vec![query_request(200)])
}

/// A query of `length` bytes that no pattern here matches.
pub fn query_request(length: usize) -> Request {
    let text = "select name, email from customers where id = 42 and active order by drop_date; "
        .repeat(length / 80 + 1);
    Request::new(
        "db",
        "query",
        format!(r#"{{"query":"{}"}}"#, &text[..length]),
    )
}

/// One list of `count` literals.
pub fn literals(count: usize) -> (String, Vec<Request>) {
    let mut policy = String::from("version: 1\npacks: []\nlists:\n  blocked:\n");
    for n in 0..count {
        let _ = writeln!(policy, "    - \"user{n}@partner{}.example\"", n % 1000);
    }
    policy.push_str("rules:\n");
    rule(&mut policy, "mail__send", "args.to in @blocked");
    let requests = (0..64)
        .map(|n| {
            let n = n * 977 % count;
            Request::new(
                "mail",
                "send",
                format!(
                    r#"{{"to":"user{n}@partner{}.example","body":"hello"}}"#,
                    (n + n % 2) % 1000
                ),
            )
        })
        .collect();
    (policy, requests)
}

/// A call with `leaves` recipients, for [`typical`]'s tool.
pub fn recipients(leaves: usize) -> Request {
    let list: Vec<String> = (0..leaves)
        .map(|n| format!("\"user{n}@corp.example\""))
        .collect();
    Request::new("mail", "send", format!(r#"{{"to":[{}]}}"#, list.join(",")))
}

/// A call with about `bytes` bytes of arguments, most of them in the body.
pub fn sized(bytes: usize) -> Request {
    let frame = r#"{"to":"jane.doe@corp.example","subject":"hi","body":""}"#;
    let line = "Lorem ipsum dolor sit amet, consectetur adipiscing elit sed do. ";
    let body = line.repeat(bytes / line.len() + 1);
    let body = &body[..bytes.saturating_sub(frame.len())];
    Request::new(
        "mail",
        "send",
        frame.replace("\"body\":\"", &format!("\"body\":\"{body}")),
    )
}
