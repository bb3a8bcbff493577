//! One server, however it is reached: as a child process or over HTTP, in whichever version
//! of the protocol it speaks.
//!
//! What goes out has been judged: the writer takes nothing else. Knows no policy.

pub(crate) mod adapter;
pub(crate) mod connection;
pub(crate) mod http;
pub(crate) mod inspect;
pub(crate) mod own;
pub(crate) mod process;
pub(crate) mod tools;
pub(crate) mod writer;
