//! What every subcommand shares about its output: exit codes, errors, broken pipes.

use crate::cli::ColorChoice;
use bouncer_plan::{LoadError, Verdict};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Something went wrong, or the policy has errors.
pub const ERROR: u8 = 1;
/// The command line makes no sense.
pub const USAGE: u8 = 2;
/// `check`: a human has to approve.
pub const ASK: u8 = 3;
/// `check`: the call is denied.
pub const DENY: u8 = 4;

/// Nobody reads what is printed: what shells say of a program that a closed pipe ended.
pub const UNHEARD: u8 = 141;

/// Why a subcommand failed.
#[derive(Debug)]
pub enum Failure {
    /// Already reported; only the exit code is left.
    Code(u8),
    /// A message for standard error, exit code 1.
    Message(String),
    /// Standard output could not be written.
    Output(io::Error),
}

/// What a subcommand returns: its exit code.
pub type Outcome = Result<u8, Failure>;

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::Message(format!("the compiled plan does not load: {error}"))
    }
}

impl Failure {
    /// A failure that says all in its own words.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self::Message(error.to_string())
    }

    /// A failure about a file.
    pub fn file(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Self {
        Self::Message(format!("cannot {what} `{}`: {error}", path.display()))
    }
}

/// The exit code that tells a verdict.
pub const fn code_of(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => ASK,
        Verdict::Deny => DENY,
    }
}

/// Applies `--color`.
pub fn choose_colour(choice: ColorChoice) {
    let choice = match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Whether standard error shows colour.
pub fn colour() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Whether standard output shows colour.
pub fn colour_of_stdout() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Turns a subcommand's result into the process's exit code.
pub fn exit(result: Outcome) -> ExitCode {
    match result {
        Ok(code) | Err(Failure::Code(code)) => ExitCode::from(code),
        // Whoever reads us has seen enough, as with `| head`. What was to be done or judged
        // after that was not, so it is no success.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::from(UNHEARD)
        }
        Err(Failure::Output(error)) => {
            error_line(&format!("cannot write the output: {error}"));
            ExitCode::from(ERROR)
        }
        Err(Failure::Message(message)) => {
            error_line(&message);
            ExitCode::from(ERROR)
        }
    }
}

/// Prints an error the way the compiler's diagnostics look.
pub fn error_line(message: &str) {
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr(), "\u{1b}[1;31merror\u{1b}[0m: {message}");
}

/// Tells whoever reads standard error something.
pub fn note(message: &str) {
    // If standard error is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "bouncer: {message}");
}
