//! The store itself: one short transaction for every change.

use super::error::{DecideError, StoreError};
use super::moments;
use super::opened::Opened;
use super::record::{Around, Kept, Key, Record, Request, Subject};
use super::status::{LASTING, Status};
use bouncer_engine::gate::Grounds;
use bouncer_system::log::{note, visible};
use bouncer_system::moment::Moment;
use rusqlite::{OptionalExtension, Params, Row, Transaction, params};
use std::cell::{Ref, RefCell};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How far the wall clock may step back before what was decided counts as undecided.
const SLACK_MS: i64 = 60_000;
/// Requests of one conversation that may wait at a time.
const MAX_PENDING: i64 = 200;
/// The bytes of the arguments of these, together.
const MAX_PENDING_BYTES: i64 = 64 * 1024 * 1024;
/// How long a human's no answers the same request by itself.
const DENIED_MS: i64 = 15 * 60 * 1000;
/// How long what is over is kept for people to look at.
const KEEP_MS: i64 = 7 * 24 * 3600 * 1000;

const COLUMNS: &str = "id, status, server, tool, arguments, param, destination, reason, at, \
                       conversation, plan, created_ms, expires_ms, decided_ms, used_ms, \
                       grounds, lasting, uses";

/// How long requests and approvals hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// From being asked to being decided.
    pub pending: Duration,
    /// From being approved to being used.
    pub approved: Duration,
    /// The longest that an approval for a conversation holds, if that does not end before.
    pub lasting: Duration,
}

impl Default for Lifetimes {
    /// A day to decide, a quarter of an hour to use it, a day for a conversation.
    fn default() -> Self {
        Self {
            pending: Duration::from_secs(24 * 3600),
            approved: Duration::from_secs(15 * 60),
            lasting: Duration::from_secs(24 * 3600),
        }
    }
}

/// What a human says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Let it through.
    Approve,
    /// Let it through as often as it comes, until the conversation ends. Of a destination: let
    /// the tool send there whatever it likes.
    ApproveForConversation,
    /// Do not. Takes back an approval that is not used yet, or that lasts.
    Deny,
}

/// The requests and approvals of all processes that open the same file.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// `None` only where the file was removed or replaced, and could not be opened anew.
    opened: RefCell<Option<Opened>>,
    lifetimes: Lifetimes,
    clock: fn() -> i64,
    moment: fn() -> Moment,
}

fn wall_clock() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|time| i64::try_from(time.as_millis()).ok())
        // A clock before 1970: everything that was decided counts as undecided.
        .unwrap_or(i64::MIN / 2)
}

impl Store {
    /// Opens or creates the store at `path` and its key beside it, readable by their
    /// owner only.
    ///
    /// # Errors
    /// If the files cannot be made or read, or are not a store of this version.
    pub fn open(path: &Path, lifetimes: Lifetimes) -> Result<Self, StoreError> {
        Self::open_with_clock(path, lifetimes, wall_clock, Moment::now)
    }

    pub(super) fn open_with_clock(
        path: &Path,
        lifetimes: Lifetimes,
        clock: fn() -> i64,
        moment: fn() -> Moment,
    ) -> Result<Self, StoreError> {
        // Seen from elsewhere it would be another file.
        let file = |error| StoreError::File(path.to_owned(), error);
        let path = std::path::absolute(path).map_err(file)?;
        let opened = Opened::new(&path)?;
        Ok(Self {
            opened: RefCell::new(Some(opened)),
            path,
            lifetimes,
            clock,
            moment,
        })
    }

