//! Which label a leaf gets.

use super::*;

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
    // What vouches is the structured content, and the text only repeats it.
    assert_eq!(ask(&provenance, "me@corp.com"), "to");
    assert_eq!(ask(&provenance, "x@body.example"), "u");
    // Where the structured content is a text as well, whoever wrote it wrote that.
    let text = content.to_string();
    let provenance = after(
        &labels,
        &json!({
            "content": [{"type": "text", "text": text}],
            "structuredContent": {"result": text},
        }),
    );
    assert_eq!(ask(&provenance, "me@corp.com"), "ou");
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
fn member_names_have_the_label_of_their_object_and_never_vouch() {
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
    assert_eq!(ask(&provenance, "eve@corp.com"), "o");
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
        prose: false,
        by_name: Some(std::sync::Arc::new(heuristics)),
        ..OutputLabels::default()
    };
    let content = json!({
        "from": [ATTACKER],
        "body": {"from": "b@body.example"},
        "x": "c@body.example",
        "y": "see d@body.example",
    });
    let provenance = structured(&labels, content.clone());
    assert_eq!(ask(&provenance, ATTACKER), "o");
    assert_eq!(ask(&provenance, "b@body.example"), "u");
    // An address that is a field of its own, and one within a text.
    assert_eq!(ask(&provenance, "c@body.example"), "o");
    assert_eq!(ask(&provenance, "d@body.example"), "u");
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

#[cfg(feature = "yaml")]
#[test]
fn yaml_is_taken_apart_but_never_vouches() {
    let labels = labels(
        Label::Untrusted,
        vec![
            rule(&["[*]", "sender"], Label::Observed),
            rule(&["[*]", "owner"], Label::Trusted),
        ],
    );
    let read = |text: &str| {
        let mut provenance = Provenance::default();
        let result = json!({"content": [{"type": "text", "text": text}]});
        provenance.record_result(&source(1), &labels, &result);
        provenance
    };
    let mails = "- sender: ann@corp.example\n  body: 'from bob@corp.example: hi'\n- sender: cy@corp.example\n  owner: me@corp.example\n";
    let provenance = read(mails);
    for (destination, found) in [
        ("ann@corp.example", "o"),
        ("bob@corp.example", "u"),
        ("cy@corp.example", "o"),
        ("me@corp.example", "o"),
    ] {
        assert_eq!(ask(&provenance, destination), found, "{destination}");
    }
    assert_eq!(
        field(&provenance, "bob@corp.example"),
        "content[0].text[0].body"
    );
    // The same with anything that a reader of YAML would leave out is one text.
    let provenance = read(&format!("{mails}# and dan@corp.example\n"));
    for destination in ["ann@corp.example", "me@corp.example", "dan@corp.example"] {
        assert_eq!(ask(&provenance, destination), "u", "{destination}");
    }
}
