//! The audit log on the command line: how it is kept, and how it is read.

use bouncer_audit::Outcome;
use bouncer_plan::Stage;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Where the audit log is written, and how.
#[derive(Args, Debug)]
pub struct AuditOptions {
    /// The audit log [default: the policy's `audit: {path}`, else ~/.bouncer/audit.jsonl]
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Start another file when the audit log has this size, such as 100M
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub audit_rotate: Option<u64>,
    /// When the audit log's lines are brought to the disk itself
    #[arg(long, value_name = "WHEN", default_value = "none")]
    pub audit_sync: SyncWhen,
}

/// Counters on the command line.
#[derive(Args, Debug)]
pub struct MetricsOptions {
    /// Hand out counters for Prometheus at http://ADDR/metrics; only on loopback
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<std::net::SocketAddr>,
    /// Hand spans of calls to the OpenTelemetry collector at this address, over HTTP
    #[cfg(feature = "otel")]
    #[arg(long, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
}

/// When lines reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SyncWhen {
    /// When the system wants: lines survive the end of the process
    None,
    /// Before the call goes out
    Line,
    /// Once a second
    Second,
}

/// A number of bytes, with K, M or G for powers of 1024.
pub(super) fn size(text: &str) -> Result<u64, &'static str> {
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix('B').unwrap_or(&upper);
    let (digits, shift) = match upper.chars().last() {
        Some('K') => (upper.strip_suffix('K'), 10),
        Some('M') => (upper.strip_suffix('M'), 20),
        Some('G') => (upper.strip_suffix('G'), 30),
        _ => (Some(upper), 0),
    };
    let number = digits.and_then(|digits| digits.trim().parse::<u64>().ok());
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if bytes >= 4096 => Ok(bytes),
        Some(_) => Err("less than 4K: every line would get a file of its own"),
        None => Err("write a size such as 64K, 100M or 1G"),
    }
}

/// The names of all outcomes.
fn outcomes() -> PossibleValuesParser {
    Outcome::ALL.map(Outcome::name).into()
}

/// The names of all parts of a policy that decide.
fn contracts() -> PossibleValuesParser {
    Stage::ALL.map(Stage::name).into()
}

/// Which log.
#[derive(Args, Debug)]
pub struct LogArgs {
    /// The audit log [default: the policy's `audit: {path}`, else ~/.bouncer/audit.jsonl]
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// The plan that says where it is kept
    #[arg(long, value_name = "PLAN", conflicts_with = "audit")]
    pub plan: Option<PathBuf>,
    /// The policy that says where it is kept
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["audit", "plan"])]
    pub policy: Vec<PathBuf>,
}

/// Which lines.
#[derive(Args, Debug)]
pub struct LogFilter {
    /// Not before: 90s, 15m, 2h, 3d ago, or a time in UTC such as 2026-11-30T08:15
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Before: like `--since`
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Of tools whose name, or SERVER__TOOL, matches this pattern
    #[arg(long, value_name = "GLOB")]
    pub tool: Option<String>,
    /// Of this server
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// With this verdict
    #[arg(long, value_name = "VERDICT", value_parser = ["allow", "ask", "deny"])]
    pub verdict: Option<String>,
    /// With this outcome
    #[arg(long, value_name = "OUTCOME", value_parser = outcomes())]
    pub outcome: Option<String>,
    /// Of the conversation whose name begins like this
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// Decided by this contract
    #[arg(long, value_name = "CONTRACT", value_parser = contracts())]
    pub contract: Option<String>,
}

#[derive(Args, Debug)]
pub struct AuditArgs {
    #[command(subcommand)]
    pub command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Show the last lines, and those that come
    Tail {
        /// How many
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        lines: usize,
        /// Wait for more
        #[arg(short, long)]
        follow: bool,
        #[command(flatten)]
        filter: LogFilter,
        #[command(flatten)]
        log: LogArgs,
        /// Print the lines as they are
        #[arg(long)]
        json: bool,
    },
    /// Check that the log is as it was written: nothing changed, nothing gone
    #[command(
        after_help = "Exit status: 0 clean, 1 something was changed or is gone, or there is no log; 2 usage. \
Who may write the log can write it anew from some line on; to notice that too, keep the anchor that \
`verify` prints somewhere else, and give it the next time."
    )]
    Verify {
        /// A line that was noted before, as SEQ:HASH: it has to be there, or to be the last one before the oldest file; may be given more than once
        #[arg(long, value_name = "SEQ:HASH")]
        anchor: Vec<String>,
        #[command(flatten)]
        log: LogArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Count verdicts, tools and reasons
    Stats {
        #[command(flatten)]
        filter: LogFilter,
        #[command(flatten)]
        log: LogArgs,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Make a test of what happened
    Export {
        /// As a file for `bouncer test`: a case for each conversation
        #[arg(long, required = true)]
        as_test: bool,
        #[command(flatten)]
        filter: LogFilter,
        #[command(flatten)]
        log: LogArgs,
    },
    /// Show all lines that match
    Query {
        #[command(flatten)]
        filter: LogFilter,
        #[command(flatten)]
        log: LogArgs,
        /// Print the lines as they are
        #[arg(long)]
        json: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64k"), Ok(65_536));
        assert_eq!(size("100MB"), Ok(100 << 20));
        assert_eq!(size("1 G"), Ok(1 << 30));
        for wrong in ["", "x", "1T", "-1", "17", "99999999999G", "1.5M"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
