//! Times the loading of plans, all checks included, next to hashing their bytes.
//!
//! `load PLAN…` prints a row of Markdown for each.

#[path = "../timing.rs"]
#[allow(dead_code)]
mod timing;

use bouncer_plan::Plan;
use std::sync::Arc;
use timing::{Work, median, ratio, time};

fn main() {
    println!("| plan | bytes | load | blake3 | load / blake3 |\n|---|---|---|---|---|");
    for path in std::env::args().skip(1) {
        let bytes: Arc<[u8]> = std::fs::read(&path).expect("a readable plan").into();
        if let Err(error) = Plan::load(Arc::clone(&bytes)) {
            panic!("{path}: {error}");
        }
        let mut load = |_: usize| Plan::load(Arc::clone(&bytes)).is_err();
        let mut hash = |_: usize| blake3::hash(&bytes).as_bytes()[0] == 0;
        let mut works: Vec<&mut dyn Work> = vec![&mut load, &mut hash];
        let times = timing::rounds(&mut works, 1);
        let [load, hash] = times.as_slice() else {
            return;
        };
        let name = path.rsplit('/').next().unwrap_or(&path);
        println!(
            "| {name} | {} | {} | {} | {:.2} |",
            bytes.len(),
            time(median(load)),
            time(median(hash)),
            ratio(load, hash)
        );
    }
}
