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
pub mod doctor;
mod endpoint;
pub mod explain;
pub mod gateway;
pub mod halt;
pub mod hook;
pub mod init;
pub mod inspect;
mod inspect_tools;
pub mod packs;
mod page;
pub mod pin;
mod player;
mod reload;
pub mod replay;
pub mod report;
pub mod run;
pub mod schema;
pub mod serve;
pub mod shell;
pub mod suggest;
pub mod test;
mod trace;
#[cfg(feature = "otel")]
mod traces;
pub mod uninstall;
pub mod verify;
pub mod why;
