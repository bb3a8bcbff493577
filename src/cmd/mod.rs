//! One module a subcommand: thin, from parsed arguments to an exit code.

pub mod approvals;
pub mod audit;
pub mod bench;
pub mod check;
pub mod client_config;
pub mod compile;
pub mod demo;
pub mod demo_server;
pub mod diff;
pub mod explain;
pub mod gateway;
pub mod inspect;
pub mod packs;
pub mod pin;
mod player;
mod reload;
pub mod replay;
pub mod run;
pub mod schema;
pub mod shell;
pub mod test;
mod trace;
pub mod verify;
pub mod why;
