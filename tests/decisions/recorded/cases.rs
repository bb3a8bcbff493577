//! The cases of the corpus: a policy each, and a trace as `bouncer replay` reads it.

use bouncer_compiler::Options;
use serde::Deserialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The line that begins a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub policy: String,
    #[serde(default)]
    pub packs: bool,
    #[serde(default)]
    pub heuristics: bool,
    #[serde(default)]
    pub note: String,
    #[serde(default = "yes")]
    pub reference: bool,
}

fn yes() -> bool {
    true
}

/// A policy and a trace.
pub struct Case {
    pub header: Header,
    /// File and line of the header.
    pub at: String,
    /// The trace, line by line.
    pub trace: Vec<String>,
}

/// The files of the corpus, without that of mistakes.
pub fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(super::folder("corpus")).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "errors"))
        .collect();
    files.sort();
    files
}

/// The cases of a file.
pub fn cases(file: &Path) -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    let text = std::fs::read_to_string(file).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    for (number, line) in (1..).zip(text.lines()) {
        let at = format!("{name}:{number}");
        if line.starts_with("{\"policy\"") {
            let header = serde_json::from_str(line).unwrap_or_else(|error| panic!("{at}: {error}"));
            let trace = Vec::new();
            all.push(Case { header, at, trace });
        } else {
            let case = all.last_mut().unwrap_or_else(|| panic!("{at}: no policy"));
            case.trace.push(line.to_owned());
        }
    }
    all
}

impl Case {
    /// How its policy is to be read.
    pub fn options(&self) -> Options {
        Options {
            packs: self.header.packs,
            heuristics: self.header.heuristics,
        }
    }

    /// Notes that somebody answers otherwise than the case says.
    pub fn complain(&self, who: &str, line: &str, got: &str, wrong: &mut String) {
        let short: String = line.chars().take(300).collect();
        let _ = writeln!(
            wrong,
            "{} ({}): {who} says {got}: {short}",
            self.at, self.header.note
        );
    }
}
