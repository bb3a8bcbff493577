//! Licences and duplicates among the dependencies.

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Licences that a binary may be shipped under.
const ALLOWED: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "CC0-1.0",
];

/// Crates that stand in two versions, and why that is bearable.
///
/// `syn` only runs while derives are expanded; some have moved to its version 3. `ring`,
/// which only TLS needs, draws its random numbers with an older `getrandom`.
const DUPLICATES: [&str; 2] = ["getrandom", "syn"];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--all-features",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether an SPDX expression can be satisfied: some `OR` branch whose `AND` parts are
/// all allowed.
fn satisfiable(expression: &str) -> bool {
    let flat = expression.replace(['(', ')'], " ").replace('/', " OR ");
    flat.split(" OR ").any(|branch| {
        branch
            .split(" AND ")
            .all(|part| ALLOWED.contains(&part.trim()))
    })
}

#[test]
fn every_licence_is_allowed() {
    for package in metadata()["packages"].as_array().unwrap() {
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(
            satisfiable(licence),
            "{} has the licence {licence}",
            package["name"]
        );
    }
}

#[test]
fn no_crate_stands_in_two_versions() {
    let metadata = metadata();
    let used: Vec<&str> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["id"].as_str().unwrap())
        .collect();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        if used.contains(&package["id"].as_str().unwrap()) {
            versions
                .entry(package["name"].as_str().unwrap())
                .or_default()
                .push(package["version"].as_str().unwrap());
        }
    }
    let twice: Vec<_> = versions
        .iter()
        .filter(|(name, versions)| versions.len() > 1 && !DUPLICATES.contains(name))
        .collect();
    assert!(twice.is_empty(), "in several versions: {twice:?}");
}
