//! The command line: what can be said, with its help. Parsing only.

mod adopt;
mod audit;
mod groups;
mod run;

pub use adopt::*;
pub use audit::{
    AuditArgs, AuditCommand, AuditOptions, LogArgs, LogFilter, MetricsOptions, SyncWhen,
};
use clap::{Args, Parser, Subcommand, ValueEnum};
pub use groups::grouped;
pub use run::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Decide every tool call of an AI agent: allow, ask a human, or deny.
///
/// Policies are compiled ahead of time into one binary plan. The proxy loads the plan
/// and judges each call with it; no model takes part in the decision.
#[derive(Debug, Parser)]
#[command(
    name = "bouncer",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "See `bouncer demo` for the idea in ten seconds, and `bouncer help COMMAND` for each command."
)]
pub struct Cli<C: Subcommand = Command> {
    /// When to use colour on standard error: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub color: ColorChoice,
    #[command(subcommand)]
    pub command: C,
}

/// The one command that starts anew for every tool an agent uses. Its words are told from
/// each other in a fraction of the time that all commands' take.
#[derive(Debug, Subcommand)]
pub enum HookOnly {
    /// As [`Command::Hook`]
    Hook(HookArgs),
}

/// How much can be remembered, in MiB: as the policy's `provenance_limit`.
const MIB: std::ops::RangeInclusive<i64> = 1..=65535;

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile policies to a plan
    Compile(CompileArgs),
    /// Judge one hypothetical call
    Check(CheckArgs),
    /// Explain a verdict: what decided, about which value, and what would change it
    Why(WhyArgs),
    /// Judge recorded conversations; with expectations, a policy test
    Replay(ReplayArgs),
    /// Write down what is guarded, how that is known and what has happened, for a reviewer
    Report(ReportArgs),
    /// Prove what a policy does, and show the calls that it gets wrong
    Verify(VerifyArgs),
    /// Compare two policies tool by tool: tighter, looser, or the same
    Diff(DiffArgs),
    /// Run the tests that lie beside policies
    Test(TestArgs),
    /// Print the JSON Schema of policy files, for editors
    Schema,
    /// Stand between an MCP client and one server, on standard input and output
    Run(RunArgs),
    /// Stand between an MCP client and all servers that the policy names
    Gateway(GatewayArgs),
    /// Put bouncer before the servers of your MCP clients
    Init(InitArgs),
    /// Take bouncer out of your MCP clients' configurations again
    Uninstall(UninstallArgs),
    /// Say what is guarded, what is not, and what an agent could still do
    Doctor(DoctorArgs),
    /// Stop: deny every call at once, everywhere, until `bouncer resume`
    Halt(HaltArgs),
    /// End a stop
    Resume(ResumeArgs),
    /// Help with writing a policy
    Policy(PolicyArgs),
    /// Tell agents and authors what policies decide: an MCP server
    Serve(ServeArgs),
    /// Decide an agent's own tools, outside MCP: a hook for its client
    Hook(HookArgs),
    /// Write down a server's tools, so that later changes are noticed
    Pin(PinArgs),
    /// Show the calls that wait, or waited, for a human
    List(ListArgs),
    /// Approve a call that waits for a human
    Approve(ApproveArgs),
    /// Deny a call that waits for a human
    Deny(DenyArgs),
    /// Decide one waiting call after the other, as they come
    Watch(WatchArgs),
    /// Read the audit log, and check that nobody changed it
    Audit(AuditArgs),
    /// Show what a plan holds
    Inspect(InspectArgs),
    /// Measure how long decisions take
    Bench(BenchArgs),
    /// Explain a diagnostic's code
    Explain(ExplainArgs),
    /// List or show the built-in packs
    Packs(PacksArgs),
    /// See it work: a poisoned inbox, the same tool, opposite verdicts
    Demo(DemoArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// Write one page per command into this directory instead
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// The demo's server; started by `demo` itself
    #[command(hide = true)]
    DemoServer,
}

/// Which policy.
#[derive(Args, Clone, Debug)]
pub struct Layers {
    /// Leave the built-in packs out
    #[arg(long)]
    pub no_packs: bool,
    /// Leave the heuristics for unknown tools out
    #[arg(long)]
    pub no_heuristics: bool,
}

