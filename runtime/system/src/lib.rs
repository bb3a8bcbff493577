//! What differs between operating systems: files that only their owner may read, files that
//! are replaced whole, and a clock that nobody can set. Knows nothing of calls or plans.

pub mod moment;
pub mod private;
pub mod replace;
