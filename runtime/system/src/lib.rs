//! What differs between operating systems: files that only their owner may read, files that
//! are replaced whole, the user's stop, a clock that nobody can set, random numbers, and notes for whoever
//! reads standard error. Knows nothing of calls or plans.

pub mod halt;
pub mod log;
pub mod moment;
pub mod private;
pub mod random;
pub mod replace;
