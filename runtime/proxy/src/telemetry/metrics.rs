//! Counters of a running proxy or gateway, as Prometheus reads them, and the small
//! server that hands them out.
//!
//! On loopback only: names of tools and servers are nobody else's business. Runs on a
//! thread of its own, so that a slow reader holds up no call.

use bouncer_audit::Entry;
use bouncer_system::log::note;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Series of verdicts; agents name tools, and must not make these grow for ever.
const MAX_SERIES: usize = 2000;
/// What further ones count as.
const OTHER: &str = "(other)";
/// Upper bounds of the histogram, in microseconds.
const BOUNDS: [u64; 12] = [
    10, 25, 50, 100, 250, 500, 1000, 2500, 10_000, 100_000, 1_000_000, 60_000_000,
];
/// The longest request that is read.
const MAX_REQUEST: usize = 8 * 1024;
/// How long one reader may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Verdict, outcome, contract, server, tool.
type Series = (&'static str, &'static str, &'static str, String, String);

/// See the module. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    state: Arc<Mutex<State>>,
    /// Where spans of calls go as well.
    #[cfg(feature = "otel")]
    pub traces: Option<crate::telemetry::traces::Traces>,
}

#[derive(Debug, Default)]
struct State {
    verdicts: BTreeMap<Series, u64>,
    buckets: [u64; BOUNDS.len()],
    latency_us: u128,
    latencies: u64,
    audit_errors: u64,
    reloads: u64,
    failed_reloads: u64,
    /// By server: whether it is up, and how often it was started.
    upstreams: BTreeMap<String, (bool, u64)>,
    conversations: u64,
    plan: String,
}

impl Metrics {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a line of the audit log, and whether it could be written.
    pub(crate) fn line(&self, entry: &Entry<'_>, written: bool) {
        let mut state = self.state();
        if !written {
            state.audit_errors += 1;
        }
        let mut series = (
            entry.record.verdict.name(),
            entry.outcome.name(),
            entry.record.stage.name(),
            entry.server.unwrap_or_default().to_owned(),
            entry.tool.unwrap_or_default().to_owned(),
        );
        if state.verdicts.len() >= MAX_SERIES && !state.verdicts.contains_key(&series) {
            series.3 = OTHER.to_owned();
            series.4 = OTHER.to_owned();
        }
        *state.verdicts.entry(series).or_default() += 1;
        let latency = entry.latency.as_micros();
        for (bucket, bound) in state.buckets.iter_mut().zip(BOUNDS) {
            if latency <= u128::from(bound) {
                *bucket += 1;
            }
        }
        state.latency_us += latency;
        state.latencies += 1;
    }

    /// The process is about to end: what was not handed over yet is, if that is soon.
    pub fn finish(&self) {
        #[cfg(feature = "otel")]
        if let Some(traces) = &self.traces {
            traces.finish();
        }
    }

    /// A line that is about no call could not be written.
    pub(crate) fn audit_error(&self) {
        self.state().audit_errors += 1;
    }

    /// Notes the plan in force.
    pub(crate) fn plan(&self, digest: &str) {
        digest.clone_into(&mut self.state().plan);
    }

    /// Counts a reload.
    pub(crate) fn reload(&self, took_effect: bool) {
        let mut state = self.state();
        if took_effect {
            state.reloads += 1;
        } else {
            state.failed_reloads += 1;
        }
    }

    /// A server was started; it is not up yet.
    pub(crate) fn upstream_starts(&self, server: &str) {
        let mut state = self.state();
        let (up, starts) = state.upstreams.entry(server.to_owned()).or_default();
        *up = false;
        *starts += 1;
    }

    /// A server is up, or not any more.
    pub(crate) fn upstream(&self, server: &str, is_up: bool) {
        self.state()
            .upstreams
            .entry(server.to_owned())
            .or_default()
            .0 = is_up;
    }

    /// A conversation began, or ended.
    pub(crate) fn conversation(&self, begins: bool) {
        let mut state = self.state();
        state.conversations = if begins {
            state.conversations.saturating_add(1)
        } else {
            state.conversations.saturating_sub(1)
        };
    }

