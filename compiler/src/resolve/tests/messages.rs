//! What people read: message, underline and help of each kind of mistake.

use super::*;
use crate::diagnostic::{human, json};

/// Renders what the files give.
fn rendered(files: &[(&str, &str)]) -> String {
    human(&diagnostics(files), false)
}

macro_rules! mistakes {
    ($($name:ident: $text:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), rendered(&[("policy.yaml", $text)]));
        })*

        /// All of them.
        const MISTAKES: &[(&str, &str)] = &[$((stringify!($name), $text)),*];
    };
}

mistakes! {
    unknown_key_in_a_contract: "send_email: {exfiltrate: true, sink_params: [to]}\n";
    letter_case_of_a_key: "send_email: {Exfiltrating: true, sink_params: [to]}\n";
    unknown_key_without_a_neighbour: "send_email: {exfiltrating: true, colour: red}\n";
    null_entry: "read_file:\nsend_email: deny\n";
    a_text_for_a_list: "send_email: {exfiltrating: true, sink_params: to}\n";
    a_word_for_a_bool: "send_email:\n  exfiltrating: yes\n  sink_params: [to]\n";
    a_quoted_bool: "send_email: {exfiltrating: 'false', sink_params: [to]}\n";
    odd_budgets: "a: {max_calls: 2.0}\nb: {max_calls: \"2\"}\nc: {max_calls: 1:30}\nd: {max_calls: 010}\ne: {max_calls: -1}\nf: {max_calls: true}\n";
    duplicate_keys: "send_email: {max_calls: 1}\nread_file: {}\nsend_email: {max_calls: 2}\n";
    second_document: "a: {}\n---\nb: {}\n";
    a_tab: "a:\n\tmax_calls: 1\n";
    an_open_bracket: "a: [\n";
    an_unknown_tag: "a: !!python/object/apply:os.system ['id']\n";
    an_alias_inside_its_anchor: "a: &a {x: *a}\n";
    an_empty_file: "# nothing\n";
    a_list_at_the_top: "- a\n- b\n";
    a_key_that_is_a_bool: "yes: {max_calls: 1}\n";
    a_misspelt_section: "rule:\n  - {tool: a, action: deny}\n";
    a_misspelt_default: "defaults: {onUnkown: deny}\n";
    a_misspelt_match: "rules:\n  - tool: a\n    matches: {args.q: {regex: x}}\n    action: allow\n";
    a_rule_without_action: "rules:\n  - tool: shell__*\n    reason: no\n";
    an_action_in_upper_case: "rules: [{tool: a, action: Deny}]\n";
    an_unquoted_number: "rules: [{tool: 5, action: deny}]\n";
    equals_with_a_list: "rules: [{tool: a, match: {q: {equals: [1]}}, action: deny}]\n";
    a_condition_without_a_test: "rules: [{tool: a, match: {q: {}}, action: deny}]\n";
    a_bad_regex: "rules:\n  - tool: a\n    match:\n      args.q: { regex: '(drop' }\n    action: deny\n";
    a_server_with_both: "servers: {db: {command: x, url: 'http://127.0.0.1:9/mcp'}}\n";
    a_server_without_a_url: "servers: {db: {url: nope}}\n";
    a_misplaced_star: "version: 1\ntools:\n  send_email:\n    extends: pack\n    trusted_destinations: ['*corp.com', 'a@*.com']\n";
    white_space_around_a_destination: "send_email: {exfiltrating: true, sink_params: [to, cc], max_calls: 1, trusted_destinations: ['a@corp.com ']}\n";
    a_hidden_character: "send_email: {exfiltrating: true, sink_params: [to, cc], max_calls: 1, trusted_destinations: [\"a\\u200b@corp.com\"]}\n";
    an_empty_prefix: "write_file: {write_params: [path], allowed_path_prefixes: ['']}\n";
    a_rate: "version: 1\ntools: {send_email: {extends: pack, rate: 5 per minute}}\n";
    a_rate_beyond_counting: "version: 1\ntools: {send_email: {extends: pack, rate: 100001/day}}\n";
    a_native_path: "version: 1\nrules: [{tool: '*', match: {'args.a..b': {exists: true}}, action: ask}]\n";
    a_missing_version: "tools: {send_email: {max_calls: 1}}\n";
    another_version: "version: 2\nrules: []\n";
    an_unknown_list: "version: 1\nlists: {partners: [a@b.c]}\ntools: {send_email: {extends: pack, trusted_destinations: ['@partner', '@other']}}\n";
    lists_in_a_circle: "version: 1\nlists:\n  a: ['@b']\n  b: ['@c', x]\n  c: ['@a']\n";
    nothing_to_extend: "version: 1\ntools: {send_mail: {extends: pack}}\n";
    an_unknown_pack: "version: 1\npacks: [gmial]\n";
    a_dropped_gate: "send_email:\n  trusted_destinations: [alice@corp.com]\n";
    an_unclosed_set: "version: 1\nrules: [{tool: 'shell__[ab', action: deny}]\n";
    a_contract_among_rules: "rules: []\nsend_email: {exfiltrating: true}\n";
    a_wide_rule: "rules: [{tool: '* ', match: {args..q: {contains: ''}}, action: deny}]\n";
    sinks_without_the_gate: "post: {sink_params: [to], write_params: [path]}\n";
    a_condition_in_quotes: "version: 1\nrules:\n  - tool: '*'\n    when: \"args.a == \\\"é\\\" and args.b >> 2\"\n    action: deny\n";
    a_condition_in_a_block: "version: 1\nrules:\n  - tool: '*'\n    when: |\n      args.a > 1\n      and args.b in @nowhere\n    action: deny\n";
    a_misspelt_test: "rules: [{tool: a, match: {q: {regexp: x}}, action: deny}]\n";
    a_star_without_quotes: "version: 1\nrules:\n  - {tool: *, action: deny}\n";
    a_star_before_a_name: "version: 1\nrules:\n  - tool: *__send  # all\n    action: deny\n";
    a_star_in_a_list: "version: 1\nrules:\n  - {tool: [*, b], action: deny}\n";
    a_list_name_without_quotes: "version: 1\nlists: {ours: [a@b.c]}\ntools: {send_email: {extends: pack, trusted_destinations: [@ours]}}\n";
    a_condition_that_is_true: "version: 1\nrules: [{tool: a, when: true, action: deny}]\n";
    a_condition_that_says_true: "version: 1\nrules: [{tool: a, when: 'true', action: deny}]\n";
    words_in_upper_case: "version: 1\nrules: [{tool: a, when: 'args.x == 1 AND args.y == 2 OR args.z == 3', action: deny}]\n";
    a_verb_without_its_ending: "version: 1\nrules: [{tool: a, when: 'args.x contain \"b\"', action: deny}]\n";
    a_path_of_another_language: "version: 1\nrules: [{tool: a, when: 'args.$.to == 1', action: deny}]\n";
    a_key_indented_too_little: "version: 1\nrules:\n  - tool: a\n    action: deny\n   when: args.a == 1\n";
    a_rules_key_at_the_top: "version: 1\nrules:\n  - tool: send\naction: deny\n";
    a_servers_key_beside_it: "version: 1\nservers:\n  a:\n  command: npx\n";
    a_contracts_key_beside_it: "version: 1\ntools:\n  send_email:\n  exfiltrating: true\n";
    a_command_line: "version: 1\nservers: {a: {command: \"npx -y some server\"}}\n";
    a_clients_servers: "version: 1\nmcpServers: {a: {command: npx}}\n";
    a_server_with_a_long_name: "version: 1\nservers: {a server: {command: x}, a-name-that-is-much-too-long-for-it: {command: y}}\n";
}

