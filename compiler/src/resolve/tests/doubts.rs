//! What nothing can meet is warned about; what something may meet is not.

use super::*;

/// The codes of the warnings about a policy.
fn codes(text: &str) -> Vec<&'static str> {
    let found = diagnostics(&[("policy.yaml", text)]);
    found.list().iter().map(|d| d.code.name()).collect()
}

fn rules_of(servers: &str, tool: &str) -> Vec<&'static str> {
    let servers = match servers {
        "" => String::new(),
        names => format!(
            "servers: {{{}}}\n",
            names
                .split(' ')
                .map(|name| format!("{name}: {{command: x}}"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    codes(&format!(
        "version: 1\npacks: [gmail, filesystem]\ndefaults: {{resources: deny, prompts: deny, sampling: deny}}\n{servers}tools:\n  wiki__post: {{}}\n  my_tool: {{}}\nrules:\n  - {{tool: \"{tool}\", action: deny}}\n"
    ))
}

#[test]
fn tools_that_cannot_be_meant() {
    // With servers the contract of `wiki__post` is doubted as well, unless it is one.
    for (servers, tool) in [
        ("", "send_email"),
        ("", "my_tool"),
        ("", "send_*"),
        ("", "mail:send_email"),
        ("", "mcp__mail__send_email"),
        ("", "mail__send_emial"),
        ("", "mail__Send_Email"),
        ("", "agent__Bash"),
        ("", "agent__shel"),
        ("wiki mail", "send_email"),
        ("wiki mail", "anything"),
        ("wiki mail", "mial__send_email"),
        ("wiki mail", "Mail__send_email"),
        ("wiki mail", "mail.send_email"),
        ("wiki mail", "send_*"),
        ("wiki mail", "files_?__x"),
        ("wiki mail", "[b-f]*__x"),
    ] {
        assert_eq!(rules_of(servers, tool), ["B0410"], "{servers}: {tool}");
    }
    for (servers, tool) in [
        ("", "*"),
        ("", "*send_email"),
        ("", "*__send_email"),
        ("", "mail__send_email"),
        ("", "mail__get_emails"),
        ("", "unheard_of"),
        ("", "wiki__*"),
        ("", "agent__shell"),
        ("", "agent__TodoWrite"),
        ("", "agent__*"),
        ("", "odd.name"),
        ("wiki mail", "mail__anything"),
        ("wiki mail", "m*"),
        ("wiki mail", "*read*"),
        ("wiki mail", "[l-n]ail__*"),
        ("wiki mail", "agent__write"),
    ] {
        assert_eq!(rules_of(servers, tool), [""; 0], "{servers}: {tool}");
    }
    assert_eq!(
        rules_of("mail", "mail__x"),
        ["B0410"],
        "the contract of wiki__post"
    );
}

#[test]
fn contracts_near_those_of_packs() {
    let tool = |name: &str| codes(&format!("version: 1\ntools:\n  {name}: {{max_calls: 2}}\n"));
    for near in ["send_emial", "Send_Email", "gmail__send_emial"] {
        assert_eq!(tool(near), ["B0410"], "{near}");
    }
    for other in ["send_fax", "post_emails", "my__tool"] {
        assert_eq!(tool(other), [""; 0], "{other}");
    }
}

#[test]
fn values_outside_of_closed_sets() {
    let when = |action: &str, when: &str| {
        codes(&format!(
            "version: 1\nlists: {{verbs: [drop, zap], hosts: [corp.com, \"https://x.example/\"]}}\nrules:\n  - {{tool: \"*__q\", when: '{when}', action: {action}}}\n"
        ))
    };
    for bad in [
        "any sql(args.q).verb in [drp, turncate]",
        "any sql(args.q).verb in @verbs",
        "sql(args.q).verb == selct",
        "any sql(args.q).verb matches /^drp/",
        "any sql(args.q).verb starts_with \"xy\"",
        "host(args.url) in @hosts",
        "host(args.url) == \"corp.com:8080\"",
        "args.to.length > 3",
        "args.a == yes",
    ] {
        assert!(!when("deny", bad).is_empty(), "{bad}");
    }
    for good in [
        "any sql(args.q).verb in [drop, truncate, call]",
        "any sql(args.q).verb matches /^(drop|exec)/",
        "host(args.url) in [\"corp.com\", \"*.corp.com\"]",
        "args.to.count > 3 or args.length > 2",
        "args.a == \"yes\"",
        "args.verb == drp",
    ] {
        assert_eq!(when("deny", good), [""; 0], "{good}");
    }
    // What cannot be read satisfies no rule that lets through.
    assert_eq!(when("allow", "all sql(args.q).verb in [call]"), ["B0411"]);
}

#[test]
fn destinations_that_a_sink_never_takes() {
    let trusted = |sink: &str, item: &str| {
        codes(&format!(
            "version: 1\npacks: []\ntools:\n  t: {{exfiltrating: true, sink_params: [{sink}], trusted_destinations: [{item}]}}\n"
        ))
    };
    for (sink, item) in [
        ("url", "python"),
        ("url", "\"*@corp.com\""),
        ("cc", "corp.com"),
        ("recipients", "\"https://x.example/\""),
    ] {
        assert_eq!(trusted(sink, item), ["B0411"], "{sink} {item}");
    }
    for (sink, item) in [
        ("url", "\"https://docs.python.org/3/\""),
        ("url", "\"*.python.org\""),
        ("url", "docs.python.org:443"),
        ("webhook_url", "localhost:3000"),
        ("to", "corp.com"),
        ("cc", "\"*@corp.com\""),
        ("channel", "general"),
        ("url, to", "docs.python.org"),
        ("url", "localhost"),
    ] {
        assert_eq!(trusted(sink, item), [""; 0], "{sink} {item}");
    }
    assert_eq!(trusted("url", "docs.python.org"), ["B0414"]);
}

#[test]
fn values_that_yaml_versions_read_differently() {
    let equals = |value: &str| {
        codes(&format!(
            "version: 1\nrules:\n  - {{tool: \"*__t\", match: {{m: {{equals: {value}}}}}, action: deny}}\n"
        ))
    };
    for odd in ["0755", "1_000", "yes", "Off", "0b11", "1:30"] {
        assert_eq!(equals(odd), ["B0208"], "{odd}");
    }
    for plain in ["755", "\"0755\"", "true", "0x1f", "1.5", "\"yes\""] {
        assert_eq!(equals(plain), [""; 0], "{plain}");
    }
    let listed = "version: 1\nlists: {a: [no, \"no\"]}\nrules: []\n";
    assert_eq!(codes(listed), ["B0208"]);
    let member =
        "version: 1\nrules:\n  - {tool: \"*__t\", match: {to.length: {gt: 3}}, action: deny}\n";
    assert_eq!(codes(member), ["B0412"]);
}
