//! What a conversation has read, and whether a destination stands in it.
//!
//! Every result is taken apart into pieces before the agent sees it. A piece that is
//! `trusted` vouches for a destination that is equal to it; a piece that is `observed`
//! or `untrusted` taints every destination that stands inside it, and every one that
//! holds one of its addresses, hosts, URLs or numbers. Both are compared in canonical
//! form; trust never is.
//!
//! Recording allocates; asking does not. Memory is bounded: at the bound the oldest
//! text is forgotten first and destination tokens last, and from then on
//! [`Evidence::incomplete`] says that "not found" proves nothing.
//!
//! This module knows how results are laid out and what a destination looks like. It
//! knows nothing of plans, calls or verdicts.

mod anywhere;
mod decode;
mod echo;
mod grams;
mod index;
mod labels;
mod leaves;
mod lists;
mod names;
mod private;
mod reading;
mod record;
mod sieve;
mod signature;
mod store;
#[cfg(test)]
mod tests;
mod tree;
mod typed;
mod unread;
#[cfg(feature = "yaml")]
mod yaml;

pub(crate) use anywhere::is_address;
pub use anywhere::{is_address_alone, is_address_anywhere};
pub use echo::Echo;
pub use labels::{FieldRule, LabelStep, OutputLabels};
pub use sieve::{KEYS_VERSION, Keys, Sieve, may_name};
pub use typed::{MOST_TYPED, Typed, is_date};
pub use unread::Settling;

use bouncer_plan::Label;
use bouncer_reader::address;
use bouncer_reader::block::{self, Set, wanted};
use bouncer_reader::text;
use index::{Found, Index, MAX_TOKEN_BYTES, MIN_TOKEN_BYTES, Shape};
use leaves::Leaves;
use names::Names;
use private::Private;
use record::Recorder;
use serde_json::Value;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use store::{Hit, Mark, Texts};
use unread::Unread;

/// Shorter destinations, in characters, are not looked for inside texts.
const MIN_CHARS: usize = 6;
/// At the bound, about one part in so many of the texts is forgotten at once.
const GENERATIONS: usize = 4;
/// How often a text that hides inside a hidden text is looked for.
const MAX_HIDING: u32 = 3;

/// What one conversation has read.
pub struct Provenance {
    limit: usize,
    names: Names,
    trusted: Leaves,
    observed: Texts,
    untrusted: Texts,
    tokens: Index,
    private: Private,
    typed: Typed,
    read: Read,
    order: u64,
    time: u64,
    dropped: u64,
    unread: Unread,
    /// What was asked about, where somebody wants to know.
    asked: Option<Mutex<Vec<String>>>,
    /// Something was read that is not here.
    left_out: bool,
    folded: String,
    spare: String,
}

/// What kinds of things one result, or all of them, said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Something that an outsider may have written, or influenced.
    pub untrusted: bool,
    /// Something that should not go where it has not been.
    pub private: bool,
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    /// The server, where one is known.
    pub server: Option<&'a str>,
    /// The tool, or what else was read: a resource's address, a prompt's name.
    pub tool: &'a str,
    /// The number of the call in the conversation; 0 where it belongs to none.
    pub call: u64,
}

/// Where a recorded value came from. The strings are from outside: quote and escape
/// them wherever somebody reads them. Names are kept to 256 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The server, where one is known.
    pub server: Option<&'a str>,
    /// The tool.
    pub tool: &'a str,
    /// The number of the call in the conversation; 0 for what servers say of themselves.
    pub call: u64,
    /// When it was recorded, in milliseconds of Unix time.
    pub time: u64,
    /// The field, such as `structuredContent.items[0].email` or `content[0].text`.
    /// Ends in ` (name)` where a member's name said it, in `[*]` where it spans
    /// several elements, and in ` (decoded)` where it was written in another form.
    pub field: &'a str,
    /// What stands there: the destination and a little of what is around it, in canonical
    /// form and lower case, or the token that was found in the destination.
    pub excerpt: &'a str,
}

