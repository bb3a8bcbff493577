//! What shows in a log that was damaged, and what a writer does about it.

use super::*;
use std::fs::{self, OpenOptions};
use std::io::Write;

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("audit.jsonl")
    }

    fn file(&self, end: &str) -> PathBuf {
        self.directory.path().join(format!("audit.jsonl{end}"))
    }

    fn open(&self) -> Audit {
        Audit::open(&self.log(), "c", "p").unwrap()
    }

    fn rotated(&self, bytes: u64) -> Audit {
        let options = Options {
            rotate: Some(bytes),
            sync: Sync::Line,
        };
        Audit::open_with(&self.log(), "c", "p", &options).unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log()).unwrap()).into_owned()
    }

    fn verify(&self) -> Report {
        verify(&self.log(), &[]).unwrap()
    }

    /// Where the first fault is, and what it says.
    fn fault(&self) -> (u64, String) {
        let report = self.verify();
        let first = report.faults.first().unwrap();
        (first.line, first.what.clone())
    }

    fn append(&self, bytes: &[u8]) {
        let mut file = OpenOptions::new().append(true).open(self.log()).unwrap();
        file.write_all(bytes).unwrap();
    }
}

fn add(audit: &mut Audit, lines: u64) {
    for call in 1..=lines {
        let entry = Entry {
            call,
            ..tests::entry(Arguments::Json(br#"{"n":1}"#))
        };
        audit.write(&entry).unwrap();
    }
}

#[test]
fn a_log_that_nobody_touched_is_clean() {
    let place = Place::new();
    add(&mut place.open(), 3);
    add(&mut place.open(), 2);
    let report = place.verify();
    assert_eq!(report.faults, []);
    assert_eq!(report.notes, []);
    assert_eq!((report.lines, report.first), (5, Some(1)));
    let anchor = Link::parse(&report.anchor.unwrap()).unwrap();
    assert_eq!(anchor.seq, 5);
    add(&mut place.open(), 1);
    assert_eq!(verify(&place.log(), &[anchor]).unwrap().faults, []);
}

#[test]
fn no_byte_changes_unnoticed() {
    let place = Place::new();
    add(&mut place.open(), 3);
    let whole = fs::read(place.log()).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(place.log(), &changed).unwrap();
        let line = 1 + whole[..at].iter().filter(|&&b| b == b'\n').count() as u64;
        let (found, what) = place.fault();
        // A changed hash of the line before can only be told apart from a changed line
        // before by what comes after.
        assert!(found == line || found + 1 == line, "byte {at}: {what}");
    }
    // Every length but the whole.
    for length in 0..whole.len() {
        fs::write(place.log(), &whole[..length]).unwrap();
        assert!(place.verify().fault_count > 0, "{length}");
    }
    fs::write(place.log(), &whole).unwrap();
    assert_eq!(place.verify().fault_count, 0);
}

#[test]
fn lines_that_are_dropped_swapped_or_doubled_are_named() {
    let place = Place::new();
    add(&mut place.open(), 6);
    let text = place.text();
    let lines: Vec<&str> = text.lines().collect();
    let put = |order: &[usize]| {
        let text: String = order.iter().map(|&i| format!("{}\n", lines[i])).collect();
        fs::write(place.log(), text).unwrap();
        place.fault()
    };
    assert_eq!(
        put(&[0, 1, 4, 5]),
        (3, "lines 3 to 4 are missing before it".into())
    );
    assert_eq!(
        put(&[1, 2, 3, 4, 5]),
        (1, "line 1 is missing before it".into())
    );
    assert_eq!(
        put(&[0, 1, 2, 3]),
        (4, "lines 5 to 6 are missing behind it".into())
    );
    assert_eq!(put(&[0, 2, 1, 3, 4, 5]).0, 2);
    assert_eq!(put(&[0, 1, 1, 2, 3, 4, 5]).0, 3);
    assert_eq!(put(&[]).1, "lines 1 to 6 are missing behind it");
    fs::remove_file(place.log()).unwrap();
    assert_eq!(place.fault().1, "lines 1 to 6 are missing behind it");
}

#[test]
fn half_a_line_is_kept_and_said() {
    let place = Place::new();
    let mut other = place.open();
    add(&mut other, 2);
    // A writer that died in the middle.
    place.append(br#"{"seq":3,"prev":"00"#);
    let (line, what) = place.fault();
    assert_eq!(line, 3);
    assert!(what.contains("in part"), "{what}");
    add(&mut other, 1);
    add(&mut place.open(), 1);
    let report = place.verify();
    assert_eq!(report.faults, []);
    assert_eq!(report.notes.len(), 1);
    assert_eq!(report.lines, 5);
    let text = place.text();
    assert!(text.contains("{\"seq\":3,\"prev\":\"00\n"), "{text}");
    let event: Value = serde_json::from_str(text.lines().nth(3).unwrap()).unwrap();
    assert_eq!(event["event"], "recovered");
    assert_eq!(event["unchained"]["bytes"], 20);
    // Who removes what the crash left is found out.
    fs::write(place.log(), text.replace("{\"seq\":3,\"prev\":\"00\n", "")).unwrap();
    assert!(place.fault().1.contains("which are gone"));
}

#[test]
fn lines_written_by_somebody_else_are_said() {
    let place = Place::new();
    add(&mut place.open(), 1);
    place.append(b"hello\n{\"verdict\":\"allow\"}\n");
    assert_eq!(place.fault().0, 2);
    add(&mut place.open(), 1);
    assert_eq!(place.verify().faults, []);
    assert_eq!(place.verify().notes.len(), 1);
}

#[test]
fn a_log_without_a_chain_is_continued() {
    let place = Place::new();
    fs::write(place.log(), "{\"verdict\":\"allow\"}\n").unwrap();
    add(&mut place.open(), 2);
    let report = place.verify();
    assert_eq!(report.faults, []);
    assert_eq!((report.lines, report.notes.len()), (3, 1));
    fs::write(place.log(), place.text().replace("allow", "denys")).unwrap();
    assert_eq!(place.fault().0, 1);
}

#[test]
fn a_line_that_was_written_and_not_noted_counts() {
    let place = Place::new();
    add(&mut place.open(), 1);
    let head = fs::read(place.file(".head")).unwrap();
    add(&mut place.open(), 1);
    // As if the process had died between the line and the head.
    fs::write(place.file(".head"), head).unwrap();
    assert_eq!(place.verify().faults, []);
    add(&mut place.open(), 1);
    let report = place.verify();
    assert_eq!(
        (report.faults, report.notes, report.lines),
        (vec![], vec![], 3)
    );
}

#[test]
fn a_lost_head_is_made_anew() {
    let place = Place::new();
    let mut audit = place.open();
    add(&mut audit, 2);
    fs::remove_file(place.file(".head")).unwrap();
    assert!(place.verify().notes[0].what.contains("no head"));
    add(&mut audit, 1);
    add(&mut place.open(), 1);
    fs::write(place.file(".head"), "garbage").unwrap();
    add(&mut audit, 1);
    let report = place.verify();
    assert_eq!(report.faults, []);
    assert_eq!((report.lines, report.notes.len()), (7, 2));
}

#[test]
fn a_log_that_was_taken_away_goes_on_and_says_so() {
    let place = Place::new();
    let mut audit = place.open();
    add(&mut audit, 3);
    // As log rotation of others does it.
    fs::rename(place.log(), place.file("-yesterday")).unwrap();
    add(&mut audit, 1);
    let lines: Vec<Value> = tests::read(&place.log());
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["event"], &lines[0]["seq"]),
        (&"lost".into(), &4.into())
    );
    assert_eq!(
        place.fault(),
        (1, "lines 1 to 3 are missing before it".into())
    );
    // The other file still fits in front.
    fs::rename(place.file("-yesterday"), place.file(".1")).unwrap();
    assert_eq!(place.verify().faults, []);
    // Cut off in place.
    let text = place.text();
    fs::write(place.log(), format!("{}\n", text.lines().next().unwrap())).unwrap();
    add(&mut audit, 1);
    assert_eq!(place.fault(), (2, "line 5 is missing before it".into()));
}

