//! What counts as found, and what vouches.

use super::*;

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
    assert_eq!(ask(&provenance, "Bob@corp.com"), "t");
    for destination in [
        "bob@CORP.com",
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
    let time = evidence.untrusted.map_or(0, |origin| origin.time);
    assert!(time > 1_700_000_000_000);
    let untrusted = Origin {
        server: Some("mail"),
        tool: "read",
        call: 2,
        time,
        field: "body",
        excerpt: "bob@corp.com",
    };
    assert_eq!(evidence.untrusted, Some(untrusted));
    assert!(!evidence.incomplete);
}
