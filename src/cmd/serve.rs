//! `bouncer serve`: an MCP server that tells what policies decide.

use crate::cli::ServeArgs;
use crate::output::Outcome;
use crate::serve::Server;

/// Runs the command.
///
/// # Errors
/// If the policy cannot be used, or standard input or output fail.
pub fn run(args: ServeArgs) -> Outcome {
    // What cannot be read now could not be told about later either.
    if args.source.plan.is_some() || !args.source.policy.is_empty() {
        crate::source::plan(&args.source)?;
    }
    let server = Server {
        source: args.source,
        audit: args.audit,
    };
    server.run()?;
    Ok(0)
}
