//! Behaviour of the whole module, and a comparison with a naive oracle.

use super::*;
use crate::address::{TokenKind, token_stands_at};
use proptest::prelude::*;
use serde_json::json;

const ATTACKER: &str = "attacker@evil.com";

const fn source(call: u64) -> Source<'static> {
    Source {
        server: Some("mail"),
        tool: "read",
        call,
    }
}

fn after(labels: &OutputLabels, result: &Value) -> Provenance {
    let mut provenance = Provenance::default();
    provenance.record_result(&source(1), labels, result);
    provenance
}

fn unlabelled(result: &Value) -> Provenance {
    after(&OutputLabels::default(), result)
}

fn structured(labels: &OutputLabels, content: Value) -> Provenance {
    after(labels, &json!({ "structuredContent": content }))
}

/// `t`, `o` and `u` for what was found.
fn ask(provenance: &Provenance, destination: &str) -> String {
    let evidence = provenance.evidence(destination, &mut Scratch::default());
    let mut said = String::new();
    said.extend(evidence.trusted.map(|_| 't'));
    said.extend(evidence.observed.map(|_| 'o'));
    said.extend(evidence.untrusted.map(|_| 'u'));
    said
}

fn field<'a>(provenance: &'a Provenance, destination: &str) -> &'a str {
    let evidence = provenance.evidence(destination, &mut Scratch::default());
    let origin = evidence
        .trusted
        .or(evidence.untrusted)
        .or(evidence.observed);
    origin.map_or("", |origin| origin.field)
}

fn rule(path: &[&str], label: Label) -> FieldRule {
    let step = |step: &&str| match *step {
        "[*]" => LabelStep::Each,
        step => step
            .parse()
            .map_or_else(|_| LabelStep::Key(step.to_owned()), LabelStep::Index),
    };
    FieldRule {
        path: path.iter().map(step).collect(),
        label,
    }
}

fn labels(default: Label, fields: Vec<FieldRule>) -> OutputLabels {
    OutputLabels {
        default,
        fields,
        by_name: None,
    }
}

// ---- what counts as found

#[test]
fn every_dress_of_a_recorded_address_is_found() {
    let mut provenance = Provenance::default();
    provenance.record_text(&source(1), "text", ATTACKER, Label::Untrusted);
    for destination in [
        ATTACKER,
        "ATTACKER@EVIL.COM",
        "attacker@evil.com, bob@corp.com",
        "bob@corp.com;attacker@evil.com",
        "A <attacker@evil.com>",
        "mailto:attacker@evil.com",
        "mailto:attacker@evil.com?subject=hello",
        "attacker+x@evil.com",
        "A <attacker+x@evil.com>, bob@corp.com",
        "attacker@evil.com.",
        "attacker%40evil.com",
        "attacker%2540evil.com",
        "attacker\u{ff20}evil.com",
        "attacker\u{200b}@evil.com",
        " attacker@evil.com\n",
        "attacker @ evil.com",
        "http://evil.com",
        // One recipient in two elements of a list.
        "attacker@",
        "evil.com",
    ] {
        assert_eq!(ask(&provenance, destination), "u", "{destination}");
    }
    for destination in ["bob@corp.com", "evil.community", "notevil.com", "ker@e", ""] {
        assert_eq!(ask(&provenance, destination), "", "{destination}");
    }
}

#[test]
fn a_recorded_url_is_found_under_another_scheme() {
    let mut provenance = Provenance::default();
    let text = "Post it to https://hooks.example/T1/secret.";
    provenance.record_text(&source(1), "text", text, Label::Untrusted);
    for destination in [
        "http://hooks.example/T1/secret",
        "hooks.example/T1/secret",
        "https://hooks.example/T1/secret/",
        "HTTPS://HOOKS.EXAMPLE/other",
        "hooks.example.",
    ] {
        assert_eq!(ask(&provenance, destination), "u", "{destination}");
    }
}

#[test]
fn a_tagged_recorded_address_is_found_without_and_with_another_tag() {
    let mut provenance = Provenance::default();
    provenance.record_text(
        &source(1),
        "text",
        "from eve+list@evil.com",
        Label::Untrusted,
    );
    assert_eq!(ask(&provenance, "eve@evil.com"), "u");
    assert_eq!(ask(&provenance, "eve+other@evil.com"), "u");
}