/// What is known of a destination. Of several pieces with one label, one is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence<'a> {
    /// A whole trusted leaf is equal to the destination.
    pub trusted: Option<Origin<'a>>,
    /// The destination was found in an observed piece.
    pub observed: Option<Origin<'a>>,
    /// The destination was found in an untrusted piece.
    pub untrusted: Option<Origin<'a>>,
    /// Something that was read has been forgotten, so that what is `None` here may
    /// have been read all the same.
    pub incomplete: bool,
}

/// Something that was read was not kept, so that it cannot be told whether a value was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incomplete;

/// Buffers for asking, kept between questions. Asking allocates only while a
/// destination is longer than every one before and than what was reserved.
#[derive(Default)]
pub struct Scratch {
    folded: String,
    reading: String,
    digits: String,
    hashes: Vec<(u64, u64)>,
}

impl Scratch {
    /// Room for destinations of up to `bytes` bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        // The canonical form can be longer than what it is of.
        let text = || String::with_capacity(bytes.saturating_mul(2));
        Self {
            folded: text(),
            reading: text(),
            digits: text(),
            hashes: Vec::with_capacity(bytes.saturating_mul(2).saturating_add(1)),
        }
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis().try_into().unwrap_or(u64::MAX))
}

/// Whether the destination tokens of a piece are kept beside its text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tokens {
    Kept,
    /// For a text that is put together from pieces whose tokens are kept already.
    Skipped,
}

/// What is looked for in texts, of one reading of a destination.
fn longest_needle(reading: &str) -> Option<&str> {
    let long = |text: &&str| text.chars().nth(MIN_CHARS - 1).is_some();
    // The bare form stands wherever the dressed one does.
    Some(reading::bare(reading))
        .filter(long)
        .or_else(|| Some(reading).filter(long))
}

/// Whether a piece, in folded form, may hold a token or a number: those have a length, and
/// none is without one of these.
fn may_hold_tokens(folded: &str) -> bool {
    const SIGNS: Set<3> = Set::of(*b"@#\\");
    let tells = wanted!(|b| b.within(b'.', b':') | b.among(&SIGNS));
    folded.len() >= address::SHORTEST_TOKEN && block::find(folded.as_bytes(), tells).is_some()
}

impl Default for Provenance {
    fn default() -> Self {
        Self::new(Self::DEFAULT_LIMIT)
    }
}

impl fmt::Debug for Provenance {
    /// Sizes only: what was read is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provenance")
            .field("limit", &self.limit)
            .field("recorded_bytes", &self.recorded_bytes())
            .field("text_bytes", &self.text_bytes())
            .field("token_bytes", &self.tokens.bytes())
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}

impl Provenance {
    /// 64 MiB.
    pub const DEFAULT_LIMIT: usize = 64 << 20;