/// A plan, or the policies to compile on the fly.
#[derive(Args, Clone, Debug)]
pub struct PolicySource {
    /// A compiled plan
    #[arg(long, value_name = "PLAN", conflicts_with_all = ["policy", "no_packs", "no_heuristics"])]
    pub plan: Option<PathBuf>,
    /// Map the plan into memory instead of reading it, so that all who do share it; for
    /// large plans, whose files are replaced and never written in place
    #[arg(long, requires = "plan", conflicts_with_all = ["policy", "no_packs", "no_heuristics"])]
    pub map_plan: bool,
    /// A policy file; may be given more than once
    #[arg(long, value_name = "POLICY")]
    pub policy: Vec<PathBuf>,
    #[command(flatten)]
    pub layers: Layers,
}

#[derive(Args, Debug)]
pub struct CompileArgs {
    /// Policy files, layered together over the packs
    #[arg(required = true, value_name = "POLICY")]
    pub policies: Vec<PathBuf>,
    /// Where to write the plan; `-` for standard output
    #[arg(short, long, value_name = "PLAN")]
    pub output: Option<PathBuf>,
    /// Accepted tools, to check the policy against
    #[arg(long, value_name = "LOCK")]
    pub tools: Option<PathBuf>,
    #[command(flatten)]
    pub layers: Layers,
    /// Leave the policies' texts out of the plan: `diff` and `why` then need the policies themselves
    #[arg(long)]
    pub no_source: bool,
    /// Print one JSON object about the result, or the diagnostics
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 allow, 3 ask, 4 deny, 1 error, 2 usage.")]
pub struct CheckArgs {
    #[command(flatten)]
    pub source: PolicySource,
    /// The tool's name
    #[arg(long, value_name = "TOOL")]
    pub tool: String,
    /// The arguments, one JSON object; `@FILE` reads them from a file
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub args: String,
    /// The server's name
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Accepted tools: others are not pinned
    #[arg(long, value_name = "LOCK")]
    pub tools: Option<PathBuf>,
    /// Text the agent has read before from an untrusted source; may be given more than once
    #[arg(long, value_name = "TEXT")]
    pub untrusted: Vec<String>,
    /// Make the same call this many times before, in the same moment
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub after: u32,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Without --tool, a line of the audit log is explained: ~/.bouncer/audit.jsonl unless --audit \
names another; without --line and --last, the last that is no allow."
)]
pub struct WhyArgs {
    /// An audit log: explain one of its lines
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tool", "plan", "policy", "server", "tools", "untrusted"])]
    pub audit: Option<PathBuf>,
    /// The number of the line, from 1
    #[arg(long, value_name = "N", conflicts_with = "tool")]
    pub line: Option<usize>,
    /// The last line, whatever its verdict
    #[arg(long, conflicts_with_all = ["line", "tool"])]
    pub last: bool,
    #[command(flatten)]
    pub source: PolicySource,
    /// A hypothetical call instead: the tool's name
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// The arguments, one JSON object; `@FILE` reads them from a file
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub args: String,
    /// The server's name
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Accepted tools: others are not pinned
    #[arg(long, value_name = "LOCK")]
    pub tools: Option<PathBuf>,
    /// Text the agent has read before from an untrusted source; may be given more than once
    #[arg(long, value_name = "TEXT")]
    pub untrusted: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0, or 1 if an expectation fails or a trace cannot be read; 2 usage."
)]
pub struct ReplayArgs {
    /// Traces, JSON lines; `-` for standard input
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    #[command(flatten)]
    pub source: PolicySource,
    /// Print one JSON object per call
    #[arg(long)]
    pub json: bool,
    /// How much of what the agent reads is remembered, in MiB [default: as `run` would]
    #[arg(long, value_name = "MIB")]
    pub provenance_limit: Option<u32>,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, with the source underlined
    Human,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands, which GitHub shows beside the lines
    Github,
}

/// What fails a run beside errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deny {
    /// Warnings fail as well
    Warnings,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 clean, 1 findings that are errors (with `--deny warnings` also warnings) or a policy \
