//! What hooks remember of a conversation from one process to the next: what was read,
//! and how often each tool was used. One SQLite file, readable by its owner only.
//!
//! Bounded: of a conversation the oldest results are forgotten first. What is forgotten
//! counts as unproven, so a human is asked.

use crate::digest::{self, Group, Pages, TABLES};
pub use crate::memory_error::MemoryError;
use bouncer_database::write_ahead;
use bouncer_system::moment::Moment;
use bouncer_system::private::{private_directory, private_file};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Longer results are kept in part.
const MAX_RESULT: usize = 1 << 20;
/// About how much of a conversation is kept.
const MAX_SESSION: i64 = 16 << 20;
/// Attempts that are counted in one conversation; more are not made.
const MAX_ATTEMPTS: u64 = 50_000;
/// Conversations that nobody has used for so long are forgotten.
const MAX_AGE_MS: i64 = 7 * 24 * 3600 * 1000;
/// How long to wait for other hooks before a call.
const BUSY: Duration = Duration::from_secs(5);
/// How long to wait for them after a call: what it returned must not get lost, and nobody is
/// waiting.
const PATIENT: Duration = Duration::from_secs(30);
/// Bytes of the write-ahead log before it is written back: few enough for the next hook
/// to read at once.
const MAX_LOG: u64 = 400 * 1024;
const VERSION: i64 = 3;

/// What hooks remember, in one file.
#[derive(Debug)]
pub struct Memory(Connection);

/// Something a tool returned.
#[derive(Clone, Debug)]
pub struct ToolResult {
    /// The server, where one is known.
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// The result.
    pub value: Value,
}

/// A tool that was used, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// The server, where one is known.
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// When.
    pub at: Moment,
}

/// What is remembered of one session, locked against other hooks until it is committed.
#[derive(Debug)]
pub struct LockedSession<'m> {
    transaction: rusqlite::Transaction<'m>,
    session: String,
}

impl Memory {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// If that fails, or it is of another version.
    pub fn open(path: &Path) -> Result<Self, MemoryError> {
        let file = |error| MemoryError::File(path.to_owned(), error);
        let open = |error| MemoryError::Open(path.to_owned(), error);
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            private_directory(directory).map_err(file)?;
        }
        // SQLite gives its journals the mode of the file.
        private_file(path).map_err(file)?;
        let connection = Connection::open(path).map_err(open)?;
        Self::prepare(&connection).map_err(open)?;
        Self::tidy(&connection, path);
        let version: i64 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(open)?;
        if version != VERSION {
            return Err(MemoryError::OtherVersion(path.to_owned()));
        }
        Ok(Self(connection))
    }

    /// Waits longer for other hooks from now on.
    ///
    /// # Errors
    /// If that cannot be set.
    pub fn wait_longer(&self) -> Result<(), MemoryError> {
        Ok(self.0.busy_timeout(PATIENT)?)
    }

    fn prepare(connection: &Connection) -> rusqlite::Result<()> {
        connection.busy_timeout(BUSY)?;
        // Each hook is a process that comes and goes. SQLite would write its log back and
        // delete it whenever the last one closes, and start a new one for the next: four
        // waits for the disk each time. So the log stays until it has grown (`tidy`).
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version >= VERSION {
            return connection.pragma_update(None, "synchronous", "NORMAL");
        }
        write_ahead(connection)?;
        if version > 0 {
            return Self::upgrade(connection);
        }
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, used INTEGER NOT NULL, forgotten INTEGER NOT NULL, boot TEXT NOT NULL DEFAULT '', boot_ms INTEGER NOT NULL DEFAULT 0);
             CREATE TABLE IF NOT EXISTS returned (n INTEGER PRIMARY KEY, session TEXT NOT NULL, server TEXT, tool TEXT NOT NULL, body TEXT NOT NULL);
             CREATE INDEX IF NOT EXISTS returned_of ON returned (session, n);
             CREATE TABLE IF NOT EXISTS attempt (n INTEGER PRIMARY KEY, session TEXT NOT NULL, server TEXT, tool TEXT NOT NULL, ms INTEGER NOT NULL, boot TEXT NOT NULL DEFAULT '', boot_ms INTEGER NOT NULL DEFAULT 0);
             CREATE INDEX IF NOT EXISTS attempt_of ON attempt (session, n);
             {TABLES}
             PRAGMA user_version = {VERSION};
             COMMIT;"
        ))
    }

    /// The first layout knew times by the wall clock alone, and the second had no digests.
    fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
        let transaction =
            rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        // Another hook may have come first.
        let version: i64 =
            transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version == 1 {
            for table in ["session", "attempt"] {
                transaction.execute_batch(&format!(
                    "ALTER TABLE {table} ADD COLUMN boot TEXT NOT NULL DEFAULT '';
                     ALTER TABLE {table} ADD COLUMN boot_ms INTEGER NOT NULL DEFAULT 0;"
                ))?;
            }
        }
        if version < VERSION {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()
    }

    /// Writes a log that has grown back into the file and empties it. Another hook that
    /// uses it at this moment leaves the work to the next.
    fn tidy(connection: &Connection, path: &Path) {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if std::fs::metadata(log).is_ok_and(|log| log.len() > MAX_LOG) {
            let _busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }

    /// Locks what is remembered of a session.
    ///
    /// # Errors
    /// If the memory cannot be used.
    pub fn lock(&mut self, session: &str, now: &Moment) -> Result<LockedSession<'_>, MemoryError> {
        let transaction = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction?;
        let locked = LockedSession {
            transaction,
            session: session.to_owned(),
        };
        locked.touch(now)?;
        Ok(locked)
    }
}

