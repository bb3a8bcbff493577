//! Folded texts, and where a given string stands in them: an index that answers in
//! almost the same time however much is kept.
//!
//! A text is kept in a *generation*: its bytes, and tables of its sequences of six bytes
//! (see [`super::signature`]). Nothing in a generation ever moves or is taken out; when
//! memory is short, the oldest generation goes whole.
//!
//! The newest texts are in no table yet: they are read through, which for a while is quicker
//! than making tables. Tables are made once that has been done often, or there is much to
//! read.
//!
//! A question takes the sequences at the head of the needle. The tables name the few
//! blocks of text that seem to hold all of them, and these are searched. Where many blocks
//! hold them all and none of those that were searched holds the needle, it counts as
//! found. So what stands in a text is always found, and what does not is found by mistake
//! only where it is made of parts that stand together many times over.
//!
//! Knows nothing of labels or of how results are laid out.

use super::grams::{self, SHORTEST};
use super::lists::Lists;
use super::signature::Signature;
use memchr::memmem::{self, Finder};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a piece came from.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// Number of the server and tool.
    pub(super) name: u32,
    /// Number of the call.
    pub(super) call: u64,
    /// When it was recorded: milliseconds of Unix time.
    pub(super) time: u64,
    /// Path of the field.
    pub(super) field: Arc<str>,
}

impl Mark {
    /// Whether it is the same mark, rather than an equal one.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.field, &other.field)
    }

    /// About what a mark costs, in bytes.
    pub(super) fn cost(&self) -> usize {
        size_of::<Self>() + self.field.len() + 2 * size_of::<usize>()
    }
}

/// A text that a needle stands in.
#[derive(Clone, Copy)]
pub(super) struct Hit<'a> {
    pub(super) mark: &'a Mark,
    /// The needle and a little of what is around it.
    pub(super) excerpt: &'a str,
}

/// Between two texts. Not a byte of UTF-8, so no needle crosses it.
const SEPARATOR: u8 = 0xff;
/// Bytes of text in one generation: places have 32 bits.
const MAX_TEXT: usize = 1 << 30;
/// The longest text that can be added, in bytes.
pub(super) const MAX_PIECE: usize = MAX_TEXT / 4;
/// So many first bytes of a needle are looked up by their sequences.
const HEAD: usize = 48;
const MAX_GRAMS: usize = HEAD - SHORTEST + 1;
/// So many of them are long ones.
const MAX_LONG: usize = 6;
/// So many are looked up in coarse tables.
const MAX_COARSE: usize = 16;
/// So many blocks are searched for one needle.
const MAX_SEARCHED: usize = 128;
/// Around a hit, so many bytes are shown on both sides.
const EXCERPT: usize = 40;
/// Putting a byte into the tables takes about as long as reading so many. So all texts are put
/// there that have been read through as often.
const WORTH: u64 = 128;
/// More bytes than these are put there once they have been read a few times, so that no question
/// takes long.
const MANY: (usize, u64) = (128 * 1024, 4);
/// More are put there though nobody has asked.
const MOST: usize = 8 << 20;
/// At most so many are put there at once, or a few times as many as are new.
const STEP: usize = 64 * 1024;

/// Folded texts.
pub(super) struct Texts {
    generations: VecDeque<Generation>,
    /// Bytes of one generation with all that belongs to it.
    limit: usize,
    secret: u64,
    /// Bytes added since the last result.
    fresh: usize,
    /// Bytes that questions have read through because they are in no table.
    looked: AtomicU64,
}

struct Generation {
    text: Vec<u8>,
    pieces: Vec<Piece>,
    signature: Signature,
    blocks: Vec<Block>,
    /// The tables know what stands before this place, which is in the piece of this number.
    signed: usize,
    at_piece: usize,
    /// From a text's hash to its piece.
    seen: Lists,
    /// When its first piece was recorded.
    order: u64,
    overhead: usize,
}

struct Piece {
    start: u32,
    len: u32,
    mark: Mark,
}

/// Where a block of the signature starts, and the piece that this lies in.
struct Block {
    start: u32,
    piece: u32,
}

/// What is looked for.
struct Needle<'n> {
    text: &'n [u8],
    /// Hashes of sequences of its head, see [`Signature::search`].
    coarse: &'n [u64],
    fine: &'n [u64],
    finder: Option<Finder<'n>>,
    /// Blocks that may still be searched.
    effort: usize,
}

