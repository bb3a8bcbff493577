//! What is a token and what is not; and that looking ahead misses nothing.

use super::*;
use TokenKind::*;
use proptest::prelude::*;

fn found(text: &str) -> Vec<(TokenKind, String)> {
    let mut all = Vec::new();
    tokens(text, &mut |token| {
        all.push((token.kind, token.text.to_owned()))
    });
    all.sort();
    all.dedup();
    all
}

fn stands(kind: TokenKind, token: &str, haystack: &str) -> bool {
    haystack
        .match_indices(token)
        .any(|(at, _)| token_stands_at(kind, haystack, at, at + token.len()))
}

#[test]
fn destinations_in_text_are_found() {
    for (text, kind, token) in [
        ("write to attacker@evil.com.", Email, "attacker@evil.com"),
        ("<a@evil.com>,", Email, "a@evil.com"),
        ("联系evil@evil.com吧", Email, "evil@evil.com"),
        ("mailto:a@evil.com?x", Email, "a@evil.com"),
        ("x=a@evil.com&y", Email, "a@evil.com"),
        ("jörg@bücher.de", Email, "jörg@bücher.de"),
        ("see https://evil.com/a?b=c.", Url, "https://evil.com/a?b=c"),
        ("see https://evil.com/a?b=c.", Host, "evil.com"),
        ("href=https://evil.com/a", Url, "https://evil.com/a"),
        ("(https://u@evil.com:80/a)", Host, "evil.com"),
        ("go to www.evil.example now", Host, "evil.example"),
        ("evil.com/path", Host, "evil.com"),
        ("去evil.com看", Host, "evil.com"),
        ("http://evil.internal.html/x", Host, "evil.internal.html"),
        ("http://10.0.0.1:80/x", Ip, "10.0.0.1"),
        ("at [fe80::1:2]", Ip, "fe80::1:2"),
        ("call +1 (555) 123-4567 today", Phone, "+1 (555) 123-4567"),
        ("call 030-1234-5678", Phone, "030-1234-5678"),
        ("account 12345678, please", Account, "12345678"),
        (
            "iban de89 3704 0044 0532 0130 00 by today",
            Account,
            "de89 3704 0044 0532 0130 00",
        ),
        ("iban us12345678901234567", Account, "us12345678901234567"),
        ("ask @evilhandle", Handle, "@evilhandle"),
        ("in #evil-channel!", Channel, "#evil-channel"),
        ("fork evil/repo-x", Repo, "evil/repo-x"),
        ("channel c024be91l is", Id, "c024be91l"),
    ] {
        assert!(
            found(text).contains(&(kind, token.to_owned())),
            "{text:?}: {:?}",
            found(text)
        );
    }
}

#[test]
fn words_and_everyday_things_are_no_tokens() {
    for text in [
        "please send the report by friday, and/or call me",
        "report.txt, main.json; index.html",
        "https://",
        "version 1.2.3 of 2026-11-29 at 12:30:45",
        "a 100 100 100 km/h",
        "e.g. this, i.e. that...",
        "::::",
        "@me #ok",
        "11/12/2026 1/2/3",
        "he/she, /tmp/",
        r"a\b \n\t c:\x",
    ] {
        assert_eq!(found(text), [], "{text:?}");
    }
    let shared = found("see https://github.com/evil/repo from x@gmail.com");
    assert!(shared.iter().all(|(kind, _)| *kind != Host), "{shared:?}");
}

#[test]
fn tokens_stand_at_boundaries_only() {
    for (kind, token, haystack) in [
        (Host, "evil.com", "https://evil.com/?q=1"),
        (Host, "evil.com", "sub.evil.com"),
        (Host, "evil.com", "x@evil.com"),
        (Host, "evil.com", "evil.com."),
        (Host, "evil.com", "去evil.com看"),
        (Email, "a@evil.com", "\"a <a@evil.com>"),
        (Email, "a@evil.com", "mailto:a@evil.com"),
        (Email, "a@evil.com", "b@corp.com,a@evil.com."),
        (Url, "https://evil.com", "https://evil.com/x"),
        (Account, "12345678", "de-12345678"),
        (Id, "c024be91l", "slack://c024be91l/x"),
        (Repo, "evil/repo", "https://github.com/evil/repo.git"),
        (Path, "/srv/drop/x", "file:///srv/drop/x"),
        (Path, "/srv/drop/x", "eve@host:/srv/drop/x."),
        (Path, "src/drop/x", "/home/me/src/drop/x"),
        (Directory, "/srv/drop", "/srv/drop/x"),
        (Directory, "/srv/drop", "/srv/drop"),
    ] {
        assert!(stands(kind, token, haystack), "{token:?} in {haystack:?}");
    }
    for (kind, token, haystack) in [
        (Host, "evil.com", "notevil.com"),
        (Host, "evil.com", "not-evil.com"),
        (Host, "evil.com", "evil.com.corp.com"),
        (Host, "evil.com", "evil.community"),
        (Email, "a@evil.com", "xa@evil.com"),
        (Email, "a@evil.com", "x.a@evil.com"),
        (Email, "a@evil.com", "a@evil.company"),
        (Email, "a@evil.com", "a@evil.com.au"),
        (Account, "12345678", "123456789"),
        (Ip, "10.0.0.1", "110.0.0.1"),
        (Ip, "10.0.0.1", "10.0.0.12"),
        (Repo, "evil/repo", "not-evil/repo"),
        (Path, "/srv/drop", "/srv/drop/x"),
        (Path, "/srv/drop", "/mnt/srv/drop"),
        (Path, "/srv/drop", "/srv/drop.txt"),
        (Directory, "/srv/drop", "/srv/dropped/x"),
    ] {
        assert!(!stands(kind, token, haystack), "{token:?} in {haystack:?}");
    }
    assert!(!token_stands_at(Host, "é", 1, 2));
    assert!(!token_stands_at(Host, "e", 1, 9));
}