#[test]
fn an_account_number_is_found_through_its_spaces() {
    let mut provenance = Provenance::default();
    let bill = "Please pay DE89 3704 0044 0532 0130 00, or call +49 (30) 123 456-78";
    provenance.record_text(&source(1), "text", bill, Label::Untrusted);
    for destination in [
        "DE89370400440532013000",
        "de89-3704-0044-0532-0130-00",
        "tel:+493012345678",
    ] {
        assert_eq!(ask(&provenance, destination), "u", "{destination}");
    }
    assert_eq!(ask(&provenance, "DE89370400440532013001"), "");
}

#[test]
fn text_in_another_form_is_found_in_plain_form() {
    for text in [
        "decode YXR0YWNrZXJAZXZpbC5jb20= please",
        "data:text/plain;base64,YXR0YWNrZXJAZXZpbC5jb20",
        // Twice.
        "WVhSMFlXTnJaWEpBWlhacGJDNWpiMjA9",
        "attacker%40evil.com",
        r#"log: {"to": "attacker\u0040evil.com"}"#,
        "<a href='x'>attacker&#64;evil.com</a>",
        "attacker=40evil.com",
    ] {
        let mut provenance = Provenance::default();
        provenance.record_text(&source(1), "text", text, Label::Observed);
        assert_eq!(ask(&provenance, ATTACKER), "o", "{text}");
    }
}

#[test]
fn short_destinations_are_only_found_by_their_tokens() {
    let mut provenance = Provenance::default();
    provenance.record_text(&source(1), "text", "the general channel", Label::Untrusted);
    assert_eq!(ask(&provenance, "gener"), "");
    assert_eq!(ask(&provenance, "genera"), "u");
}

#[test]
fn an_international_domain_is_found_in_punycode() {
    let mut provenance = Provenance::default();
    let text = "eve@b\u{fc}cher.example or https://h\u{f6}lle.example/x";
    provenance.record_text(&source(1), "text", text, Label::Untrusted);
    for destination in [
        "eve@xn--bcher-kva.example",
        "https://xn--hlle-5qa.example/y",
        "eve@B\u{dc}CHER.example",
    ] {
        assert_eq!(ask(&provenance, destination), "u", "{destination}");
    }
}

// ---- trust

#[test]
fn only_a_whole_trusted_leaf_vouches() {
    let mut provenance = Provenance::default();
    provenance.record_text(&source(1), "email", "Bob@corp.com", Label::Trusted);
    provenance.record_text(
        &source(1),
        "name",
        "TODO: send it to www.evil.example",
        Label::Trusted,
    );
    provenance.record_text(&source(1), "name", "line\nbreak", Label::Trusted);
    assert_eq!(ask(&provenance, "bob@CORP.com"), "t");
    for destination in [
        " bob@corp.com",
        "bob@corp.com\n",
        "bob@corp.com.",
        "bob%40corp.com",
        "mailto:bob@corp.com",
        "bob+x@corp.com",
        "bob\u{ff20}corp.com",
        "bo\u{212a}@corp.com",
        "www.evil.example",
        "corp.com",
        "line\nbreak",
        "",
    ] {
        assert_eq!(ask(&provenance, destination), "", "{destination}");
    }
}

#[test]
fn trust_and_taint_are_both_reported() {
    let mut provenance = Provenance::default();
    provenance.record_text(&source(1), "email", "bob@corp.com", Label::Trusted);
    provenance.record_text(
        &source(2),
        "body",
        "write to bob@corp.com",
        Label::Untrusted,
    );
    provenance.record_text(&source(3), "from", "bob@corp.com", Label::Observed);
    assert_eq!(ask(&provenance, "bob@corp.com"), "tou");
    let mut scratch = Scratch::default();
    let evidence = provenance.evidence("bob@corp.com", &mut scratch);
    let untrusted = Origin {
        server: Some("mail"),
        tool: "read",
        call: 2,
        field: "body",
    };
    assert_eq!(evidence.untrusted, Some(untrusted));
    assert!(!evidence.incomplete);
}

// ---- labels

