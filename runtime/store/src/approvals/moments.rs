//! When things were decided, by a clock that nobody can set: a wall clock that goes back
//! must not revive an approval whose time is over.

use bouncer_system::moment::Moment;
use rusqlite::{Connection, OptionalExtension, params};

/// Beside the table of requests, which older versions know.
pub(super) const TABLE: &str = "
CREATE TABLE IF NOT EXISTS decided (
    id TEXT PRIMARY KEY NOT NULL,
    boot TEXT NOT NULL,
    boot_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS decided_gone AFTER DELETE ON request BEGIN
    DELETE FROM decided WHERE id = old.id;
END;
";

/// Notes that the request was decided now.
pub(super) fn note(connection: &Connection, id: &str, now: &Moment) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT OR REPLACE INTO decided (id, boot, boot_ms) VALUES (?1, ?2, ?3)",
        params![id, now.boot, now.boot_ms],
    )?;
    Ok(())
}

/// Whether an approval's time is not over yet, as far as this clock knows. One of which
/// nothing was noted is over.
pub(super) fn holds(connection: &Connection, id: &str, now: &Moment) -> rusqlite::Result<bool> {
    let found = connection
        .query_row(
            "SELECT decided.boot, decided.boot_ms, request.expires_ms - request.decided_ms
             FROM decided JOIN request ON request.id = decided.id WHERE decided.id = ?1",
            [id],
            |row| {
                let then = Moment {
                    boot: row.get(0)?,
                    boot_ms: row.get(1)?,
                    wall_ms: 0,
                };
                Ok((then, row.get::<_, i64>(2)?))
            },
        )
        .optional()?;
    Ok(found.is_some_and(|(then, lifetime)| {
        !now.shares_run(&then) || now.boot_ms.saturating_sub(then.boot_ms) < lifetime
    }))
}
