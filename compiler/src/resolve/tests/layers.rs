//! User files over packs, and several user files together.

use super::*;
use crate::policy::{
    Cond, Layer, ListItem, Op, Path, Segment, Test, ToolGlob, Transport, TrustedForm,
};
use bouncer_plan::Label;

fn policy(files: &[(&str, &str)]) -> Policy {
    match load_all(files) {
        Ok(loaded) => loaded.policy,
        Err(errors) => panic!("{}", short(&errors)),
    }
}

fn warnings(text: &str) -> Vec<&'static str> {
    match load_all(&[("p.yaml", text)]) {
        Ok(loaded) => loaded
            .warnings
            .list()
            .iter()
            .map(|d| d.code.name())
            .collect(),
        Err(errors) => panic!("{}", short(&errors)),
    }
}

fn sinks(policy: &Policy, key: &str) -> Vec<String> {
    let contract = policy.contracts.iter().find(|c| c.key == key).unwrap();
    let name = |path: &Path| match path.0.as_slice() {
        [Segment::Key(key)] => key.clone(),
        other => format!("{other:?}"),
    };
    contract.sinks.iter().map(|s| name(&s.path)).collect()
}

#[test]
fn packs_stand_below_user_files() {
    let policy = policy(&[("p.yaml", "send_email: {exfiltrating: true, max_calls: 1}\n")]);
    let keys: Vec<_> = policy
        .contracts
        .iter()
        .map(|c| (c.key.as_str(), c.layer))
        .collect();
    assert_eq!(
        keys,
        [
            ("delete_email", Layer::Pack),
            ("send_email", Layer::User),
            ("write_file", Layer::Pack)
        ]
    );
    assert_eq!(
        policy.files,
        ["p.yaml", "pack:gmail", "pack:filesystem", "pack:heuristics"]
    );
    let pack = &policy.contracts[0];
    assert_eq!((pack.at.file, pack.at.line, pack.at.column), (1, 12, 3));
    assert!(sinks(&policy, "send_email").is_empty());
    assert!(policy.rules.is_none());
    let heuristics = policy.heuristics.unwrap();
    assert_eq!(heuristics.sink_names, ["to", "channel_id"]);
    assert_eq!(heuristics.destructive_max_calls, Some(2));
    assert_eq!(heuristics.labels.observed_words, ["sender"]);
}

#[test]
fn a_qualified_key_stands_beside_the_packs() {
    let policy = policy(&[("p.yaml", "gmail__send_email: {exfiltrating: true}\n")]);
    let keys: Vec<_> = policy.contracts.iter().map(|c| c.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "delete_email",
            "gmail__send_email",
            "send_email",
            "write_file"
        ]
    );
    // It wins over the pack's bare name, so what it drops is said.
    assert_eq!(
        warnings("gmail__send_email: {exfiltrating: true}\n"),
        ["B0503"]
    );
}

#[test]
fn extending_keeps_what_the_pack_says() {
    let text = "version: 1\ntools:\n  send_email:\n    extends: pack\n    sink_params: [bcc, to]\n    trusted_destinations: ['*@corp.com']\n    max_calls: 5\n    outputs: {fields: {sender: observed}}\n";
    let policy = policy(&[("p.yaml", text)]);
    let contract = policy
        .contracts
        .iter()
        .find(|c| c.key == "send_email")
        .unwrap();
    assert!(contract.exfiltrating);
    assert_eq!(contract.layer, Layer::User);
    assert_eq!(sinks(&policy, "send_email"), ["bcc", "to", "cc"]);
    let forms: Vec<_> = contract.trusted.iter().map(|t| &t.form).collect();
    assert_eq!(
        forms,
        [
            &TrustedForm::AtDomain("corp.com".into()),
            &TrustedForm::Exact("me@corp.com".into())
        ]
    );
    assert_eq!(contract.max_calls.unwrap().0, 5);
    let outputs = contract.outputs.as_ref().unwrap();
    assert_eq!((outputs.label, outputs.fields.len()), (Label::Observed, 2));
    assert_eq!(warnings(text), [""; 0]);
}

#[test]
fn dropped_protection_is_said() {
    for (text, warned) in [
        (
            "send_email: {exfiltrating: true, sink_params: [to, cc], max_calls: 9}\n",
            false,
        ),
        ("send_email: {exfiltrating: true, max_calls: 9}\n", false),
        (
            "send_email: {exfiltrating: true, sink_params: [to], max_calls: 9}\n",
            true,
        ),
        (
            "send_email: {exfiltrating: true, sink_params: [to, cc]}\n",
            true,
        ),
        ("send_email: {}\n", true),
        ("delete_email: {}\n", true),
        ("write_file: {max_calls: 1}\n", true),
        (
            "version: 1\ntools: {send_email: {extends: pack, exfiltrating: false}}\n",
            true,
        ),
        (
            "version: 1\npacks: []\ntools: {send_email: {max_calls: 1}}\n",
            false,
        ),
    ] {
        assert_eq!(warnings(text).contains(&"B0503"), warned, "{text}");
    }
}