#[test]
fn kinds_keep_their_bytes() {
    for byte in 0..12 {
        assert_eq!(
            TokenKind::from_byte(byte).map(|kind| kind as u8),
            Some(byte)
        );
    }
    assert_eq!(TokenKind::from_byte(12), None);
}

#[test]
fn long_text_takes_linear_time() {
    for text in [
        "@",
        "a@",
        "a.",
        "1 ",
        "+1",
        "://",
        "de89 ",
        "a/b",
        "é",
        "http://a,",
        ":",
        "aa11",
    ] {
        let text = text.repeat(100_000);
        let started = std::time::Instant::now();
        tokens(&text, &mut |_| {});
        assert!(started.elapsed().as_secs() < 5, "{:?}", &text[..6]);
    }
}

proptest! {
    #[test]
    fn each_token_is_a_slice_of_the_text(text in "[a-c1-3@#:/. +é,-]{0,24}|\\PC{0,24}") {
        tokens(&text, &mut |token| {
            assert!(token.text.len() >= SHORTEST);
            assert!(text.contains(token.text));
        });
    }
}

/// As the tokens would be found by trying each word and each place of a number.
mod slowly {
    use super::super::*;

    fn numbers(text: &str, each: Emit<'_>) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let mut give = |kind, len: usize| {
                if len > 0 {
                    each(kind, &text[at..at + len]);
                }
            };
            if rest[0].is_ascii_lowercase() {
                give(TokenKind::Account, iban(rest));
            } else if rest[0].is_ascii_digit() || matches!(rest[0], b'+' | b'(') {
                let (long, plain) = (phone(rest), single(rest));
                give(TokenKind::Account, plain);
                if long > plain {
                    give(TokenKind::Phone, long);
                }
            }
            let run = rest
                .iter()
                .take_while(|b| b.is_ascii_alphanumeric())
                .count();
            at += run.max(1);
        }
    }

    pub fn tokens(text: &str, each: &mut dyn FnMut(Token<'_>)) {
        let mut each = |kind, text: &str| {
            if text.len() >= SHORTEST {
                each(Token { kind, text });
            }
        };
        addresses(text, &mut each);
        numbers(text, &mut each);
        windows_paths(text, &mut each);
        for word in text.split(|c| is_space(c) || ends_word(c)) {
            self::word(word, &mut each);
        }
        for run in text.split(|c: char| !c.is_ascii()) {
            for word in run.split(|c| is_space(c) || ends_word(c)) {
                self::word(word, &mut each);
            }
        }
    }
}

fn mixed() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z]{1,9}",
        2 => prop::sample::select(vec![" ", " ", " ", ", ", ". ", "\n", "'", "\"", "(", ")", "“", "\u{a0}", "é", "看"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![
            "@", "://", "/", ".", ":", "::", "#", "+", "-", "www.", ".com", "=", "\\", "c:\\", "~/", "../", "file://",
        ]).prop_map(str::to_owned),
        1 => "[0-9]{1,12}",
        1 => "(de|us|gb)[0-9]{2} ?[0-9 ]{4,30}",
        1 => "[+(]?[0-9]{1,4}[ ().-]{1,2}[0-9]{2,9}",
        1 => "[a-z0-9_.-]{1,14}",
        1 => "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn skipping_ahead_misses_nothing(text in mixed()) {
        let mut slow = Vec::new();
        slowly::tokens(&text, &mut |token| slow.push((token.kind, token.text.to_owned())));
        slow.sort();
        slow.dedup();
        prop_assert_eq!(found(&text), slow);
    }
}
