//! Writes a Thompson NFA in the plan's layout.

use bouncer_plan::format::{NfaEdge, NfaHeader, NfaKind, NfaState, Range};
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32};

/// Encodes an NFA; state numbers stay what they are.
pub(super) fn encode(nfa: &NFA, anchored: bool) -> Vec<u8> {
    let mut states = Vec::with_capacity(nfa.states().len());
    let mut edges: Vec<NfaEdge> = Vec::new();
    for state in nfa.states() {
        let first = edges.len();
        let (kind, operand) = match state {
            State::ByteRange { trans } => {
                edges.push(edge(trans.start, trans.end, trans.next));
                (NfaKind::Bytes, 0)
            }
            State::Sparse(sparse) => {
                edges.extend(
                    sparse
                        .transitions
                        .iter()
                        .map(|t| edge(t.start, t.end, t.next)),
                );
                (NfaKind::Bytes, 0)
            }
            State::Dense(dense) => {
                let next = |byte| dense.matches_byte(byte).map(|next| edge(byte, byte, next));
                edges.extend((0..=255).filter_map(next));
                (NfaKind::Bytes, 0)
            }
            State::Union { alternates } => {
                edges.extend(alternates.iter().map(|next| edge(0, 0, *next)));
                (NfaKind::Union, 0)
            }
            State::BinaryUnion { alt1, alt2 } => {
                edges.extend([edge(0, 0, *alt1), edge(0, 0, *alt2)]);
                (NfaKind::Union, 0)
            }
            State::Capture { next, .. } => {
                edges.push(edge(0, 0, *next));
                (NfaKind::Union, 0)
            }
            State::Look { look, next } => {
                states.push(NfaState {
                    kind: NfaKind::Look as u8,
                    edges: Range {
                        start: U32::new(next.as_u32()),
                        length: U32::new(0),
                    },
                    operand: U32::new(look.as_repr()),
                });
                continue;
            }
            State::Fail => (NfaKind::Fail, 0),
            State::Match { pattern_id } => (NfaKind::Match, pattern_id.as_u32()),
        };
        states.push(NfaState {
            kind: kind as u8,
            edges: Range {
                start: U32::new(first as u32),
                length: U32::new((edges.len() - first) as u32),
            },
            operand: U32::new(operand),
        });
    }
    let start = if anchored {
        nfa.start_anchored()
    } else {
        nfa.start_unanchored()
    };
    let header = NfaHeader {
        states: U32::new(states.len() as u32),
        edges: U32::new(edges.len() as u32),
        start: U32::new(start.as_u32()),
        reserved: U32::new(0),
    };
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(states.as_bytes());
    bytes.extend_from_slice(edges.as_bytes());
    bytes
}

fn edge(low: u8, high: u8, next: StateID) -> NfaEdge {
    NfaEdge {
        low,
        high,
        reserved: U16::new(0),
        next: U32::new(next.as_u32()),
    }
}
