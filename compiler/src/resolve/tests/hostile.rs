//! No text may panic, hang or exhaust the reader.

use super::*;
use crate::diagnostic::{human, json};
use proptest::prelude::*;

/// Reads and renders; fails if that does not end.
fn bounded(name: &str, text: &str) -> Diagnostics {
    let text = text.to_owned();
    crate::patience::ends(name, move || {
        let found = diagnostics(&[("p.yaml", &text)]);
        let _ = human(&found, false);
        found
    })
}

fn code_of(found: &Diagnostics) -> Code {
    found.list()[0].code
}

#[test]
fn alias_bombs_are_cheap() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for n in 1..30 {
        let refs = vec![format!("*a{}", n - 1); 9].join(",");
        bomb.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
    }
    // Written out, the last of them would have more values than a machine can count.
    let found = bounded("a bomb", &bomb);
    assert_eq!(code_of(&found), Code::ALIAS);
    // Few aliases of much text.
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(200_000),
        "*a, ".repeat(100)
    );
    assert_eq!(code_of(&bounded("long alias", &long)), Code::ALIAS);
    // Anchors alone.
    let nested = format!("a: {}{}\n", "&a [".repeat(60), "]".repeat(60));
    bounded("nested anchors", &nested);
}

#[test]
fn lists_do_not_explode() {
    let mut text = String::from("version: 1\nlists:\n  a0: [x,x,x,x,x,x,x,x,x]\n");
    for n in 1..30 {
        let refs = vec![format!("'@a{}'", n - 1); 9].join(",");
        text.push_str(&format!("  a{n}: [{refs}]\n"));
    }
    assert_eq!(code_of(&bounded("list bomb", &text)), Code::TOO_LARGE);
    let mut chain = String::from("version: 1\nlists:\n");
    for n in 0..20_000 {
        chain.push_str(&format!("  a{n}: ['@a{}']\n", n + 1));
    }
    assert_eq!(code_of(&bounded("list chain", &chain)), Code::UNKNOWN_LIST);
    let refs: Vec<_> = (0..20_000).map(|n| format!("'@b{n}'")).collect();
    let wide = format!("version: 1\nlists: {{a: [{}]}}\n", refs.join(","));
    bounded("unknown lists", &wide);
}

#[test]
fn large_and_odd_files_are_read_in_time() {
    let deep = |open: &str| open.repeat(20_000);
    for (name, text) in [
        ("flow depth", format!("a: {}", deep("["))),
        ("map depth", format!("a: {}", deep("{a: "))),
        ("block depth", deep("- ")),
        (
            "many keys",
            (0..100_000).map(|n| format!("k{n}: 1\n")).collect(),
        ),
        (
            "unknown keys",
            format!(
                "a: {{{}}}",
                (0..50_000).map(|n| format!("k{n}: 1,")).collect::<String>()
            ),
        ),
        ("one line", format!("a: {{x: {}}}", "'é' ,".repeat(100_000))),
        (
            "json",
            format!(
                "{{{}\"é\":{{}}}}",
                (0..30_000)
                    .map(|n| format!("\"tool{n}\":{{\"sink_params\":[\"to\"]}},"))
                    .collect::<String>()
            ),
        ),
        ("long text", format!("a: '{}", "é".repeat(1 << 20))),
        ("comment", "#".repeat(4 << 20)),
        ("white space", " ".repeat(1 << 20)),
        ("line breaks", "\n".repeat(1 << 20)),
        ("dashes", "- \n".repeat(100_000)),
        ("anchors", "&a ".repeat(10_000)),
        ("colons", ":".repeat(100_000)),
        ("question marks", "? ".repeat(20_000)),
        ("directives", "%TAG ! x\n".repeat(10_000)),
        (
            "far apart",
            format!("a: {{}}\n{}a: {{}}\n", "# x\n".repeat(200_000)),
        ),
    ] {
        bounded(name, &text);
    }
}

#[test]
fn odd_bytes_are_errors_with_places() {
    for text in [
        "a: \0",
        "\0",
        "a: \u{7f}",
        "\u{feff}\u{feff}a: {}",
        "a: \"\\ud800\"",
        "a: \u{85}b",
        "a:\r\n  max_calls: x\r\n",
        "a: {max_calls: x}\rb: {}",
        "\u{2028}",
        "%YAML 9.9\n---\na: {}",
        "...",
        "---",
        "--- --- a",
        "a: *b",
        "? [x]\n: {}",
        "{a: b}: c",
        "!!map {a: {}}",
        "a: !!str",
        "a: {max_calls: !!int 3}",
        "a: {max_calls: !!int x}",
    ] {
        let found = diagnostics(&[("p.yaml", text)]);
        let _ = (human(&found, true), json(&found));
        println!("{text:?}\n{}", human(&found, false));
    }
}

/// A stored text with some stretches replaced, doubled or cut.
fn mutated() -> impl Strategy<Value = String> {
    let seeds: Vec<String> = [
        include_str!("../../../../examples/policy.yaml"),
        include_str!("../../../../examples/bouncer.yaml"),
        include_str!("../../../../examples/border-patrol.yaml"),
    ]
    .iter()
    .map(|text| (*text).to_owned())
    .chain(all_codes().filter_map(|c| explain(c.name()).map(|p| p.example.to_owned())))
    .collect();
    let edit = (any::<prop::sample::Index>(), 0usize..12, fragment());
    (
        prop::sample::select(seeds),
        prop::collection::vec(edit, 0..6),
    )
        .prop_map(|(seed, edits)| {
            let mut chars: Vec<char> = seed.chars().collect();
            for (at, length, put) in edits {
                let at = at.index(chars.len() + 1);
                let end = (at + length).min(chars.len());
                chars.splice(at..end, put.chars());
            }
            chars.into_iter().collect()
        })
}

fn fragment() -> impl Strategy<Value = String> {
    let known = [
        "",
        "\n",
        "  ",
        "\t",
        ":",
        ": ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        "'",
        "\"",
        "|\n",
        ">-\n",
        "&a ",
        "*a",
        "<<: *a",
        "!!str ",
        "#",
        "@",
        "*",
        "\\",
        "\u{feff}",
        "é",
        "\u{202e}",
        "\r",
        "null",
        "true",
        "-1",
        "0x",
        "~",
        "version: 1\n",
        "when: args.a > 1",
        "---\n",
        "...",
        "? ",
        ",",
        "extends: pack",
        "(?=a)",
        "%",
        "`",
    ];
    prop_oneof![
        4 => prop::sample::select(known.to_vec()).prop_map(ToOwned::to_owned),
        1 => any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_policies_never_panic(text in mutated(), second in mutated()) {
        for files in [&[("a.yaml", text.as_str())][..], &[("a.yaml", &text), ("b.yaml", &second)]] {
            let found = diagnostics(files);
            let _ = (human(&found, false), json(&found), short(&found));
            for d in found.list() {
                for label in &d.labels {
                    let source = found.sources().file(label.span.file).unwrap();
                    prop_assert!(label.span.start <= label.span.end);
                    prop_assert!(label.span.end as usize <= source.text.len() + 1, "{:?}", label);
                }
            }
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        let _ = human(&diagnostics(&[("a.yaml", &text)]), false);
    }
}