    /// How often calls of a tool got a verdict: server, tool, verdict, count. A call that was
    /// asked about and then decided counts twice.
    #[must_use]
    pub fn by_tool(&self) -> Vec<(String, String, &'static str, u64)> {
        let mut counts: BTreeMap<(String, String, &'static str), u64> = BTreeMap::new();
        for ((verdict, _, _, server, tool), count) in &self.state().verdicts {
            let key = (server.clone(), tool.clone(), *verdict);
            *counts.entry(key).or_default() += count;
        }
        let flat = |((server, tool, verdict), count)| (server, tool, verdict, count);
        counts.into_iter().map(flat).collect()
    }

    /// All counters in Prometheus' text format.
    #[must_use]
    pub fn text(&self) -> String {
        let state = self.state();
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = state.write(&mut out);
        out
    }

    /// Hands the counters out at `http://ADDRESS/metrics`, for as long as the process
    /// runs. Gives the address, which says the port where 0 was asked for.
    ///
    /// # Errors
    /// If the address is not on loopback, or cannot be listened on.
    pub fn serve(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "metrics are only handed out on loopback, such as 127.0.0.1:9464",
            ));
        }
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let metrics = self.clone();
        std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                for stream in listener.incoming() {
                    match stream {
                        // A reader that leaves early has only itself to blame.
                        Ok(stream) => drop(metrics.answer(stream)),
                        Err(error) => {
                            note(format_args!("metrics cannot be handed out: {error}"));
                            std::thread::sleep(PATIENCE);
                        }
                    }
                }
            })?;
        Ok(address)
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut request = Vec::new();
        let mut chunk = [0; 1024];
        while !request.windows(4).any(|window| window == b"\r\n\r\n") {
            let read = stream.read(&mut chunk)?;
            request.extend_from_slice(chunk.get(..read).unwrap_or_default());
            if read == 0 || request.len() > MAX_REQUEST || Instant::now() > until {
                return Ok(());
            }
        }
        let (status, body) = match asks(&String::from_utf8_lossy(&request)) {
            Ok(()) => ("200 OK", self.text()),
            Err(status) => (status, format!("{status}\n")),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())
    }
}

/// Whether a request asks for the metrics, and not by way of a web page that made a
/// browser believe that its own name is this machine.
fn asks(request: &str) -> Result<(), &'static str> {
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next(), words.next());
    if method != Some("GET") {
        return Err("405 Method Not Allowed");
    }
    let header = |name: &str| {
        lines.clone().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let is_local = |host: &str| {
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            match port.bytes().all(|byte| byte.is_ascii_digit()) {
                true => name,
                false => host,
            }
        });
        matches!(name, "localhost" | "[::1]") || name.starts_with("127.")
    };
    if !header("host").is_some_and(is_local) || header("origin").is_some() {
        return Err("403 Forbidden");
    }
    match path.map(|path| path.split('?').next().unwrap_or_default()) {
        Some("/metrics") => Ok(()),
        _ => Err("404 Not Found"),
    }
}

impl State {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}")
        };
        head(
            out,
            "bouncer_info",
            "gauge",
            "What runs, and the plan in force.",
        )?;
        writeln!(
            out,
            "bouncer_info{{version={},plan={}}} 1",
            label(env!("CARGO_PKG_VERSION")),
            label(&self.plan)
        )?;
        let name = "bouncer_verdicts_total";
        head(out, name, "counter", "Lines of the audit log.")?;
        for ((verdict, outcome, contract, server, tool), count) in &self.verdicts {
            writeln!(
                out,
                "{name}{{verdict=\"{verdict}\",outcome=\"{outcome}\",contract=\"{contract}\",server={},tool={}}} {count}",
                label(server),
                label(tool)
            )?;
        }
        let name = "bouncer_decision_seconds";
        let help = "Time from a whole call being read to its line in the audit log.";
        head(out, name, "histogram", help)?;
        for (bound, count) in BOUNDS.iter().zip(self.buckets) {
            let bound = Duration::from_micros(*bound).as_secs_f64();
            writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {count}")?;
        }
        let count = self.latencies;
        let micros = u64::try_from(self.latency_us).unwrap_or(u64::MAX);
        let sum = Duration::from_micros(micros).as_secs_f64();
        writeln!(
            out,
            "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}"
        )?;
        let name = "bouncer_audit_errors_total";
        let help = "Lines that the audit log could not take; their calls were blocked.";
        head(out, name, "counter", help)?;
        writeln!(out, "{name} {}", self.audit_errors)?;
        let name = "bouncer_reloads_total";
        head(
            out,
            name,
            "counter",
            "Changed policies and locks that were read.",
        )?;
        writeln!(
            out,
            "{name}{{result=\"ok\"}} {}\n{name}{{result=\"failed\"}} {}",
            self.reloads, self.failed_reloads
        )?;
        let name = "bouncer_upstream_up";
        head(out, name, "gauge", "Whether a server is up.")?;
        for (server, (up, _)) in &self.upstreams {
            writeln!(out, "{name}{{server={}}} {}", label(server), u8::from(*up))?;
        }
        let name = "bouncer_upstream_starts_total";
        head(out, name, "counter", "How often a server was started.")?;
        for (server, (_, starts)) in &self.upstreams {
            writeln!(out, "{name}{{server={}}} {starts}", label(server))?;
        }
        let name = "bouncer_conversations";
        head(out, name, "gauge", "Conversations that are open.")?;
        writeln!(out, "{name} {}", self.conversations)
    }
}

