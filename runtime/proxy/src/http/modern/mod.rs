//! The protocol without sessions, in front of a gateway that has them: what a server
//! asks becomes the answer to the request that it is about, and the client's next
//! request brings the reply.
//!
//! A conversation belongs to a principal, and to the name that the client gives it.

mod meta;
mod results;
mod rounds;

pub(super) use crate::http::modern::meta::{Facts, Wrong, repeats_agree, version};
pub(super) use crate::http::modern::results::discovered;
pub(super) use crate::http::modern::rounds::{Again, Modern, Refusal};

use bouncer_mcp::frame::FrameReader;
use bouncer_mcp::params::{meta, progress_token};
use bouncer_mcp::splice::splice;

/// A message with other parts: its id, and its progress token, if it has one; and without
/// one that is to go.
pub(super) fn respell<'a>(
    line: &'a [u8],
    id: &'a [u8],
    token: Option<&'a [u8]>,
    new: &[u8],
    without: Option<&'a [u8]>,
) -> Option<Vec<u8>> {
    let mut edits = vec![(id, new.to_vec())];
    edits.extend(token.map(|token| (token, new.to_vec())));
    edits.extend(without.map(|part| (part, Vec::new())));
    splice(line, edits)
}

/// The raw progress token of a request.
pub(super) fn raw_token<'a>(
    frames: &mut FrameReader,
    params: Option<&'a [u8]>,
) -> Option<&'a [u8]> {
    let meta = meta(frames, params);
    progress_token(frames, meta).ok()?
}
