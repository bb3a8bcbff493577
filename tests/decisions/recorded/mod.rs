//! What is recorded in `tests/corpus` and `tests/vectors`, as it is read. The tests of the
//! command read it too.

pub mod cases;
pub mod tally;

use std::path::{Path, PathBuf};

/// The folder with what is recorded. Two test programs are built from here, in folders of
/// their own.
pub fn folder(name: &str) -> PathBuf {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let folder = above.find_map(|top| {
        let folder = top.join("tests").join(name);
        folder.is_dir().then_some(folder)
    });
    folder.unwrap()
}