/// A label's value, quoted. What cannot be seen is written as escapes.
fn label(text: &str) -> String {
    let text = bouncer_system::log::visible(text);
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bouncer_audit::{Arguments, Outcome};
    use bouncer_engine::gate::VerdictRecord;
    use bouncer_plan::Stage;
    use std::sync::LazyLock;

    static RECORD: LazyLock<VerdictRecord> =
        LazyLock::new(|| VerdictRecord::denial(Stage::Rule, "rule", String::new()));

    fn entry(tool: &str) -> Entry<'_> {
        Entry {
            call: 1,
            server: Some("s\"x\n"),
            tool: Some(tool),
            judged_as: None,
            arguments: Arguments::Absent,
            record: &RECORD,
            approval: None,
            outcome: Outcome::Blocked,
            latency: Duration::from_micros(30),
        }
    }

    #[test]
    fn counts_and_says_so() {
        let metrics = Metrics::default();
        metrics.line(&entry("a"), true);
        metrics.line(&entry("a"), false);
        metrics.upstream_starts("s");
        metrics.upstream("s", true);
        let text = metrics.text();
        for line in [
            r#"bouncer_verdicts_total{verdict="deny",outcome="blocked",contract="rule",server="s\"x\\u{a}",tool="a"} 2"#,
            r#"bouncer_decision_seconds_bucket{le="0.000025"} 0"#,
            r#"bouncer_decision_seconds_bucket{le="0.00005"} 2"#,
            r#"bouncer_decision_seconds_bucket{le="+Inf"} 2"#,
            "bouncer_audit_errors_total 1",
            r#"bouncer_upstream_up{server="s"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }

    #[test]
    fn names_that_agents_make_up_are_bounded() {
        let metrics = Metrics::default();
        for n in 0..MAX_SERIES + 500 {
            metrics.line(&entry(&n.to_string()), true);
        }
        assert_eq!(metrics.state().verdicts.len(), MAX_SERIES + 1);
        assert!(metrics.text().contains("tool=\"(other)\"} 500"));
    }

    #[test]
    fn hands_out_to_this_machine_only() {
        assert!(
            Metrics::default()
                .serve("0.0.0.0:0".parse().unwrap())
                .is_err()
        );
        let address = Metrics::default()
            .serve("127.0.0.1:0".parse().unwrap())
            .unwrap();
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer.split(' ').nth(1).unwrap().to_owned()
        };
        let host = format!("Host: {address}\r\n");
        assert_eq!(ask(&format!("GET /metrics HTTP/1.1\r\n{host}\r\n")), "200");
        assert_eq!(ask(&format!("GET / HTTP/1.1\r\n{host}\r\n")), "404");
        assert_eq!(ask(&format!("POST /metrics HTTP/1.1\r\n{host}\r\n")), "405");
        assert_eq!(ask("GET /metrics HTTP/1.1\r\n\r\n"), "403");
        assert_eq!(
            ask("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
            "403"
        );
        assert_eq!(
            ask(&format!(
                "GET /metrics HTTP/1.1\r\n{host}Origin: null\r\n\r\n"
            )),
            "403"
        );
    }
}
