//! The findings that need no automata: each on a policy that has it, and not on one that
//! only looks like it.

use super::show::Judge;
use super::{Finding, ListedTool, Severity, Share, coverage, dropped, smells, suppress};
use bouncer_compiler::diagnostic::short;
use bouncer_compiler::{Input, Loaded, Options, load};
use bouncer_engine::tools::ToolDefinition;
use bouncer_plan::Verdict;
use serde_json::{Value, json};

fn loaded(text: &str, packs: bool) -> Loaded {
    let input = Input {
        name: "policy.yaml",
        text,
    };
    let options = Options {
        packs,
        heuristics: true,
    };
    load(&[input], &options).unwrap_or_else(|errors| panic!("{}\n{text}", short(&errors)))
}

fn listed(server: Option<&str>, tools: Value) -> Vec<ListedTool> {
    let tools = tools.as_array().unwrap().iter().cloned();
    tools
        .map(|tool| {
            let definition = ToolDefinition::from_json(tool).unwrap();
            (server.map(str::to_owned), definition)
        })
        .collect()
}

/// Code and line of each finding.
fn brief(findings: &[Finding]) -> Vec<(&'static str, u32)> {
    let line = |f: &Finding| f.places.first().map_or(0, |place| place.at.line);
    findings.iter().map(|f| (f.code.name(), line(f))).collect()
}

fn smells_of(text: &str) -> Vec<Finding> {
    let loaded = loaded(text, false);
    let mut out = Vec::new();
    let judge = Judge::new(&loaded.policy, &[]);
    smells::check(&loaded.policy, &[], &judge, &mut out);
    out
}

/// Codes of the smells of a native rule with this action and condition.
fn smells_of_rule(action: &str, condition: &str) -> Vec<&'static str> {
    let text = format!(
        "version: 1\nrules:\n  - tool: 'a__b'\n    action: {action}\n    {condition}\ndefaults: {{onUnknown: ask}}\n"
    );
    smells_of(&text).iter().map(|f| f.code.name()).collect()
}

fn coverage_of(text: &str, tools: &[ListedTool]) -> (Vec<Finding>, Share, Share) {
    let loaded = loaded(text, false);
    let mut out = Vec::new();
    let judge = Judge::new(&loaded.policy, tools);
    let (covered, arguments) = coverage::check(&loaded.policy, tools, &judge, &mut out);
    (out, covered, arguments)
}

#[test]
fn patterns_that_match_a_part() {
    for bad in [
        r"when: 'args.to matches /@corp\.com$/'",
        r"when: 'args.to matches /corp\.com$/'",
        r"when: 'args.to matches /^\S+@corp\.com$/'",
        r"when: 'args.to matches /(?i)^.*@(corp|partner)\.com$/'",
        r"when: 'args.to contains \'@corp.com\''"
            .replace('\\', "'")
            .as_str(),
        r"when: 'args.url matches /^https:\/\/api\.corp\.com/'",
        r"when: 'args.url matches /^https:\/\/.*\.corp\.com\//'",
        r"when: 'args.url starts_with \'https://corp.com\''"
            .replace('\\', "'")
            .as_str(),
        r"when: 'host(args.url) matches /corp\.com$/'",
        r"when: 'host(args.url) matches /^corp\.com/'",
    ] {
        assert_eq!(smells_of_rule("allow", bad), ["B0814"], "{bad}");
    }
    for good in [
        r"when: 'args.to matches /^[^@,;\s]+@corp\.com$/'",
        r"when: 'args.to matches /(?i)^[a-z0-9.+-]+@(corp|partner)\.com$/'",
        r"when: 'args.url matches /^https:\/\/(api\.)?corp\.com\//'",
        r"when: 'args.url starts_with \'https://corp.com/\''"
            .replace('\\', "'")
            .as_str(),
        r"when: 'host(args.url) matches /^([a-z0-9-]+\.)*corp\.com$/'",
        r"when: 'host(args.url) matches /\.corp\.com$/'",
        r"when: 'args.name matches /report/'",
        r"when: 'args.file matches /\.txt$/'",
        r"when: 'args.to in [\'*@corp.com\']'"
            .replace('\\', "'")
            .as_str(),
    ] {
        assert_eq!(smells_of_rule("allow", good), [""; 0], "{good}");
    }
    // A match that blocks may well be a part.
    let blocks = r"when: 'args.to matches /(?i)evil\.example/'";
    assert_eq!(smells_of_rule("deny", blocks), [""; 0]);
    // Under `not` a match lets the call through again.
    let through = r"when: 'not args.to matches /(?i)@corp\.com$/'";
    assert_eq!(smells_of_rule("deny", through), ["B0814"]);
    assert_eq!(smells_of_rule("allow", through), [""; 0]);
}

