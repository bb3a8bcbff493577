//! The gateway as a process, and what it weighs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A gateway that listens at a port of its own, in a directory of its own.
pub struct Gateway {
    child: Child,
    pub address: SocketAddr,
    pub directory: PathBuf,
}

impl Gateway {
    /// Starts it with the policy in `directory`; the log is `audit.jsonl` there.
    pub fn start(bouncer: &Path, directory: &Path, arguments: &[&str]) -> Self {
        let stderr = directory.join("stderr");
        let child = Command::new(bouncer)
            .args([
                "gateway",
                "--listen",
                "127.0.0.1:0",
                "--policy",
                "policy.yaml",
            ])
            .args(["--audit", "audit.jsonl", "--approvals", "approvals.db"])
            .args(arguments)
            .current_dir(directory)
            .env("HOME", directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let address = loop {
            let said = std::fs::read_to_string(&stderr).unwrap();
            let found = said.split("listening at http://").nth(1);
            if let Some((address, _)) = found.and_then(|rest| rest.split_once("/mcp")) {
                break address.parse().unwrap();
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{said}");
            std::thread::sleep(Duration::from_millis(10));
        };
        Self {
            child,
            address,
            directory: directory.to_owned(),
        }
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(self.directory.join("stderr")).unwrap()
    }

    fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap()
    }

    /// Resident memory, in bytes.
    pub fn resident(&self) -> u64 {
        let status = self.proc("status");
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib * 1024
    }

    /// Processor time so far.
    pub fn cpu(&self) -> Duration {
        let stat = self.proc("stat");
        let rest = stat.rsplit(')').next().unwrap();
        let ticks =
            |at: usize| -> u64 { rest.split_whitespace().nth(at).unwrap().parse().unwrap() };
        // Ticks are hundredths of a second everywhere.
        Duration::from_millis((ticks(11) + ticks(12)) * 10)
    }

    pub fn open_files(&self) -> usize {
        let directory = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(directory).unwrap().count()
    }

    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &id]).status();
        assert!(status.unwrap().success());
    }

    /// Tells it to stop, and waits until it has.
    pub fn stop(mut self) -> i32 {
        self.signal("-TERM");
        let status = self.child.wait().unwrap();
        status.code().unwrap_or(-1)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes the policy for these `servers`, in the strict or in the loose form, and the
/// tokens `t0`, `t1`, … of so many principals.
pub fn write_policy(directory: &Path, servers: &str, strict: bool) {
    let maybe = if strict { "deny" } else { "allow" };
    let policy = format!(
        "version: 1\npacks: []\nheuristics: false\nrules:\n  - {{tool: '*__forbidden', action: deny, reason: never}}\n  - {{tool: '*__maybe', action: {maybe}, reason: not now}}\n  - {{tool: '*', action: allow}}\nservers:\n{servers}"
    );
    // As the documents say: under another name first.
    std::fs::write(directory.join("next.yaml"), policy).unwrap();
    std::fs::rename(directory.join("next.yaml"), directory.join("policy.yaml")).unwrap();
}

/// See [`write_policy`].
pub fn write_tokens(directory: &Path, principals: usize) {
    let mut text = String::new();
    for number in 0..principals {
        std::fs::write(directory.join("token"), format!("t{number}")).unwrap();
        let output = Command::new("sha256sum")
            .arg(directory.join("token"))
            .output()
            .unwrap();
        let hash = String::from_utf8(output.stdout).unwrap();
        text += &format!("p{number} {}\n", hash.get(..64).unwrap());
    }
    std::fs::write(directory.join("tokens"), text).unwrap();
}
