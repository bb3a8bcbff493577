//! What earlier results of a session say, boiled down, so that a hook that starts does not have
//! to read them all: groups of results with keys of what they say, in bits.
//!
//! A group that has no bit for a question cannot answer it. Each row carries a sum of what it
//! holds and stands for, and groups follow each other without a gap: what was changed or taken
//! out is an error, never a result that is passed over. Knows nothing of what a key is of.

use crate::memory_error::MemoryError;
use bouncer_engine::provenance::{KEYS_VERSION, Keys, Sieve, may_name};
use rusqlite::{Connection, OptionalExtension, Statement, params};
use serde_json::Value;

/// Bytes of results that make a group. Fewer are read each time.
pub const GROUP: i64 = 256 * 1024;
/// Bytes of a page of bits.
const PAGE: usize = 2040;
const PAGE_BITS: u64 = PAGE as u64 * 8;
/// Bits for each key, and how many of them it sets.
const ROOM: usize = 10;
const SET: u32 = 4;
/// Pages of one group at most.
const MOST_PAGES: i64 = 1 << 16;

/// The tables.
pub const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS digest (id INTEGER PRIMARY KEY, session TEXT NOT NULL, before INTEGER NOT NULL, last INTEGER NOT NULL, results INTEGER NOT NULL, version INTEGER NOT NULL, said INTEGER, tools TEXT NOT NULL, pages INTEGER NOT NULL, tokens BLOB NOT NULL, sum BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS digest_of ON digest (session, last);
    CREATE TABLE IF NOT EXISTS digest_page (n INTEGER PRIMARY KEY, bits BLOB NOT NULL, sum BLOB NOT NULL);";

/// Forgets the groups that a condition on their rows names.
pub fn forget(
    connection: &Connection,
    which: &str,
    params: impl rusqlite::Params + Copy,
) -> rusqlite::Result<()> {
    connection.execute(
        &format!("DELETE FROM digest_page WHERE n IN (SELECT d.id * {MOST_PAGES} + p.value FROM (SELECT id, pages FROM digest WHERE {which}) d JOIN (WITH RECURSIVE p (value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM p WHERE value < (SELECT max(pages) FROM digest)) SELECT value FROM p) p ON p.value < d.pages)"),
        params,
    )?;
    connection.execute(&format!("DELETE FROM digest WHERE {which}"), params)?;
    Ok(())
}

/// Results that follow each other.
#[derive(Debug)]
pub struct Group {
    id: i64,
    /// The number of the last result before it.
    pub before: i64,
    /// The number of the last in it.
    pub last: i64,
    /// How many there were.
    pub results: u64,
    /// The first of them that said anything.
    pub said: Option<u64>,
    /// The servers and tools that they are of.
    pub tools: Vec<(Option<String>, String)>,
    pages: i64,
    tokens: Vec<u8>,
}

/// The groups of a session, oldest first. None, where they are of another version.
pub fn groups(connection: &Connection, session: &str) -> Result<Vec<Group>, MemoryError> {
    let mut statement = connection.prepare(
        "SELECT id, before, last, results, version, said, tools, pages, tokens, sum FROM digest WHERE session = ?1 ORDER BY last",
    )?;
    let mut rows = statement.query([session])?;
    let mut groups: Vec<Group> = Vec::new();
    while let Some(row) = rows.next()? {
        let version: u32 = row.get(4)?;
        if version != KEYS_VERSION {
            return Ok(Vec::new());
        }
        let (tools, sum): (String, Vec<u8>) = (row.get(6)?, row.get(9)?);
        let said: Option<i64> = row.get(5)?;
        let group = Group {
            id: row.get(0)?,
            before: row.get(1)?,
            last: row.get(2)?,
            results: row.get::<_, i64>(3)?.unsigned_abs(),
            said: said.map(i64::unsigned_abs),
            tools: serde_json::from_str(&tools).map_err(|_| MemoryError::Changed)?,
            pages: row.get(7)?,
            tokens: row.get(8)?,
        };
        let follows = groups.last().is_none_or(|last| last.last == group.before);
        if !follows || sum != group.sum(session, &tools) {
            return Err(MemoryError::Changed);
        }
        groups.push(group);
    }
    // What is older than the first was forgotten.
    if let Some(first) = groups.first() {
        let older: bool = connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM returned WHERE session = ?1 AND n <= ?2)",
            params![session, first.before],
            |row| row.get(0),
        )?;
        if older {
            return Err(MemoryError::Changed);
        }
    }
    Ok(groups)
}

