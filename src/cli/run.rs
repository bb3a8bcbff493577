//! The command line of what stands between agents and servers.

use super::{AuditOptions, MIB, MetricsOptions, PolicySource};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// How calls are guarded, whatever stands in front and behind.
#[derive(Args, Debug)]
pub struct GuardOptions {
    /// Hold servers to these accepted tools, instead of pinning what they list at start
    #[arg(long, value_name = "LOCK")]
    pub tools: Option<PathBuf>,
    #[command(flatten)]
    pub audit: AuditOptions,
    #[command(flatten)]
    pub metrics: MetricsOptions,
    /// Where approvals are kept [default: the policy's `approval: {path}`, else ~/.bouncer/approvals.db]
    #[arg(long, value_name = "FILE")]
    pub approvals: Option<PathBuf>,
    /// How much of what the agent reads is remembered, in MiB, to tell where a destination
    /// came from [default: the policy's `provenance_limit`, else 64]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(MIB))]
    pub provenance_limit: Option<u32>,
    /// The longest message that is passed on, in either direction, such as 64M
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = message_size)]
    pub max_message: usize,
    #[command(flatten)]
    pub budgets: BudgetOptions,
    /// Let everything through that the policy asks about or denies, and only log what it
    /// would have said; for writing a policy, not for guarding
    #[arg(long, conflicts_with = "approvals")]
    pub observe: bool,
}

/// The length of a message: long enough for any list of tools, and no longer than what every
/// conversation may hold several times.
fn message_size(text: &str) -> Result<usize, &'static str> {
    let bytes = super::audit::size(text).map_err(|_| "write a size such as 64K, 100M or 1G")?;
    match usize::try_from(bytes) {
        Ok(bytes @ 0x1_0000..=0x4000_0000) => Ok(bytes),
        _ => Err("between 64K and 1G"),
    }
}

#[derive(Args, Debug)]
#[command(
    after_help = "The audit log gets one JSON line per verdict, before the call goes out. \
If it cannot be written, calls are blocked."
)]
pub struct RunArgs {
    /// An MCP client's configuration file
    #[arg(long, value_name = "CONFIG", requires = "upstream_name")]
    pub config: Option<PathBuf>,
    /// The server's entry in that file
    #[arg(long, value_name = "NAME", requires = "config")]
    pub upstream_name: Option<String>,
    /// A variable of the environment that says at which URL the server is reached, as JSON:
    /// `{"url": …, "headers": {…}}`, in which `${NAME}` stands for another variable. `bouncer
    /// init` writes such entries
    #[arg(long, value_name = "VARIABLE", conflicts_with_all = ["config", "command"])]
    pub upstream_env: Option<String>,
    /// The name by which the policy knows the server [default: the entry's name]
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    #[command(flatten)]
    pub source: PolicySource,
    #[command(flatten)]
    pub guard: GuardOptions,
    /// How to start the server
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "config")]
    pub command: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "The policy's `servers:` are started side by side, and their tools are exposed as \
SERVER__TOOL. Without --plan or --policy, the policy is $BOUNCER_CONFIG, else $BORDER_PATROL_CONFIG, \
else ./bouncer.yaml, else ./border-patrol.yaml."
)]
pub struct GatewayArgs {
    #[command(flatten)]
    pub source: PolicySource,
    #[command(flatten)]
    pub guard: GuardOptions,
    /// How long the first list of tools waits for servers that are slow to start, in seconds;
    /// what they have is told when they are there
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(0..=600)
    )]
    pub wait_for_servers: u32,
    /// The longest name that a tool is shown under; longer ones, and ones with signs that clients
    /// refuse, get a short form. Clients refuse names over 64 with what they put in front
    #[arg(
        long,
        value_name = "LENGTH",
        default_value_t = 50,
        value_parser = clap::value_parser!(u16).range(20..=128)
    )]
    pub longest_tool_name: u16,
    #[command(flatten)]
    pub listen: ListenArgs,
    #[command(flatten)]
    pub page: PageArgs,
}

/// The page for the human beside a gateway.
#[derive(Args, Debug)]
pub struct PageArgs {
    /// Show a page to approve on, read the log and look at tools and the policy, at this
    /// loopback address [default: 127.0.0.1:8809]
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:8809",
        help_heading = "A page"
    )]
    pub ui: Option<String>,
    /// Where the link to the page is written, readable by you alone [default:
    /// ~/.bouncer/page-PORT.link]
    #[arg(long, value_name = "FILE", requires = "ui", help_heading = "A page")]
    pub ui_link: Option<PathBuf>,
    /// A name under which a proxy with TLS on this machine hands the page on
    #[arg(long, value_name = "NAME", requires = "ui", help_heading = "A page")]
    pub ui_host: Vec<String>,
}

/// With whom attempts are counted.
#[derive(Args, Clone, Debug)]
pub struct BudgetOptions {
    /// Count budgets and rates together with all that are given the same file, instead of
    /// by conversation
    #[arg(long, value_name = "FILE")]
    pub shared_budgets: Option<PathBuf>,
}

/// Where agents come from that do not start the gateway themselves.
#[derive(Args, Debug)]
pub struct ListenArgs {
    /// Listen for agents over HTTP, at http://ADDRESS/mcp, instead of on standard input
    #[arg(long, value_name = "ADDRESS", help_heading = "Over HTTP")]
    pub listen: Option<String>,
    /// Who may come: a name and the SHA-256 of a token on each line. Needed unless the address
    /// is a loopback one
    #[arg(
        long,
        value_name = "FILE",
        requires = "listen",
        help_heading = "Over HTTP"
    )]
    pub tokens: Option<PathBuf>,
    /// Speak TLS with this certificate, and those between it and an authority, as PEM
    #[arg(
        long,
        value_name = "FILE",
        requires_all = ["listen", "tls_key"],
        help_heading = "Over HTTP"
    )]
    pub tls_cert: Option<PathBuf>,
    /// The private key of that certificate, as PEM
    #[arg(
        long,
        value_name = "FILE",
        requires_all = ["listen", "tls_cert"],
        help_heading = "Over HTTP"
    )]
    pub tls_key: Option<PathBuf>,
    /// Take requests for this host name, besides localhost and the address
    #[arg(
        long,
        value_name = "NAME",
        requires = "listen",
        help_heading = "Over HTTP"
    )]
    pub allow_host: Vec<String>,
    /// Take requests of pages of this origin, besides those of this machine
    #[arg(
        long,
        value_name = "ORIGIN",
        requires = "listen",
        help_heading = "Over HTTP"
    )]
    pub allow_origin: Vec<String>,
    /// How many conversations there may be at once; half of them for one token
    #[arg(
        long,
        value_name = "N",
        default_value_t = 64,
        requires = "listen",
        help_heading = "Over HTTP"
    )]
    pub max_conversations: u32,
    /// End a conversation of whose client nothing is heard for so long, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 1800,
        requires = "listen",
        help_heading = "Over HTTP"
    )]
    pub idle: u32,
    /// How long requests may still take once told to stop, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10,
        requires = "listen",
        help_heading = "Over HTTP"
    )]
    pub drain: u32,
}
