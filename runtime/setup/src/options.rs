//! The arguments of bouncer in a client's configuration.

use crate::error::SetupError;
use std::path::Path;

/// Adds an option and its value.
pub fn push(out: &mut Vec<String>, option: &str, value: &str) {
    if value.starts_with('-') {
        out.push(format!("{option}={value}"));
    } else {
        out.extend([option.to_owned(), value.to_owned()]);
    }
}

/// The client starts servers in a directory of its own choice.
pub fn absolute(path: &Path) -> Result<String, SetupError> {
    let path = std::path::absolute(path)?;
    let text = path.into_os_string().into_string();
    text.map_err(|path| SetupError::NotUtf8(path.into()))
}
