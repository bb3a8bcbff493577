//! Which SQL a server speaks, and which servers a query may be read by.

use sqlparser::dialect::{self, GenericDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};

/// The SQL that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Dialect {
    /// Not known. A query has to mean the same in all dialects.
    #[default]
    Generic = 0,
    /// PostgreSQL.
    Postgres = 1,
    /// SQLite.
    Sqlite = 2,
    /// MySQL and MariaDB.
    Mysql = 3,
}

impl Dialect {
    /// The dialect whose stable byte is `byte`, if there is one.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Generic),
            1 => Some(Self::Postgres),
            2 => Some(Self::Sqlite),
            3 => Some(Self::Mysql),
            _ => None,
        }
    }

    /// The stable byte of the plan format.
    #[must_use]
    pub const fn as_byte(self) -> u8 {
        self as u8
    }

    pub(super) fn parser(self) -> &'static dyn dialect::Dialect {
        match self {
            Self::Generic => &GenericDialect {},
            Self::Postgres => &PostgreSqlDialect {},
            Self::Sqlite => &SQLiteDialect {},
            Self::Mysql => &MySqlDialect {},
        }
    }

    /// Whether the server may be PostgreSQL.
    pub(super) const fn may_be_postgres(self) -> bool {
        matches!(self, Self::Generic | Self::Postgres)
    }

    /// Whether the server may be SQLite.
    pub(super) const fn may_be_sqlite(self) -> bool {
        matches!(self, Self::Generic | Self::Sqlite)
    }

    /// Whether the server may be MySQL or MariaDB.
    pub(super) const fn may_be_mysql(self) -> bool {
        matches!(self, Self::Generic | Self::Mysql)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_keep_their_bytes() {
        for byte in 0..4 {
            assert_eq!(Dialect::from_byte(byte).map(Dialect::as_byte), Some(byte));
        }
        assert_eq!(Dialect::from_byte(4), None);
    }
}
