//! Translates regular expressions of other dialects to Rust `regex` syntax that
//! means the same, or refuses them. Knows nothing of policies.

mod cursor;
mod error;
mod javascript;
mod native;
mod node;
mod python;
#[cfg(test)]
mod tests;
mod units;

pub use error::RegexError;
pub use javascript::javascript;
pub use native::native;
pub use python::python_whole;
