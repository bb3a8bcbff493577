//! A SQLite file that several processes share. Knows nothing of what stands in it.

use rusqlite::{Connection, ErrorCode};
use std::time::{Duration, Instant};

/// How long to wait for another process that sets the same file up.
const BUSY: Duration = Duration::from_secs(2);

/// Switches a database to a log that is written ahead. SQLite does not wait by itself for
/// another process that does the same at this moment; this does, for as long as for any lock.
///
/// # Errors
/// What SQLite says, after the wait.
pub fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let until = Instant::now() + BUSY;
    loop {
        let switched = connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
        match switched {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < until =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            other => return other,
        }
    }
}
