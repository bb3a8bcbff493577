//! What hooks remember of a conversation from one process to the next: what was read,
//! and how often each tool was used. One SQLite file, readable by its owner only.
//!
//! Bounded: of a conversation the oldest results are forgotten first. What is forgotten
//! counts as unproven, so a human is asked.

use bouncer_store::write_ahead;
use bouncer_system::moment::Moment;
use bouncer_system::private::{private_directory, private_file};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
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
const VERSION: i64 = 2;

/// Why what hooks remember cannot be used. No decision can be made without it.
#[derive(Debug)]
pub enum StoreError {
    /// The file cannot be opened.
    Open(PathBuf, String),
    /// The file was written by a later bouncer.
    Version(PathBuf),
    /// The conversation has used more tools than are counted.
    ManyAttempts,
    /// SQLite refuses.
    Sqlite(rusqlite::Error),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(path, why) => write!(f, "`{}`: {why}", path.display()),
            Self::Version(path) => {
                let path = path.display();
                write!(f, "`{path}`: it is of another version of bouncer")
            }
            Self::ManyAttempts => f.write_str("this conversation has used very many tools"),
            Self::Sqlite(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// The store.
#[derive(Debug)]
pub struct Store(Connection);

/// Something a tool returned.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The server, where one is known.
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// The result.
    pub value: Value,
}

/// A tool that was used, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The server, where one is known.
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// When.
    pub at: Moment,
}

/// The conversation, held against other hooks until it is finished.
#[derive(Debug)]
pub struct Held<'s> {
    transaction: rusqlite::Transaction<'s>,
    session: String,
}

impl Store {
    /// Opens or creates the store.
    ///
    /// # Errors
    /// If that fails, or it is of another version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let said = |error: &dyn fmt::Display| StoreError::Open(path.to_owned(), error.to_string());
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            private_directory(directory).map_err(|error| said(&error))?;
        }
        // SQLite gives its journals the mode of the file.
        private_file(path).map_err(|error| said(&error))?;
        let connection = Connection::open(path).map_err(|error| said(&error))?;
        Self::prepare(&connection).map_err(|error| said(&error))?;
        Self::tidy(&connection, path);
        let version: i64 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(|error| said(&error))?;
        if version != VERSION {
            return Err(StoreError::Version(path.to_owned()));
        }
        Ok(Self(connection))
    }

    /// Waits longer for other hooks from now on.
    ///
    /// # Errors
    /// If that cannot be set.
    pub fn be_patient(&self) -> Result<(), StoreError> {
        self.0.busy_timeout(PATIENT).map_err(StoreError::Sqlite)
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
        if version == 1 {
            return Self::upgrade(connection);
        }
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, used INTEGER NOT NULL, forgotten INTEGER NOT NULL, boot TEXT NOT NULL DEFAULT '', boot_ms INTEGER NOT NULL DEFAULT 0);
             CREATE TABLE IF NOT EXISTS returned (n INTEGER PRIMARY KEY, session TEXT NOT NULL, server TEXT, tool TEXT NOT NULL, body TEXT NOT NULL);
             CREATE INDEX IF NOT EXISTS returned_of ON returned (session, n);
             CREATE TABLE IF NOT EXISTS attempt (n INTEGER PRIMARY KEY, session TEXT NOT NULL, server TEXT, tool TEXT NOT NULL, ms INTEGER NOT NULL, boot TEXT NOT NULL DEFAULT '', boot_ms INTEGER NOT NULL DEFAULT 0);
             CREATE INDEX IF NOT EXISTS attempt_of ON attempt (session, n);
             PRAGMA user_version = {VERSION};
             COMMIT;"
        ))
    }

    /// The first layout knew times by the wall clock alone.
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

    /// Holds a conversation.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn hold(&mut self, session: &str, now: &Moment) -> Result<Held<'_>, StoreError> {
        let transaction = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.map_err(StoreError::Sqlite)?;
        let held = Held {
            transaction,
            session: session.to_owned(),
        };
        held.touch(now).map_err(StoreError::Sqlite)?;
        Ok(held)
    }
}

impl Held<'_> {
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
    /// If the store cannot be read.
    pub fn used(&self) -> Result<u64, StoreError> {
        let count = self.transaction.query_row(
            "SELECT count(*) FROM attempt WHERE session = ?1",
            [&self.session],
            |row| row.get::<_, i64>(0),
        );
        let count = count.map_err(StoreError::Sqlite)?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// The tools that were used so far, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn attempts(&self) -> Result<Vec<Attempt>, StoreError> {
        let read = || {
            let mut statement = self.transaction.prepare(
                "SELECT server, tool, boot, boot_ms, ms FROM attempt WHERE session = ?1 ORDER BY n",
            )?;
            let rows = statement.query_map([&self.session], |row| {
                Ok(Attempt {
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
        read().map_err(StoreError::Sqlite)
    }

    /// Everything that was returned so far, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn returned(&self) -> Result<Vec<Returned>, StoreError> {
        let read = || {
            let mut statement = self
                .transaction
                .prepare("SELECT server, tool, body FROM returned WHERE session = ?1 ORDER BY n")?;
            let rows = statement.query_map([&self.session], |row| {
                let body: String = row.get(2)?;
                Ok(Returned {
                    server: row.get(0)?,
                    tool: row.get(1)?,
                    // What is no JSON any more was cut.
                    value: serde_json::from_str(&body).unwrap_or(Value::String(body)),
                })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(StoreError::Sqlite)
    }

    /// How many results were forgotten, or kept in part only.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn forgotten(&self) -> Result<u64, StoreError> {
        let count = self.transaction.query_row(
            "SELECT forgotten FROM session WHERE id = ?1",
            [&self.session],
            |row| row.get::<_, i64>(0),
        );
        let count = count.map_err(StoreError::Sqlite)?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Counts a use of a tool.
    ///
    /// # Errors
    /// If the store cannot be written, or has counted too many.
    pub fn attempt(&self, known: u64, attempt: &Attempt) -> Result<(), StoreError> {
        if known >= MAX_ATTEMPTS {
            return Err(StoreError::ManyAttempts);
        }
        let written = self.transaction.execute(
            "INSERT INTO attempt (session, server, tool, ms, boot, boot_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                self.session,
                attempt.server,
                attempt.tool,
                attempt.at.wall_ms,
                attempt.at.boot,
                attempt.at.boot_ms
            ],
        );
        written.map(|_| ()).map_err(StoreError::Sqlite)
    }

    /// Remembers what a tool returned.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn remember(
        &self,
        server: Option<&str>,
        tool: &str,
        value: &Value,
    ) -> Result<(), StoreError> {
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
                    "SELECT coalesce(sum(length(body)), 0) FROM returned WHERE session = ?1",
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
            self.transaction.execute(
                "UPDATE session SET forgotten = forgotten + ?2 WHERE id = ?1",
                params![self.session, i64::try_from(lost).unwrap_or(i64::MAX)],
            )?;
            Ok(())
        };
        write().map_err(StoreError::Sqlite)
    }

    /// Writes it all, and lets other hooks go on.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn finish(self) -> Result<(), StoreError> {
        self.transaction.commit().map_err(StoreError::Sqlite)
    }
}