impl LockedSession<'_> {
    fn touch(&self, now: &Moment) -> rusqlite::Result<()> {
        self.transaction.execute(
            "INSERT INTO session (id, used, forgotten, boot, boot_ms) VALUES (?1, ?2, 0, ?3, ?4)
             ON CONFLICT (id) DO UPDATE SET used = ?2, boot = ?3, boot_ms = ?4",
            params![self.session, now.wall_ms, now.boot, now.boot_ms],
        )?;
        // A wall clock that jumps forward must not make anything forgotten that was used
        // in this run of the machine.
        let old = "used < ?1 AND (boot = '' OR boot != ?2 OR boot_ms < ?3)";
        let than = params![
            now.wall_ms.saturating_sub(MAX_AGE_MS),
            now.boot,
            now.boot_ms.saturating_sub(MAX_AGE_MS)
        ];
        let any: bool = self.transaction.query_row(
            &format!("SELECT EXISTS (SELECT 1 FROM session WHERE {old})"),
            than,
            |row| row.get(0),
        )?;
        if any {
            digest::forget(
                &self.transaction,
                &format!("session IN (SELECT id FROM session WHERE {old})"),
                than,
            )?;
            for table in ["returned", "attempt"] {
                self.transaction.execute(
                    &format!(
                        "DELETE FROM {table} WHERE session IN (SELECT id FROM session WHERE {old})"
                    ),
                    than,
                )?;
            }
            self.transaction
                .execute(&format!("DELETE FROM session WHERE {old}"), than)?;
        }
        Ok(())
    }

    /// How many tools were used so far.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn count_of_uses(&self) -> Result<u64, MemoryError> {
        let count = self.transaction.query_row(
            "SELECT count(*) FROM attempt WHERE session = ?1",
            [&self.session],
            |row| row.get::<_, i64>(0),
        );
        let count = count?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// The tools that were used so far, oldest first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn uses(&self) -> Result<Vec<ToolUse>, MemoryError> {
        let read = || {
            let mut statement = self.transaction.prepare(
                "SELECT server, tool, boot, boot_ms, ms FROM attempt WHERE session = ?1 ORDER BY n",
            )?;
            let rows = statement.query_map([&self.session], |row| {
                Ok(ToolUse {
                    server: row.get(0)?,
                    tool: row.get(1)?,
                    at: Moment {
                        boot: row.get(2)?,
                        boot_ms: row.get(3)?,
                        wall_ms: row.get(4)?,
                    },
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        Ok(read()?)
    }

    /// Everything that was returned so far, oldest first.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn results(&self) -> Result<Vec<ToolResult>, MemoryError> {
        self.results_between(0, i64::MAX)
    }

    /// What was returned behind the result of one number, up to that of another.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn results_between(&self, before: i64, last: i64) -> Result<Vec<ToolResult>, MemoryError> {
        let read = || {
            let mut statement = self.transaction.prepare(
                "SELECT server, tool, body FROM returned WHERE session = ?1 AND n > ?2 AND n <= ?3 ORDER BY n",
            )?;
            let rows = statement.query_map(params![self.session, before, last], |row| {
                let body: String = row.get(2)?;
                Ok(ToolResult {
                    server: row.get(0)?,
                    tool: row.get(1)?,
                    // What is no JSON any more was cut.
                    value: serde_json::from_str(&body).unwrap_or(Value::String(body)),
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        Ok(read()?)
    }

    /// Groups of what was returned, oldest first, up to a result behind which there are none.
    ///
    /// # Errors
    /// If the memory cannot be read, or was changed.
    pub fn groups(&self) -> Result<Vec<Group>, MemoryError> {
        digest::groups(&self.transaction, &self.session)
    }

    /// How many results of a group there still are.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn count_of(&self, group: &Group) -> Result<u64, MemoryError> {
        let count = self.transaction.query_row(
            "SELECT count(*) FROM returned WHERE session = ?1 AND n > ?2 AND n <= ?3",
            params![self.session, group.before, group.last],
            |row| row.get::<_, i64>(0),
        );
        Ok(u64::try_from(count?).unwrap_or(0))
    }

    /// What groups say, to be asked with [`Group::may_name`].
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn pages(&self) -> Result<Pages<'_>, MemoryError> {
        Ok(Pages::of(&self.transaction)?)
    }

    /// Makes groups of what was returned last, where that is enough.
    fn group(&self) -> Result<(), MemoryError> {
        let (connection, session) = (&self.transaction, &self.session);
        let mut before = self.groups()?.last().map_or(0, |group| group.last);
        if before == 0 {
            // Those of another version.
            digest::forget(connection, "session = ?1", [session])?;
        }
        loop {
            let open: (i64, Option<i64>) = connection.query_row(
                "SELECT coalesce(sum(size), 0), max(n) FROM (SELECT n, octet_length(body) AS size, sum(octet_length(body)) OVER (ORDER BY n) AS upto FROM returned WHERE session = ?1 AND n > ?2) WHERE upto - size < ?3",
                params![session, before, digest::GROUP],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            let (digest::GROUP.., Some(last)) = open else {
                return Ok(());
            };
            let results = self.results_between(before, last)?;
            let results: Vec<_> = results
                .into_iter()
                .map(|result| (result.server, result.tool, result.value))
                .collect();
            digest::add(connection, session, before, last, &results)?;
            before = last;
        }
    }

    /// How many results were forgotten, or kept in part only.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn forgotten(&self) -> Result<u64, MemoryError> {
        let count = self.transaction.query_row(
            "SELECT forgotten FROM session WHERE id = ?1",
            [&self.session],
            |row| row.get::<_, i64>(0),
        );
        let count = count?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Counts a use of a tool.
    ///
    /// # Errors
    /// If the memory cannot be written, or has counted too many.
    pub fn count(&self, known: u64, used: &ToolUse) -> Result<(), MemoryError> {
        if known >= MAX_ATTEMPTS {
            return Err(MemoryError::TooManyUses);
        }
        let written = self.transaction.execute(
            "INSERT INTO attempt (session, server, tool, ms, boot, boot_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                self.session,
                used.server,
                used.tool,
                used.at.wall_ms,
                used.at.boot,
                used.at.boot_ms
            ],
        );
        written?;
        Ok(())
    }

    /// Remembers what a tool returned.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn remember(
        &self,
        server: Option<&str>,
        tool: &str,
        value: &Value,
    ) -> Result<(), MemoryError> {
        let write = || -> rusqlite::Result<()> {
            let whole = value.to_string();
            let mut lost = 0;
            let body = if whole.len() <= MAX_RESULT {
                whole
            } else {
                // As text: the beginning and the end.
                lost += 1;
                let head = whole.floor_char_boundary(MAX_RESULT / 2);
                let tail = whole.ceil_char_boundary(whole.len() - MAX_RESULT / 2);
                let part =
                    |range: std::ops::Range<usize>| whole.get(range).unwrap_or_default().to_owned();
                Value::String(part(0..head) + "\n" + &part(tail..whole.len())).to_string()
            };
            self.transaction.execute(
                "INSERT INTO returned (session, server, tool, body) VALUES (?1, ?2, ?3, ?4)",
                params![self.session, server, tool, body],
            )?;
            loop {
                let size: i64 = self.transaction.query_row(
                    "SELECT coalesce(sum(octet_length(body)), 0) FROM returned WHERE session = ?1",
                    [&self.session],
                    |row| row.get(0),
                )?;
                if size <= MAX_SESSION {
                    break;
                }
                lost += self.transaction.execute(
                    "DELETE FROM returned WHERE n IN (SELECT n FROM returned WHERE session = ?1 ORDER BY n LIMIT 8)",
                    [&self.session],
                )?;
            }
            digest::forget(
                &self.transaction,
                "session = ?1 AND last < (SELECT min(n) FROM returned WHERE session = ?1)",
                [&self.session],
            )?;
            self.transaction.execute(
                "UPDATE session SET forgotten = forgotten + ?2 WHERE id = ?1",
                params![self.session, i64::try_from(lost).unwrap_or(i64::MAX)],
            )?;
            Ok(())
        };
        write()?;
        self.group()
    }

    /// Writes it all, and lets other hooks go on.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn commit(self) -> Result<(), MemoryError> {
        Ok(self.transaction.commit()?)
    }
}
