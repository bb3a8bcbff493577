//! Stand-in until the real canonical form is merged.

use unicode_normalization::UnicodeNormalization;

/// The canonical form.
pub fn fold(input: &str, out: &mut String) {
    out.clear();
    let mut cur: String = input.to_owned();
    loop {
        let mut next: String = cur
            .nfkc()
            .filter(|c| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{ad}' | '\u{feff}'))
            .flat_map(char::to_lowercase)
            .collect();
        let bytes = next.as_bytes();
        let mut plain = Vec::with_capacity(bytes.len());
        let mut i = 0;
        while let Some(&b) = bytes.get(i) {
            let hex = next
                .get(i + 1..i + 3)
                .and_then(|h| u8::from_str_radix(h, 16).ok());
            match (b, hex) {
                (b'%', Some(h)) => {
                    plain.push(h);
                    i += 3;
                }
                _ => {
                    plain.push(b);
                    i += 1;
                }
            }
        }
        if let Ok(text) = String::from_utf8(plain) {
            next = text;
        }
        next = next.split_whitespace().collect::<Vec<_>>().join(" ");
        next.retain(|c| !c.is_control());
        if next == cur {
            break;
        }
        cur = next;
    }
    out.push_str(&cur);
}
