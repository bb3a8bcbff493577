//! What became of tests: for people, as JSON, as JUnit XML, as annotations of a GitHub workflow.

use super::{CaseResult, Failed};
use bouncer_compiler::diagnostic::visible;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};

/// A suite for each file, in the form that JUnit made common.
pub fn junit(results: &[CaseResult]) -> String {
    let failed = |results: &[&CaseResult]| {
        let failed = results.iter().filter(|result| !result.failures.is_empty());
        failed.count()
    };
    let all: Vec<&CaseResult> = results.iter().collect();
    let mut files: Vec<&str> = results.iter().map(|result| result.file.as_str()).collect();
    files.dedup();
    // Writing to a string does not fail.
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites tests=\"{}\" failures=\"{}\">",
        all.len(),
        failed(&all)
    );
    for file in files {
        let of_file: Vec<&CaseResult> = results.iter().filter(|r| r.file == file).collect();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">",
            xml(file),
            of_file.len(),
            failed(&of_file)
        );
        for result in of_file {
            let _ = write!(
                out,
                "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\"",
                xml(file),
                xml(&result.name),
                xml(file),
                result.line
            );
            if result.failures.is_empty() {
                out.push_str("/>\n");
                continue;
            }
            out.push_str(">\n");
            for failure in &result.failures {
                let _ = writeln!(
                    out,
                    "      <failure message=\"{}\">{}</failure>",
                    xml(&failure.summary()),
                    xml(&failure.details())
                );
            }
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// An annotation for each call that got something else.
pub fn github(results: &[CaseResult]) -> String {
    let mut out = String::new();
    for result in results {
        for failure in &result.failures {
            // Writing to a string does not fail.
            let _ = writeln!(
                out,
                "::error file={},line={},title={}::{}",
                property(&result.file),
                failure.line,
                property(&result.name),
                data(&format!("{}\n{}", failure.summary(), failure.details()))
            );
        }
    }
    out
}

/// Text in XML, without characters that XML cannot hold.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn data(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D");
    text.replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

impl Failed {
    fn summary(&self) -> String {
        format!(
            "{}: expected {}, got {} ({})",
            self.tool,
            self.expected.join(" and "),
            self.verdict,
            self.contract
        )
    }

    fn details(&self) -> String {
        let at = self.at.as_ref().map(|at| format!(" at {at}"));
        format!(
            "line {}: {} {}\n{}{}",
            self.line,
            self.tool,
            self.arguments,
            self.reason,
            at.unwrap_or_default()
        )
    }
}

impl CaseResult {
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if self.failures.is_empty() {
            return writeln!(
                out,
                "\u{1b}[32mok\u{1b}[0m    {}: {}",
                visible(&self.file),
                visible(&self.name)
            );
        }
        writeln!(
            out,
            "\u{1b}[1;31mFAIL\u{1b}[0m  {}:{}: {}",
            visible(&self.file),
            self.line,
            visible(&self.name)
        )?;
        for failed in &self.failures {
            write!(
                out,
                "      line {}: {} {}\n        expected {}, got {} ({}): {}",
                failed.line,
                visible(&failed.tool),
                visible(&failed.arguments),
                failed.expected.join(" and "),
                failed.verdict,
                failed.contract,
                visible(&failed.reason)
            )?;
            match &failed.at {
                Some(at) => writeln!(out, " [{}]", visible(at))?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }

    pub fn json(&self) -> Value {
        let failures: Vec<Value> = self
            .failures
            .iter()
            .map(|failed| {
                json!({
                    "line": failed.line, "tool": failed.tool, "arguments": failed.arguments,
                    "expected": failed.expected,
                    "verdict": failed.verdict, "contract": failed.contract,
                    "reason": failed.reason, "at": failed.at,
                })
            })
            .collect();
        json!({
            "file": self.file, "name": self.name, "line": self.line, "calls": self.calls,
            "ok": self.failures.is_empty(), "failures": failures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Vec<CaseResult> {
        let failure = Failed {
            line: 7,
            tool: "send".to_owned(),
            arguments: r#"{"to":"a<b>"}"#.to_owned(),
            expected: vec!["deny".to_owned()],
            verdict: "allow",
            contract: "default",
            reason: "nothing objects".to_owned(),
            at: Some("p.yaml:3:5".to_owned()),
        };
        let case = |name: &str, failures| CaseResult {
            file: "p.test.yaml".to_owned(),
            name: name.to_owned(),
            line: 2,
            calls: 1,
            failures,
        };
        vec![case("good & fine", vec![]), case("50%: bad", vec![failure])]
    }

    #[test]
    fn junit_is_escaped_and_counts() {
        let out = junit(&results());
        assert!(
            out.contains("<testsuites tests=\"2\" failures=\"1\">"),
            "{out}"
        );
        assert!(out.contains("name=\"good &amp; fine\""), "{out}");
        assert!(out.contains("a&lt;b&gt;"), "{out}");
        assert_eq!(out.matches("<failure").count(), 1);
    }

    #[test]
    fn annotations_are_one_line_each() {
        let out = github(&results());
        assert_eq!(out.lines().count(), 1);
        assert!(
            out.starts_with(
                "::error file=p.test.yaml,line=7,title=50%25%3A bad::send: expected deny"
            ),
            "{out}"
        );
    }
}
