//! The Model Context Protocol, as far as it can be spoken without a policy: lines as
//! JSON-RPC messages, their ids, errors, and what the versions of the protocol say.
//!
//! Lines are read strictly: what two readers could take for different messages is no
//! message. Knows no policy, no transport and no async runtime.

pub mod frame;
pub mod id;
pub mod jsonrpc;
pub mod params;
pub mod splice;
pub mod sse;
pub mod version;
