use super::*;
use bouncer_plan::Stage;
use serde_json::Value;
use std::sync::LazyLock;

/// A denial.
static RECORD: LazyLock<VerdictRecord> = LazyLock::new(|| VerdictRecord {
    at: Some("p.yaml:1:2".to_owned()),
    ..VerdictRecord::denial(
        Stage::SinkGate,
        "sink_gate.unproven",
        "because `a\nb`".to_owned(),
    )
});

pub(super) fn entry(arguments: Arguments<'_>) -> Entry<'_> {
    Entry {
        call: 3,
        server: Some("mail"),
        tool: Some("send\n\"x\""),
        judged_as: None,
        arguments,
        record: &RECORD,
        approval: None,
        outcome: Outcome::Blocked,
        latency: Duration::from_micros(12),
    }
}

pub(super) fn read(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn one_json_line_per_entry_in_a_private_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new").join("audit.jsonl");
    let mut audit = Audit::open(&path, "c1", "p1").unwrap();
    audit
        .write(&entry(Arguments::Json(
            br#"{"to":"a", "n":1.0,"token":"t"}"#,
        )))
        .unwrap();
    audit
        .write(&entry(Arguments::Garbage(
            b"{\"a\":\xff\n\"password\":\"p\"",
        )))
        .unwrap();
    audit.write(&entry(Arguments::Absent)).unwrap();
    let lines = read(&path);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["tool"], "send\n\"x\"");
    assert_eq!(lines[0]["arguments"]["token"], "[redacted]");
    assert_eq!(lines[0]["contract"], "sink_gate");
    assert_eq!(lines[0]["outcome"], "blocked");
    assert_eq!(lines[0]["latency_us"], 12);
    assert_eq!(lines[0]["conversation"], "c1");
    assert!(lines[0]["time"].as_str().unwrap().ends_with('Z'));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(r#""arguments":{"to":"a", "n":1.0,"token":"[redacted]"}"#));
    assert!(
        !lines[1]["arguments_text"]
            .as_str()
            .unwrap()
            .contains("\"p\"")
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        Audit::open(&path, "c2", "p1").unwrap();
        assert_eq!(mode(&path), 0o600);
    }
}

#[test]
fn overlong_arguments_are_cut() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let mut audit = Audit::open(&path, "c", "p").unwrap();
    let long = format!("{{\"a\":\"{}\"}}", "é".repeat(MAX_ARGUMENTS));
    audit
        .write(&entry(Arguments::Json(long.as_bytes())))
        .unwrap();
    let lines = read(&path);
    assert_eq!(lines[0]["arguments_bytes"], long.len());
    assert!(lines[0]["arguments_text"].as_str().unwrap().len() < KEPT + 8);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let mut audit = Audit::open(Path::new("/dev/full"), "c", "p").unwrap();
    assert!(audit.write(&entry(Arguments::Absent)).is_err());
    assert!(Audit::open(Path::new("/dev/null/x/audit.jsonl"), "c", "p").is_err());
}

#[test]
fn writers_do_not_mix_their_lines() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    std::thread::scope(|scope| {
        for writer in 0..4_u64 {
            let path = &path;
            scope.spawn(move || {
                let mut audit = Audit::open(path, "c", "p").unwrap();
                let long = format!("{{\"a\":\"{}\"}}", "x".repeat(20_000));
                for _ in 0..50 {
                    let mut entry = entry(Arguments::Json(long.as_bytes()));
                    entry.call = writer;
                    audit.write(&entry).unwrap();
                }
            });
        }
    });
    assert_eq!(read(&path).len(), 200);
}

#[test]
fn what_was_forgotten_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let mut audit = Audit::open(&path, "c", "p").unwrap();
    audit.write(&entry(Arguments::Absent)).unwrap();
    let record = VerdictRecord {
        forgotten: 17,
        ..RECORD.clone()
    };
    let forgotten = Entry {
        record: &record,
        ..entry(Arguments::Absent)
    };
    audit.write(&forgotten).unwrap();
    let lines = read(&path);
    assert_eq!(lines[0].get("forgotten"), None);
    assert_eq!(lines[1]["forgotten"], 17);
}