#[test]
fn what_slips_through_is_shown_and_judged() {
    let text = "version: 1\nrules:\n  - tool: 'mail__send'\n    when: 'args.to matches /@corp\\.com$/'\n    action: allow\ndefaults: {onUnknown: ask}\n";
    let found = smells_of(text);
    let example = found[0].example.as_ref().unwrap();
    assert_eq!(example.verdict, Verdict::Allow);
    assert_eq!(example.server.as_deref(), Some("mail"));
    assert!(example.arguments.contains("evil"), "{}", example.arguments);
    assert_eq!(example.decided_at.unwrap().line, 3);
    // A rule above that asks about such values: the pattern still matches them, but
    // there is no call that is allowed.
    let text = text.replace(
        "rules:\n",
        "rules:\n  - {tool: 'mail__send', match: {to: {contains: evil}}, action: ask}\n",
    );
    assert!(smells_of(&text)[0].example.is_none());
}

#[test]
fn dots_that_match_anything() {
    let codes = |action: &str, condition: &str| smells_of_rule(action, condition);
    assert_eq!(
        codes("allow", "when: 'args.to matches /^[a-z]+@corp.com$/'"),
        ["B0815"]
    );
    assert_eq!(
        codes("allow", "when: 'args.ip matches /^10.0.0.1$/'"),
        ["B0815"]
    );
    // In a rule that blocks it only blocks more.
    let found = smells_of(
        "version: 1\nrules:\n  - {tool: a, match: {to: {regex: '(?i)evil.com'}}, action: deny}\n",
    );
    assert_eq!(found[0].severity, Severity::Note);
    for good in [
        r"when: 'args.to matches /^[a-z]+@corp\.com$/'",
        "when: 'args.q matches /^a.c$/'",
        "when: 'args.q matches /^select.*from$/'",
        r"when: 'args.v matches /^\d+.\d+$/'",
    ] {
        assert_eq!(codes("allow", good), [""; 0], "{good}");
    }
}

#[test]
fn line_breaks_are_known() {
    let rule = |condition| smells_of_rule("deny", condition);
    assert_eq!(rule(r"when: 'args.body matches /bcc:\n/'"), ["B0816"]);
    assert_eq!(rule(r"when: 'args.body matches /(?m)^bcc/'"), ["B0816"]);
    assert_eq!(rule(r"when: 'args.body matches /bcc:\s/'"), [""; 0]);
    assert_eq!(rule(r"when: 'args.body matches /^bcc/'"), [""; 0]);
    let contract = |pattern: &str| {
        let text =
            format!("version: 1\ntools:\n  run: {{arg_patterns: {{command: '{pattern}'}}}}\n");
        brief(&smells_of(&text))
    };
    assert_eq!(contract("[^;&|]+"), [("B0816", 3)]);
    assert_eq!(contract(r"[^;&|\n]+"), []);
    assert_eq!(contract("[a-z ]+"), []);
    assert_eq!(contract(r"[^,]+@corp\.com"), [("B0814", 3)]);
    assert_eq!(contract(r"[^@\s,]+@corp\.com"), []);
}