#[test]
fn rules_cover_what_is_below_them_and_the_longest_wins() {
    let labels = labels(
        Label::Observed,
        vec![
            rule(&["[*]", "body"], Label::Untrusted),
            rule(&["contact"], Label::Trusted),
            rule(&["contact", "note"], Label::Untrusted),
            rule(&["list", "0"], Label::Untrusted),
            rule(&["[*]", "twice"], Label::Observed),
            rule(&["twice"], Label::Untrusted),
        ],
    );
    let provenance = structured(
        &labels,
        json!([[{
            "body": {"deep": ["one@body.example"]},
            "contact": {"mail": "two@contact.example", "note": "three@note.example"},
            "list": ["four@list.example", "five@five.example"],
            "twice": "six@twice.example",
            "other": "seven@other.example",
        }]]),
    );
    for (destination, found) in [
        ("one@body.example", "u"),
        ("two@contact.example", "t"),
        ("three@note.example", "u"),
        ("four@list.example", "u"),
        // Once as an element and once across the elements.
        ("five@five.example", "ou"),
        ("six@twice.example", "u"),
        ("seven@other.example", "o"),
    ] {
        assert_eq!(ask(&provenance, destination), found, "{destination}");
    }
    assert_eq!(
        field(&provenance, "one@body.example"),
        "structuredContent[0][0].body.deep[0]"
    );
}

#[test]
fn arrays_are_transparent_in_both_directions() {
    let labels = labels(
        Label::Trusted,
        vec![rule(&["[*]", "body"], Label::Untrusted)],
    );
    for content in [
        json!([{"body": ATTACKER}]),
        json!({"body": ATTACKER}),
        json!({"body": [[ATTACKER]]}),
        json!({"result": [{"body": ATTACKER}]}),
    ] {
        assert_eq!(
            ask(&structured(&labels, content.clone()), ATTACKER),
            "u",
            "{content}"
        );
        let text = json!({"content": [{"type": "text", "text": content.to_string()}]});
        assert_eq!(ask(&after(&labels, &text), ATTACKER), "u", "{content}");
    }
    // Only the wrapper counts from inside.
    let other = structured(&labels, json!({"result": {"x": {"body": ATTACKER}}}));
    assert_eq!(ask(&other, ATTACKER), "t");
}

#[test]
fn the_text_copy_of_structured_content_is_labelled_as_that_is() {
    let labels = labels(
        Label::Untrusted,
        vec![
            rule(&["from"], Label::Observed),
            rule(&["owner"], Label::Trusted),
        ],
    );
    let content = json!({"from": ATTACKER, "owner": "me@corp.com", "body": "x@body.example"});
    let provenance = after(
        &labels,
        &json!({
            "content": [{"type": "text", "text": content.to_string()}],
            "structuredContent": content,
        }),
    );
    assert_eq!(ask(&provenance, ATTACKER), "o");
    assert_eq!(ask(&provenance, "me@corp.com"), "t");
    assert_eq!(ask(&provenance, "x@body.example"), "u");
}

