//! Attempts that several processes count together, in one file.
//!
//! One SQLite file, one transaction for each attempt: of many who try at once, each gets a
//! number of its own. Whatever goes wrong here means that the attempt cannot be counted,
//! and the call must not go out. Knows nothing of policies: what a number means is judged
//! elsewhere.

use super::approvals::identity;
use bouncer_database::write_ahead;
use bouncer_engine::gate::{Tallied, Tally};
use bouncer_system::log::{note, visible};
use bouncer_system::moment::Moment;
use bouncer_system::private::{private_directory, private_file};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Of the layout of the tables below.
const FORMAT: i64 = 1;
/// How long a process waits for others while it opens the file.
const BUSY: Duration = Duration::from_secs(2);
/// How long an attempt stands still for others, and with it all that the process does:
/// calls wait otherwise before that (see [`Tally::is_busy`]).
const PATIENCE: Duration = Duration::from_millis(250);
/// The same, when the last time was in vain.
const IMPATIENCE: Duration = Duration::from_millis(10);

const SCHEMA: &str = "
CREATE TABLE tool (
    key TEXT PRIMARY KEY NOT NULL,
    total INTEGER NOT NULL,
    kept INTEGER NOT NULL
) STRICT;
CREATE TABLE attempt (
    key TEXT NOT NULL,
    n INTEGER NOT NULL,
    boot TEXT NOT NULL,
    boot_ms INTEGER NOT NULL,
    wall_ms INTEGER NOT NULL,
    PRIMARY KEY (key, n)
) STRICT, WITHOUT ROWID;
";

/// Why attempts cannot be counted.
#[derive(Debug)]
pub enum BudgetsError {
    /// A file cannot be made or read.
    File(std::io::Error),
    /// What SQLite says.
    Database(rusqlite::Error),
    /// It was made by another version.
    Version(i64),
    /// It is not the file any more that was opened.
    Replaced,
}

impl fmt::Display for BudgetsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Database(error) => error.fmt(f),
            Self::Version(version) => write!(
                f,
                "it has format {version}, and this version of bouncer reads {FORMAT}: name another file"
            ),
            Self::Replaced => f.write_str(
                "the file was removed or replaced while it was in use: others may count elsewhere; start again",
            ),
        }
    }
}

impl std::error::Error for BudgetsError {}

impl From<rusqlite::Error> for BudgetsError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<std::io::Error> for BudgetsError {
    fn from(error: std::io::Error) -> Self {
        Self::File(error)
    }
}

/// See the module.
#[derive(Debug)]
pub struct SharedBudgets {
    connection: Connection,
    path: PathBuf,
    id: (u64, u64),
    clock: fn() -> Moment,
    /// The last attempt was not counted, because others held the file for too long.
    in_vain: bool,
}

impl SharedBudgets {
    /// Opens or creates the file at `path`, readable by its owner only.
    ///
    /// # Errors
    /// If it cannot be made or read, or is of another version.
    pub fn open(path: &Path) -> Result<Self, BudgetsError> {
        Self::open_with_clock(path, Moment::now)
    }