#[test]
fn letter_case_that_does_not_count() {
    let rule = |condition| smells_of_rule("deny", condition);
    assert_eq!(
        rule("when: 'args.query matches /^drop /'"),
        ["B0827", "B0817"]
    );
    for bad in [
        "when: 'args.query matches /drop /'",
        "match: {sql: {contains: 'DROP TABLE'}}",
        "match: {query: {equals: drop}}",
        "match: {url: {contains: 'evil.example'}}",
        "match: {to: {equals: 'mallory@evil.example'}}",
        "when: 'args.url matches /^https:\\/\\/evil\\.example\\//'",
    ] {
        assert_eq!(rule(bad), ["B0817"], "{bad}");
    }
    for good in [
        "when: 'args.query matches /(?i)drop /'",
        "when: 'args.query matches /[dD][rR][oO][pP] /'",
        "match: {command: {contains: 'rm -rf'}}",
        "match: {title: {contains: drop}}",
        "when: 'host(args.url) == \"evil.example\"'",
        "match: {path: {contains: '/etc/passwd'}}",
        "match: {file: {contains: report.txt}}",
        "match: {url: {regex: '(?i)evil\\.example'}}",
    ] {
        assert_eq!(rule(good), [""; 0], "{good}");
    }
    // Where a match lets through, another spelling is only kept out.
    let through = "when: 'args.to == \"a@corp.com\"'";
    assert_eq!(smells_of_rule("allow", through), [""; 0]);
    let note = smells_of(
        "version: 1\nrules:\n  - {tool: a, match: {to: {in: ['a@corp.com']}}, action: ask}\n",
    );
    assert_eq!(note[0].severity, Severity::Note);
}

#[test]
fn queries_with_more_than_one_statement() {
    let rule = |action: &str, condition: &str| smells_of_rule(action, condition);
    for bad in [
        r"when: 'args.query matches /(?i)^\s*(drop|truncate)\b/'",
        "match: {sql: {regex: '(?i)^drop'}}",
    ] {
        assert_eq!(rule("deny", bad), ["B0827"], "{bad}");
        assert_eq!(rule("allow", bad), ["B0828"], "{bad}");
    }
    for good in [
        r"when: 'args.query matches /(?i)\b(drop|truncate)\b/'",
        "when: 'any sql(args.query).verb in [drop]'",
        r"when: 'args.command matches /(?i)^drop/'",
        r"when: 'args.query matches /(?i)^explain drop/'",
    ] {
        assert_eq!(rule("deny", good), [""; 0], "{good}");
    }
}

#[test]
fn characters_that_mislead() {
    let found = |text: &str| brief(&smells_of(text));
    assert_eq!(
        found("version: 1\nrules:\n  - {tool: '\u{440}ay', action: deny}\n"),
        [("B0818", 3)]
    );
    assert_eq!(found("s\u{435}nd: {max_calls: 1}\n"), [("B0818", 1)]);
    assert_eq!(
        found("send: {exfiltrating: true, trusted_destinations: ['\u{430}lice@corp.com']}\n"),
        [("B0818", 1)]
    );
    assert_eq!(
        found("rules:\n  - {tool: a, match: {q: {contains: \"a\\u202eb\"}}, action: deny}\n"),
        [("B0818", 2)]
    );
    assert_eq!(
        found("rules:\n  - {tool: a, match: {q: {regex: \"dr\u{43e}p\"}}, action: deny}\n"),
        [("B0818", 2)]
    );
    for good in [
        "rules:\n  - {tool: a, match: {q: {contains: 'überweisung café'}}, action: deny}\n",
        "rules:\n  - {tool: a, match: {q: {contains: 'привет мир'}}, action: deny}\n",
        "rules:\n  - {tool: a, match: {q: {contains: '東京'}}, action: deny}\n",
        "rules:\n  - {tool: a, match: {q: {contains: 'αβγ'}}, action: deny}\n",
    ] {
        assert_eq!(found(good), [], "{good}");
    }
}

