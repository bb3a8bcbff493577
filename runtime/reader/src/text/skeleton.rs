//! What a reader takes a text for: accents off, look-alikes read as what they mimic.
//!
//! For restrictive tests only: a deny rule about `drop` should also see `dŕop` and
//! a `drop` with a Cyrillic `о`. Unicode's own skeleton (UTS 39) cannot be used as
//! it is, since it also rewrites ASCII (`m` to `rn`, `1` and `I` to `l`, `0` to
//! `O`), after which no pattern written in ASCII would match. Only its table is
//! used, backwards where needed, and ASCII always stays.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Writes to `out` what `canonical` looks like.
///
/// `canonical` is a canonical form ([`super::canonical`]). Characters are
/// decomposed and lose their combining marks. ASCII stays as it is. Any other
/// character whose prototype in Unicode's confusables (marks aside) is pure ASCII
/// becomes that prototype, with the ambiguous ones read by what the character is:
/// a digit's `l` and `O` are `1` and `0`, an upper-case letter's `l` is `I`, and
/// `rn` is `m`. A few letters that the table keeps apart from ASCII by their
/// finer shape (Cyrillic `к`, `т`, `м`, `н`, Greek `κ`, `τ`) are read as ASCII
/// too. Everything else stays. Linear time.
pub fn skeleton(canonical: &str, out: &mut String) {
    out.clear();
    for c in canonical.chars() {
        if c.is_ascii() {
            out.push(c);
            continue;
        }
        decompose_compatible(c, |part| {
            if part.is_ascii() {
                out.push(part);
            } else if !is_combining_mark(part) {
                look_alike(part, out);
            }
        });
    }
}

/// Pushes what the non-ASCII `c` looks like.
fn look_alike(c: char, out: &mut String) {
    let extra = match c {
        'к' | 'κ' | 'ĸ' | 'ᴋ' => 'k',
        'т' | 'τ' | 'ᴛ' => 't',
        'м' | 'ᴍ' => 'm',
        'н' | 'ʜ' => 'h',
        _ => '\0',
    };
    if extra != '\0' {
        out.push(extra);
        return;
    }
    let start = out.len();
    let mut encoded = [0; 4];
    for prototype in unicode_security::skeleton(c.encode_utf8(&mut encoded)) {
        if is_combining_mark(prototype) {
            continue;
        }
        if !prototype.is_ascii() {
            out.truncate(start);
            out.push(c);
            return;
        }
        out.push(prototype);
    }
    let ascii = match out.get(start..) {
        Some("rn") => 'm',
        Some("l") if c.is_numeric() => '1',
        Some("l") if c.is_uppercase() => 'I',
        Some("O") if c.is_numeric() => '0',
        // Nothing left, or only white space: keep what was there.
        Some(rest) if rest.trim().is_empty() => c,
        _ => return,
    };
    out.truncate(start);
    out.push(ascii);
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    fn seen(input: &str) -> String {
        let (mut text, mut out) = (String::new(), String::from("left over"));
        canonical(input, &mut text);
        skeleton(&text, &mut out);
        out
    }

    #[test]
    fn ascii_stays_as_it_is() {
        let ascii: String = (' '..='~').collect();
        assert_eq!(seen(&format!("x{ascii}x")), format!("x{ascii}x"));
        let mut out = String::new();
        skeleton("m1Il|0O rn", &mut out);
        assert_eq!(out, "m1Il|0O rn");
    }

    #[test]
    fn accents_and_look_alikes_come_off() {
        for (input, expected) in [
            ("dŕop", "drop"),
            ("dr\u{43e}p", "drop"),         // Cyrillic o
            ("dr\u{3bf}p", "drop"),         // Greek omicron
            ("𝐝𝐫𝐨𝐩", "drop"),               // mathematical
            ("ｄｒｏｐ", "drop"),           // full width
            ("d\u{334}r\u{489}op", "drop"), // overlays
            ("\u{430}dmin", "admin"),       // Cyrillic a
            ("\u{430}ttac\u{43a}er@evil.com", "attacker@evil.com"),
            ("DR\u{41e}P", "DROP"),
            ("\u{406}NSERT", "INSERT"), // Cyrillic I, prototype l
            ("\u{399}NTO", "INTO"),     // Greek Iota
            ("u\u{440}date", "update"),
            ("d\u{435}l\u{435}t\u{435}", "delete"),
            ("tr\u{fa}n\u{441}ate", "truncate"),
            ("\u{455}elect", "select"),
            ("\u{217f}erge", "merge"),
            ("\u{456}nsert", "insert"),
            ("straße", "straße"),
            ("日本語", "日本語"),
        ] {
            assert_eq!(seen(input), expected, "{input:?}");
        }
    }

    #[test]
    fn nothing_vanishes_but_marks() {
        for c in (0x80..=0x10_ffff).filter_map(char::from_u32) {
            let mut text = String::new();
            canonical(&c.to_string(), &mut text);
            let mut out = String::new();
            skeleton(&text, &mut out);
            assert_eq!(out.is_empty(), text.chars().all(is_combining_mark), "{c:?}");
        }
    }
}