    /// Nothing read yet. Keeps at most about `limit_bytes` bytes, of which five eighths
    /// are for text, a quarter for destination tokens and a tenth for trusted leaves.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            limit: limit_bytes,
            names: Names::new(limit_bytes / 40),
            trusted: Leaves::default(),
            observed: Texts::new(limit_bytes / 8 * 5 / GENERATIONS),
            untrusted: Texts::new(limit_bytes / 8 * 5 / GENERATIONS),
            tokens: Index::new(limit_bytes / 4),
            private: Private::default(),
            typed: Typed::default(),
            read: Read::default(),
            order: 0,
            time: 0,
            dropped: 0,
            unread: Unread::default(),
            asked: None,
            left_out: false,
            folded: String::new(),
            spare: String::new(),
        }
    }

    /// Records everything that a result says: the `result` or `error` member of an
    /// answer, or the `params` of a request that reaches the agent's model.
    ///
    /// Understands the results of tools, resources, prompts and tasks, errors and
    /// sampling messages; what it does not understand it records leaf by leaf as
    /// untrusted. `labels` apply to what a tool returns; errors and `_meta` are always
    /// untrusted. Returns what kinds of things it said. Linear in the size of the result.
    pub fn record_result(
        &mut self,
        source: &Source<'_>,
        labels: &OutputLabels,
        result: &Value,
    ) -> Read {
        self.settle();
        self.time = unix_ms();
        self.read = Read::default();
        let name = self.names.id(source.server, source.tool);
        Recorder::new(self, name, source.call, None).result(labels, result);
        self.private.settle();
        self.tidy();
        self.read
    }

    /// As [`Self::record_result`], for the answer to a call. What the tool's calls carried
    /// vouches for nothing.
    pub fn record_answer(
        &mut self,
        source: &Source<'_>,
        labels: &OutputLabels,
        result: &Value,
        echo: &Echo,
    ) -> Read {
        self.settle();
        self.time = unix_ms();
        self.read = Read::default();
        let name = self.names.id(source.server, source.tool);
        Recorder::new(self, name, source.call, Some(echo)).result(labels, result);
        self.private.settle();
        self.tidy();
        self.read
    }

    /// Records every leaf of something that a server says of itself as observed. `field`
    /// is what stands before the leaves' own paths. Linear in the size of `said`.
    pub fn record_observed(&mut self, source: &Source<'_>, field: &str, said: &Value) {
        self.settle();
        self.time = unix_ms();
        let name = self.names.id(source.server, source.tool);
        Recorder::new(self, name, source.call, None).said(field, said);
        self.tidy();
    }

    /// Records one text. With [`Label::Trusted`], the whole text vouches for a
    /// destination that is equal to it.
    pub fn record_text(&mut self, source: &Source<'_>, field: &str, text: &str, label: Label) {
        self.settle();
        self.time = unix_ms();
        let mark = Mark {
            name: self.names.id(source.server, source.tool),
            call: source.call,
            time: self.time,
            field: field
                .get(..field.floor_char_boundary(256))
                .unwrap_or_default()
                .into(),
        };
        self.keep(&mark, text, label, Tokens::Kept, 0);
        self.tidy();
    }

    /// Records what the user typed. Returns what of it counts as the user's own words.
    pub fn record_typed(&mut self, message: &str) -> Option<String> {
        self.typed.add(message)
    }

    /// Notes that something was read that is not recorded here, whether it said anything, and from now on what is asked
    /// about: whoever leaves something out has to find out whether that matters.
    pub fn leave_out(&mut self, said_something: bool) {
        self.left_out |= said_something;
        self.asked.get_or_insert_default();
    }

    /// What was asked about since the last time, after [`Self::leave_out`], and neither is vouched
    /// for nor was found in untrusted text.
    #[must_use]
    pub fn open_questions(&self) -> Vec<String> {
        let asked = self.asked.as_ref().map(|asked| {
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *asked)
        });
        let mut scratch = Scratch::default();
        let open = asked.unwrap_or_default().into_iter();
        let open = open.filter(|asked| {
            let evidence = self.evidence(asked, &mut scratch);
            evidence.trusted.or(evidence.untrusted).is_none()
        });
        open.collect()
    }

    /// What the user typed.
    #[must_use]
    pub const fn typed(&self) -> &Typed {
        &self.typed
    }

    /// Keeps a private value, if it looks like an identifier.
    fn keep_private(&mut self, mark: &Mark, value: &str) {
        self.read.private = true;
        let mut folded = std::mem::take(&mut self.folded);
        text::fold(value, &mut folded);
        self.private.add(&folded, mark, self.limit / 20);
        self.folded = folded;
    }

    fn keep(&mut self, mark: &Mark, text: &str, label: Label, tokens: Tokens, hiding: u32) {
        self.order += 1;
        self.read.untrusted |= label != Label::Trusted;
        if label == Label::Trusted {
            // Text that vouches has to be forwardable as it stands.
            if !text.is_empty() && !text.contains(char::is_control) {
                if text.len() > self.limit / 40 {
                    self.note_dropped(1);
                } else {
                    self.trusted.add(text, self.order, mark);
                }
                self.stay_bounded();
            }
            return;
        }
        let mut folded = std::mem::take(&mut self.folded);
        text::fold(text, &mut folded);
        if tokens == Tokens::Kept && may_hold_tokens(&folded) {
            self.keep_tokens(&folded, label, mark);
        }
        // No destination that is looked for fits into a shorter text.
        if folded.chars().nth(MIN_CHARS - 1).is_some() {
            // With its index, a text takes five times its length.
            let most = (self.text_share() / 8).min(store::MAX_PIECE);
            let most = folded.floor_char_boundary(most);
            if most < folded.len() {
                folded.truncate(most);
                self.note_dropped(1);
            }
            let texts = match label {
                Label::Observed => &mut self.observed,
                Label::Trusted | Label::Untrusted => &mut self.untrusted,
            };
            texts.add(&folded, self.order, mark);
        }
        // Small pieces are looked after together.
        if folded.len() > 1024 || self.order.is_multiple_of(64) {
            self.stay_bounded();
        }
        self.folded = folded;
        if hiding < MAX_HIDING && decode::may_hide(text) {
            decode::hidden(text, |plain| {
                let mut mark = mark.clone();
                if hiding == 0 {
                    mark.field = format!("{} (decoded)", mark.field).into();
                }
                self.keep(&mark, &plain, label, Tokens::Kept, hiding + 1);
            });
        }
    }

    /// Changes whenever something is forgotten, or begins to age.
    fn epoch(&self) -> (u64, usize) {
        let texts = self.observed.generations() + self.untrusted.generations();
        (self.dropped, texts + self.tokens.generations())
    }

    fn keep_tokens(&mut self, folded: &str, label: Label, mark: &Mark) {
        let mut spare = std::mem::take(&mut self.spare);
        let index = &mut self.tokens;
        let mut too_long = 0;
        address::tokens(folded, &mut |token| {
            if token.text.len() > MAX_TOKEN_BYTES {
                too_long += 1;
            } else if token.text.len() >= MIN_TOKEN_BYTES {
                let shape = Shape::Token(token.kind);
                index.add(token.text, shape, label, mark);
                if reading::untagged(token.text, &mut spare)
                    || reading::in_punycode(token, &mut spare)
                {
                    index.add(&spare, shape, label, mark);
                }
            }
        });
        index::digits(folded, &mut spare, |digits| {
            index.add(digits, Shape::Digits, label, mark);
        });
        self.spare = spare;
        self.note_dropped(too_long);
    }

    /// What is known of a destination, given as it would be forwarded.
    ///
    /// Takes time for the destination, hardly for what was recorded. Does not allocate (see
    /// [`Scratch`]). Where something waits to be taken apart ([`Self::settle`]), every
    /// destination counts as untrusted.
    pub fn evidence(&self, destination: &str, scratch: &mut Scratch) -> Evidence<'_> {
        let Scratch {
            folded,
            reading,
            digits,
            hashes,
        } = scratch;
        if let Some(asked) = &self.asked {
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            if !asked.iter().any(|known| known == destination) {
                asked.push(destination.to_owned());
            }
        }
        if !self.unread.is_empty() {
            return self.unread.suspects();
        }
        let trusted = self.vouches(destination);

        text::fold(destination, folded);
        let whole = folded.trim();
        let mut found = Found::default();
        self.look_for(whole, hashes, &mut found);
        index::digits(whole, digits, |digits| {
            self.tokens.find_digits(digits, &mut found);
        });
        if reading::untagged(whole, reading) {
            self.look_for(reading.trim(), hashes, &mut found);
        }
        if reading::unspaced(whole, reading) {
            self.look_for(reading, hashes, &mut found);
        }
        Evidence {
            trusted: trusted.map(|hit| self.origin(hit)),
            observed: found.observed.map(|hit| self.origin(hit)),
            untrusted: found.untrusted.map(|hit| self.origin(hit)),
            incomplete: self.dropped > 0,
        }
    }

    /// The first private value that stands inside a text, and where it was read. `Err`: none
    /// was found, and some were not kept. What the user typed is no secret.
    ///
    /// Linear in the text; does not allocate (see [`Scratch`]).
    ///
    /// # Errors
    /// See above.
    pub fn private_in<'a>(
        &'a self,
        text: &str,
        scratch: &mut Scratch,
    ) -> Result<Option<Origin<'a>>, Incomplete> {
        if self.unread.is_gone() {
            return Err(Incomplete);
        }
        let found = match self.private.is_empty() {
            true => None,
            false => {
                text::fold(text, &mut scratch.folded);
                self.private.find(&scratch.folded)
            }
        };
        match found {
            Some((value, _)) if self.typed.holds(value) => Ok(None),
            Some((excerpt, mark)) => Ok(Some(self.origin(Hit { mark, excerpt }))),
            None if self.private.is_incomplete() => Err(Incomplete),
            None => Ok(None),
        }
    }

    /// Whether the user typed a value, as a whole.
    pub fn is_typed(&self, value: &str, scratch: &mut Scratch) -> bool {
        if self.typed.is_empty() {
            return false;
        }
        text::fold(value, &mut scratch.folded);
        self.typed.holds(&scratch.folded)
    }

    fn vouches(&self, destination: &str) -> Option<Hit<'_>> {
        if destination.contains(char::is_control) {
            return None;
        }
        self.trusted.get(destination)
    }

    /// Looks for one reading of a destination in the texts, and for tokens in it.
    fn look_for<'a>(&'a self, reading: &str, hashes: &mut Vec<(u64, u64)>, found: &mut Found<'a>) {
        self.tokens.find_in(reading, hashes, found);
        let needle = longest_needle(reading);
        if let Some(needle) = needle {
            found.observed = found.observed.or_else(|| self.observed.find(needle));
            found.untrusted = found.untrusted.or_else(|| self.untrusted.find(needle));
        }
    }

    fn origin<'a>(&'a self, hit: Hit<'a>) -> Origin<'a> {
        let (server, tool) = self.names.get(hit.mark.name);
        Origin {
            server,
            tool,
            call: hit.mark.call,
            time: hit.mark.time,
            field: &hit.mark.field,
            excerpt: hit.excerpt,
        }
    }

    /// About how many bytes are kept, with what is needed to find and name them.
    #[must_use]
    pub fn recorded_bytes(&self) -> usize {
        self.text_bytes()
            + self.tokens.bytes()
            + self.trusted.bytes()
            + self.names.bytes()
            + self.private.bytes()
            + self.unread.bytes()
    }

    /// When something was recorded last, in milliseconds of Unix time.
    #[must_use]
    pub const fn latest(&self) -> u64 {
        self.time
    }

    /// How many pieces, tokens and leaves were forgotten or could not be kept whole.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    const fn note_dropped(&mut self, count: u64) {
        self.dropped = self.dropped.saturating_add(count);
    }

    /// Whether anything was read that is not trusted, or may have been.
    #[must_use]
    pub fn any_read(&self) -> bool {
        self.dropped > 0
            || self.left_out
            || !self.unread.is_empty()
            || !self.tokens.is_empty()
            || self.text_bytes() > 0
    }

    fn text_bytes(&self) -> usize {
        self.observed.bytes() + self.untrusted.bytes()
    }

    const fn text_share(&self) -> usize {
        self.limit / 8 * 5
    }

    fn stay_bounded(&mut self) {
        while self.text_bytes() > self.text_share() {
            let forgotten = self.forget_oldest_texts();
            if forgotten == 0 {
                break;
            }
            self.note_dropped(forgotten);
        }
        let forgotten = self.tokens.stay_bounded();
        self.note_dropped(forgotten);
        while self.trusted.bytes() > self.limit / 10 {
            let forgotten = self.trusted.forget_half();
            self.note_dropped(forgotten);
        }
    }

    /// Forgets the oldest generation of texts, of whichever label it is.
    fn forget_oldest_texts(&mut self) -> u64 {
        match (self.observed.oldest(), self.untrusted.oldest()) {
            (Some(observed), Some(untrusted)) if observed < untrusted => {
                self.observed.forget_oldest()
            }
            (_, Some(_)) => self.untrusted.forget_oldest(),
            (_, None) => self.observed.forget_oldest(),
        }
    }

    /// After a result: puts texts into tables where that is worth it, and gives back what one
    /// unusually long text needed.
    fn tidy(&mut self) {
        self.observed.settle();
        self.untrusted.settle();
        self.stay_bounded();
        for buffer in [&mut self.folded, &mut self.spare] {
            if buffer.capacity() > 1 << 20 {
                *buffer = String::new();
            }
        }
    }
}
