//! The key that a tool is found by: its server and its name, kept apart.

/// The key of a tool.
pub(super) fn tool_key(server: Option<&str>, tool: &str) -> String {
    let mut key = String::new();
    write_tool_key(server, tool, &mut key);
    key
}

/// Writes the key of a tool. The server's length in front keeps the parts apart.
pub(super) fn write_tool_key(server: Option<&str>, tool: &str, out: &mut String) {
    // Formatting would cost more than the look-up.
    fn decimal(number: usize, out: &mut String) {
        if number >= 10 {
            decimal(number / 10, out);
        }
        out.push(char::from(b'0' + (number % 10) as u8));
    }
    out.clear();
    if let Some(server) = server {
        decimal(server.len(), out);
        out.push(':');
        out.push_str(server);
    }
    out.push('/');
    out.push_str(tool);
}

/// Takes a key of [`tool_key`] apart.
pub(super) fn split_key(key: &str) -> Option<(Option<&str>, &str)> {
    if let Some(tool) = key.strip_prefix('/') {
        return Some((None, tool));
    }
    let (length, rest) = key.split_once(':')?;
    let (server, tool) = rest.split_at_checked(length.parse().ok()?)?;
    Some((Some(server), tool.strip_prefix('/')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_apart() {
        for (server, tool) in [
            (None, "a"),
            (None, "1:a/b"),
            (Some(""), "x"),
            (Some("a/b"), "c/d"),
            (Some("é:"), ""),
        ] {
            assert_eq!(split_key(&tool_key(server, tool)), Some((server, tool)));
        }
    }
}
