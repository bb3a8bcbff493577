//! Literal sets: exact look-ups in open-addressing tables.
//!
//! The compiler fills the tables with [`hash`], the runtime probes them with it.

use super::format::{LITERAL_NULL, LiteralSet, LiteralSlot, NONE, Range};
use super::{Corrupt, Tables, slice};

/// The hash of a key. Not keyed: only the policy's author chooses what is stored, and
/// a probe costs at most one pass over the slots that author filled.
#[must_use]
pub fn hash(kind: u32, key: &[u8]) -> u64 {
    // A multiply-rotate mix over eight bytes at a time: short keys, so start-up cost
    // matters more than throughput.
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = K ^ (u64::from(kind) << 32) ^ key.len() as u64;
    let mut chunks = key.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        state = (state ^ word).wrapping_mul(K).rotate_left(29);
    }
    let mut tail = [0; 8];
    for (slot, byte) in tail.iter_mut().zip(chunks.remainder()) {
        *slot = *byte;
    }
    state = (state ^ u64::from_le_bytes(tail)).wrapping_mul(K);
    state ^= state >> 32;
    state = state.wrapping_mul(K);
    state ^ (state >> 29)
}

/// The values of `key`, if the set holds it.
pub(crate) fn find<'p>(
    tables: &Tables<'p>,
    set: &LiteralSet,
    kind: u32,
    key: &[u8],
) -> Result<Option<&'p Range>, Corrupt> {
    debug_assert!(kind <= super::format::LITERAL_BELOW && LITERAL_NULL < 32);
    if set.kinds.get() & (1 << kind) == 0 {
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
        if slot.kind.get() == NONE {
            return Ok(None);
        }
        if slot.hash.get() == low && slot.kind.get() == kind && tables.bytes_of(&slot.key)? == key {
            return Ok(Some(&slot.values));
        }
        at = (at + 1) & mask;
    }
    Ok(None)
}