#[test]
fn full_files_are_followed_by_others() {
    let place = Place::new();
    let mut audit = place.rotated(2000);
    add(&mut audit, 20);
    add(&mut place.rotated(2000), 1);
    let all = files(&place.log()).unwrap();
    assert!(all.len() > 3, "{all:?}");
    for file in &all {
        assert!(fs::metadata(file).unwrap().len() <= 2000);
    }
    let report = place.verify();
    assert_eq!(
        (report.faults, report.notes, report.lines),
        (vec![], vec![], 21)
    );
    // The oldest may be archived, if somebody noted where the rest begins.
    let text = fs::read_to_string(&all[0]).unwrap();
    let (last, _) = Link::of(text.lines().last().unwrap().as_bytes()).unwrap();
    fs::remove_file(&all[0]).unwrap();
    assert!(place.fault().1.contains("missing before it"));
    assert_eq!(verify(&place.log(), &[last]).unwrap().faults, []);
    let other = Link {
        hash: [1; 32],
        ..last
    };
    assert_eq!(verify(&place.log(), &[other]).unwrap().fault_count, 1);
    // One in the middle may not.
    fs::remove_file(&all[1]).unwrap();
    fs::rename(&all[2], place.file(".9")).unwrap();
    let report = verify(&place.log(), &[last]).unwrap();
    assert!(report.faults.iter().any(|f| f.what.contains("missing")));
    // Numbers are not used twice.
    add(&mut audit, 10);
    assert!(place.file(".10").exists());
}

