//! The proxy between a scripted client and a scripted server, in one process.

mod asks;
mod calls;
mod ends;
mod faults;
mod listing;
mod passing;
#[cfg(unix)]
mod processes;
pub(crate) mod rig;
