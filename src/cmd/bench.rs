//! `bouncer bench`: how long decisions take, over recorded calls or over calls made from
//! the plan itself.

mod generate;

use super::trace::{self, Line};
use crate::cli::BenchArgs;
use crate::output::{Failure, Outcome};
use crate::source;
use bouncer_engine::gate::{Attempt, Call, Conversation, Gate};
use bouncer_plan::Plan;
use bouncer_plan::Verdict;
use bouncer_plan::format::MAGIC;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the calls are repeated for each of the two measurements.
const SPAN: Duration = Duration::from_secs(2);
/// Decisions that are timed one by one, at most.
const MAX_SAMPLES: usize = 2_000_000;

/// A call to judge over and over.
pub struct Sample {
    /// The server.
    pub server: Option<String>,
    /// The tool.
    pub tool: String,
    /// The arguments' bytes; `None` where the call has none.
    pub arguments: Option<String>,
}

impl Sample {
    fn call(&self) -> Call<'_> {
        let arguments = self.arguments.as_deref().map(str::as_bytes);
        Call::hypothetical(self.server.as_deref(), &self.tool, arguments)
    }
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Outcome {
    let plan = plan_of(args)?;
    let mut gate = Gate::new(plan);
    let mut conversation = gate.conversation();
    let calls = match &args.calls {
        Some(path) => recorded(path, &mut gate, &mut conversation)?,
        None => generate::calls(&mut gate),
    };
    if calls.is_empty() {
        return Err(Failure::Message(
            "there is no call to judge: the plan names no tool, or the trace has no `call` line"
                .to_owned(),
        ));
    }
    let figures = measure(&gate, &mut conversation, &calls);
    let mut stdout = std::io::stdout().lock();
    if args.json {
        writeln!(stdout, "{}", figures.json())?;
    } else {
        figures.print(args.calls.is_some(), &mut stdout)?;
    }
    Ok(0)
}

/// A plan file, or policies that are compiled first.
fn plan_of(args: &BenchArgs) -> Result<Plan, Failure> {
    if let [path] = args.inputs.as_slice()
        && path != Path::new("-")
    {
        let bytes = bouncer_system::private::read(path)
            .map_err(|error| Failure::file("read", path, &error))?;
        if bytes.starts_with(&MAGIC) {
            return Plan::load(bytes).map_err(|error| Failure::file("load", path, &error));
        }
    }
    let compiled = source::compile(&args.inputs, &args.layers).map_err(|f| f.report())?;
    source::print_diagnostics(&compiled.warnings);
    Plan::load(compiled.bytes)
        .map_err(|error| Failure::Message(format!("the compiled plan does not load: {error}")))
}

/// The calls of a trace. Its tools, results and approvals are taken in first, all of
/// them: each call is judged as at the end of the trace.
fn recorded(
    path: &Path,
    gate: &mut Gate,
    conversation: &mut Conversation,
) -> Result<Vec<Sample>, Failure> {
    let text = source::read_text(path)?;
    let mut calls = Vec::new();
    for (number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let fail = |why: &dyn std::fmt::Display| {
            Failure::Message(format!("`{}`, line {number}: {why}", path.display()))
        };
        let (line, raw) = trace::parse(line).map_err(|why| fail(&why))?;
        let line = line.hear(gate, conversation).map_err(|why| fail(&why))?;
        if let Some(Line::Call {
            server,
            tool,
            arguments_raw,
            ..
        }) = line
        {
            calls.push(Sample {
                server,
                tool,
                arguments: arguments_raw.or(raw.map(|raw| raw.get().to_owned())),
            });
        }
    }
    Ok(calls)
}

/// What was measured.
struct Figures {
    calls: usize,
    bytes: usize,
    /// By verdict.
    verdicts: [usize; 3],
    /// Nanoseconds of each timed decision, sorted; the timer is included.
    samples: Vec<u64>,
    /// Nanoseconds that reading the clock takes.
    timer: u64,
    per_second: f64,
    /// What one pass of all calls allocates, where that is counted.
    allocations: Option<Allocations>,
}

/// Heap allocations over one pass of all calls.
#[derive(Clone, Copy)]
struct Allocations {
    count: u64,
    /// Calls that allocate.
    calls: usize,
}

impl Allocations {
    /// Only a build for it counts: the counter takes the place of the allocator.
    #[cfg(feature = "count-allocations")]
    fn count(calls: &[Sample], mut decide: impl FnMut(&Sample)) -> Option<Self> {
        let mut all = Self { count: 0, calls: 0 };
        for call in calls {
            let counted = allocation_counter::measure(|| decide(call));
            all.count += counted.count_total;
            all.calls += usize::from(counted.count_total > 0);
        }
        Some(all)
    }

