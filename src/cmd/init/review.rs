//! Shows a change to a file, and asks whether to make it.

use crate::output::Failure;
use bouncer_compiler::diagnostic::escape;
use bouncer_setup::Change;
use similar::TextDiff;
use std::io::{BufRead, IsTerminal, Write};

/// What the human said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Go on.
    Yes,
    /// Do not.
    No,
}

/// "1 file", "2 files".
pub fn files(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} file{plural}")
}

/// Prints the lines that change, with a little around them.
pub fn show(out: &mut impl Write, change: &Change) -> std::io::Result<()> {
    let diff = TextDiff::from_lines(&change.read.text, &change.new);
    let diff = diff.unified_diff().context_radius(2).to_string();
    writeln!(out)?;
    for line in diff.lines() {
        let colour = match line.as_bytes().first() {
            Some(b'+') => "32",
            Some(b'-') => "31",
            Some(b'@') => "36",
            _ => "0",
        };
        writeln!(
            out,
            "  \u{1b}[{colour}m{}\u{1b}[0m",
            escape(&line.replace('\t', "    "))
        )?;
    }
    writeln!(out)
}

/// Asks, unless `yes` says the answer or there is nobody to ask.
pub fn agree(yes: bool, question: &str) -> Result<Decision, Failure> {
    if yes {
        return Ok(Decision::Yes);
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::Message(
            "nothing was written: there is no terminal to ask on, so give `--yes` to agree"
                .to_owned(),
        ));
    }
    let mut out = anstream::stdout().lock();
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(Decision::Yes);
    }
    writeln!(out, "nothing was written")?;
    Ok(Decision::No)
}
