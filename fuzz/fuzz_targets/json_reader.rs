//! The strict JSON reader against serde_json: same trees, and no panics.

#![no_main]

#[path = "../../runtime/reader/tests/json_tree/mod.rs"]
mod json_tree;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| json_tree::check(bytes));