#[test]
fn path_prefixes_that_look_like_more() {
    let prefix = |prefix: &str| {
        let text = format!(
            "version: 1\ntools:\n  save: {{write_params: [path], allowed_path_prefixes: ['{prefix}']}}\n"
        );
        brief(&smells_of(&text))
    };
    for bad in [
        "/srv/*",
        "~/out",
        "${HOME}/out",
        "$HOME/out",
        "/srv/../etc",
        "/srv//out",
        "/srv/./out",
        "/srv/%2e%2e/etc",
        "./a/../b",
    ] {
        assert_eq!(prefix(bad), [("B0819", 3)], "{bad}");
    }
    for good in [
        ".",
        "./",
        "./out",
        "/srv/out",
        "/srv/out/",
        "/",
        "out",
        "C:/work",
        "..",
        "../shared",
        "/srv/100%/x",
    ] {
        assert_eq!(prefix(good), [], "{good}");
    }
    let rule = |action: &str, condition: &str| smells_of_rule(action, condition);
    assert_eq!(
        rule("allow", "match: {path: {starts_with: /srv/out}}"),
        ["B0819"]
    );
    assert_eq!(
        rule("allow", "match: {path: {regex: '^/srv/out/'}}"),
        ["B0819"]
    );
    assert_eq!(
        rule("allow", "match: {path: {within: '/srv/../x'}}"),
        ["B0819"]
    );
    assert_eq!(
        rule("allow", "match: {path: {within: '/srv/out'}}"),
        [""; 0]
    );
    assert_eq!(rule("deny", "match: {path: {starts_with: /etc/}}"), [""; 0]);
    assert_eq!(
        rule("allow", r"match: {path: {regex: '^/srv/out/[a-z]+\.md$'}}"),
        [""; 0]
    );
}

#[test]
fn texts_for_another_matcher() {
    let rule = |condition: &str| smells_of_rule("deny", condition);
    for bad in [
        "match: {body: {contains: 'drop|truncate'}}",
        "match: {body: {contains: '.*secret.*'}}",
        "match: {body: {starts_with: '^secret'}}",
        "match: {body: {equals: '\\d+'}}",
        "match: {to: {equals: '*@corp.com'}}",
        "match: {body: {regex: '/^secret/i'}}",
        "match: {body: {regex: '/secret$/'}}",
        "match: {body: {regex: '[\\w&&[^\\d]]'}}",
        "match: {body: {regex: '[a--b]'}}",
    ] {
        let found = rule(bad);
        assert_eq!(found, ["B0820"], "{bad}");
    }
    for good in [
        "match: {body: {contains: 'a|b'}}",
        "match: {body: {contains: 'see https://x'}}",
        "match: {command: {contains: 'curl|bash'}}",
        "match: {body: {contains: '5 * 3'}}",
        "match: {columns: {equals: '*'}}",
        "match: {path: {regex: '/etc/'}}",
        "match: {path: {regex: '/api/v1'}}",
        "match: {body: {regex: '[a-z&|]+'}}",
        "match: {body: {regex: '[[:alpha:]-]+'}}",
    ] {
        assert_eq!(rule(good), [""; 0], "{good}");
    }
    let glob = |glob: &str| {
        brief(&smells_of(&format!(
            "version: 1\nrules:\n  - {{tool: '{glob}', action: deny}}\n"
        )))
    };
    for bad in ["pg__.*", "^pg__query$", "pg__(query|exec)", "a|b"] {
        assert_eq!(glob(bad), [("B0820", 3)], "{bad}");
    }
    for good in ["pg__*", "*", "pg__query.v2", "pg__[a-z]*", "a-b__c?"] {
        assert_eq!(glob(good), [], "{good}");
    }
    // Other dialects are translated, so that their own constructs mean what they say.
    assert_eq!(
        brief(&smells_of(
            "rules:\n  - {tool: a, match: {q: {regex: '[a&&b]'}}, action: deny}\n"
        )),
        []
    );
}

