//! The proxy as a process: this test binary starts itself again as one.

use crate::session::context::Office;
use crate::session::mediator::Mediator;
use crate::session::run::run_between;
use crate::session::tests::rig::{Script, call, quick};
use crate::upstream::inspect::inspect;
use crate::{Endpoint, ServerCommand};
use bouncer_audit::Audit;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// What tells the binary to be a proxy, in front of a shell with this script.
const SCRIPT: &str = "BOUNCER_TEST_SERVER_SCRIPT";

fn shell(script: &str) -> Endpoint {
    Endpoint::Command(ServerCommand {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        ..ServerCommand::default()
    })
}

/// Not a test by itself: the proxy that the others start.
#[test]
fn proxy_process() {
    let Ok(script) = std::env::var(SCRIPT) else {
        return;
    };
    let audit = Audit::open(Path::new("/dev/null"), "c", "p").unwrap();
    let judge = Script::knowing(&["allow"]);
    let mediator = Mediator::new(judge, Office::new(audit, None), None, quick());
    let code = run_between(
        &mediator,
        &shell(&script),
        true,
        None::<std::future::Ready<()>>,
    )
    .unwrap();
    std::process::exit(i32::from(code));
}

struct Proxy {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Proxy {
    fn start(script: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "session::tests::processes::proxy_process",
                "--nocapture",
            ])
            .env(SCRIPT, script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line of the protocol; what the test harness prints is skipped.
    fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if line.starts_with('{') {
                return Some(line.trim_end().to_owned());
            }
        }
    }

    /// The exit code and what stood on standard error.
    fn end(mut self) -> (i32, String) {
        drop(self.stdin.take());
        let mut errors = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code().unwrap(), errors)
    }
}

/// Answers every request that has a number for an id.
const ECHO: &str = r#"while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),.*/\1/p')
    [ -n "$id" ] && echo "{\"id\":$id,\"result\":{}}"
done"#;

#[test]
fn messages_pass_between_processes() {
    let mut proxy = Proxy::start(&format!("echo started >&2; {ECHO}"));
    proxy.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(proxy.line().unwrap(), r#"{"id":1,"result":{}}"#);
    proxy.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(proxy.line().unwrap(), r#"{"id":2,"result":{}}"#);
    let (code, errors) = proxy.end();
    assert_eq!(code, 0);
    assert!(errors.contains("started"), "{errors}");
}

#[test]
fn the_server_s_exit_code_is_ours() {
    let mut proxy = Proxy::start("read -r line; exit 7");
    proxy.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert!(proxy.line().unwrap().contains("has ended"));
    assert_eq!(proxy.line(), None);
    assert_eq!(proxy.end().0, 7);
    let mut proxy = Proxy::start("kill -9 $$");
    assert_eq!(proxy.line(), None);
    assert_eq!(proxy.end().0, 137);
}

#[test]
fn a_server_that_will_not_end_is_ended_with_its_helpers() {
    let start = Instant::now();
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let script = format!(
        "trap '' TERM; sleep 600 & echo $$ $! > {}; while :; do sleep 1; done",
        pids.display()
    );
    let proxy = Proxy::start(&script);
    let written = || {
        std::fs::read_to_string(&pids)
            .ok()
            .filter(|text| text.ends_with('\n'))
    };
    while written().is_none() {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(proxy.end().0, 0);
    for pid in written().unwrap().split_whitespace() {
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        while rustix::process::test_kill_process(pid).is_ok() && !is_zombie(pid) {
            assert!(start.elapsed() < Duration::from_secs(20), "{pid:?} lives");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Killed helpers may wait for whoever adopted them.
fn is_zombie(pid: rustix::process::Pid) -> bool {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    std::fs::read_to_string(path).is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn a_signal_ends_both() {
    let mut proxy = Proxy::start(ECHO);
    proxy.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    proxy.line().unwrap();
    let pid = rustix::process::Pid::from_child(&proxy.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(proxy.line(), None);
    // Its input is still open: the signal alone ended it.
    assert_eq!(proxy.child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_call_after_the_server_s_end_is_an_error() {
    let mut proxy = Proxy::start("exec 1>&-; sleep 0.05");
    proxy.send(&call("1", "allow", "{}"));
    while let Some(line) = proxy.line() {
        assert!(line.contains("\"id\":1"), "{line}");
    }
    proxy.child.wait().unwrap();
}

#[test]
fn tools_are_read_for_pinning() {
    let script = r#"echo garbage
    while read -r line; do
        id=$(printf '%s' "$line" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
        case "$line" in
        *initialize\"*) echo "{\"id\":\"$id\",\"result\":{}}" ;;
        *cursor*) echo "{\"id\":\"$id\",\"result\":{\"tools\":[{\"name\":\"b\"}]}}" ;;
        *tools/list*) echo '{"method":"notifications/message","params":{}}'
            echo "{\"id\":\"$id\",\"result\":{\"tools\":[{\"name\":\"a\"},{}],\"nextCursor\":\"x\"}}" ;;
        esac
    done"#;
    let tools = inspect(&shell(script), Duration::from_secs(20)).unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    for (script, part) in [
        ("exit 1", "ended before"),
        ("sleep 60", "within 0 s"),
        ("yes '{}' | head -c 100000; sleep 60", "within 0 s"),
    ] {
        let error = inspect(&shell(script), Duration::from_millis(200)).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let missing = Endpoint::Command(ServerCommand {
        program: "/nowhere/at/all".into(),
        ..ServerCommand::default()
    });
    assert!(inspect(&missing, Duration::from_secs(1)).is_err());
}
