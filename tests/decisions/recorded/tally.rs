//! Recorded cases, and counts of how the answers of today differ from them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The lines of a file of `tests/vectors`.
pub fn lines(name: &str) -> String {
    std::fs::read_to_string(super::folder("vectors").join(name)).unwrap()
}

/// The cases of a file of `tests/vectors`.
pub fn read(name: &str) -> Vec<Value> {
    lines(name)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Counts of classes, with an example of each that nothing explains.
#[derive(Default)]
pub struct Tally {
    counts: BTreeMap<String, usize>,
    unexplained: String,
}

impl Tally {
    pub fn count(&mut self, class: impl Into<String>) {
        *self.counts.entry(class.into()).or_default() += 1;
    }

    pub fn unexplained(&mut self, what: &str, case: &Value) {
        if self.counts.get("UNEXPLAINED").is_none_or(|n| *n < 20) {
            let _ = writeln!(self.unexplained, "{what}: {case}");
        }
        self.count("UNEXPLAINED");
    }

    pub fn table(&self) -> String {
        self.counts
            .iter()
            .map(|(class, count)| format!("{count:>5}  {class}\n"))
            .collect()
    }

    /// Prints the table and compares it with what is known.
    #[track_caller]
    pub fn check(&self, expected: &str) {
        let trimmed = |table: &str| -> Vec<String> {
            table
                .lines()
                .map(|line| line.trim().to_owned())
                .filter(|line| !line.is_empty())
                .collect()
        };
        println!("{}", self.table());
        assert!(
            self.unexplained.is_empty(),
            "{}\n{}",
            self.table(),
            self.unexplained
        );
        assert_eq!(
            trimmed(&self.table()),
            trimmed(expected),
            "\n{}",
            self.table()
        );
    }
}