#[test]
fn replaced_contracts_that_lose_something() {
    let found = |text: &str| {
        let loaded = loaded(text, true);
        let mut out = Vec::new();
        let judge = Judge::new(&loaded.policy, &[]);
        dropped::check(&loaded.policy, &[], &judge, &mut out);
        out
    };
    let gate = found("send_email: {max_calls: 3}\n");
    assert_eq!(brief(&gate), [("B0806", 1)]);
    assert_eq!(gate[0].severity, Severity::Error);
    assert!(gate[0].message.contains("sink gate"), "{}", gate[0].message);
    let example = gate[0].example.as_ref().unwrap();
    assert_eq!(
        (example.tool.as_str(), example.verdict),
        ("send_email", Verdict::Allow)
    );
    assert_eq!(example.untrusted.len(), 1);

    let full = "exfiltrating: true, max_calls: 1, rate: 1/min, outputs: untrusted";
    for (text, lost) in [
        (
            format!("send_email: {{{full}, sink_params: [to]}}\n"),
            "the sinks `cc`, `bcc`",
        ),
        (
            "send_email: {exfiltrating: true, sink_params: [to, cc, bcc], rate: 1/min}\n"
                .to_owned(),
            "max_calls",
        ),
        (
            "send_email: {exfiltrating: true, sink_params: [to, cc, bcc], max_calls: 2}\n"
                .to_owned(),
            "`rate`",
        ),
        (
            format!("send_email: {{{full}, on_tainted: ask}}\n"),
            "on_tainted",
        ),
        (
            "send_email: {exfiltrating: true, max_calls: 1, rate: 1/min, outputs: trusted}\n"
                .to_owned(),
            "outputs",
        ),
        (
            format!("version: 1\ntools:\n  gmail__send_email: {{{full}, sink_params: [to]}}\n"),
            "the sinks",
        ),
    ] {
        let found = found(&text);
        assert_eq!(found.len(), 1, "{text}");
        assert!(
            found[0].message.contains(lost),
            "{text}: {}",
            found[0].message
        );
        assert_eq!(found[0].severity, Severity::Warning, "{text}");
    }
    for kept in [
        format!("send_email: {{{full}, sink_params: [to, cc, bcc]}}\n"),
        format!("send_email: {{{full}}}\n"),
        "send_email: {extends: pack, trusted_destinations: [a@corp.com]}\n".to_owned(),
        "no_pack_has_this: {}\n".to_owned(),
        "version: 1\npacks: []\ntools: {send_email: {}}\n".to_owned(),
    ] {
        assert_eq!(brief(&found(&kept)), [], "{kept}");
    }
}

#[test]
fn tools_that_nothing_covers() {
    let tools = listed(
        Some("s"),
        json!([{"name": "a"}, {"name": "b"}, {"name": "mail_to", "inputSchema": {"properties": {"to": {}}}}]),
    );
    let (found, covered, _) = coverage_of("a: {}\n", &tools);
    let codes: Vec<_> = found.iter().map(|f| (f.code.name(), f.severity)).collect();
    // What a guess gates is only noted.
    assert_eq!(
        codes,
        [("B0807", Severity::Warning), ("B0807", Severity::Note)]
    );
    assert_eq!(covered, Share { covered: 1, all: 3 });
    let (found, covered, _) = coverage_of("rules: [{tool: 's__*', action: ask}]\n", &tools);
    assert_eq!(brief(&found), []);
    assert_eq!(covered, Share { covered: 3, all: 3 });
    assert_eq!(coverage_of("a: {}\n", &[]).1, Share::default());
}

