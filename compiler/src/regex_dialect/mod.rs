//! Translates regular expressions of other dialects to Rust `regex` syntax that
//! means the same, or refuses them. Knows nothing of policies.

mod error;
mod native;

pub use error::RegexError;
pub use native::native;
