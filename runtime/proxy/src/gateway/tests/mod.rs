//! The gateway over in-memory streams.

mod faults;
mod rig;
mod routing;
mod tasks;
