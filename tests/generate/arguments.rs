//! Argument bytes: JSON that meets the policy's paths, spelled in many ways, and now
//! and then not JSON at all.

use super::rng::Rng;
use super::vocabulary::{INNER_KEYS, KEYS, NUMBERS, TEXTS};

pub fn arguments(rng: &mut Rng) -> Option<Vec<u8>> {
    if rng.chance(3) {
        return None;
    }
    let mut text = object(rng, KEYS, 5, 0).into_bytes();
    if rng.chance(4) {
        spoil(rng, &mut text);
    }
    Some(text)
}

fn object(rng: &mut Rng, keys: &[&str], most: usize, depth: usize) -> String {
    let mut names: Vec<&str> = keys.to_vec();
    let count = rng.below(most + 1).min(names.len());
    let members: Vec<String> = (0..count)
        .map(|_| {
            let name = names.swap_remove(rng.below(names.len()));
            // Destinations may hide in names, too.
            let capitals = name.to_uppercase();
            let name = if rng.chance(4) {
                &capitals
            } else if depth > 0 && rng.chance(8) {
                rng.pick(TEXTS)
            } else {
                name
            };
            let value = value(rng, depth);
            format!("{}{}:{}{value}", space(rng), string(rng, name), space(rng))
        })
        .collect();
    format!("{{{}{}}}", members.join(","), space(rng))
}

fn value(rng: &mut Rng, depth: usize) -> String {
    match rng.below(if depth > 2 { 14 } else { 20 }) {
        0 | 1 => (*rng.pick(NUMBERS)).to_owned(),
        2 => (*rng.pick(&["true", "false"])).to_owned(),
        3 => "null".to_owned(),
        4..=13 => {
            let text = rng.pick(TEXTS);
            string(rng, text)
        }
        14..=17 => {
            let items = rng.several(0, 3, |rng| value(rng, depth + 1));
            format!("[{}{}]", items.join(","), space(rng))
        }
        _ => object(rng, INNER_KEYS, 2, depth + 1),
    }
}

fn space(rng: &mut Rng) -> &'static str {
    if rng.chance(10) {
        rng.pick(&[" ", "\n", "\t ", "\r\n"])
    } else {
        ""
    }
}

/// The text as a JSON string, some characters escaped that need not be.
fn string(rng: &mut Rng, text: &str) -> String {
    let escape_all = rng.chance(5);
    let mut json = String::from("\"");
    for c in text.chars() {
        if escape_all || c < ' ' || rng.chance(1) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                json.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            match c {
                '"' | '\\' => json.extend(['\\', c]),
                '/' if rng.chance(5) => json.push_str("\\/"),
                c => json.push(c),
            }
        }
    }
    json.push('"');
    json
}

fn spoil(rng: &mut Rng, text: &mut Vec<u8>) {
    match rng.below(9) {
        0 => text.truncate(rng.below(text.len())),
        1 => text.extend_from_slice(b" x"),
        2 => *text = br#"{"to":"a@corp.com","t\u006f":"evil@evil.com"}"#.to_vec(),
        3 => *text = br#"{"a":{"b":1,"b":2}}"#.to_vec(),
        4 => *text = br#"{"a":"\ud800"}"#.to_vec(),
        5 => {
            let at = rng.below(text.len() + 1);
            text.insert(at, 0xff);
        }
        6 => *text = b"[]".to_vec(),
        7 => {
            let deep = 126 + rng.below(5);
            *text = format!("{{\"a\":{}{}}}", "[".repeat(deep), "]".repeat(deep)).into_bytes();
        }
        _ => {
            let at = rng.below(text.len());
            text[at] = b"{}[],:\"\\ \n01e.x"[rng.below(15)];
        }
    }
}