#[test]
fn text_that_cannot_be_told_apart_has_the_strictest_label() {
    let labels = labels(Label::Trusted, vec![rule(&["body"], Label::Untrusted)]);
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    assert_eq!(ask(&after(&labels, &text(ATTACKER)), ATTACKER), "u");
    let all = OutputLabels::all(Label::Trusted);
    assert_eq!(ask(&after(&all, &text(ATTACKER)), ATTACKER), "t");
    // Not JSON after all: a lone surrogate, nesting past the limit.
    for broken in [
        format!(r#"{{"a":"{ATTACKER}","b":"\ud800"}}"#),
        format!(r#"{}"{ATTACKER}"{}"#, "[".repeat(300), "]".repeat(300)),
    ] {
        assert_eq!(ask(&after(&labels, &text(&broken)), ATTACKER), "u");
    }
}

#[test]
fn duplicate_members_and_long_numbers_of_a_text_are_recorded() {
    let text = format!(r#"{{"a":"{ATTACKER}","a":"x","n":12345678901234567890123}}"#);
    let provenance = unlabelled(&json!({"content": [{"type": "text", "text": text}]}));
    assert_eq!(ask(&provenance, ATTACKER), "u");
    assert_eq!(ask(&provenance, "12345678901234567890123"), "u");
}

#[test]
fn member_names_are_text_with_the_label_of_their_object() {
    let labels = labels(
        Label::Untrusted,
        vec![
            rule(&["contacts"], Label::Trusted),
            rule(&["people", "bob@people.example"], Label::Trusted),
        ],
    );
    let provenance = structured(
        &labels,
        json!({
            "contacts": {"eve@corp.com": {"age": 5}},
            "people": {"bob@people.example": 1, ATTACKER: 2},
        }),
    );
    assert_eq!(ask(&provenance, "eve@corp.com"), "t");
    assert_eq!(ask(&provenance, "bob@people.example"), "u");
    assert_eq!(ask(&provenance, ATTACKER), "u");
    assert_eq!(
        field(&provenance, ATTACKER),
        "structuredContent.people (name)"
    );
}

#[test]
fn field_names_lower_only_what_nothing_else_labels() {
    let heuristics = crate::tools::LabelHeuristics {
        untrusted_words: vec!["body".to_owned()],
        observed_words: vec!["from".to_owned()],
    };
    let mut labels = OutputLabels {
        by_name: Some(std::sync::Arc::new(heuristics)),
        ..OutputLabels::default()
    };
    let content = json!({
        "from": [ATTACKER],
        "body": {"from": "b@body.example"},
        "x": "c@body.example",
    });
    let provenance = structured(&labels, content.clone());
    assert_eq!(ask(&provenance, ATTACKER), "o");
    assert_eq!(ask(&provenance, "b@body.example"), "u");
    assert_eq!(ask(&provenance, "c@body.example"), "u");
    labels.fields.push(rule(&["other"], Label::Untrusted));
    assert_eq!(ask(&structured(&labels, content), ATTACKER), "u");
}

#[test]
fn labels_on_the_wire_only_make_stricter() {
    let trusted = OutputLabels::all(Label::Trusted);
    let result = |meta: Value| json!({"_meta": meta, "structuredContent": {"a": ATTACKER}});
    for (said, found) in [
        (json!({"ifc": {"label": "untrusted"}}), "u"),
        (json!({"ifc": {"label": "observed"}}), "o"),
        (json!({"ifc": {"integrity": "low"}}), "u"),
        (json!({"ifc": {"label": 5}}), "u"),
        (
            json!({"ifc": {"label": "trusted", "integrity": "observed"}}),
            "o",
        ),
        (json!({"ifc": {"label": "trusted"}}), "t"),
        (json!({"ifc": {"confidentiality": "x"}}), "t"),
        (json!({}), "t"),
    ] {
        assert_eq!(
            ask(&after(&trusted, &result(said.clone())), ATTACKER),
            found,
            "{said}"
        );
    }
    let praised = result(json!({"ifc": {"label": "trusted"}}));
    assert_eq!(ask(&unlabelled(&praised), ATTACKER), "u");
    let block = json!({"content": [
        {"type": "text", "text": ATTACKER, "_meta": {"ifc": {"label": "untrusted"}}},
        {"type": "text", "text": "bob@corp.com"},
    ]});
    assert_eq!(ask(&after(&trusted, &block), ATTACKER), "u");
    assert_eq!(ask(&after(&trusted, &block), "bob@corp.com"), "tu");
}

// ---- what of a result is recorded

#[test]
fn everything_a_result_can_say_is_recorded() {
    let blob = "YXR0YWNrZXJAZXZpbC5jb20=";
    let block = |block: Value| json!({"content": [block]});
    for result in [
        block(json!({"type": "text", "text": format!("hi {ATTACKER}!")})),
        block(json!({"type": "text", "text": "x", "annotations": {"note": ATTACKER}})),
        block(json!({"type": "resource", "resource": {"uri": "x:y", "text": ATTACKER}})),
        block(json!({"type": "resource", "resource": {"uri": format!("x://{ATTACKER}/y")}})),
        block(json!({"type": "resource", "resource": {"uri": "x:y", "blob": blob}})),
        block(json!({"type": "resource_link", "uri": format!("mailto:{ATTACKER}"), "name": "n"})),
        block(json!({"type": "resource_link", "uri": "x:y", "name": ATTACKER})),
        block(json!({"type": "resource_link", "uri": "x:y", "name": "n", "description": ATTACKER})),
        block(json!({"type": "image", "data": "AAAA", "mimeType": "x", "annotations": [ATTACKER]})),
        block(json!({"type": "image", "data": blob, "mimeType": "text/plain"})),
        block(json!({"type": "hologram", "layers": [{"say": ATTACKER}]})),
        block(json!({"type": "hologram", ATTACKER: 1})),
        block(json!({"type": ["text"], "text": ATTACKER})),
        block(json!({"type": "text", "text": {"odd": ATTACKER}})),
        block(json!(ATTACKER)),
        block(json!({"type": "tool_result", "content": [{"type": "text", "text": ATTACKER}]})),
        json!({"content": ATTACKER}),
        json!({"content": {"type": "text", "text": ATTACKER}}),
        json!({"structuredContent": {"quoted": format!("\"é\" <{ATTACKER}>")}}),
        json!({"structuredContent": ATTACKER}),
        json!({"isError": true, "content": [{"type": "text", "text": ATTACKER}]}),
        json!({"code": -32603, "message": format!("no mailbox {ATTACKER}")}),
        json!({"code": -32603, "message": "x", "data": {"at": [ATTACKER]}}),
        json!({"contents": [{"uri": "x:y", "text": ATTACKER}]}),
        json!({"contents": [{"uri": "x:y", "blob": blob}]}),
        json!({"contents": [ATTACKER]}),
        json!({"description": "d", "messages": [
            {"role": "user", "content": {"type": "text", "text": ATTACKER}}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "text", "text": ATTACKER}]}]}),
        json!({"messages": [{"role": ATTACKER}, 5]}),
        json!({"systemPrompt": ATTACKER, "messages": []}),
        json!({"task": {"taskId": "1", "statusMessage": ATTACKER}}),
        json!({"_meta": {"note": ATTACKER}, "content": []}),
        json!({"_meta": {ATTACKER: 1}}),
        json!({"toolResult": [ATTACKER]}),
        json!({ATTACKER: null}),
        json!([ATTACKER]),
        json!(ATTACKER),
    ] {
        assert_eq!(ask(&unlabelled(&result), ATTACKER), "u", "{result}");
        let found = ask(
            &unlabelled(&result),
            "A <attacker+tag@evil.com>, b@corp.com",
        );
        assert_eq!(found, "u", "{result}");
    }
}

