//! The paths of a tool's sinks, and which of them a leaf of the arguments stands at.

use crate::gate::leaf::{Frame, NO_SINK, Step, raw_text};
use bouncer_plan::format::{NONE, Sink};
use bouncer_plan::{Corrupt, Tables, slice};
use bouncer_reader::json::{Text, folds_to};

/// More segments than a path has that can match: arguments are read to this depth only.
const MAX_SEGMENTS: usize = 127;

/// The sinks that a tool declares, or that the heuristics derived for it.
#[derive(Clone, Copy, Debug)]
pub(in crate::gate) enum SinkPaths<'a> {
    Declared(&'a [Sink]),
    Derived(&'a [Vec<String>]),
}

impl SinkPaths<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Declared(sinks) => sinks.len(),
            Self::Derived(sinks) => sinks.len(),
        }
    }

    /// The first sink whose path ends exactly at `last` below `frames`.
    pub fn matching(
        &self,
        tables: &Tables<'_>,
        arguments: &str,
        frames: &[Frame],
        last: Step,
    ) -> Result<u32, Corrupt> {
        let frames = frames.get(1..).unwrap_or_default();
        // Most keys are a word at the top level, and most sinks are called otherwise: their
        // first letters tell.
        let initial = match frames.first().map_or(last, |frame| frame.step) {
            Step::Key(start, _, false) => arguments.as_bytes().get(start as usize),
            _ => None,
        };
        for sink in 0..self.len() {
            if let Some(initial) = initial
                && self.starts_otherwise(tables, sink, *initial)?
            {
                continue;
            }
            if self.matches(tables, arguments, sink, frames, last)? {
                return Ok(sink as u32);
            }
        }
        Ok(NO_SINK)
    }

    /// Whether a sink's first segment is a name that no reader takes for a key which begins
    /// with `initial`. `false` says nothing.
    fn starts_otherwise(
        &self,
        tables: &Tables<'_>,
        sink: usize,
        initial: u8,
    ) -> Result<bool, Corrupt> {
        let Some((name, _)) = self.segment(tables, sink, 0)? else {
            return Ok(false);
        };
        let Some(&first) = name.as_bytes().first() else {
            return Ok(false);
        };
        Ok(first.is_ascii() && initial.is_ascii() && !first.eq_ignore_ascii_case(&initial))
    }

    /// Whether a sink's segments match the steps exactly; steps of arrays may be passed over.
    /// Takes the steps once, whatever the segments: a bit for each number of segments that
    /// may have been matched so far.
    fn matches(
        &self,
        tables: &Tables<'_>,
        arguments: &str,
        sink: usize,
        frames: &[Frame],
        last: Step,
    ) -> Result<bool, Corrupt> {
        let segments = self.segments(tables, sink)?;
        if segments > MAX_SEGMENTS {
            return Ok(false);
        }
        let mut matched: u128 = 1;
        for step in frames.iter().map(|frame| frame.step).chain([last]) {
            let mut next = match step {
                Step::Root | Step::Key(..) => 0,
                Step::Index(_) => matched,
            };
            let mut left = matched;
            while left != 0 {
                let segment = left.trailing_zeros() as usize;
                left &= left - 1;
                if self.takes(tables, arguments, sink, segment, step)? {
                    next |= 2 << segment;
                }
            }
            matched = next;
            if matched == 0 {
                return Ok(false);
            }
        }
        Ok(matched >> segments & 1 != 0)
    }

    /// Whether a sink's segment is this step.
    fn takes(
        &self,
        tables: &Tables<'_>,
        arguments: &str,
        sink: usize,
        segment: usize,
        step: Step,
    ) -> Result<bool, Corrupt> {
        let Some((name, index)) = self.segment(tables, sink, segment)? else {
            return Ok(false);
        };
        Ok(match step {
            Step::Root => false,
            Step::Key(start, end, escaped) => {
                if name.is_empty() && index != NONE {
                    return Ok(false);
                }
                let key = raw_text(arguments, start, end).ok_or(Corrupt)?;
                // Some servers' JSON libraries ignore the case of keys.
                if !escaped && key.is_ascii() && name.is_ascii() {
                    key.eq_ignore_ascii_case(name)
                } else {
                    folds_to(Text::new(key, escaped), name)
                }
            }
            Step::Index(wanted) => index == wanted && index != NONE,
        })
    }

    fn segments(&self, tables: &Tables<'_>, sink: usize) -> Result<usize, Corrupt> {
        match self {
            Self::Declared(sinks) => {
                Ok(slice(tables.lists, &sinks.get(sink).ok_or(Corrupt)?.steps)?.len() / 3)
            }
            Self::Derived(sinks) => Ok(sinks.get(sink).ok_or(Corrupt)?.len()),
        }
    }

    /// The name and array index of one segment; `None` past the end.
    fn segment<'s>(
        &'s self,
        tables: &Tables<'s>,
        sink: usize,
        segment: usize,
    ) -> Result<Option<(&'s str, u32)>, Corrupt> {
        match self {
            Self::Declared(sinks) => {
                let steps = &sinks.get(sink).ok_or(Corrupt)?.steps;
                if segment >= steps.length.get() as usize / 3 {
                    return Ok(None);
                }
                let first = steps.start.get() as usize + 3 * segment;
                let index = tables.lists.get(first + 2).ok_or(Corrupt)?.get();
                Ok(Some((tables.listed_text(first)?, index)))
            }
            Self::Derived(sinks) => Ok(sinks
                .get(sink)
                .ok_or(Corrupt)?
                .get(segment)
                .map(|name| (name.as_str(), NONE))),
        }
    }

    /// Writes the sink's path as text.
    pub fn write_name(
        &self,
        tables: &Tables<'_>,
        sink: u32,
        out: &mut String,
    ) -> Result<(), Corrupt> {
        out.clear();
        match self {
            Self::Declared(sinks) => {
                out.push_str(tables.text(&sinks.get(sink as usize).ok_or(Corrupt)?.name)?)
            }
            Self::Derived(sinks) => {
                for (index, name) in sinks.get(sink as usize).ok_or(Corrupt)?.iter().enumerate() {
                    if index > 0 {
                        out.push('.');
                    }
                    out.push_str(name);
                }
            }
        }
        Ok(())
    }
}
