//! The subcommands, one file each. They take parsed options and give an exit code.

pub mod client_config;
pub mod pin;
pub mod run;