that does not compile, 2 usage. A finding is accepted by a comment on its line or the line above: \
`# bouncer: allow B0803 because REASON`."
)]
pub struct VerifyArgs {
    /// Policy files, layered together over the packs
    #[arg(required = true, value_name = "POLICY")]
    pub policies: Vec<PathBuf>,
    /// The tools that there are: a lock, or a saved answer to `tools/list`; may be given more than once
    #[arg(long, value_name = "LOCK")]
    pub tools: Vec<PathBuf>,
    /// What must hold, e.g. 'never allow tool "pay" when args.amount > 1000'; may be given more than once
    #[arg(long = "assert", value_name = "TEXT")]
    pub assertions: Vec<String>,
    /// How to print what is found
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Fail on warnings too
    #[arg(long, value_name = "WHAT")]
    pub deny: Option<Deny>,
    /// Show every pair of rules whose order decides, and not only those that surprise
    #[arg(long)]
    pub all: bool,
    /// Steps of work after which the rest is undecided; a tenth for one question
    #[arg(long, value_name = "STEPS")]
    pub budget: Option<u64>,
    /// Print a picture instead: verdicts by what calls do, and by what was read before
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["assertions", "deny", "all"])]
    pub table: Option<Picture>,
    #[command(flatten)]
    pub layers: Layers,
}

/// Pictures of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Picture {
    /// Verdicts by effect, and by what was read before
    Effects,
}

/// Differences that fail a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailIf {
    /// Some call is judged less strictly, or that could not be ruled out
    Looser,
    /// Some call is judged more strictly, or that could not be ruled out
    Tighter,
    /// Some call is judged otherwise, or that could not be ruled out
    Changed,
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// For people
    Human,
    /// One JSON object
    Json,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0, or 1 if `--fail-if` says so or a policy does not compile; 2 usage."
)]
pub struct DiffArgs {
    /// The policy before, or its plan
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The policy after, or its plan
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// A policy file that stands beside both; may be given more than once
    #[arg(long, value_name = "POLICY")]
    pub with: Vec<PathBuf>,
    /// The tools that there are: a lock, or a saved answer to `tools/list`; may be given more than once
    #[arg(long, value_name = "LOCK")]
    pub tools: Vec<PathBuf>,
    /// Exit with 1 on this difference; may be given more than once
    #[arg(long, value_name = "WHAT")]
    pub fail_if: Vec<FailIf>,
    /// Steps of work after which the rest is undecided; a tenth for one tool
    #[arg(long, value_name = "STEPS")]
    pub budget: Option<u64>,
    /// How to print the comparison
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: DiffFormat,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    #[command(flatten)]
    pub layers: Layers,
}

#[derive(Args, Debug)]
#[command(
    after_help = "A test is a file `NAME.test.yaml` beside the policy `NAME.yaml`, or a trace `NAME.test.jsonl`. Without \
FILES, the tests below the current directory are run. Exit status: 0 all hold, 1 one does not or too \
few rules are covered, 2 usage."
)]
pub struct TestArgs {
    /// Tests, or policies whose tests lie beside them
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The policy of traces that lie beside none; may be given more than once
    #[arg(long, value_name = "POLICY")]
    pub policy: Vec<PathBuf>,
    #[command(flatten)]
    pub layers: Layers,
    /// List the rules that no call of a test decides by
    #[arg(long)]
    pub coverage: bool,
    /// Fail if fewer per cent of a policy's rules decide some call
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub min_coverage: Option<u8>,
    /// Run the tests again whenever a file of theirs changes
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub watch: bool,
    /// Only tests whose name or file holds this text
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: TestFormat,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

impl TestArgs {
    /// For the tests beside one policy.
    pub fn of(policy: &std::path::Path) -> Self {
        Self {
            files: vec![policy.to_owned()],
            policy: Vec::new(),
            layers: Layers {
                no_packs: false,
                no_heuristics: false,
            },
            coverage: false,
            min_coverage: None,
            watch: false,
            filter: None,
            format: TestFormat::Json,
            json: false,
        }
    }
}

#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Policy files, layered together over the packs; tests that lie beside them are run
    #[arg(required = true, value_name = "POLICY")]
    pub policies: Vec<PathBuf>,
    /// The tools that there are: a lock, or a saved answer to `tools/list`; may be given more than once
    #[arg(long, value_name = "LOCK")]
    pub tools: Vec<PathBuf>,
    /// The audit log
    #[arg(long, value_name = "LOG")]
    pub audit: Option<PathBuf>,
    /// Where the report is written; its name says as what: `.html`, `.md` or `.json`
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// As what it is written [default: by the file's name, else Markdown]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ReportFormat>,
    #[command(flatten)]
    pub layers: Layers,
}

/// As what a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One page that needs nothing else
    Html,
    /// For a repository or an issue
    Markdown,
    /// For programs
    Json,
}

/// How the results of tests are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// For people
    Human,
    /// One JSON object
    Json,
    /// XML as JUnit writes it
    Junit,
    /// Annotations of a GitHub workflow
    Github,
}