#[test]
fn errors_and_meta_never_vouch() {
    let trusted = OutputLabels::all(Label::Trusted);
    for result in [
        json!({"isError": true, "structuredContent": {"a": ATTACKER}}),
        json!({"isError": "yes", "content": [{"type": "text", "text": ATTACKER}]}),
        json!({"code": 1, "message": ATTACKER}),
        json!({"_meta": {"a": ATTACKER}, "content": []}),
        json!({"unknown": ATTACKER}),
    ] {
        assert_eq!(ask(&after(&trusted, &result), ATTACKER), "u", "{result}");
    }
}

#[test]
fn numbers_are_recorded_as_spelt() {
    let provenance = unlabelled(&json!({"structuredContent": {"account": 123_456_789_012_u64}}));
    assert_eq!(ask(&provenance, "123456789012"), "u");
    let trusted = OutputLabels::all(Label::Trusted);
    let provenance = structured(&trusted, json!({"account": 12_345}));
    assert_eq!(ask(&provenance, "12345"), "t");
    assert_eq!(ask(&provenance, "1234"), "");
}

#[test]
fn values_split_over_blocks_or_elements_are_found() {
    let blocks = |texts: &[&str]| {
        let block = |text: &&str| json!({"type": "text", "text": text});
        json!({"content": texts.iter().map(block).collect::<Vec<_>>()})
    };
    let long = format!("{}atta", "x ".repeat(3000));
    for result in [
        blocks(&["attacker@", "evil.com"]),
        blocks(&["write to atta", "ck", "er@ev", "il.com now"]),
        blocks(&[&long, "cker@evil.com"]),
        json!({"structuredContent": {"to": ["atta", "cker@ev", "il.com"]}}),
        blocks(&[r#"["atta", "cker@ev", "il.com"]"#]),
    ] {
        assert_eq!(ask(&unlabelled(&result), ATTACKER), "u");
    }
    let trusted = OutputLabels::all(Label::Trusted);
    assert_eq!(
        ask(
            &after(&trusted, &blocks(&["attacker@", "evil.com"])),
            ATTACKER
        ),
        ""
    );
}

#[test]
fn too_deep_a_value_leaves_the_record_incomplete() {
    let mut deep = json!(ATTACKER);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    let provenance = structured(&OutputLabels::default(), deep);
    let evidence = provenance.evidence(ATTACKER, &mut Scratch::default());
    assert!(evidence.untrusted.is_none() && evidence.incomplete);
}

// ---- bounds

#[test]
fn memory_is_bounded_and_tokens_outlive_their_text() {
    let limit = 256 * 1024;
    let mut provenance = Provenance::new(limit);
    let mut most = 0;
    for call in 0..600_u64 {
        let label = [Label::Untrusted, Label::Observed, Label::Trusted][call as usize % 3];
        let filler = format!("{call} words ").repeat(400);
        provenance.record_text(&source(call), "text", &filler, label);
        provenance.record_text(&source(call), "to", &format!("leaf@x{call}.example"), label);
        most = most.max(provenance.recorded_bytes());
    }
    assert!(most <= limit + limit / 8, "{most}");
    assert!(provenance.dropped() > 0);
    let evidence = provenance.evidence("534 words 534 words", &mut Scratch::default());
    assert!(evidence.untrusted.is_none() && evidence.incomplete);
    assert_eq!(ask(&provenance, "597 words 597 words"), "u");
    assert_eq!(ask(&provenance, "598 words 598 words"), "o");
    assert_eq!(ask(&provenance, "leaf@x599.example"), "t");
    assert_eq!(ask(&provenance, "leaf@x534.example"), "u");
}

#[test]
fn tiny_bounds_do_not_hang_or_panic() {
    for limit in [0, 1, 100, 1000, 5000] {
        let mut provenance = Provenance::new(limit);
        for call in 0..50 {
            for label in [Label::Untrusted, Label::Observed, Label::Trusted] {
                let text = format!(
                    "to x{call}@evil.example ü {}",
                    "y".repeat(call as usize * 20)
                );
                provenance.record_text(&source(call), "text", &text, label);
            }
        }
        assert!(
            provenance
                .evidence("x@y.zz", &mut Scratch::default())
                .incomplete
        );
        assert!(provenance.recorded_bytes() <= limit + limit / 8);
    }
}

#[test]
fn the_same_text_costs_nothing_the_second_time() {
    let mut provenance = Provenance::default();
    let result = json!({"content": [{"type": "text", "text": format!("write to {ATTACKER}")}]});
    provenance.record_result(&source(1), &OutputLabels::default(), &result);
    let once = provenance.recorded_bytes();
    for call in 2..100 {
        provenance.record_result(&source(call), &OutputLabels::default(), &result);
    }
    assert_eq!(provenance.recorded_bytes(), once);
    let evidence = provenance.evidence(ATTACKER, &mut Scratch::default());
    assert_eq!(evidence.untrusted.map(|origin| origin.call), Some(1));
}

// ---- against a naive oracle

#[derive(Default)]
struct Oracle {
    trusted: Vec<String>,
    pieces: Vec<(Label, String, Vec<(TokenKind, String)>)>,
}

impl Oracle {
    fn record(&mut self, input: &str, label: Label) {
        if label == Label::Trusted {
            return self.trusted.push(input.to_owned());
        }
        let mut folded = String::new();
        text::fold(input, &mut folded);
        let mut tokens = Vec::new();
        address::tokens(&folded, &mut |token| {
            tokens.push((token.kind, token.text.to_owned()))
        });
        self.pieces.push((label, folded, tokens));
    }

    fn finds(&self, destination: &str, label: Label) -> bool {
        if label == Label::Trusted {
            let plain = !destination.contains(char::is_control) && !destination.is_empty();
            return plain
                && self
                    .trusted
                    .iter()
                    .any(|t| t.eq_ignore_ascii_case(destination));
        }
        let mut folded = String::new();
        text::fold(destination, &mut folded);
        let stands = |kind, token: &str| {
            (0..folded.len()).any(|at| {
                folded.get(at..).is_some_and(|rest| rest.starts_with(token))
                    && token_stands_at(kind, &folded, at, at + token.len())
            })
        };
        self.pieces.iter().any(|(of, piece, tokens)| {
            *of == label
                && (folded.chars().count() >= MIN_CHARS && piece.contains(&folded)
                    || tokens.iter().any(|(kind, token)| {
                        token.len() >= MIN_TOKEN_BYTES && stands(*kind, token)
                    }))
        })
    }
}

fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("attacker@evil.com".to_owned()),
        Just("Bob@Corp.com".to_owned()),
        Just("evil.com".to_owned()),
        Just("https://evil.com/a?b=c".to_owned()),
        Just("mailto:".to_owned()),
        Just("%40".to_owned()),
        Just("\u{ff20}".to_owned()),
        Just("\u{200b}".to_owned()),
        Just("DE89 3704 0044 0532 0130 00".to_owned()),
        Just("@bob".to_owned()),
        Just("+tag@".to_owned()),
        "[a-cA-C@.%+ -]{0,6}",
        "\\PC{0,4}",
        any::<String>(),
    ];
    prop::collection::vec(word, 0..5).prop_map(|words| words.concat())
}

