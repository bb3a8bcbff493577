//! The command line of what brings bouncer to where agents are.

use super::{BudgetOptions, PolicySource};
use bouncer_hook::agents::{self, Agent};
use bouncer_setup::clients::Client;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(
    after_help = "Without --config, the files of Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Zed, \
Codex, Gemini CLI and opencode are looked for in their usual places, those of the current directory included. Each change is shown first. \
A copy of the file stays beside it, and `bouncer uninstall` puts it back.\n\n\
Exit status: 0 done or nothing to do, 1 error, or nothing was written because nobody was there to agree; 2 usage."
)]
pub struct InitArgs {
    /// A client's configuration file; may be given more than once
    #[arg(long, value_name = "CONFIG")]
    pub config: Vec<PathBuf>,
    /// Only the files of this client
    #[arg(long, value_name = "CLIENT", conflicts_with = "config", value_parser = clients_by_name())]
    pub client: Option<Client>,
    /// Only this server; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub server: Vec<String>,
    /// A policy file for all of them; may be given more than once [default: the built-in packs]
    #[arg(long, value_name = "POLICY", conflicts_with = "plan")]
    pub policy: Vec<PathBuf>,
    /// A compiled plan for all of them
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// Replace the entries by one gateway before all of them, with a policy that is written
    /// beside the file
    #[arg(long, conflicts_with_all = ["policy", "plan"])]
    pub gateway: bool,
    /// Do not start the servers to write their tools down
    #[arg(long)]
    pub no_pin: bool,
    /// How the client is to start bouncer [default: this program's path]
    #[arg(long, value_name = "PROGRAM")]
    pub program: Option<String>,
    /// How many seconds a server may take to list its tools
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "A file that nobody has changed since `init` becomes what it was, byte for byte; of any other, only \
the entries that start bouncer are changed back."
)]
pub struct UninstallArgs {
    /// A client's configuration file; may be given more than once
    #[arg(long, value_name = "CONFIG")]
    pub config: Vec<PathBuf>,
    /// Only the files of this client
    #[arg(long, value_name = "CLIENT", conflicts_with = "config", value_parser = clients_by_name())]
    pub client: Option<Client>,
    /// Only this server; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub server: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Reads one message on standard input and answers on standard output, in the client's own form. \
Whatever goes wrong blocks the tool. Without --plan or --policy, the built-in policy for agents' own tools decides. \
docs/hook.md has the settings to paste."
)]
pub struct HookArgs {
    /// Whose hook it is
    #[arg(value_name = "CLIENT", value_parser = agents_by_name())]
    pub agent: &'static dyn Agent,
    #[command(flatten)]
    pub source: PolicySource,
    /// The audit log [default: the policy's `audit: {path}`, else ~/.bouncer/audit.jsonl]
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Where is kept what the agent has read [default: ~/.bouncer/hook.db]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    #[command(flatten)]
    pub budgets: BudgetOptions,
}

/// Whose configurations are known.
fn clients_by_name() -> impl TypedValueParser<Value = Client> {
    let values = Client::ALL.map(|client| PossibleValue::new(client.key()).help(client.about()));
    PossibleValuesParser::new(values)
        .try_map(|name| Client::by_key(&name).ok_or("it is not the name of a client"))
}

/// Whose hooks are spoken.
fn agents_by_name() -> impl TypedValueParser<Value = &'static dyn Agent> {
    let values = agents::ALL.map(|agent| PossibleValue::new(agent.name()).help(agent.about()));
    PossibleValuesParser::new(values)
        .try_map(|name| agents::by_name(&name).ok_or("it is not the name of an agent"))
}

#[derive(Args, Debug)]
#[command(
    after_help = "An MCP server on standard input and output, for agents and authors: it says what a policy decides \
about a call, verifies policies, lists the packs and sums the audit log up. It runs no calls and changes nothing."
)]
pub struct ServeArgs {
    #[command(flatten)]
    pub source: PolicySource,
    /// The audit log [default: ~/.bouncer/audit.jsonl]
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "It counts from the next call on in every `run`, `gateway` and `hook` of this user, running or not. \
Each denied call is a line of the audit log with the reason."
)]
pub struct HaltArgs {
    /// Only calls of the server of this name
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// Why; agents and logs are told
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// Only calls of the server of this name
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 without gaps, 1 with some, 2 usage.")]
pub struct DoctorArgs {
    /// Only this configuration file; may be given more than once
    #[arg(long, value_name = "CONFIG")]
    pub config: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub struct PolicyArgs {
    #[command(subcommand)]
    pub command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Write a first policy for the tools that there are
    Suggest(SuggestArgs),
}

#[derive(Args, Debug)]
#[command(
    after_help = "Without --tools and --config, the locks are taken that `bouncer init` wrote beside clients' configurations."
)]
pub struct SuggestArgs {
    /// The tools: a lock, or a saved answer to `tools/list`; may be given more than once
    #[arg(long, value_name = "LOCK")]
    pub tools: Vec<PathBuf>,
    /// A client's configuration, whose servers are started to list their tools; may be given
    /// more than once
    #[arg(long, value_name = "CONFIG")]
    pub config: Vec<PathBuf>,
    /// An audit log: what was asked about and denied is told in comments
    #[arg(long, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Where to write the policy [default: standard output]
    #[arg(short, long, value_name = "POLICY")]
    pub output: Option<PathBuf>,
    /// How many seconds a server may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
}
