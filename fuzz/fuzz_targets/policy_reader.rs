//! Any text is read as a policy in bounded time, and what compiles loads.
#![no_main]

use bouncer_compiler::{Input, Options, compile, load};
use bouncer_plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let options = Options { packs: false, heuristics: false };
    let Ok(loaded) = load(&[Input { name: "fuzz.yaml", text }], &options) else { return };
    if let Ok(bytes) = compile(&loaded.policy) {
        assert!(Plan::load(bytes).is_ok(), "a compiled plan loads");
    }
});
