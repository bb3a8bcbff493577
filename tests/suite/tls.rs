//! TLS in both directions: the gateway towards agents, and `run` towards the gateway.

use super::gateway::{Agent, Place};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An authority, and a certificate for 127.0.0.1 that it has signed.
fn certificates(place: &Place, authority: &str, name: &str) {
    let run = |arguments: &[&str]| {
        let output = Command::new("openssl")
            .args(arguments)
            .current_dir(place.path("."))
            .output()
            .expect("the tests of TLS need the command `openssl`");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {errors}");
    };
    let (key, request, certificate) = (
        format!("{name}.key"),
        format!("{name}.csr"),
        format!("{name}.pem"),
    );
    let (ca_key, ca) = (format!("{authority}.key"), format!("{authority}.pem"));
    let curve = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ];
    let new = |more: &[&str]| run(&[&["req"], &curve[..], more].concat());
    new(&[
        "-x509",
        "-subj",
        "/CN=an authority",
        "-days",
        "2",
        "-keyout",
        &ca_key,
        "-out",
        &ca,
    ]);
    new(&["-subj", "/CN=a gateway", "-keyout", &key, "-out", &request]);
    std::fs::write(place.path("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    run(&[
        "x509",
        "-req",
        "-in",
        &request,
        "-CA",
        &ca,
        "-CAkey",
        &ca_key,
        "-days",
        "2",
        "-set_serial",
        "1",
        "-extfile",
        "names",
        "-out",
        &certificate,
    ]);
}

struct Listens {
    child: Child,
    address: String,
    place: Place,
}

impl Listens {
    fn start(place: Place) -> Self {
        let mut child = place
            .command(&[
                "gateway",
                "--policy",
                "bouncer.yaml",
                "--listen",
                "127.0.0.1:0",
            ])
            .args(["--tls-cert", "a.pem", "--tls-key", "a.key"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(place.path("stderr")).unwrap())
            .spawn()
            .unwrap();
        let began = Instant::now();
        loop {
            let said = std::fs::read_to_string(place.path("stderr")).unwrap();
            let found = said.split("listening at https://").nth(1);
            if let Some((address, _)) = found.and_then(|rest| rest.split_once("/mcp")) {
                let address = address.to_owned();
                return Self {
                    child,
                    address,
                    place,
                };
            }
            assert!(child.try_wait().unwrap().is_none(), "{said}");
            assert!(began.elapsed() < Duration::from_secs(60), "{said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// An agent in front of `bouncer run`, which speaks TLS to the gateway and trusts that
    /// authority.
    fn through(&self, authority: &str) -> Command {
        let config =
            json!({"mcpServers": {"far": {"url": format!("https://{}/mcp", self.address)}}});
        std::fs::write(self.place.path("mcp.json"), config.to_string()).unwrap();
        let mut command = self.place.command(&["run", "--policy", "open.yaml"]);
        command
            .args(["--config", "mcp.json", "--upstream-name", "far"])
            .env("SSL_CERT_FILE", self.place.path(authority))
            .env_remove("SSL_CERT_DIR");
        command
    }
}

impl Drop for Listens {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn place() -> Place {
    let program = json!(env!("CARGO_BIN_EXE_bouncer"));
    let open = "version: 1\npacks: []\nheuristics: false\naudit: {path: audit.jsonl}\napproval: {path: approvals.db}\n";
    let policy = format!("{open}servers:\n  mail: {{command: {program}, args: [demo-server]}}\n");
    let place = Place::new("bouncer.yaml", &policy);
    std::fs::write(place.path("open.yaml"), open).unwrap();
    place
}

#[test]
fn both_ends_speak_tls_and_nothing_else_goes_through() {
    let place = place();
    certificates(&place, "ca", "a");
    let gateway = Listens::start(place);
    let mut agent = Agent::start(gateway.through("ca.pem"), &gateway.place.path("run-1"));
    agent.until_tools(|tools| tools.len() == 4);
    let (text, failed) = agent.call("mail__list_contacts", json!({}));
    assert!(!failed, "{text}");
    assert_eq!(agent.leave(), 0);
    // Who is not trusted is not spoken to.
    certificates(&gateway.place, "other", "b");
    let mut command = gateway.through("other.pem");
    let output = command.stdin(Stdio::piped()).output().unwrap();
    assert!(output.stdout.is_empty(), "{output:?}");
    // Plain HTTP gets no HTTP back.
    let mut plain = TcpStream::connect(&gateway.address).unwrap();
    plain
        .write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    // Who says nothing is hung up on.
    let mut silent = TcpStream::connect(&gateway.address).unwrap();
    let began = Instant::now();
    silent
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    let waited = began.elapsed();
    assert!(
        waited > Duration::from_secs(5) && waited < Duration::from_secs(25),
        "{waited:?}"
    );
}

#[test]
fn a_new_certificate_is_shown_after_a_hang_up() {
    let place = place();
    certificates(&place, "ca", "a");
    let gateway = Listens::start(place);
    let hang_up = || {
        let id = gateway.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-HUP", &id])
                .status()
                .unwrap()
                .success()
        );
    };
    let said = |what: &str| {
        let began = Instant::now();
        loop {
            let said = std::fs::read_to_string(gateway.place.path("stderr")).unwrap();
            if said.contains(what) {
                return said;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // Half a file changes nothing.
    std::fs::write(gateway.place.path("a.key"), "-----BEGIN").unwrap();
    hang_up();
    let errors = said("the certificate is the one before");
    assert!(!errors.contains("-----BEGIN"), "{errors}");
    let mut agent = Agent::start(gateway.through("ca.pem"), &gateway.place.path("run-1"));
    agent.until_tools(|tools| tools.len() == 4);
    assert_eq!(agent.leave(), 0);
    // Another authority, and another certificate.
    certificates(&gateway.place, "other", "a");
    hang_up();
    said("new connections are shown the certificate");
    let mut agent = Agent::start(gateway.through("other.pem"), &gateway.place.path("run-2"));
    agent.until_tools(|tools| tools.len() == 4);
    assert_eq!(agent.leave(), 0);
}

#[test]
fn what_is_no_certificate_is_refused_at_the_start() {
    let place = place();
    certificates(&place, "ca", "a");
    certificates(&place, "other", "b");
    std::fs::write(place.path("none"), "nothing").unwrap();
    for (certificate, key, why) in [
        ("none", "a.key", "holds no certificate"),
        ("missing", "a.key", "`missing`: No such file"),
        ("a.pem", "none", "is no private key in PEM"),
        ("a.pem", "b.key", "cannot be used together"),
    ] {
        let listen = [
            "gateway",
            "--policy",
            "bouncer.yaml",
            "--listen",
            "127.0.0.1:0",
        ];
        let tls = ["--tls-cert", certificate, "--tls-key", key];
        let (code, _, errors) = place.run(&[&listen[..], &tls].concat());
        assert!(
            code == 1 && errors.contains(why),
            "{certificate} {key}: {errors}"
        );
    }
}
