//! Licences and duplicates among the dependencies, with every feature and on every platform.

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
/// which only TLS needs, draws its random numbers with an older `getrandom`, and calls Windows
/// by an older `windows-sys`.
const DUPLICATES: [&str; 3] = ["getrandom", "syn", "windows-sys"];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--all-features",
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

/// Whether an SPDX expression can be satisfied with what is allowed. `AND` binds tighter than
/// `OR`; older manifests write `/` for `OR`.
fn satisfiable(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let spaced = spaced.replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let satisfied = any_of(&mut rest);
    assert!(rest.is_empty(), "{expression} is no licence");
    satisfied
}

fn any_of(words: &mut &[&str]) -> bool {
    let mut satisfied = all_of(words);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        satisfied |= all_of(words);
    }
    satisfied
}

fn all_of(words: &mut &[&str]) -> bool {
    let mut satisfied = one_of(words);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        satisfied &= one_of(words);
    }
    satisfied
}

fn one_of(words: &mut &[&str]) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let satisfied = any_of(words);
            assert_eq!(words.first(), Some(&")"));
            *words = &words[1..];
            satisfied
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(&&*format!("{licence} WITH {exception}"))
        }
        [licence, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(licence)
        }
        [] => panic!("a licence ends too soon"),
    }
}

#[test]
fn licences_are_read_as_spdx_means_them() {
    for allowed in [
        "MIT",
        "MIT/GPL-3.0-only",
        "GPL-3.0-only OR MIT",
        "(MIT OR GPL-3.0-only) AND ISC",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(satisfiable(allowed), "{allowed}");
    }
    for refused in [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "(MIT OR Apache-2.0) AND GPL-3.0-only",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "ISC AND (GPL-3.0-only OR LGPL-3.0-only)",
    ] {
        assert!(!satisfiable(refused), "{refused}");
    }
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
