//! The lines of a file from its end, without reading what nobody asks for.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

/// What is read at a time, at first.
const BLOCK: u64 = 64 * 1024;
/// A line that is longer is no line of a log.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// Hands over the whole lines that end at or before `end`, the last one first, each with
/// the offset at which it begins, until `then` breaks or there are no more. Gives the
/// offset of the earliest line that was handed over. Holds one line and a block at a time.
pub(super) fn each(
    file: &File,
    end: u64,
    then: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> io::Result<u64> {
    let mut start = end;
    let mut block = BLOCK;
    // From `start` on, up to and with the line break behind the next line to hand over.
    let mut held: Vec<u8> = Vec::new();
    while start > 0 {
        let length = block.min(start);
        start -= length;
        let mut read = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read_exact_at(&mut read, start)?;
        read.extend_from_slice(&held);
        held = read;
        let known = held.len();
        loop {
            let before = held.len().saturating_sub(1);
            let found = held.get(..before).unwrap_or_default();
            let Some(at) = found.iter().rposition(|&byte| byte == b'\n') else {
                break;
            };
            let begins = start + at as u64 + 1;
            let line = held.get(at + 1..).unwrap_or_default();
            if then(begins, line.trim_ascii_end()).is_break() {
                return Ok(begins);
            }
            held.truncate(at + 1);
        }
        // Long lines are not looked through again for each further block.
        block = if held.len() == known {
            block * 2
        } else {
            BLOCK
        };
        if held.len() > MAX_LINE {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a line is too long to be one of the log",
            ));
        }
    }
    if !held.is_empty() {
        let _ = then(0, held.trim_ascii_end());
    }
    Ok(0)
}
