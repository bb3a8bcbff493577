//! Recording by itself: what one conversation does with what it reads.
//!
//! `record KIND BYTES RESULTS WAY` makes results of a kind of text (`prose`, `json`, `addresses`, `base64`) and records
//! so many of them: they are put aside (`kept`), taken apart (`read`), or taken apart and after each four destinations
//! are looked up (`asked`). Prints how many bytes the texts have. The regression guard (`benches/guard/run`) counts its
//! instructions, with few results and with many.

use bouncer_engine::provenance::{OutputLabels, Provenance, Scratch, Source};
use serde_json::{Value, json};
use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;

/// Numbers that look like chance, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn pick<T: Copy + Default>(&mut self, from: &[T]) -> T {
        let at = self.below(from.len() as u64);
        from.get(at as usize).copied().unwrap_or_default()
    }

    fn word(&mut self, out: &mut String) {
        const WORDS: [&str; 32] = [
            "the",
            "parcel",
            "of",
            "and",
            "which",
            "delivery",
            "to",
            "before",
            "a",
            "customer",
            "in",
            "is",
            "warehouse",
            "that",
            "it",
            "evening",
            "was",
            "for",
            "invoice",
            "on",
            "are",
            "as",
            "with",
            "Monday",
            "they",
            "at",
            "Reykjavik",
            "be",
            "this",
            "question",
            "from",
            "answered",
        ];
        // The first are the most common.
        let at = self.below(32).min(self.below(32));
        out.push_str(WORDS.get(at as usize).copied().unwrap_or_default());
        if self.below(6) == 0 {
            out.push_str(self.pick(&["s", "ing", "ly", "er"]));
        }
    }

    fn address(&mut self, out: &mut String) {
        let (name, host) = (self.below(1 << 24), self.below(1 << 16));
        let _ = write!(out, "user{name:x}@host{host:x}.example");
    }
}

fn prose(numbers: &mut Numbers, bytes: usize) -> Value {
    let mut text = String::new();
    while text.len() < bytes {
        match numbers.below(400) {
            0 => numbers.address(&mut text),
            1 => {
                let _ = write!(text, "{}", numbers.below(100_000));
            }
            2 => {
                let _ = write!(
                    text,
                    "https://page{}.example/a/{:x}",
                    numbers.below(100),
                    numbers.below(1 << 30)
                );
            }
            _ => numbers.word(&mut text),
        }
        text.push_str(numbers.pick(&[" ", " ", " ", " ", " ", " ", " ", ", ", ". ", "\n"]));
    }
    json!({"content": [{"type": "text", "text": text}]})
}

fn dense(numbers: &mut Numbers, bytes: usize) -> Value {
    let mut rows = Vec::new();
    let mut length = 0;
    while length < bytes {
        let (mut name, mut mail) = (String::new(), String::new());
        numbers.word(&mut name);
        numbers.address(&mut mail);
        let row = json!({
            "id": numbers.below(1 << 30), "name": name, "email": mail, "active": numbers.below(2) == 0,
            "created": format!("2026-{:02}-{:02}", 1 + numbers.below(12), 1 + numbers.below(28)),
            "score": numbers.below(1000) as f64 / 8.0,
        });
        length += row.to_string().len() + 1;
        rows.push(row);
    }
    json!({"content": [{"type": "text", "text": Value::Array(rows).to_string()}]})
}

fn addresses(numbers: &mut Numbers, bytes: usize) -> Value {
    let mut text = String::new();
    while text.len() < bytes {
        numbers.address(&mut text);
        text.push('\n');
    }
    json!({"content": [{"type": "text", "text": text}]})
}

fn base64(numbers: &mut Numbers, bytes: usize) -> Value {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    while text.len() < bytes {
        for _ in 0..76 {
            text.push(char::from(numbers.pick(LETTERS)));
        }
        text.push('\n');
    }
    json!({"content": [{"type": "text", "text": text}]})
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, bytes, results, way] = arguments.as_slice() else {
        return Err("usage: record KIND BYTES RESULTS WAY".into());
    };
    let (bytes, results): (usize, u64) = (bytes.parse()?, results.parse()?);
    let make = match kind.as_str() {
        "prose" => prose,
        "json" => dense,
        "addresses" => addresses,
        "base64" => base64,
        _ => return Err("no such kind of text".into()),
    };
    let mut numbers = Numbers(7);
    // The texts are made however many are recorded, so that this cancels out.
    let made: Vec<Arc<Value>> = (0..48)
        .map(|_| Arc::new(make(&mut numbers, bytes)))
        .collect();
    let mut provenance = Provenance::default();
    let mut scratch = Scratch::with_capacity(256);
    let labels = OutputLabels::default();
    for (call, result) in (1..=results).zip(&made) {
        let source = Source {
            server: Some("mail"),
            tool: "read",
            call,
        };
        black_box(provenance.record_shared(&source, &labels, result));
        if way == "kept" {
            continue;
        }
        provenance.settle();
        for question in 0..if way == "asked" { 4 } else { 0 } {
            let asked = format!("nobody{question}@elsewhere{call}.test");
            black_box(
                provenance
                    .evidence(&asked, &mut scratch)
                    .untrusted
                    .is_some(),
            );
        }
    }
    let length = |result: &Arc<Value>| {
        result
            .pointer("/content/0/text")
            .and_then(Value::as_str)
            .map_or(0, str::len)
    };
    println!(
        "{}",
        made.iter()
            .zip(0..results)
            .map(|(result, _)| length(result))
            .sum::<usize>()
    );
    Ok(())
}