#[test]
fn files_are_joined() {
    let policy = policy(&[
        ("a.yaml", "one: {max_calls: 1}\n"),
        (
            "b.yaml",
            "rules: [{tool: b, action: deny}]\nservers: {z: {command: z}}\n",
        ),
        (
            "c.yaml",
            "version: 1\ntools: {two: {}}\nrules: [{tool: [c, 'd?'], action: ask}]\ndefaults: {onUnknown: deny}\nservers: {a: {url: 'http://h/x', headers: {A: '${T}'}}}\naudit: {path: log}\nassert: ['never deny tool \"read_file\"']\nheuristics: false\n",
        ),
    ]);
    let rules = policy.rules.unwrap();
    let globs: Vec<_> = rules.rules.iter().map(|r| r.tools.len()).collect();
    assert_eq!(globs, [1, 2]);
    let ToolGlob {
        pattern,
        native,
        at,
    } = &rules.rules[1].tools[1];
    assert_eq!(
        (pattern.as_str(), *native, at.file, at.line),
        ("d?", true, 2, 3)
    );
    assert_eq!(rules.on_unknown.action, Verdict::Deny);
    assert_eq!(rules.on_unknown.at.unwrap().file, 2);
    assert_eq!(rules.on_destructive_hint.action, Verdict::Ask);
    assert!(rules.on_destructive_hint.at.is_none());
    let names: Vec<_> = policy.servers.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["a", "z"]);
    assert!(
        matches!(&policy.servers[0].transport, Transport::Http { headers, .. } if headers[0].1 == "${T}")
    );
    assert_eq!(policy.audit_path.as_deref(), Some("log"));
    assert_eq!(policy.assertions[0].text, "never deny tool \"read_file\"");
    assert!(policy.heuristics.is_none());
    assert_eq!(
        policy
            .contracts
            .iter()
            .filter(|c| c.layer == Layer::User)
            .count(),
        2
    );
}

#[test]
fn a_file_of_servers_alone_has_the_defaults() {
    let rules = policy(&[("b.yaml", "servers: {z: {command: z}}\n")])
        .rules
        .unwrap();
    assert_eq!(rules.on_destructive_hint.action, Verdict::Ask);
    assert!(
        policy(&[("b.yaml", "version: 1\nservers: {z: {command: z}}\n")])
            .rules
            .is_none()
    );
}

/// The tests of the only rule.
fn tests(text: &str) -> Vec<Test> {
    let policy = policy(&[("p.yaml", text)]);
    let rule = policy.rules.unwrap().rules.remove(0);
    let Cond::All(parts) = rule.condition else {
        panic!("{:?}", rule.condition)
    };
    parts
        .into_iter()
        .map(|part| match part {
            Cond::Test(test) => test,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn lists_are_expanded_in_place() {
    let text = "version: 1\nlists:\n  a: ['@b', 5, '@@handle']\n  b: ['*@corp.com', x@y.z]\nrules: [{tool: '*', match: {to: {in: '@a'}, n: {in: [1, '@b']}}, action: deny}]\n";
    let tests = tests(text);
    let Op::In(items) = &tests[0].op else {
        panic!()
    };
    let at = ListItem::AtDomain("corp.com".into());
    assert_eq!(items.len(), 4);
    assert_eq!(items[0], at);
    assert_eq!(
        items[3],
        ListItem::Scalar(crate::policy::Scalar::Str("@handle".into()))
    );
    let Op::In(items) = &tests[1].op else {
        panic!()
    };
    assert_eq!(items.len(), 3);
}

#[test]
fn merge_keys_join_contracts() {
    let policy = policy(&[(
        "p.yaml",
        "base: &b {exfiltrating: true, sink_params: [to]}\npost:\n  <<: *b\n  sink_params: [url]\n",
    )]);
    assert_eq!(sinks(&policy, "post"), ["url"]);
    assert!(
        policy
            .contracts
            .iter()
            .any(|c| c.key == "post" && c.exfiltrating)
    );
}

#[test]
fn the_examples_load() {
    for (name, text) in [
        (
            "policy.yaml",
            include_str!("../../../../examples/policy.yaml"),
        ),
        (
            "bouncer.yaml",
            include_str!("../../../../examples/bouncer.yaml"),
        ),
        (
            "border-patrol.yaml",
            include_str!("../../../../examples/border-patrol.yaml"),
        ),
    ] {
        let policy = policy(&[(name, text)]);
        assert!(!policy.contracts.is_empty());
    }
}
