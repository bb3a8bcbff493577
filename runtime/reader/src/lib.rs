//! How the bytes of a call are read: JSON, numbers, text, addresses, paths and queries.
//!
//! Each module answers how one kind of text is read, and in which other ways somebody
//! downstream may read it. None of them knows what a plan asks of it, and none touches the
//! heap once its scratch is warm, but for `sql`, `uri`, and `shown`, which writes messages.

pub mod address;
pub mod block;
pub mod checked;
pub mod json;
pub mod number;
pub mod path;
pub mod shown;
#[cfg(feature = "sql")]
pub mod sql;
pub mod text;
pub mod uri;

#[cfg(test)]
#[path = "../../../tests/patience/mod.rs"]
mod patience;