/// Which approvals.
#[derive(Args, Debug)]
pub struct StoreArgs {
    /// Where approvals are kept [default: the policy's `approval: {path}`, else ~/.bouncer/approvals.db]
    #[arg(long, value_name = "FILE")]
    pub approvals: Option<PathBuf>,
    /// The plan that says where they are kept
    #[arg(long, value_name = "PLAN", conflicts_with = "approvals")]
    pub plan: Option<PathBuf>,
    /// The policy that says where they are kept
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["approvals", "plan"])]
    pub policy: Vec<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Where a client cannot ask its human, a call that the policy asks about is not \
forwarded; it waits here under an id. Once approved, the agent makes exactly the same call \
again, and it goes through, once."
)]
pub struct ListArgs {
    /// Only this one, whole
    pub id: Option<String>,
    /// Write its arguments into a file, which must not exist
    #[arg(long, value_name = "FILE", requires = "id")]
    pub save: Option<PathBuf>,
    /// Only those that stand like this
    #[arg(long, value_name = "STATUS", value_enum)]
    pub status: Option<Standing>,
    /// At most so many, newest first
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Standing {
    /// Nobody has decided
    Pending,
    /// Approved, and not used yet
    Approved,
    /// Denied
    Denied,
    /// Approved, and the call went through
    Used,
    /// Not decided, or not used, in time
    Expired,
}

#[derive(Args, Debug)]
pub struct ApproveArgs {
    /// The id, as `list` shows it
    pub id: String,
    /// Let the same call through as often as it comes, until its conversation ends, for a
    /// day at most; of a destination: let the tool send there whatever it likes
    #[arg(long)]
    pub for_conversation: bool,
    /// What is too long to be shown was saved with `list ID --save FILE` and read there
    #[arg(long, value_name = "FILE")]
    pub saved: Option<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
#[command(
    after_help = "What was approved and is not used yet can be denied, too; so can an approval for a conversation."
)]
pub struct DenyArgs {
    /// The id, as `list` shows it
    pub id: String,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct WatchArgs {
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args, Debug)]
pub struct PinArgs {
    /// An MCP client's configuration file
    #[arg(long, value_name = "CONFIG", requires = "upstream_name")]
    pub config: Option<PathBuf>,
    /// The server's entry in that file
    #[arg(long, value_name = "NAME", requires = "config")]
    pub upstream_name: Option<String>,
    /// The name to write into the lock [default: the entry's name]
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// The lock file
    #[arg(short, long, value_name = "LOCK", default_value = "tools.lock")]
    pub output: PathBuf,
    /// Show what changed, and write nothing
    #[arg(long, conflicts_with_all = ["force", "accept"])]
    pub diff: bool,
    /// Accept what changed, of these tools or of all, beside what was accepted before
    #[arg(long, value_name = "TOOL", num_args = 0.., conflicts_with = "force")]
    pub accept: Option<Vec<String>>,
    /// Write the server's tools anew, without what was accepted before, also into a lock that
    /// cannot be read
    #[arg(long)]
    pub force: bool,
    /// How many seconds the server may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
    /// How to start the server
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "config")]
    pub command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub struct InspectArgs {
    /// The plan
    #[arg(required_unless_present = "tools")]
    pub plan: Option<PathBuf>,
    /// Show what the tools of this lock, or of this answer to `tools/list`, are taken to do, and why
    #[arg(long, value_name = "LOCK", conflicts_with = "plan")]
    pub tools: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Takes about four seconds. Without `--calls`, two calls are made up for each tool that the \
plan names: one with ordinary values, one with values that the plan knows."
)]
pub struct BenchArgs {
    /// A compiled plan, or policy files
    #[arg(required = true, value_name = "PLAN|POLICY")]
    pub inputs: Vec<PathBuf>,
    /// Judge the calls of this trace, JSON lines as for `replay`, after all that it records
    #[arg(long, value_name = "TRACE")]
    pub calls: Option<PathBuf>,
    #[command(flatten)]
    pub layers: Layers,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The code of a diagnostic, for example B0201, or of a verdict, for example rule.default;
    /// without one, those of diagnostics are listed
    pub code: Option<String>,
}

#[derive(Args, Debug)]
pub struct PacksArgs {
    #[command(subcommand)]
    pub command: PacksCommand,
}

#[derive(Debug, Subcommand)]
pub enum PacksCommand {
    /// List the packs and what they cover
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a pack's YAML
    Show {
        /// The pack's name
        name: String,
    },
}

#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Keep the demo's files in this directory instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}
