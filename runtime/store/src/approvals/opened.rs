//! The file of a store: its layout, and which file it is.

use super::error::StoreError;
use super::moments;
use super::seal::Seal;
use bouncer_database::write_ahead;
use bouncer_system::private::{private_directory, private_file};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::fs::Metadata;
use std::path::Path;
use std::time::Duration;

/// Of the layout of the table below.
const FORMAT: i64 = 2;
/// How long a process waits for another one's transaction. The proxy waits with it.
const BUSY: Duration = Duration::from_secs(2);

const SCHEMA: &str = "
CREATE TABLE request (
    id TEXT PRIMARY KEY NOT NULL,
    key BLOB NOT NULL,
    status TEXT NOT NULL,
    seal BLOB,
    server TEXT,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    param TEXT,
    destination TEXT,
    reason TEXT NOT NULL,
    at TEXT,
    conversation TEXT NOT NULL,
    plan TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    decided_ms INTEGER,
    used_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX open ON request (key) WHERE status IN ('pending', 'approved');
CREATE INDEX known ON request (key);
CREATE INDEX waiting ON request (conversation) WHERE status = 'pending';
CREATE INDEX age ON request (created_ms);
";

/// What the second layout has beyond the first.
const SECOND: &str = "
ALTER TABLE request ADD COLUMN grounds TEXT;
ALTER TABLE request ADD COLUMN lasting INTEGER NOT NULL DEFAULT 0;
ALTER TABLE request ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
CREATE INDEX lasting ON request (conversation) WHERE status = 'lasting';
";

/// The file as it was opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) seal: Seal,
    /// Which file it is, whatever its name is by now.
    id: (u64, u64),
}

impl Opened {
    pub(super) fn new(path: &Path) -> Result<Self, StoreError> {
        let file = |error| StoreError::File(path.to_owned(), error);
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            private_directory(directory).map_err(file)?;
        }
        // SQLite gives its side files the mode of this one.
        let own = private_file(path).map_err(file)?;
        let id = identity(&own.metadata().map_err(file)?);
        drop(own);
        let key_path = path.with_extension("key");
        let seal = Seal::open(&key_path).map_err(|error| StoreError::File(key_path, error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        write_ahead(&connection)?;
        // What was used stays used after a power cut.
        connection.pragma_update(None, "synchronous", "full")?;
        let opened = Self {
            connection,
            seal,
            id,
        };
        opened.create()?;
        opened.connection.execute_batch(moments::TABLE)?;
        if opened.is_at(path) {
            Ok(opened)
        } else {
            Err(StoreError::Gone(path.to_owned()))
        }
    }

    /// Whether whoever opens that path now gets this file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|there| identity(&there) == self.id)
    }

    fn create(&self) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        let version: i64 =
            transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match version {
            FORMAT => return Ok(()),
            0 => transaction.execute_batch(SCHEMA)?,
            1 => {}
            other => return Err(StoreError::Version(other)),
        }
        transaction.execute_batch(SECOND)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
        Ok(transaction.commit()?)
    }

    /// A transaction that nobody else writes in.
    pub(super) fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        let immediate = TransactionBehavior::Immediate;
        Ok(Transaction::new_unchecked(&self.connection, immediate)?)
    }
}

/// What tells files apart.
#[cfg(unix)]
pub fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// What tells files apart.
#[cfg(not(unix))]
pub const fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}
