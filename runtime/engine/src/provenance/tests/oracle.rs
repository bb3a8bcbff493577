//! Against a naive oracle; and a measurement.

use super::*;
use bouncer_reader::address::{TokenKind, token_stands_at};
use proptest::prelude::*;

#[derive(Default)]
struct Oracle {
    trusted: Vec<String>,
    pieces: Vec<Piece>,
}

struct Piece {
    label: Label,
    folded: String,
    tokens: Vec<(TokenKind, String)>,
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
        self.pieces.push(Piece {
            label,
            folded,
            tokens,
        });
    }

    fn finds(&self, destination: &str, label: Label) -> bool {
        if label == Label::Trusted {
            let plain = !destination.contains(char::is_control) && !destination.is_empty();
            return plain && self.trusted.iter().any(|t| t == destination);
        }
        let mut folded = String::new();
        text::fold(destination, &mut folded);
        let stands = |kind, token: &str| {
            (0..folded.len()).any(|at| {
                folded.get(at..).is_some_and(|rest| rest.starts_with(token))
                    && token_stands_at(kind, &folded, at, at + token.len())
            })
        };
        let inside = |piece: &Piece| {
            let tokens = &mut piece.tokens.iter();
            (folded.chars().count() >= MIN_CHARS && piece.folded.contains(&folded))
                || tokens.any(|(kind, token)| stands(*kind, token))
        };
        self.pieces
            .iter()
            .any(|piece| piece.label == label && inside(piece))
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

/// Pieces of few characters, so that every list of anchors is crowded, and generations
/// that are forgotten on the way.
fn crowded() -> impl Strategy<Value = Vec<(String, bool)>> {
    let text = prop_oneof![
        4 => "[ab]{0,80}",
        2 => "(ab|@x\\.co){0,30}",
        2 => "[a-e@./ ]{0,200}",
        1 => "(a{1,40}[b-d]){0,12}",
        1 => "\\PC{0,60}",
    ];
    prop::collection::vec((text, any::<bool>()), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn texts_hold_what_plain_search_finds(
        pieces in crowded(),
        asked in prop::collection::vec("[ab]{6,30}|[a-e@./ ]{6,12}", 0..20),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 6_usize..60), 20),
    ) {
        let mut texts = Texts::new(1 << 20);
        let mark = Mark { name: 0, call: 0, time: 0, field: "".into() };
        let mut asked = asked;
        for (order, (text, _)) in pieces.iter().enumerate() {
            texts.add(text, order as u64, &mark);
        }
        for (piece, from, len) in cuts {
            let (text, _) = &pieces[piece.index(pieces.len())];
            let chars: Vec<char> = text.chars().collect();
            if !chars.is_empty() {
                asked.push(chars[from.index(chars.len())..].iter().take(len).collect());
            }
        }
        for needle in asked.iter().filter(|needle| needle.len() >= 6) {
            let there = pieces.iter().any(|(text, _)| text.contains(needle.as_str()));
            let found = texts.find(needle);
            prop_assert!(found.is_some() || !there, "{needle:?}");
            if let Some(hit) = found && there {
                prop_assert!(pieces.iter().any(|(text, _)| text.contains(hit.excerpt)));
            }
        }
    }
}
