//! What differs between operating systems: files that only their owner may read, and a
//! clock that nobody can set. Knows nothing of calls or plans.

pub mod moment;
pub mod private;