    /// The file that is under the store's name. One that was removed or replaced while it
    /// was in use is left: nobody else would see what is written there. What it held is not
    /// carried over, so that nothing counts as approved that a human does not find in the
    /// store.
    fn opened(&self) -> Result<Ref<'_, Opened>, StoreError> {
        let held = self.opened.try_borrow_mut();
        // While it is in use here it stays the one that it is.
        if let Ok(mut held) = held
            && !held.as_ref().is_some_and(|held| held.is_at(&self.path))
        {
            let first = held.is_some();
            // The old one lets go first: both would have the same side files.
            *held = None;
            if first {
                let path = self.path.display().to_string();
                note(format_args!(
                    "the approvals in `{}` were removed or replaced: what was asked and approved there does not hold any more",
                    visible(&path)
                ));
            }
            *held = Some(Opened::new(&self.path)?);
        }
        let held = Ref::filter_map(self.opened.borrow(), Option::as_ref);
        held.map_err(|_| StoreError::Gone(self.path.clone()))
    }

    /// `~/.bouncer/approvals.db`, if there is a home directory.
    #[must_use]
    pub fn default_path() -> Option<PathBuf> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(Path::new(&home).join(".bouncer").join("approvals.db"))
    }

    /// Puts a request to humans, unless the same one waits already. Returns its id.
    /// Logarithmic in the store.
    ///
    /// # Errors
    /// If a human has just denied it, too many wait, or the store cannot be used.
    pub fn ask(&self, request: &Request<'_>) -> Result<String, StoreError> {
        let key = request.key()?;
        let now = (self.clock)();
        let opened = self.opened()?;
        let transaction = opened.begin()?;
        // What is over makes room; a clock that went back must not revive it.
        transaction.execute(
            "UPDATE request SET status = 'expired'
             WHERE key = ?1 AND status IN ('pending', 'approved', 'lasting')
               AND (expires_ms <= ?2 OR max(created_ms, coalesce(decided_ms, 0)) > ?2 + ?3)",
            params![key.0, now, SLACK_MS],
        )?;
        transaction.execute(
            "UPDATE request SET status = 'expired'
             WHERE conversation = ?1 AND status = 'pending' AND expires_ms <= ?2",
            params![request.conversation, now],
        )?;
        transaction.execute(
            "DELETE FROM request WHERE created_ms < ?1
             AND (status IN ('denied', 'used', 'expired') OR expires_ms < ?1)",
            params![now - KEEP_MS],
        )?;
        let known: Option<String> = transaction
            .query_row(
                "SELECT id FROM request WHERE key = ?1
                 AND (status IN ('pending', 'approved')
                      OR status = 'lasting' AND conversation = ?2)",
                params![key.0, request.conversation],
                |row| row.get(0),
            )
            .optional()?;
        let denied: Option<String> = transaction
            .query_row(
                "SELECT id FROM request
                 WHERE key = ?1 AND conversation = ?2 AND status = 'denied'
                   AND decided_ms BETWEEN ?3 - ?4 AND ?3",
                params![key.0, request.conversation, now, DENIED_MS],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(id) = denied {
            return Err(StoreError::Denied(id));
        }
        let id = match known {
            Some(id) => id,
            None => self.insert(&transaction, request, &key, now)?,
        };
        transaction.commit()?;
        Ok(id)
    }

    fn insert(
        &self,
        transaction: &Transaction<'_>,
        request: &Request<'_>,
        key: &Key,
        now: i64,
    ) -> Result<String, StoreError> {
        let (waiting, bytes): (i64, i64) = transaction.query_row(
            "SELECT count(*), coalesce(sum(length(arguments)), 0) FROM request
             WHERE conversation = ?1 AND status = 'pending'",
            params![request.conversation],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        if waiting >= MAX_PENDING || bytes >= MAX_PENDING_BYTES {
            return Err(StoreError::Full);
        }
        let (param, destination) = match request.subject {
            Subject::Call => (None, None),
            Subject::Destination { param, destination } => (Some(param), Some(destination)),
        };
        let id = fresh_id()?;
        // Plain texts and numbers always serialize.
        let kept = Kept {
            grounds: request.grounds,
            around: request.around.clone(),
        };
        let kept = serde_json::to_string(&kept).ok();
        transaction.execute(
            "INSERT INTO request (id, key, status, server, tool, arguments, param, destination,
                 reason, at, conversation, plan, created_ms, expires_ms, grounds)
             VALUES (?1, ?2, 'pending', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            params![
                id,
                key.0,
                request.server,
                request.tool,
                request.shown,
                param,
                destination,
                request.reason,
                request.at,
                request.conversation,
                request.plan,
                now,
                later(now, self.lifetimes.pending),
                kept,
            ],
        )?;
        Ok(id)
    }

    /// The id of an approval for exactly this, if a human gave one that still holds.
    /// Logarithmic in the store.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn approved(&self, key: &Key) -> Result<Option<String>, StoreError> {
        // As the index says it, or it is not used.
        let open = "SELECT id, status, seal, decided_ms, expires_ms FROM request
             WHERE key = ?1 AND status IN ('pending', 'approved')";
        self.holding(open, params![key.0], Status::Approved.name(), key)
    }

    /// The id of an approval for exactly this, as often as it comes in that conversation,
    /// if a human gave one that still holds. Logarithmic in the store.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn lasting(&self, key: &Key, conversation: &str) -> Result<Option<String>, StoreError> {
        let open = "SELECT id, status, seal, decided_ms, expires_ms FROM request
             WHERE key = ?1 AND conversation = ?2 AND status = 'lasting'";
        let sealed = key.in_conversation(conversation);
        self.holding(open, params![key.0, conversation], LASTING, &sealed)
    }

    /// The id of the approval that `sql` finds, if it holds and carries the seal of `key`.
    fn holding(
        &self,
        sql: &str,
        params: impl Params,
        wanted: &str,
        key: &Key,
    ) -> Result<Option<String>, StoreError> {
        let opened = self.opened()?;
        let found = opened
            .connection
            .query_row(sql, params, |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, Option<Vec<u8>>>(2)?,
                    row.get::<_, Option<i64>>(3)?,
                    row.get::<_, i64>(4)?,
                ))
            })
            .optional()?;
        let now = (self.clock)();
        let found = found.and_then(|(id, status, seal, decided, expires)| {
            let (seal, decided) = (seal?, decided?);
            let holds =
                status == wanted && decided <= now.saturating_add(SLACK_MS) && now < expires;
            (holds && opened.seal.is(&seal, &id, key, decided, expires)).then_some(id)
        });
        match found {
            Some(id) if moments::holds(&opened.connection, &id, &(self.moment)())? => Ok(Some(id)),
            _ => Ok(None),
        }
    }

    /// Takes an approval that [`Self::approved`] named: `true` for exactly one of all
    /// who try, and only while it holds.
    ///
    /// # Errors
    /// If the store cannot be used; the approval must then count as not taken.
    pub fn take(&self, id: &str, key: &Key) -> Result<bool, StoreError> {
        let now = (self.clock)();
        let opened = self.opened()?;
        let transaction = opened.begin()?;
        if !moments::holds(&transaction, id, &(self.moment)())? {
            return Ok(false);
        }
        let changed = transaction.execute(
            "UPDATE request SET status = 'used', used_ms = ?3
             WHERE id = ?1 AND key = ?2 AND status = 'approved'
               AND expires_ms > ?3 AND decided_ms <= ?3 + ?4",
            params![id, key.0, now, SLACK_MS],
        )?;
        transaction.commit()?;
        Ok(changed == 1)
    }

    /// Counts a use of an approval that [`Self::lasting`] named: `true` while it holds.
    ///
    /// # Errors
    /// If the store cannot be used; the approval must then count as not held.
    pub fn use_lasting(&self, id: &str, key: &Key, conversation: &str) -> Result<bool, StoreError> {
        let now = (self.clock)();
        let opened = self.opened()?;
        let transaction = opened.begin()?;
        if !moments::holds(&transaction, id, &(self.moment)())? {
            return Ok(false);
        }
        let changed = transaction.execute(
            "UPDATE request SET uses = uses + 1, used_ms = ?4
             WHERE id = ?1 AND key = ?2 AND conversation = ?3 AND status = 'lasting'
               AND expires_ms > ?4 AND decided_ms <= ?4 + ?5",
            params![id, key.0, conversation, now, SLACK_MS],
        )?;
        transaction.commit()?;
        Ok(changed == 1)
    }

    /// A conversation has ended, and with it what was approved for as long as it lasts.
    ///
    /// # Errors
    /// If the store cannot be used; nobody else has a conversation of that name.
    pub fn end(&self, conversation: &str) -> Result<(), StoreError> {
        let opened = self.opened()?;
        let transaction = opened.begin()?;
        transaction.execute(
            "UPDATE request SET status = 'expired' WHERE conversation = ?1 AND status = 'lasting'",
            params![conversation],
        )?;
        Ok(transaction.commit()?)
    }

    /// Writes down what a human decided.
    ///
    /// # Errors
    /// If there is no such request, it is not open, or the store cannot be used.
    pub fn decide(&self, id: &str, choice: Choice) -> Result<Record, DecideError> {
        let now = (self.clock)();
        let opened = self.opened()?;
        let transaction = opened.begin()?;
        let found = transaction
            .query_row(
                &format!("SELECT {COLUMNS}, key FROM request WHERE id = ?1"),
                params![id],
                |row| Ok((self.record(row, now)?, row.get::<_, [u8; 32]>(18)?)),
            )
            .optional()?;
        let Some((mut record, key)) = found else {
            return Err(DecideError::Unknown(id.to_owned()));
        };
        let taken_back = choice == Choice::Deny && record.status == Status::Approved;
        if record.status != Status::Pending && !taken_back {
            return Err(DecideError::Already(id.to_owned(), record.status));
        }
        record.decided_ms = Some(now);
        record.lasting = choice == Choice::ApproveForConversation;
        let mut key = Key(key);
        if let (true, Some(param), Some(destination)) =
            (record.lasting, &record.param, &record.destination)
        {
            // From now on it is about the destination, whatever is sent there.
            key = Key::of_destination(
                &record.plan,
                &record.conversation,
                (record.server.as_deref(), &record.tool),
                (param, destination),
            );
        }
        let (status, seal) = match choice {
            Choice::Deny => {
                record.status = Status::Denied;
                (Status::Denied.name(), None)
            }
            Choice::Approve | Choice::ApproveForConversation => {
                record.status = Status::Approved;
                let (status, lifetime, key) = if record.lasting {
                    let sealed = key.in_conversation(&record.conversation);
                    (LASTING, self.lifetimes.lasting, sealed)
                } else {
                    (Status::Approved.name(), self.lifetimes.approved, key)
                };
                record.expires_ms = later(now, lifetime);
                (
                    status,
                    Some(opened.seal.of(id, &key, now, record.expires_ms)),
                )
            }
        };
        transaction.execute(
            "UPDATE request SET status = ?2, seal = ?3, decided_ms = ?4, expires_ms = ?5,
                 lasting = ?6, key = ?7
             WHERE id = ?1",
            params![
                id,
                status,
                seal,
                now,
                record.expires_ms,
                record.lasting,
                key.0
            ],
        )?;
        moments::note(&transaction, id, &(self.moment)())?;
        transaction.commit()?;
        Ok(record)
    }

    /// The newest `limit` requests, newest first; those of one status only, if given.
    /// Linear in what the store holds.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn list(&self, status: Option<Status>, limit: usize) -> Result<Vec<Record>, StoreError> {
        let now = (self.clock)();
        let sql = format!("SELECT {COLUMNS} FROM request ORDER BY created_ms DESC, rowid DESC");
        let opened = self.opened()?;
        let mut statement = opened.connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            let record = self.record(row, now)?;
            if status.is_none_or(|status| record.status == status) {
                records.push(record);
                if records.len() == limit {
                    break;
                }
            }
        }
        Ok(records)
    }

    /// Says whether anybody has written to the store since it last said something else.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn version(&self) -> Result<(i64, i64), StoreError> {
        let by_others = "data_version";
        let opened = self.opened()?;
        let by_others = opened
            .connection
            .pragma_query_value(None, by_others, |row| row.get(0))?;
        let own = opened
            .connection
            .query_row("SELECT total_changes()", [], |row| row.get(0))?;
        Ok((by_others, own))
    }

    /// One request.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn get(&self, id: &str) -> Result<Option<Record>, StoreError> {
        let now = (self.clock)();
        let sql = format!("SELECT {COLUMNS} FROM request WHERE id = ?1");
        let opened = self.opened()?;
        let found = opened
            .connection
            .query_row(&sql, params![id], |row| self.record(row, now));
        Ok(found.optional()?)
    }

    fn record(&self, row: &Row<'_>, now: i64) -> rusqlite::Result<Record> {
        let written: String = row.get(1)?;
        // What cannot be read is not shown; nothing rests on it.
        let kept = row
            .get::<_, Option<String>>(15)?
            .and_then(|text| serde_json::from_str::<Kept<Grounds>>(&text).ok())
            .unwrap_or_else(|| Kept {
                grounds: None,
                around: Around::default(),
            });
        let mut record = Record {
            id: row.get(0)?,
            // A word that nobody here wrote approves nothing.
            status: Status::parse(&written).unwrap_or(Status::Expired),
            server: row.get(2)?,
            tool: row.get(3)?,
            arguments: row.get(4)?,
            param: row.get(5)?,
            destination: row.get(6)?,
            reason: row.get(7)?,
            at: row.get(8)?,
            conversation: row.get(9)?,
            plan: row.get(10)?,
            created_ms: row.get(11)?,
            expires_ms: row.get(12)?,
            decided_ms: row.get(13)?,
            used_ms: row.get(14)?,
            grounds: kept.grounds,
            around: kept.around,
            lasting: row.get(16)?,
            uses: row.get(17)?,
        };
        let open = matches!(record.status, Status::Pending | Status::Approved);
        let from_later =
            record.created_ms.max(record.decided_ms.unwrap_or(0)) > now.saturating_add(SLACK_MS);
        if open && (record.expires_ms <= now || from_later) {
            record.status = Status::Expired;
        }
        Ok(record)
    }
}

fn later(now: i64, by: Duration) -> i64 {
    now.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}

/// `req_` and eight characters that read well aloud.
fn fresh_id() -> Result<String, StoreError> {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz234567890";
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Random(error.to_string()))?;
    let letters = bytes
        .iter()
        .filter_map(|byte| LETTERS.get(usize::from(byte & 31)));
    Ok("req_"
        .chars()
        .chain(letters.map(|&letter| char::from(letter)))
        .collect())
}
