//! What humans approved, in one file that several processes share.
//!
//! Where the policy asks and nobody can be asked at once, a [`Request`] is kept under an
//! id; a human decides it from another process; the retried call takes the approval.
//! Every change is one transaction of an embedded database, so that of two takers of
//! one approval exactly one gets it. Whatever goes wrong here means: not approved.
//! Knows nothing of policies or of the proxy.

mod canonical;
mod error;
mod moments;
mod opened;
mod record;
mod seal;
mod status;
mod store;

pub use error::{DecideError, StoreError};
pub(crate) use opened::identity;
pub use record::{Around, Key, Record, Request, Subject};
pub use status::Status;
pub use store::{Choice, Lifetimes, Store};

#[cfg(test)]
mod tests;
