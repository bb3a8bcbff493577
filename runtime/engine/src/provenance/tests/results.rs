//! What of a result is recorded.

use super::*;

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

#[test]
fn split_values_are_found_wherever_their_parts_meet() {
    let found = |content: Value| {
        let provenance = unlabelled(&json!({"structuredContent": content}));
        ask(&provenance, ATTACKER)
    };
    let (head, tail) = ATTACKER.split_at(7);
    assert_eq!(found(json!([head, tail])), "u");
    assert_eq!(found(json!([head, tail, true])), "u");
    assert_eq!(found(json!([{"x": 1}, head, tail, null])), "u");
    // Far behind what one piece holds, and on the edge of one.
    for before in [100, 255, 256, 257, 300, 600] {
        let mut parts: Vec<String> = (0..before).map(|n| format!("{n:01024}")).collect();
        parts.extend([head.to_owned(), tail.to_owned()]);
        assert_eq!(found(json!(parts)), "u", "{before}");
    }
}

#[test]
fn names_of_unknown_members_of_a_block_are_recorded() {
    for kind in ["text", "image", "resource_link", "resource", "zzz"] {
        let mut block = json!({"type": kind, "text": "x"});
        block[ATTACKER] = json!(1);
        let provenance = unlabelled(&json!({"content": [block]}));
        assert_eq!(ask(&provenance, ATTACKER), "u", "{kind}");
    }
}

#[test]
fn hosts_and_numbers_are_found_in_more_spellings() {
    for (text, destination) in [
        (
            "<a href=\"//evil.example/x\">here</a>",
            "https://evil.example/?q=1",
        ),
        ("[x](//evil.example/x)", "https://evil.example/?q=1"),
        ("http://[2001:db8::bad]/x", "http://[2001:db8::bad]/?q=s"),
        ("http://u@[2001:db8::bad]:8080/x", "[2001:db8::bad]:99"),
        ("call +49\u{2013}30\u{2013}1234567", "+49301234567"),
        ("call 555 - 123 - 4567", "5551234567"),
        (
            "account DE89\u{2011}3704\u{2011}0044\u{2011}0532\u{2011}0130\u{2011}00",
            "DE89370400440532013000",
        ),
        ("call 555\u{2212}123\u{b7}4567", "5551234567"),
        ("call 555_123_4567", "(555) 123-4567"),
    ] {
        let provenance = unlabelled(&json!({"content": [{"type": "text", "text": text}]}));
        assert_eq!(ask(&provenance, destination), "u", "{text}");
    }
}
