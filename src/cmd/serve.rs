//! `bouncer serve`: an MCP server that tells what policies decide.

use crate::cli::ServeArgs;
use crate::output::Outcome;
use crate::serve::Server;

/// Runs the command.
pub fn run(args: ServeArgs) -> Outcome {
    let server = Server {
        source: args.source,
        audit: args.audit,
    };
    server.run()?;
    Ok(0)
}