    #[cfg(not(feature = "count-allocations"))]
    fn count(_: &[Sample], _: impl FnMut(&Sample)) -> Option<Self> {
        None
    }

    fn each(self, calls: usize) -> f64 {
        self.count as f64 / calls as f64
    }
}

/// Judges the calls over and over. None of it counts against budgets.
fn measure(gate: &Gate, conversation: &mut Conversation, calls: &[Sample]) -> Figures {
    let mut decide = |sample: &Sample| {
        let call = black_box(sample.call());
        let decision = gate.decide(conversation, &call, Attempt::AfterApproval, 0);
        black_box(decision.verdict())
    };
    let mut verdicts = [0; 3];
    for call in calls {
        let verdict: Verdict = decide(call);
        if let Some(count) = verdicts.get_mut(verdict as usize) {
            *count += 1;
        }
    }
    // Room was made for every call above, so what allocates now always does.
    let allocations = Allocations::count(calls, |call| {
        decide(call);
    });
    let start = Instant::now();
    let mut decisions = 0_usize;
    while start.elapsed() < SPAN {
        for call in calls {
            decide(call);
        }
        decisions += calls.len();
    }
    let per_second = decisions as f64 / start.elapsed().as_secs_f64();
    let mut samples = Vec::with_capacity(MAX_SAMPLES.min(decisions));
    let start = Instant::now();
    'all: while start.elapsed() < SPAN {
        for call in calls {
            let before = Instant::now();
            decide(call);
            samples.push(nanoseconds(before.elapsed()));
            if samples.len() == MAX_SAMPLES {
                break 'all;
            }
        }
    }
    samples.sort_unstable();
    let timer = (0..1000)
        .map(|_| nanoseconds(Instant::now().elapsed()))
        .min()
        .unwrap_or(0);
    Figures {
        calls: calls.len(),
        bytes: calls
            .iter()
            .map(|call| call.arguments.as_ref().map_or(0, String::len))
            .sum(),
        verdicts,
        samples,
        timer,
        per_second,
        allocations,
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Figures {
    /// The sample that `share` of all do not exceed.
    fn percentile(&self, share: f64) -> u64 {
        let last = self.samples.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        self.samples.get(at).copied().unwrap_or(0)
    }

    fn json(&self) -> serde_json::Value {
        let [allow, ask, deny] = self.verdicts;
        serde_json::json!({
            "calls": self.calls,
            "argument_bytes": self.bytes,
            "verdicts": { "allow": allow, "ask": ask, "deny": deny },
            "samples": self.samples.len(),
            "p50_ns": self.percentile(0.5),
            "p99_ns": self.percentile(0.99),
            "p999_ns": self.percentile(0.999),
            "timer_ns": self.timer,
            "decisions_per_second": self.per_second.round(),
            "allocations_per_decision": self.allocations.map(|counted| counted.each(self.calls)),
            "allocating_calls": self.allocations.map(|counted| counted.calls),
        })
    }

    fn print(&self, recorded: bool, out: &mut impl Write) -> std::io::Result<()> {
        let origin = if recorded {
            "from the trace"
        } else {
            "made from the plan's own names and literals"
        };
        let [allow, ask, deny] = self.verdicts;
        writeln!(
            out,
            "calls        {}, {origin}; {} bytes of arguments on average",
            self.calls,
            self.bytes / self.calls.max(1)
        )?;
        writeln!(out, "verdicts     {allow} allow, {ask} ask, {deny} deny")?;
        writeln!(
            out,
            "latency      p50 {}, p99 {}, p99.9 {} ({} decisions timed one by one; the clock itself takes {})",
            Time(self.percentile(0.5)),
            Time(self.percentile(0.99)),
            Time(self.percentile(0.999)),
            self.samples.len(),
            Time(self.timer),
        )?;
        writeln!(
            out,
            "throughput   {:.0} decisions a second on one thread",
            self.per_second
        )?;
        match self.allocations {
            Some(counted) => writeln!(
                out,
                "allocations  {:.2} a decision ({} of {} calls allocate)",
                counted.each(self.calls),
                counted.calls,
                self.calls
            ),
            None => writeln!(
                out,
                "allocations  not counted: this bouncer was built without `--features count-allocations`"
            ),
        }
    }
}

/// A time in a unit that suits it.
struct Time(u64);

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ns = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..1_000_000 => write!(f, "{:.2} µs", ns / 1e3),
            _ => write!(f, "{:.2} ms", ns / 1e6),
        }
    }
}
