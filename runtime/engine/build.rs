//! Makes sorted tables of `packs/effects.yaml`, so that no call and no start has to read it.
//!
//! Reads the little YAML that the file is written in, and fails the build at anything else.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

const SOURCE: &str = "../../packs/effects.yaml";
/// Effects with the bits that they have in a plan, and behind them the kinds of verbs.
const BITS: [&str; 17] = [
    "read", "write", "send", "publish", "fetch", "run", "pay", "grant", "destroy", "act", "make",
    "change", "undo", "operate", "ask", "body", "launch",
];
const SECTIONS: [&str; 14] = [
    "verbs",
    "either",
    "made",
    "changed",
    "undone",
    "about",
    "operated",
    "launched",
    "asked",
    "arguments",
    "operands",
    "given",
    "certain",
    "choices",
];

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build.rs");
    let text = fs::read_to_string(SOURCE).map_err(|error| format!("{SOURCE}: {error}"))?;
    let mut tables: BTreeMap<&str, BTreeMap<&str, u32>> = SECTIONS
        .into_iter()
        .map(|name| (name, BTreeMap::new()))
        .collect();
    let (mut section, mut bits) = ("", 0);
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |what: &str| format!("{SOURCE}:{number}: {what}");
        let line = line.split('#').next().unwrap_or_default().trim_end();
        if line.is_empty() || line == "version: 1" {
            continue;
        }
        let list = if line.starts_with(' ') {
            let (key, list) = line.split_once(':').unwrap_or(("", line));
            if !key.is_empty() {
                bits = set(key.trim()).ok_or_else(|| wrong("not a set of effects"))?;
            }
            list
        } else {
            section = line
                .strip_suffix(':')
                .ok_or_else(|| wrong("not a section"))?;
            continue;
        };
        let table = tables
            .get_mut(section)
            .ok_or_else(|| wrong("no such section"))?;
        for word in list
            .split([' ', ',', '[', ']'])
            .filter(|word| !matches!(*word, "" | "-"))
        {
            if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return Err(wrong("a word that is not in lower-case letters"));
            }
            if table.insert(word, bits).is_some() {
                return Err(wrong(&format!("`{word}` stands there twice")));
            }
        }
    }
    let mut code = String::new();
    for (name, table) in tables {
        let name = name.to_uppercase();
        writeln!(
            code,
            "pub(super) static {name}: &[(&str, u32)] = &{:?};",
            Vec::from_iter(table)
        )
        .map_err(|error| error.to_string())?;
    }
    let folder = env::var("OUT_DIR").map_err(|error| error.to_string())?;
    fs::write(Path::new(&folder).join("effects.rs"), code).map_err(|error| error.to_string())
}

/// The bits of `send+grant`.
fn set(names: &str) -> Option<u32> {
    let bit = |name: &str| BITS.iter().position(|effect| *effect == name);
    names
        .split('+')
        .try_fold(0, |bits, name| Some(bits | 1 << bit(name)?))
}