    fn open_with_clock(path: &Path, clock: fn() -> Moment) -> Result<Self, BudgetsError> {
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            private_directory(directory)?;
        }
        // SQLite gives its side files the mode of this one.
        let file = private_file(path)?;
        // Seen from elsewhere it would be another file.
        let path = std::path::absolute(path)?;
        let id = identity(&file.metadata()?);
        drop(file);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        write_ahead(&connection)?;
        // What was counted stays counted after a power cut.
        connection.pragma_update(None, "synchronous", "full")?;
        let budgets = Self {
            connection,
            path,
            id,
            clock,
            in_vain: false,
        };
        budgets.create()?;
        budgets.is_the_same()?;
        budgets.connection.busy_timeout(PATIENCE)?;
        Ok(budgets)
    }

    fn create(&self) -> Result<(), BudgetsError> {
        let transaction = self.begin()?;
        let version: i64 =
            transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match version {
            FORMAT => return Ok(()),
            0 => {}
            other => return Err(BudgetsError::Version(other)),
        }
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
        Ok(transaction.commit()?)
    }

    fn begin(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }

    /// Whoever opens the file now has to get the one that is counted in here.
    fn is_the_same(&self) -> Result<(), BudgetsError> {
        let there = std::fs::metadata(&self.path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => BudgetsError::Replaced,
            _ => BudgetsError::File(error),
        })?;
        if identity(&there) == self.id {
            Ok(())
        } else {
            Err(BudgetsError::Replaced)
        }
    }

    fn try_attempt(
        &self,
        tool: &str,
        counts: bool,
        after: u64,
        most: usize,
    ) -> Result<Tallied, BudgetsError> {
        self.is_the_same()?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let transaction = self.begin()?;
        // The clock is read with everybody else kept out, so that times are in order.
        let now = (self.clock)();
        let known = transaction
            .prepare("SELECT total, kept FROM tool WHERE key = ?1")?
            .query_row([tool], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })
            .optional()?;
        let (mut total, kept) = known.unwrap_or((0, 0));
        if counts {
            total = total.saturating_add(1);
            // Others may need longer memories than this one.
            let kept = kept.max(most);
            transaction
                .prepare(
                    "INSERT INTO tool (key, total, kept) VALUES (?1, ?2, ?3)
                     ON CONFLICT (key) DO UPDATE SET total = ?2, kept = ?3",
                )?
                .execute(params![tool, total, kept])?;
            if kept > 0 {
                transaction
                    .prepare("INSERT INTO attempt VALUES (?1, ?2, ?3, ?4, ?5)")?
                    .execute(params![tool, total, now.boot, now.boot_ms, now.wall_ms])?;
                transaction
                    .prepare("DELETE FROM attempt WHERE key = ?1 AND n <= ?2")?
                    .execute(params![tool, total.saturating_sub(kept)])?;
            }
        }
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let mut ages_ms = Vec::new();
        if most > 0 {
            let mut statement = transaction.prepare(
                "SELECT boot, boot_ms, wall_ms FROM attempt WHERE key = ?1 AND n > ?2 ORDER BY n",
            )?;
            let from = after.max(total.saturating_sub(most));
            let mut rows = statement.query(params![tool, from])?;
            while let Some(row) = rows.next()? {
                let then = Moment {
                    boot: row.get(0)?,
                    boot_ms: row.get(1)?,
                    wall_ms: row.get(2)?,
                };
                ages_ms.push(now.since(&then));
            }
        }
        // Also where nothing was counted: nobody may have come in between.
        transaction.commit()?;
        Ok(Tallied {
            total: u64::try_from(total).unwrap_or(u64::MAX),
            ages_ms,
        })
    }
}

