//! Every file of these directories is part of its binary: with `autotests` off, a file
//! that `main.rs` does not name would silently test nothing.

use std::path::Path;

#[test]
fn no_test_file_is_forgotten() {
    for folder in ["tests/suite", "tests/decisions"] {
        none_is_forgotten(folder);
    }
}

fn none_is_forgotten(folder: &str) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let main = std::fs::read_to_string(dir.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_module = path.is_dir() || path.extension().is_some_and(|ext| ext == "rs");
        // Snapshots are data.
        if is_module && !["main", "snapshots"].contains(&name) {
            assert!(
                main.lines().any(|line| line == format!("mod {name};")),
                "`{folder}/main.rs` lacks `mod {name};`"
            );
        }
    }
}
