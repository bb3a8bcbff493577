//! One module a subcommand: thin, from parsed arguments to an exit code.

pub mod approvals;
pub mod check;
pub mod client_config;
pub mod compile;
pub mod demo;
pub mod demo_server;
pub mod explain;
pub mod inspect;
pub mod packs;
pub mod pin;
pub mod replay;
pub mod run;
pub mod shell;
mod trace;
