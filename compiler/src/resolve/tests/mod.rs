//! Whole policies through the front end.

mod doubts;
mod hostile;
mod layers;
mod messages;

use super::*;
use crate::diagnostic::{Severity, all_codes, explain, short};
use crate::driver::{load, load_with};
use crate::packs::{self, Builtin};
use crate::read::{Input, Options};

/// Two small packs and heuristics, in the format of the built-in ones.
const PACKS: &[Builtin] = &[
    Builtin {
        name: "gmail",
        text: "version: 1\npack: gmail\ndescription: mail\ntools:\n  send_email:\n    exfiltrating: true\n    sink_params: [to, cc]\n    trusted_destinations: [me@corp.com]\n    max_calls: 50\n    outputs: {label: observed, fields: {\"messages[*].body\": untrusted}}\n    checked: 2026-11-29\n  delete_email: {max_calls: 2}\n",
    },
    Builtin {
        name: "filesystem",
        text: "pack: filesystem\ndescription: files\ntools:\n  write_file: {write_params: [path], allowed_path_prefixes: [.]}\n",
    },
];
const HEURISTICS: Builtin = Builtin {
    name: "heuristics",
    text: "heuristics:\n  sinks: {names: [to, channel_id], words: [url], formats: [email]}\n  destructive: {words: [delete, remov*], max_calls: 2}\n  labels: {untrusted: [body], observed: [sender]}\n",
};

fn load_all(files: &[(&str, &str)]) -> Result<Loaded, Diagnostics> {
    let inputs: Vec<_> = files
        .iter()
        .map(|&(name, text)| Input { name, text })
        .collect();
    load_with(&inputs, &Options::default(), PACKS, Some(HEURISTICS))
}

/// The files of a page's example.
fn example(text: &str) -> Vec<(&str, String)> {
    let mut files = vec![("policy.yaml", String::new())];
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix("# file: ") {
            if files.last().is_some_and(|(_, text)| text.is_empty()) {
                files.pop();
            }
            files.push((name.trim_end(), String::new()));
        } else if let Some((_, text)) = files.last_mut() {
            text.push_str(line);
        }
    }
    files
}

fn diagnostics(files: &[(&str, &str)]) -> Diagnostics {
    match load_all(files) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors,
    }
}

/// As [`diagnostics`], and those of the later stages.
fn diagnostics_of_all_stages(files: &[(&str, &str)]) -> Diagnostics {
    match load_all(files) {
        Ok(loaded) => match crate::compile(&loaded.policy) {
            Ok(_) => loaded.warnings,
            Err(errors) => {
                crate::diagnostic::of_compile_errors(&errors, loaded.warnings.sources().clone())
            }
        },
        Err(errors) => errors,
    }
}

#[test]
fn every_page_has_an_example_that_shows_its_code() {
    // What only `verify` finds is shown by its own test.
    for code in all_codes().filter(|code| *code < Code::NEVER) {
        let page = explain(code.name()).unwrap();
        if page.example.is_empty() {
            assert_eq!(code, Code::TOO_LARGE);
            continue;
        }
        let files = example(page.example);
        let files: Vec<_> = files.iter().map(|(n, t)| (*n, t.as_str())).collect();
        let found = diagnostics_of_all_stages(&files);
        let codes: Vec<_> = found.list().iter().map(|d| d.code).collect();
        assert!(
            codes.contains(&code),
            "{code}: {codes:?}\n{}",
            short(&found)
        );
        let errors = |d: &Diagnostics| d.list().iter().any(|d| d.severity == Severity::Error);
        assert_eq!(errors(&found), page.severity == Severity::Error, "{code}");
    }
}

#[test]
fn too_large_a_file_is_refused() {
    let text = "a".repeat((8 << 20) + 1);
    assert_eq!(diagnostics(&[("a", &text)]).list()[0].code, Code::TOO_LARGE);
}

#[test]
fn the_built_in_packs_load_without_a_word() {
    let loaded = load(&[], &Options::default());
    let loaded = loaded.unwrap_or_else(|errors| panic!("{}", short(&errors)));
    assert!(loaded.warnings.is_empty(), "{}", short(&loaded.warnings));
    assert!(loaded.policy.contracts.len() > 100);
    assert!(loaded.policy.heuristics.is_some());
    for pack in packs::all() {
        assert!(
            pack.text.contains(&format!("\npack: {}\n", pack.name)),
            "{}",
            pack.name
        );
    }
}