impl Texts {
    /// Keeps about `limit` bytes in one generation.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            generations: VecDeque::new(),
            limit,
            secret: RandomState::new().hash_one(0_u8) | 1,
            fresh: 0,
            looked: AtomicU64::new(0),
        }
    }

    /// Keeps a text, unless the same text is kept already. `order` only ever grows.
    pub(super) fn add(&mut self, text: &str, order: u64, mark: &Mark) {
        let hash = grams::whole(self.secret, text.as_bytes());
        // What is about to be forgotten is kept anew.
        let aged = usize::from(self.generations.len() > 2);
        let mut kept = self.generations.iter().skip(aged);
        if kept.any(|generation| generation.holds(hash, text)) {
            return;
        }
        let full = self.generations.back().is_none_or(|newest| {
            newest.bytes() >= self.limit || newest.text.len() + text.len() >= MAX_TEXT
        });
        if full {
            let fresh = Generation::new(self.limit, order, self.secret);
            self.generations.push_back(fresh);
        }
        if let Some(newest) = self.generations.back_mut() {
            newest.add(text.as_bytes(), hash, mark);
            self.fresh += text.len();
        }
    }

    /// Puts some of the texts into the tables, where that is worth it. Called after each
    /// result.
    pub(super) fn settle(&mut self) {
        let step = STEP.max(4 * std::mem::take(&mut self.fresh));
        let loose: usize = self.generations.iter().map(|g| g.loose().len()).sum();
        let looked = self.looked.get_mut();
        let times = |many: u64| *looked > many.saturating_mul(loose as u64);
        let (many, few) = MANY;
        if loose == 0 || !(times(WORTH) || (loose > many && times(few)) || loose > MOST) {
            return;
        }
        let mut left = step;
        for generation in &mut self.generations {
            left -= generation.sign(left);
        }
        let rest = loose.saturating_sub(step - left);
        *looked = *looked / loose as u64 * rest as u64;
    }

    /// A text that `needle` stands in. Takes time for the needle, hardly for the texts.
    pub(super) fn find(&self, needle: &str) -> Option<Hit<'_>> {
        let text = needle.as_bytes();
        if self.generations.is_empty() || text.len() < SHORTEST {
            return None;
        }
        let head = text.get(..HEAD).unwrap_or(text);
        let mut sixes = [0; MAX_GRAMS];
        let count = fill(&mut sixes, grams::hashes(head, self.secret));
        let sixes = sixes.get(..count)?;
        let words = || grams::long_hashes(head, self.secret).take(MAX_LONG);
        let mut coarse = [0; MAX_COARSE];
        let longest = words().filter_map(|(long, short)| long.or(short));
        let coarse_count = fill(&mut coarse, longest.chain(rarest(head, sixes)));
        let mut fine = [0; MAX_LONG + MAX_GRAMS];
        let short = words().filter_map(|(_, short)| short);
        let fine_count = fill(&mut fine, short.chain(rarest(head, sixes)));
        let mut needle = Needle {
            text,
            coarse: coarse.get(..coarse_count)?,
            fine: fine.get(..fine_count)?,
            finder: None,
            effort: MAX_SEARCHED,
        };
        self.generations.iter().find_map(|generation| {
            generation.find(&mut needle).or_else(|| {
                let loose = generation.loose();
                self.looked.fetch_add(loose.len() as u64, Ordering::Relaxed);
                generation.find_loose(loose, &mut needle)
            })
        })
    }

    /// Hands over all texts.
    pub(super) fn each(&self, mut each: impl FnMut(&[u8])) {
        for generation in &self.generations {
            for piece in &generation.pieces {
                each(generation.text_of(piece));
            }
        }
    }

    /// How many generations there are.
    pub(super) fn generations(&self) -> usize {
        self.generations.len()
    }

    /// When the oldest text was recorded.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.generations.front().map(|generation| generation.order)
    }

    /// Forgets the oldest generation. Returns how many texts that were.
    pub(super) fn forget_oldest(&mut self) -> u64 {
        self.generations
            .pop_front()
            .map_or(0, |generation| generation.pieces.len() as u64)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.generations.iter().map(Generation::bytes).sum()
    }
}

/// Fills `slots` from the front; returns how many there are.
fn fill(slots: &mut [u64], from: impl Iterator<Item = u64>) -> usize {
    let filled = slots.iter_mut().zip(from).map(|(slot, hash)| *slot = hash);
    filled.count()
}

/// The hashes of a head in another order: the one with the rarest bytes comes first.
/// Neighbours say almost the same, so each third one from there on comes next.
fn rarest<'h>(head: &[u8], hashes: &'h [u64]) -> impl Iterator<Item = u64> + use<'h> {
    let rarest = grams::ranks(head).zip(0..).min().map_or(0, |(_, at)| at);
    let (before, after) = hashes.split_at(rarest.min(hashes.len()));
    let thirds = [0, 1, 2].map(|start| {
        let before = before.iter().rev().skip(2 - start).step_by(3);
        after.iter().skip(start).step_by(3).chain(before).copied()
    });
    thirds.into_iter().flatten()
}

impl Generation {
    fn new(limit: usize, order: u64, secret: u64) -> Self {
        Self {
            text: Vec::new(),
            pieces: Vec::new(),
            // A byte of text costs two to three.
            signature: Signature::new(limit / 3, secret),
            blocks: Vec::new(),
            signed: 0,
            at_piece: 0,
            seen: Lists::new(limit / 4096),
            order,
            overhead: size_of::<Self>(),
        }
    }

    fn holds(&self, hash: u64, text: &str) -> bool {
        let mut pieces = self.seen.all(hash);
        pieces.any(|number| {
            let piece = self.pieces.get(number as usize);
            piece.is_some_and(|piece| self.text_of(piece) == text.as_bytes())
        })
    }