impl Tally for SharedBudgets {
    fn attempt(&mut self, tool: &str, counts: bool, after: u64, most: usize) -> Option<Tallied> {
        let counted = self.try_attempt(tool, counts, after, most);
        let in_vain = matches!(&counted, Err(BudgetsError::Database(error))
            if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy));
        if in_vain != self.in_vain {
            self.in_vain = in_vain;
            let patience = if in_vain { IMPATIENCE } else { PATIENCE };
            // Where this fails the old one goes on.
            let _ = self.connection.busy_timeout(patience);
        }
        if let Err(error) = &counted {
            let (path, error) = (self.path.display().to_string(), error.to_string());
            note(format_args!(
                "a call is denied, as its budget cannot be counted in `{}`: {}",
                visible(&path),
                visible(&error)
            ));
        }
        counted.ok()
    }

    fn is_busy(&mut self) -> bool {
        let patience = if self.in_vain { IMPATIENCE } else { PATIENCE };
        let busy = self.connection.busy_timeout(Duration::ZERO).and_then(|()| {
            let transaction = self.begin()?;
            transaction.rollback()
        });
        // What else is wrong is found, and said, when an attempt is counted.
        let _ = self.connection.busy_timeout(patience);
        let code = busy.err().and_then(|error| error.sqlite_error_code());
        code == Some(ErrorCode::DatabaseBusy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    thread_local! {
        static NOW: RefCell<Moment> = const { RefCell::new(Moment { boot: String::new(), boot_ms: 0, wall_ms: 0 }) };
    }

    fn set(boot: &str, boot_ms: i64, wall_ms: i64) {
        let boot = boot.to_owned();
        NOW.set(Moment {
            boot,
            boot_ms,
            wall_ms,
        });
    }

    fn open(path: &Path) -> SharedBudgets {
        SharedBudgets::open_with_clock(path, || NOW.with_borrow(Clone::clone)).unwrap()
    }

    #[test]
    fn many_at_once_get_numbers_of_their_own() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("budgets.db");
        let numbers: Vec<u64> = std::thread::scope(|scope| {
            let one = || {
                let mut budgets = SharedBudgets::open(&path).unwrap();
                let numbers = (0..25).map(|_| budgets.attempt("t", true, 0, 3).unwrap().total);
                numbers.collect::<Vec<u64>>()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
            threads
                .into_iter()
                .flat_map(|t| t.join().unwrap())
                .collect()
        });
        let mut sorted = numbers;
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=200).collect::<Vec<u64>>());
    }

    #[test]
    fn times_are_kept_as_long_as_somebody_needs_them() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("budgets.db");
        let (mut one, mut two) = (open(&path), open(&path));
        for at in 0..5 {
            set("a", 1000 * at, 0);
            one.attempt("t", true, 0, 3).unwrap();
        }
        set("a", 5000, 0);
        // Ten milliseconds less than it was, for the steps of the clock.
        let counted = two.attempt("t", false, 0, 100).unwrap();
        assert_eq!((counted.total, counted.ages_ms), (5, vec![2990, 1990, 990]));
        let counted = two.attempt("t", true, 4, 100).unwrap();
        assert_eq!((counted.total, counted.ages_ms), (6, vec![990, 0]));
        // From now on more are kept.
        let counted = one.attempt("t", true, 0, 3).unwrap();
        assert_eq!(counted.ages_ms.len(), 3);
        assert_eq!(two.attempt("t", false, 0, 9).unwrap().ages_ms.len(), 5);
        // Of a tool without a rate, no times.
        assert_eq!(one.attempt("u", true, 0, 0).unwrap().total, 1);
        assert_eq!(one.attempt("u", false, 0, 9).unwrap().ages_ms, [0; 0]);
    }

    #[test]
    fn no_jump_of_the_wall_clock_frees_a_budget() {
        let place = tempfile::tempdir().unwrap();
        let mut budgets = open(&place.path().join("budgets.db"));
        set("a", 50_000, 1_000_000);
        assert!(budgets.attempt("t", true, 0, 1).is_some());
        for (boot, boot_ms, wall_ms, age) in [
            // A year forward, a year back: the clock that nobody sets says a second.
            ("a", 51_000, 31_000_000_000, 990),
            ("a", 51_000, -31_000_000_000, 990),
            // After another start of the machine only the wall clock knows.
            ("b", 10, 1_020_000, 19_990),
            ("b", 90_000, 500_000, 0),
            // Where starts cannot be told apart, too.
            ("", 0, 1_020_000, 19_990),
        ] {
            set(boot, boot_ms, wall_ms);
            let counted = budgets.attempt("t", false, 0, 1).unwrap();
            assert_eq!(counted.ages_ms, [age], "{boot} {boot_ms} {wall_ms}");
        }
    }

    #[test]
    fn what_is_not_the_file_any_more_counts_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("budgets.db");
        let mut budgets = SharedBudgets::open(&path).unwrap();
        assert!(budgets.attempt("t", true, 0, 1).is_some());
        std::fs::rename(&path, place.path().join("elsewhere")).unwrap();
        assert!(budgets.attempt("t", true, 0, 1).is_none());
        // Another one under its name is not it.
        drop(SharedBudgets::open(&path).unwrap());
        assert!(budgets.attempt("t", true, 0, 1).is_none());
        std::fs::write(place.path().join("no.db"), "no database".repeat(1000)).unwrap();
        assert!(SharedBudgets::open(&place.path().join("no.db")).is_err());
        std::fs::create_dir(place.path().join("d.db")).unwrap();
        assert!(SharedBudgets::open(&place.path().join("d.db")).is_err());
    }
}