#[test]
fn undeclared_destinations_are_found_wherever_they_stand() {
    let tools = listed(
        None,
        json!([{"name": "post", "inputSchema": {"properties": {
            "to": {"type": "string"},
            "copies": {"type": "array", "items": {"type": "string", "format": "email"}},
            "hook": {"type": "object", "properties": {"url": {"type": "string"}}},
            "who": {"anyOf": [{"type": "null"}, {"type": "string", "format": "uri"}]},
            "notify_email": {"type": "boolean"},
            "body": {"type": "string"},
        }}}]),
    );
    let (found, _, arguments) =
        coverage_of("post: {exfiltrating: true, sink_params: [to]}\n", &tools);
    assert_eq!(brief(&found), [("B0808", 1)]);
    for name in ["`copies`", "`hook.url`", "`who`"] {
        assert!(found[0].message.contains(name), "{}", found[0].message);
    }
    for name in ["`to`", "`notify_email`", "`body`"] {
        assert!(!found[0].message.contains(name), "{}", found[0].message);
    }
    assert_eq!(arguments, Share { covered: 1, all: 6 });
    for covered in [
        "post: {exfiltrating: true, sink_params: [to, copies, hook, who]}\n",
        "post: {exfiltrating: true}\n",
        "version: 1\ntools: {post: {exfiltrating: true, sink_params: [to, copies, hook.url, who]}}\n",
        "version: 1\ntools: {post: {exfiltrating: true, sink_params: [to, copies, who]}}\nrules: [{tool: post, match: {hook.url: {regex: '^x'}}, action: deny}, {tool: post, action: allow}]\n",
    ] {
        assert_eq!(brief(&coverage_of(covered, &tools).0), [], "{covered}");
    }
    // With the gate off the call goes through, and the example says so.
    let (found, ..) = coverage_of("post: {max_calls: 3}\n", &tools);
    assert_eq!(brief(&found), [("B0808", 1)]);
    assert_eq!(found[0].example.as_ref().unwrap().verdict, Verdict::Allow);
    // A tool that reads sends nothing to the channel that it names.
    let reader = listed(
        None,
        json!([{"name": "slack_get_history", "inputSchema": {"properties": {"channel_id": {}}}}]),
    );
    let text = "slack_get_history: {outputs: untrusted}\n";
    assert_eq!(brief(&coverage_of(text, &reader).0), []);
    let fetcher = listed(
        None,
        json!([{"name": "fetch", "inputSchema": {"properties": {"url": {}}}}]),
    );
    assert_eq!(
        brief(&coverage_of("fetch: {outputs: untrusted}\n", &fetcher).0),
        [("B0808", 1)]
    );
}

#[test]
fn names_that_no_schema_has() {
    let tools = listed(
        None,
        json!([{"name": "save", "inputSchema": {"properties": {
            "path": {"type": "string"}, "mode": {"type": "string"},
            "meta": {"type": "object", "properties": {"tag": {}}}}}},
            {"name": "free", "inputSchema": {"type": "object"}}]),
    );
    let text = "version: 1\ntools:\n  save:\n    write_params: [pth]\n    allowed_path_prefixes: [.]\n    arg_patterns: {mod: a, meta.tug: b, mode: c}\n    outputs: untrusted\n  free:\n    write_params: [anything]\n    allowed_path_prefixes: [.]\nrules:\n  - {tool: save, match: {pahs: {contains: x}}, action: deny}\n  - {tool: '*', match: {path: {contains: x}}, action: deny}\n  - {tool: '*', action: allow}\n";
    let (found, ..) = coverage_of(text, &tools);
    assert_eq!(
        brief(&found),
        [("B0809", 4), ("B0809", 6), ("B0809", 6), ("B0809", 12)]
    );
    assert_eq!(found[0].help.as_deref(), Some("did you mean `path`?"));
}

#[test]
fn entries_and_globs_that_match_no_tool() {
    let tools = listed(Some("db"), json!([{"name": "query"}]));
    let text = "version: 1\ntools:\n  qeury: {}\n  pg__query: {}\n  query: {outputs: untrusted}\nrules:\n  - {tool: 'query', action: ask}\n  - {tool: ['db__*', 'pg__*'], action: ask}\n";
    let (found, ..) = coverage_of(text, &tools);
    let lines: Vec<_> = found
        .iter()
        .filter(|f| f.code.name() == "B0810")
        .map(|f| f.places[0].at.line)
        .collect();
    assert_eq!(lines, [4, 3, 7, 8]);
    let glob = found.iter().find(|f| f.places[0].at.line == 7).unwrap();
    assert_eq!(
        glob.help.as_deref(),
        Some("the lock has this tool as `db__query`")
    );
}

#[test]
fn what_a_default_decides() {
    let tools = listed(
        None,
        json!([{"name": "a"}, {"name": "b", "annotations": {"destructiveHint": true}}]),
    );
    let text = "rules:\n  - {tool: a, match: {x: {equals: 1}}, action: deny}\n  - {tool: b, action: ask}\ndefaults:\n  onUnknown: allow\n";
    let (found, ..) = coverage_of(text, &tools);
    assert_eq!(brief(&found), [("B0811", 5)]);
    assert!(
        found[0].message.contains("no rule matches"),
        "{}",
        found[0].message
    );
    let (found, ..) = coverage_of("a: {}\nb: {}\n", &tools);
    assert_eq!(brief(&found), [], "without rules there are no defaults");
}

