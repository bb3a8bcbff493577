//! The `bouncer` command.

fn main() {}