/// Adds a group of these results, which follow the one with the number `before`.
pub fn add(
    connection: &Connection,
    session: &str,
    before: i64,
    last: i64,
    results: &[(Option<String>, String, Value)],
) -> Result<(), MemoryError> {
    let keys = Keys::of(results.iter().map(|(_, _, value)| value));
    let mut tools: Vec<(Option<&str>, &str)> = results
        .iter()
        .map(|(server, tool, _)| (server.as_deref(), tool.as_str()))
        .collect();
    tools.sort_unstable();
    tools.dedup();
    let tools = serde_json::to_string(&tools).unwrap_or_default();
    // Where not all could be read, all bits are set.
    let pages = match keys.incomplete {
        true => 0,
        false => (keys.texts.len() * ROOM)
            .div_ceil(PAGE_BITS as usize)
            .max(1),
    };
    let mut bits = vec![[0_u8; PAGE]; pages];
    for key in &keys.texts {
        if let Some(page) = bits.get_mut(page_of(*key, pages)) {
            places(*key, PAGE_BITS).for_each(|place| set(page, place));
        }
    }
    let mut tokens = vec![0_u8; (keys.tokens.len() * ROOM).div_ceil(8).max(8)];
    if keys.incomplete {
        tokens = vec![u8::MAX; 8];
    }
    let room = tokens.len() as u64 * 8;
    for key in &keys.tokens {
        places(*key, room).for_each(|place| set(&mut tokens, place));
    }
    let mut group = Group {
        id: 0,
        before,
        last,
        results: results.len() as u64,
        said: keys.first.map(|first| first as u64),
        tools: Vec::new(),
        pages: pages as i64,
        tokens,
    };
    let id = connection.query_row("SELECT coalesce(max(id), 0) + 1 FROM digest", [], |row| {
        row.get(0)
    })?;
    group.id = id;
    connection.execute(
        "INSERT INTO digest (id, session, before, last, results, version, said, tools, pages, tokens, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            id,
            session,
            before,
            last,
            group.results as i64,
            KEYS_VERSION,
            group.said.map(|said| said as i64),
            tools,
            group.pages,
            group.tokens,
            group.sum(session, &tools)
        ],
    )?;
    let mut statement = connection
        .prepare("INSERT OR REPLACE INTO digest_page (n, bits, sum) VALUES (?1, ?2, ?3)")?;
    for (n, bits) in (id * MOST_PAGES..).zip(&bits) {
        statement.execute(params![n, bits.as_slice(), page_sum(n, bits)])?;
    }
    Ok(())
}

impl Group {
    fn sum(&self, session: &str, tools: &str) -> Vec<u8> {
        let mut hasher = blake3::Hasher::new();
        let numbers = [
            self.id,
            self.before,
            self.last,
            self.results as i64,
            KEYS_VERSION.into(),
            self.said.map_or(-1, |said| said as i64),
            self.pages,
            session.len() as i64,
            tools.len() as i64,
        ];
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(session.as_bytes());
        hasher.update(tools.as_bytes());
        hasher.update(&self.tokens);
        short(&hasher)
    }

    /// Whether the results may have said anything of a destination.
    ///
    /// # Errors
    /// If the bits cannot be read, or were changed.
    pub fn may_name(&self, pages: &mut Pages<'_>, destination: &str) -> Result<bool, MemoryError> {
        if self.pages == 0 {
            return Ok(true);
        }
        let mut bits = Bits {
            group: self,
            pages,
            page: None,
        };
        may_name(&mut bits, destination)
    }
}

/// Reads pages of bits.
pub struct Pages<'c>(Statement<'c>);

impl<'c> Pages<'c> {
    /// Those of all groups.
    pub(crate) fn of(connection: &'c Connection) -> rusqlite::Result<Self> {
        let statement = connection.prepare("SELECT bits, sum FROM digest_page WHERE n = ?1");
        Ok(Self(statement?))
    }

    fn read(&mut self, n: i64) -> Result<Vec<u8>, MemoryError> {
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let row: Option<(Vec<u8>, Vec<u8>)> = self.0.query_row([n], row).optional()?;
        let (bits, sum) = row.ok_or(MemoryError::Changed)?;
        match bits.len() == PAGE && sum == page_sum(n, &bits) {
            true => Ok(bits),
            false => Err(MemoryError::Changed),
        }
    }
}

/// The bits of a group, read as they are needed.
struct Bits<'g, 'c> {
    group: &'g Group,
    pages: &'g mut Pages<'c>,
    /// The page that was read last.
    page: Option<(usize, Vec<u8>)>,
}

impl Sieve for Bits<'_, '_> {
    type Error = MemoryError;

    fn has_text(&mut self, key: u64) -> Result<bool, MemoryError> {
        let number = page_of(key, usize::try_from(self.group.pages).unwrap_or(0));
        if self.page.as_ref().is_none_or(|(page, _)| *page != number) {
            let n = self.group.id * MOST_PAGES + number as i64;
            let bits = self.pages.read(n)?;
            self.page = Some((number, bits));
        }
        let page = self.page.as_ref();
        Ok(page.is_some_and(|(_, bits)| places(key, PAGE_BITS).all(|place| has(bits, place))))
    }

    fn has_token(&mut self, key: u64) -> Result<bool, MemoryError> {
        let bits = &self.group.tokens;
        Ok(places(key, bits.len() as u64 * 8).all(|place| has(bits, place)))
    }
}

fn short(hasher: &blake3::Hasher) -> Vec<u8> {
    hasher
        .finalize()
        .as_bytes()
        .iter()
        .take(8)
        .copied()
        .collect()
}

fn page_sum(n: i64, bits: &[u8]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&n.to_le_bytes());
    hasher.update(bits);
    short(&hasher)
}

/// A number below `room`, as a hash says.
const fn below(hash: u64, room: u64) -> u64 {
    ((hash as u128 * room as u128) >> 64) as u64
}

fn page_of(key: u64, pages: usize) -> usize {
    below(key, pages as u64) as usize
}

/// The places of a key's bits.
fn places(key: u64, room: u64) -> impl Iterator<Item = u64> {
    (1..=SET).map(move |which| {
        let mixed = key
            .rotate_left(16 * which)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        below(mixed ^ (mixed >> 32), room)
    })
}

fn set(bits: &mut [u8], place: u64) {
    if let Some(byte) = bits.get_mut((place / 8) as usize) {
        *byte |= 1 << (place % 8);
    }
}

fn has(bits: &[u8], place: u64) -> bool {
    bits.get((place / 8) as usize)
        .is_none_or(|byte| byte & (1 << (place % 8)) != 0)
}
