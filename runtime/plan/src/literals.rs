//! Literal sets: exact look-ups in open-addressing tables.
//!
//! The compiler fills the tables with [`hash`], the runtime probes them with it.

use super::format::{LiteralKind, LiteralSet, LiteralSlot, Range};
use super::{Corrupt, Tables, slice};
use bouncer_reader::block::tail_word;

/// The hash of a key. Not keyed: only the policy's author chooses what is stored, and
/// a probe costs at most one pass over the slots that author filled.
#[must_use]
pub fn hash(kind: LiteralKind, key: &[u8]) -> u64 {
    // A multiply-rotate mix over eight bytes at a time: short keys, so start-up cost
    // matters more than throughput.
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = K ^ (u64::from(kind as u8) << 32) ^ key.len() as u64;
    let (words, tail) = key.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        state = (state ^ word).wrapping_mul(K).rotate_left(29);
    }
    state = (state ^ tail_word(tail)).wrapping_mul(K);
    state ^= state >> 32;
    state = state.wrapping_mul(K);
    state ^ (state >> 29)
}

/// Most bytes of a domain, as DNS has it: no longer one stands in a set.
pub const MAX_DOMAIN: usize = 253;

/// The domains that a host lies below, the longest first, as far as a set may hold them.
/// Linear in the host, however many labels it has; what is handed over is at most
/// [`MAX_DOMAIN`] long.
pub fn parents(host: &str) -> impl Iterator<Item = &str> {
    let mut rest = host;
    let all = std::iter::from_fn(move || {
        let (label, parent) = rest.split_once('.')?;
        rest = parent;
        (!label.is_empty()).then_some(parent)
    });
    all.skip_while(|parent| parent.len() > MAX_DOMAIN)
}

/// The values of `key`, if the set holds it.
pub fn find<'p>(
    tables: &Tables<'p>,
    set: &LiteralSet,
    kind: LiteralKind,
    key: &[u8],
) -> Result<Option<&'p Range>, Corrupt> {
    if set.kinds.get() & kind.bit() == 0 {
        return Ok(None);
    }
    let slots: &'p [LiteralSlot] = slice(tables.literal_slots, &set.slots)?;
    if slots.is_empty() {
        return Ok(None);
    }
    let mask = slots.len() - 1;
    let hash = hash(kind, key);
    let low = hash as u32;
    let mut at = (hash >> 32) as usize & mask;
    // Half of the slots are empty, so this ends; the bound is for a damaged table.
    for _ in 0..slots.len() {
        let slot = slots.get(at).ok_or(Corrupt)?;
        if slot.kind == LiteralKind::Empty {
            return Ok(None);
        }
        if slot.hash.get() == low && slot.kind == kind && tables.bytes_of(&slot.key)? == key {
            return Ok(Some(&slot.values));
        }
        at = (at + 1) & mask;
    }
    Ok(None)
}

/// Writes the canonical decimal form of a JSON number: sign, digits without leading or
/// trailing zeros, `e`, exponent. Equal numbers have equal forms, however they were
/// spelt. `false` (and an empty `out`) if `text` is no JSON number or its exponent does
/// not fit. Linear; allocates only if `out` has to grow.
pub fn canonical_number(text: &str, out: &mut String) -> bool {
    use std::fmt::Write as _;
    out.clear();
    if !bouncer_reader::number::is_number(text) {
        return false;
    }
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let Ok(exponent) = exponent.trim_start_matches('+').parse::<i64>() else {
                return false;
            };
            (mantissa, exponent)
        }
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if negative {
        out.push('-');
    }
    let start = out.len();
    out.push_str(whole);
    out.push_str(fraction);
    let leading = out.get(start..).map_or(0, |digits| {
        digits.len() - digits.trim_start_matches('0').len()
    });
    out.replace_range(start..start + leading, "");
    let kept = out
        .get(start..)
        .map_or(0, |digits| digits.trim_end_matches('0').len());
    let dropped = out.len() - start - kept;
    out.truncate(start + kept);
    if kept == 0 {
        out.clear();
        out.push('0');
        return true;
    }
    let shift = i64::try_from(dropped).unwrap_or(i64::MAX)
        - i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let Some(exponent) = exponent.checked_add(shift) else {
        out.clear();
        return false;
    };
    write!(out, "e{exponent}").is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_few_however_many_labels_there_are() {
        let all = |host: &str| parents(host).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(all("mx.a.corp.com"), ["a.corp.com", "corp.com", "com"]);
        assert_eq!(all("com"), [""; 0]);
        assert_eq!(all("a..com"), [".com"]);
        let host = format!("{}com", "a.".repeat(100_000));
        assert_eq!(parents(&host).count(), 126);
        assert!(parents(&host).all(|parent| parent.len() <= MAX_DOMAIN));
        assert_eq!(parents(&host).last(), Some("com"));
    }

    #[test]
    fn equal_numbers_have_equal_canonical_forms() {
        let form = |text: &str| {
            let mut out = String::new();
            canonical_number(text, &mut out).then_some(out)
        };
        for group in [
            &["1", "1.0", "10e-1", "0.1e1", "1E+0"][..],
            &["0", "-0", "0.000", "0e99"],
            &["-120", "-1.2e2", "-0.12E3"],
            &["18446744073709551617", "18446744073709551617.0"],
            &["1e400", "10e399"],
        ] {
            let first = form(group[0]);
            assert!(first.is_some());
            for text in group {
                assert_eq!(form(text), first, "{text}");
            }
        }
        assert_ne!(form("1"), form("-1"));
        assert_ne!(form("9007199254740993"), form("9007199254740992"));
        for bad in ["", "x", "01", "1e99999999999999999999", "+1", "1."] {
            assert_eq!(form(bad), None, "{bad}");
        }
    }
}
