//! How a human is asked: the words of a question, and approvals that are given in another
//! process.
//!
//! Knows what is asked and what counts as a yes; not what follows from it.

pub(crate) mod out_of_band;
pub(crate) mod prompt;