#[test]
fn an_end_between_two_files_loses_nothing() {
    let place = Place::new();
    let mut audit = place.open();
    add(&mut audit, 3);
    drop(audit);
    // The process died after giving the full file its name.
    fs::rename(place.log(), place.file(".1")).unwrap();
    add(&mut place.open(), 1);
    let report = place.verify();
    assert_eq!(
        (report.faults, report.notes, report.lines),
        (vec![], vec![], 4)
    );
}

#[test]
fn many_writers_share_one_chain() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let options = Options {
                    rotate: Some(20_000),
                    sync: Sync::Second,
                };
                let mut audit = Audit::open_with(&place.log(), "c", "p", &options).unwrap();
                add(&mut audit, 200);
            });
        }
        scope.spawn(|| {
            for _ in 0..20 {
                if let Ok(report) = verify(&place.log(), &[]) {
                    assert_eq!(report.faults, []);
                }
            }
        });
    });
    let report = place.verify();
    assert_eq!(
        (report.faults, report.notes, report.lines),
        (vec![], vec![], 800)
    );
    assert!(report.files.len() > 5);
}

#[test]
fn a_lock_that_is_not_given_back_blocks_and_does_not_hang() {
    let place = Place::new();
    let mut audit = place.open();
    add(&mut audit, 1);
    let head = fs::File::open(place.file(".head")).unwrap();
    head.lock().unwrap();
    for _ in 0..3 {
        let error = audit.write(&tests::entry(Arguments::Absent)).unwrap_err();
        assert!(error.to_string().contains("locked"), "{error}");
    }
    head.unlock().unwrap();
    add(&mut audit, 1);
    assert_eq!(place.verify().lines, 2);
}

#[test]
fn events_are_lines_of_the_chain() {
    let place = Place::new();
    let mut audit = place.open();
    audit.set_plan("q");
    let more = [("from", Value::from("p")), ("a\"b", Value::from(1))];
    audit
        .event("reloaded", "the policy changed", &more)
        .unwrap();
    let line = &tests::read(&place.log())[0];
    assert_eq!(line["event"], "reloaded");
    assert_eq!((&line["plan"], &line["from"]), (&"q".into(), &"p".into()));
    assert_eq!(line["a\"b"], 1);
    assert_eq!(place.verify().fault_count, 0);
}
