//! The files of one compilation: display names, texts, and the way from byte
//! offsets to lines and columns. Knows nothing of YAML or policies.

use crate::policy::Pos;

/// A stretch of one file, in bytes of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// Index of the file in its [`SourceMap`].
    pub file: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The stretch `start..end` of `file`. Offsets past `u32::MAX` are cut; the
    /// reader refuses such files long before.
    #[must_use]
    pub fn new(file: u32, start: usize, end: usize) -> Self {
        let cut = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            file,
            start: cut(start),
            end: cut(end.max(start)),
        }
    }
}

/// One file as it was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name to show, as the user wrote it; packs are `pack:gmail`.
    pub name: String,
    /// The text, without a byte order mark.
    pub text: String,
    /// Byte offsets at which lines start.
    lines: Vec<u32>,
    /// How many characters start before every [`STEP`]th byte; empty if all are ASCII.
    /// Columns stay cheap on a policy that is one line of megabytes.
    marks: Vec<u32>,
}

/// The distance of the marks of a [`Source`], in bytes.
const STEP: usize = 256;

impl Source {
    fn new(name: String, text: String) -> Self {
        let starts = text
            .bytes()
            .enumerate()
            .filter(|&(_, byte)| byte == b'\n')
            .map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX));
        let lines = std::iter::once(0).chain(starts).collect();
        let marks = if text.is_ascii() {
            Vec::new()
        } else {
            let mut before = 0;
            let chunks = text.as_bytes().chunks(STEP);
            chunks
                .map(|chunk| {
                    let mark = before;
                    before += starts_in(chunk);
                    mark
                })
                .collect()
        };
        Self {
            name,
            text,
            lines,
            marks,
        }
    }

    /// How many characters start before the byte `offset`.
    fn chars_before(&self, offset: usize) -> u32 {
        let offset = offset.min(self.text.len());
        if self.text.is_empty() || self.marks.is_empty() {
            return u32::try_from(offset).unwrap_or(u32::MAX);
        }
        let mark = (offset / STEP).min(self.marks.len() - 1);
        let rest = self.text.as_bytes().get(mark * STEP..offset);
        self.marks.get(mark).copied().unwrap_or(0) + rest.map_or(0, starts_in)
    }

    /// Line and column (in characters) of a byte offset, both from 1. Offsets inside
    /// a character count as its start, offsets past the end as the end.
    #[must_use]
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let line = self.lines.partition_point(|&start| start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0) as usize;
        let mut end = (offset as usize).clamp(start, self.text.len().max(start));
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let column = self.chars_before(end) - self.chars_before(start);
        (u32::try_from(line).unwrap_or(u32::MAX), column + 1)
    }

    /// The byte offset at which the line with the number `line` (from 1) starts.
    #[must_use]
    pub fn line_start(&self, line: u32) -> Option<u32> {
        self.lines
            .get((line as usize).checked_sub(1)?)
            .copied()
            .filter(|&start| (start as usize) <= self.text.len())
    }
}

/// How many characters start in these bytes of UTF-8.
fn starts_in(bytes: &[u8]) -> u32 {
    let count = bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The files of one compilation, in the order they were read.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<Source>,
}

impl SourceMap {
    /// Adds a file and returns its index. A leading byte order mark is dropped.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> u32 {
        let mut text = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        self.files.push(Source::new(name.into(), text));
        u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX)
    }

    /// The file with this index.
    #[must_use]
    pub fn file(&self, index: u32) -> Option<&Source> {
        self.files.get(index as usize)
    }

    /// The files, in the order of their indices.
    #[must_use]
    pub fn files(&self) -> &[Source] {
        &self.files
    }

    /// The text of a stretch; empty where it does not exist.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .and_then(|file| file.text.get(span.start as usize..span.end as usize))
            .unwrap_or("")
    }

    /// Where a stretch starts, as line and column.
    #[must_use]
    pub fn pos(&self, span: Span) -> Pos {
        let (line, column) = self
            .file(span.file)
            .map_or((1, 1), |file| file.line_column(span.start));
        Pos {
            file: span.file,
            line,
            column,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_right_on_long_lines() {
        let text = "aé€\u{10348}".repeat(500);
        let mut map = SourceMap::default();
        map.add("a", format!("x\n{text}"));
        let source = map.file(0).unwrap();
        for (column, (at, _)) in text.char_indices().enumerate() {
            let place = source.line_column(u32::try_from(at + 2).unwrap());
            assert_eq!(place, (2, u32::try_from(column + 1).unwrap()));
        }
    }

    #[test]
    fn columns_count_characters_and_offsets_are_clamped() {
        let mut map = SourceMap::default();
        let file = map.add("a", "\u{feff}äb\nc");
        let source = map.file(file).unwrap();
        assert_eq!(source.text, "äb\nc");
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column(1), (1, 1));
        assert_eq!(source.line_column(2), (1, 2));
        assert_eq!(source.line_column(4), (2, 1));
        assert_eq!(source.line_column(99), (2, 2));
        assert_eq!(source.line_start(2), Some(4));
        assert_eq!(source.line_start(3), None);
        assert_eq!(map.text(Span::new(0, 0, 2)), "ä");
        assert_eq!(map.text(Span::new(0, 1, 2)), "");
        assert_eq!(map.text(Span::new(7, 1, 2)), "");
    }
}