#[test]
fn readers_without_labels() {
    let tools = listed(
        None,
        json!([{"name": "getMail"}, {"name": "send"}, {"name": "gh_list_issues"},
        {"name": "x", "annotations": {"readOnlyHint": true}}]),
    );
    let (found, ..) = coverage_of(
        "getMail: {}\nsend: {}\ngh_list_issues: {outputs: untrusted}\nx: {}\n",
        &tools,
    );
    assert_eq!(brief(&found), [("B0812", 1), ("B0812", 4)]);
}

#[test]
fn what_lets_commands_through_by_their_start() {
    let rule = |action: &str, condition: &str| smells_of_rule(action, condition);
    for bad in [
        r"when: 'args.command matches /^(ls|git)( .*)?$/'",
        "when: 'args.cmd starts_with \"git \"'",
        "match: {command: {contains: 'git status'}}",
        r"when: 'args.sql matches /^select .* from t/'",
    ] {
        let codes = rule("allow", bad);
        assert!(codes.contains(&"B0828"), "{bad}: {codes:?}");
        let codes = rule("deny", bad);
        assert!(!codes.contains(&"B0828"), "{bad}: {codes:?}");
    }
    for good in [
        r"when: 'args.command matches /^(ls|git status)$/'",
        r"when: 'args.command matches /^git [a-z -]+$/'",
        "when: 'args.command in [ls, \"git status\"]'",
        r"when: 'args.title matches /^git /'",
        r"when: 'args.command matches /^git / and not args.command matches /[^a-z -]/'",
        r"when: 'args.sql matches /^select / and all sql(args.sql).verb == select'",
    ] {
        let codes = rule("allow", good);
        assert!(!codes.contains(&"B0828"), "{good}: {codes:?}");
    }
}

#[test]
fn findings_are_accepted_with_a_reason() {
    let run = |text: &str| {
        let loaded = loaded(text, false);
        let mut out = Vec::new();
        let judge = Judge::new(&loaded.policy, &[]);
        smells::check(&loaded.policy, &[], &judge, &mut out);
        suppress::apply(&mut out, loaded.warnings.sources(), false);
        brief(&out)
    };
    let rule = "  - {tool: 'pg__.*', action: deny}";
    assert_eq!(
        run(&format!("version: 1\nrules:\n{rule}\n")),
        [("B0820", 3)]
    );
    assert_eq!(
        run(&format!(
            "version: 1\nrules:\n{rule}  # bouncer: allow B0820 because it is called so\n"
        )),
        []
    );
    assert_eq!(
        run(&format!(
            "version: 1\nrules:\n  # bouncer: allow B0820, B0818 because it is called so\n\n  # more\n{rule}\n"
        )),
        []
    );
    // No reason, another code, another line, a text that only looks like a comment.
    assert_eq!(
        run(&format!(
            "version: 1\nrules:\n{rule}  # bouncer: allow B0820\n"
        )),
        [("B0820", 3), ("B0826", 3)]
    );
    assert_eq!(
        run(&format!(
            "version: 1\nrules:\n{rule}  # bouncer: allow B0818 because of that\n"
        )),
        [("B0820", 3), ("B0825", 3)]
    );
    assert_eq!(
        run(&format!(
            "version: 1\n# bouncer: allow B0820 because of that\nrules:\n{rule}\n"
        )),
        [("B0820", 4), ("B0825", 2)]
    );
    assert_eq!(
        run(
            "version: 1\nrules:\n  - {tool: a, action: deny, reason: 'x # bouncer: allow B0820'}\n"
        ),
        []
    );
    // What only a lock shows cannot be called unused without one.
    assert_eq!(
        run("version: 1\nrules: [] # bouncer: allow B0808 because of that\n"),
        []
    );
}