    fn text_of(&self, piece: &Piece) -> &[u8] {
        let start = piece.start as usize;
        self.text
            .get(start..start + piece.len as usize)
            .unwrap_or_default()
    }

    fn add(&mut self, text: &[u8], hash: u64, mark: &Mark) {
        let start = self.text.len();
        let need = text.len() + 1;
        let (Ok(first), Ok(len), Ok(number)) = (
            u32::try_from(start),
            u32::try_from(text.len()),
            u32::try_from(self.pieces.len()),
        ) else {
            return;
        };
        if self.text.capacity() - start < need {
            // An eighth at a time: doubling would leave half of the bound unused.
            self.text.reserve_exact(need.max(start / 8).max(4096));
        }
        self.text.extend_from_slice(text);
        self.text.push(SEPARATOR);
        self.pieces.push(Piece {
            start: first,
            len,
            mark: mark.clone(),
        });
        self.seen.append(hash, number);
        self.overhead += size_of::<Piece>() + mark.cost();
    }

    /// The text that is in no table.
    fn loose(&self) -> &[u8] {
        self.text.get(self.signed..).unwrap_or_default()
    }

    /// Puts text into the tables, about as much as asked for. Returns how much, at most that.
    fn sign(&mut self, most: usize) -> usize {
        let before = self.signed;
        while self.signed - before < most
            && let Some(piece) = self.pieces.get(self.at_piece)
        {
            let end = (piece.start + piece.len) as usize;
            let text = self.text.get(self.signed..end).unwrap_or_default();
            if text.len() < SHORTEST {
                // The separator, too.
                self.signed = self.text.len().min(end + 1);
                self.at_piece += 1;
                continue;
            }
            if self.signature.begin(self.signed).is_some() {
                self.blocks.push(Block {
                    start: self.signed as u32,
                    piece: self.at_piece as u32,
                });
                self.overhead += size_of::<Block>();
            }
            let new = text.len().min(self.signature.room());
            // The head of each needle that starts in this block.
            let stretch = text.get(..text.len().min(new + HEAD - 1));
            self.signature.add(stretch.unwrap_or_default(), new);
            self.signed += new;
        }
        most.min(self.signed - before)
    }

    /// Reads the text through that is in no table.
    fn find_loose<'n>(&self, loose: &[u8], needle: &mut Needle<'n>) -> Option<Hit<'_>> {
        if loose.len() < needle.text.len() {
            return None;
        }
        let text = needle.text;
        let finder = needle.finder.get_or_insert_with(|| Finder::new(text));
        let start = self.signed + finder.find(loose)?;
        self.hit_in(self.pieces.get(self.at_piece..)?, start, text.len())
    }

    fn find(&self, needle: &mut Needle<'_>) -> Option<Hit<'_>> {
        let Needle {
            text,
            coarse,
            fine,
            finder,
            effort,
        } = needle;
        let text = *text;
        self.signature.search(coarse, fine, |number| {
            let start = self.blocks.get(number)?.start as usize;
            let next = self.blocks.get(number + 1);
            let end = next.map_or(self.text.len(), |next| next.start as usize);
            let end = self.text.len().min(end + text.len() - 1);
            let block = self.text.get(start..end)?;
            let finder = finder.get_or_insert_with(|| Finder::new(text));
            if let Some(at) = finder.find(block) {
                return self.hit(number, start + at, text.len());
            }
            *effort = effort.saturating_sub(1);
            if *effort > 0 {
                return None;
            }
            // Not proven absent: the stricter answer, with a text that holds a part.
            let part = text.get(..SHORTEST)?;
            let at = memmem::find(block, part).unwrap_or(0);
            self.hit(number, start + at, part.len())
        })
    }

    /// The piece at a place of the text, in a block or right behind it.
    fn hit(&self, block: usize, start: usize, len: usize) -> Option<Hit<'_>> {
        let first = self.blocks.get(block)?.piece as usize;
        let next = self.blocks.get(block + 1);
        let last = next.map_or(self.pieces.len(), |next| next.piece as usize + 1);
        self.hit_in(self.pieces.get(first..last)?, start, len)
    }

    /// The one of some pieces that holds a place of the text.
    fn hit_in<'a>(&'a self, pieces: &'a [Piece], start: usize, len: usize) -> Option<Hit<'a>> {
        let behind = pieces.partition_point(|piece| piece.start as usize <= start);
        let piece = pieces.get(behind.checked_sub(1)?)?;
        let text = self.text_of(piece);
        let continues = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let from = start - piece.start as usize;
        let mut first = from.saturating_sub(EXCERPT);
        while continues(&first) {
            first += 1;
        }
        let mut last = (from + len.min(4 * EXCERPT) + EXCERPT).min(text.len());
        while continues(&last) {
            last += 1;
        }
        let excerpt = std::str::from_utf8(text.get(first..last)?);
        Some(Hit {
            mark: &piece.mark,
            excerpt: excerpt.unwrap_or_default(),
        })
    }

    fn bytes(&self) -> usize {
        self.text.capacity() + self.signature.bytes() + self.seen.bytes() + self.overhead
    }
}
