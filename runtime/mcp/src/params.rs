//! What the parameters of messages say that every version of the protocol has.

use crate::frame::{FrameReader, Unreadable};
use crate::id::Key;

/// The id that a cancellation names.
pub fn cancelled_id(frames: &mut FrameReader, params: Option<&[u8]>) -> Option<Key> {
    let [id] = frames.members(params?, ["requestId"]).ok()?;
    Key::parse(id?)
}

/// `_meta` of a request, as it was spelled.
pub fn meta<'a>(frames: &mut FrameReader, params: Option<&'a [u8]>) -> Option<&'a [u8]> {
    let [meta] = frames.members(params?, ["_meta"]).ok()?;
    meta
}

/// The progress token in `_meta`, as it was spelled.
///
/// # Errors
/// If `_meta` is an object that cannot be read strictly.
pub fn progress_token<'a>(
    frames: &mut FrameReader,
    meta: Option<&'a [u8]>,
) -> Result<Option<&'a [u8]>, Unreadable> {
    let Some(meta) = meta.filter(|meta| meta.starts_with(b"{")) else {
        return Ok(None);
    };
    let [token] = frames.members(meta, ["progressToken"])?;
    Ok(token)
}

/// The value of the progress token that the parameters of a request have.
pub fn progress_key(frames: &mut FrameReader, params: Option<&[u8]>) -> Option<Key> {
    let meta = meta(frames, params);
    Key::parse(progress_token(frames, meta).ok()??)
}