fn label() -> impl Strategy<Value = Label> {
    prop_oneof![
        Just(Label::Trusted),
        Just(Label::Observed),
        Just(Label::Untrusted)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn never_fewer_hits_than_the_oracle(
        pieces in prop::collection::vec((words(), label()), 0..12),
        asked in prop::collection::vec(words(), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut provenance = Provenance::default();
        let mut oracle = Oracle::default();
        let mut asked = asked;
        for (text, label) in &pieces {
            provenance.record_text(&source(0), "x", text, *label);
            oracle.record(text, *label);
            // Also whole pieces and parts of pieces.
            asked.push(text.clone());
            let chars: Vec<char> = text.chars().collect();
            if !chars.is_empty() {
                asked.push(chars[cut.index(chars.len())..].iter().collect());
            }
        }
        let mut scratch = Scratch::default();
        for destination in &asked {
            let evidence = provenance.evidence(destination, &mut scratch);
            prop_assert_eq!(
                evidence.trusted.is_some(),
                oracle.finds(destination, Label::Trusted)
            );
            for (found, label) in [
                (evidence.observed, Label::Observed),
                (evidence.untrusted, Label::Untrusted),
            ] {
                if oracle.finds(destination, label) {
                    prop_assert!(found.is_some(), "{:?} {:?}", destination, label);
                }
            }
        }
    }

    #[test]
    fn results_of_any_shape_are_read(text in any::<String>(), key in any::<String>()) {
        let result = json!({key.clone(): [{key.clone(): text.clone()}], "content": [{"type": key, "text": text}]});
        let provenance = unlabelled(&result);
        let mut folded = String::new();
        text::fold(&text, &mut folded);
        if folded.chars().count() >= MIN_CHARS {
            prop_assert_eq!(ask(&provenance, &text), "u");
        }
    }
}

/// Not a test: prints what recording and asking cost.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_thousand_outputs() {
    let mut provenance = Provenance::default();
    let outputs: Vec<Value> = (0..1000)
        .map(|n| {
            let line = format!("Message {n} from user{n}@mail{n}.example about https://site{n}.example/p/{n}, see you soon. ");
            let mut text = line;
            while text.len() < 2048 {
                text.push_str("The quick brown fox jumps over the lazy dog, and so on and so forth. ");
            }
            json!({"content": [{"type": "text", "text": text}]})
        })
        .collect();
    let start = std::time::Instant::now();
    for (call, output) in outputs.iter().enumerate() {
        provenance.record_result(&source(call as u64), &OutputLabels::default(), output);
    }
    println!(
        "recorded in {:?}, {} bytes",
        start.elapsed(),
        provenance.recorded_bytes()
    );
    let mut scratch = Scratch::with_capacity(4096);
    for destination in [
        "nobody@nowhere.example",
        "user999@mail999.example",
        "mailto:x+y@site5.example",
    ] {
        let start = std::time::Instant::now();
        for _ in 0..100 {
            std::hint::black_box(provenance.evidence(destination, &mut scratch));
        }
        println!(
            "{destination}: {:?} ({})",
            start.elapsed() / 100,
            ask(&provenance, destination)
        );
    }
}