/// Every fix that is offered is one: with it the mistake is gone, and no other has come.
#[test]
fn fixes_compile() {
    let pages = all_codes().filter_map(|code| explain(code.name()));
    let pages = pages.filter(|page| !page.example.contains("# file:"));
    let examples = pages.map(|page| (page.code.name(), page.example));
    let mut tried = 0;
    for (name, text) in MISTAKES.iter().copied().chain(examples) {
        let before = diagnostics(&[("policy.yaml", text)]);
        for found in before.list() {
            let Some(fix) = &found.suggestion else {
                continue;
            };
            let (start, end) = (fix.span.start as usize, fix.span.end as usize);
            let fixed = format!("{}{}{}", &text[..start], fix.replacement, &text[end..]);
            let after = diagnostics(&[("policy.yaml", &fixed)]);
            let same = |other: &&Diagnostic| {
                (other.code, &other.message) == (found.code, &found.message)
                    && other.span().start == found.span().start
            };
            let rendered = || format!("{name}: {fixed}\n{}", human(&after, false));
            assert!(
                !after.list().iter().any(|other| same(&other)),
                "{}",
                rendered()
            );
            // What could not be read may hold other mistakes.
            let errors = |of: &Diagnostics| {
                let all = of.list().iter();
                all.filter(|one| one.severity == Severity::Error).count()
            };
            if found.severity == Severity::Error && found.code != Code::SYNTAX {
                assert!(errors(&after) < errors(&before), "{}", rendered());
            }
            tried += 1;
        }
    }
    assert!(tried > 15, "{tried}");
}

#[test]
fn one_tool_in_two_files() {
    let files = [
        ("a.yaml", "send_post: {exfiltrating: true}\n"),
        ("dir/b.yaml", "# second\nsend_post: {max_calls: 3}\n"),
    ];
    insta::assert_snapshot!(rendered(&files));
}

#[test]
fn defaults_that_differ() {
    let files = [
        ("a.yaml", "defaults: {onUnknown: deny}\n"),
        ("b.yaml", "version: 1\ndefaults: {onUnknown: ask}\n"),
    ];
    insta::assert_snapshot!(rendered(&files));
}

#[test]
fn machines_read_json_and_lines() {
    let found = diagnostics(&[(
        "p.yaml",
        "# é\n\"é\": {exfiltrate: true}\nsend_email: {max_calls: x}\n",
    )]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&json(&found)).unwrap());
    insta::assert_snapshot!(short(&found));
}

#[test]
fn colours_are_a_switch() {
    let found = diagnostics(&[("p.yaml", "a: 1\n")]);
    assert!(human(&found, true).contains("\u{1b}["));
    assert!(!human(&found, false).contains('\u{1b}'));
}

#[test]
fn outside_text_cannot_forge_messages() {
    let found = diagnostics(&[(
        "p\n.yaml",
        "\"a\\nerror: all is well\\e[31m\": {exfiltrate: true}\n\"b\u{202e}\": 1\n",
    )]);
    for text in [human(&found, false), short(&found)] {
        assert!(!text.contains("\nerror: all"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
    assert_eq!(short(&found).lines().count(), found.list().len());
}

#[test]
fn many_mistakes_are_cut() {
    let text: String = (0..250).map(|n| format!("t{n}: 1\n")).collect();
    let found = diagnostics(&[("p.yaml", &text)]);
    assert_eq!((found.list().len(), found.omitted()), (100, 150));
    assert!(human(&found, false).ends_with("… and 150 more\n"));
}
