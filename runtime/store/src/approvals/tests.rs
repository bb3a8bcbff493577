use super::*;
use bouncer_engine::gate::ReadBefore;
use bouncer_system::moment::Moment;
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(1_000_000_000_000) };
    static BOOT: Cell<i64> = const { Cell::new(0) };
}

fn now() -> i64 {
    NOW.get()
}

fn pass(time: i64) {
    NOW.set(NOW.get() + time);
}

/// By the clock that nobody can set; at 0 there is none.
fn moment() -> Moment {
    let boot_ms = BOOT.get();
    let boot = if boot_ms == 0 { "" } else { "a" };
    Moment {
        boot: boot.to_owned(),
        boot_ms,
        wall_ms: NOW.get(),
    }
}

struct Rig {
    directory: TempDir,
    store: Store,
}

impl Rig {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = open(&directory.path().join("a.db"));
        Self { directory, store }
    }

    fn again(&self) -> Store {
        open(&self.directory.path().join("a.db"))
    }
}

fn open(path: &Path) -> Store {
    Store::open_with_clock(path, Lifetimes::default(), now, moment).unwrap()
}

fn request(arguments: &str) -> Request<'_> {
    Request {
        plan: "p1",
        conversation: "c1",
        server: Some("s"),
        tool: "t",
        arguments: Some(arguments.as_bytes()),
        shown: arguments,
        subject: Subject::Call,
        reason: "because",
        at: Some("a.yaml:1:2"),
        grounds: None,
        around: &NOTHING,
    }
}

static NOTHING: Around = Around {
    client: None,
    read: ReadBefore {
        untrusted: None,
        private: None,
    },
    redacted: false,
};

fn approve(store: &Store, request: &Request<'_>) -> (String, Key) {
    let id = store.ask(request).unwrap();
    store.decide(&id, Choice::Approve).unwrap();
    (id, request.key().unwrap())
}

#[test]
fn an_approval_is_used_once() {
    let rig = Rig::new();
    let request = request(r#"{"a":1}"#);
    let key = request.key().unwrap();
    let id = rig.store.ask(&request).unwrap();
    assert_eq!(rig.store.approved(&key).unwrap(), None);
    assert_eq!(rig.store.ask(&request).unwrap(), id, "the same one waits");
    let other = rig.again();
    let record = other.decide(&id, Choice::Approve).unwrap();
    assert_eq!(record.status, Status::Approved);
    assert_eq!(rig.store.approved(&key).unwrap(), Some(id.clone()));
    assert!(rig.store.take(&id, &key).unwrap());
    assert!(!other.take(&id, &key).unwrap());
    assert_eq!(other.approved(&key).unwrap(), None);
    assert_eq!(rig.store.get(&id).unwrap().unwrap().status, Status::Used);
    let next = rig.store.ask(&request).unwrap();
    assert_ne!(next, id, "a used approval is asked for again");
}

#[test]
fn what_differs_is_another_request() {
    let base = request(r#"{"a":1}"#);
    let key = |request: Request<'_>| request.key().unwrap();
    let destination = |param, destination| Subject::Destination { param, destination };
    let others = [
        Request { plan: "p2", ..base },
        Request {
            server: None,
            ..base
        },
        Request {
            server: Some(""),
            ..base
        },
        Request {
            server: Some("st"),
            tool: "",
            ..base
        },
        Request { tool: "T", ..base },
        Request {
            arguments: Some(b"{}"),
            ..base
        },
        Request {
            arguments: Some(br#"{"a":1,"b":null}"#),
            ..base
        },
        Request {
            subject: destination("to", "x"),
            ..base
        },
        Request {
            subject: destination("tox", ""),
            ..base
        },
        Request {
            subject: destination("to", "x"),
            arguments: Some(b"{}"),
            ..base
        },
        Request {
            subject: destination("to", "x"),
            conversation: "c2",
            ..base
        },
    ];
    let mut keys = vec![key(base)];
    for other in others {
        assert!(!keys.contains(&key(other)), "{other:?}");
        keys.push(key(other));
    }
    // A call's approval outlives the client; a destination's does not, and holds for
    // any arguments.
    assert_eq!(
        key(base),
        key(Request {
            conversation: "c2",
            ..base
        })
    );
    assert_eq!(
        key(Request {
            arguments: None,
            ..base
        }),
        key(request(" { } "))
    );
    assert!(matches!(request("{").key(), Err(StoreError::Arguments)));
}

#[test]
fn time_runs_out_and_never_back() {
    let rig = Rig::new();
    let request = request("{}");
    let (id, key) = approve(&rig.store, &request);
    pass(15 * 60 * 1000 - 1);
    assert!(rig.store.approved(&key).unwrap().is_some());
    pass(1);
    assert_eq!(rig.store.approved(&key).unwrap(), None);
    assert!(!rig.store.take(&id, &key).unwrap());
    assert_eq!(rig.store.get(&id).unwrap().unwrap().status, Status::Expired);

    let waiting = rig.store.ask(&request).unwrap();
    assert_ne!(waiting, id);
    pass(24 * 3600 * 1000);
    let late = rig.store.decide(&waiting, Choice::Approve).unwrap_err();
    assert_eq!(
        late.to_string(),
        format!("request `{waiting}` is expired already")
    );

    let (id, key) = approve(&rig.store, &request);
    pass(-3600 * 1000);
    assert_eq!(
        rig.store.approved(&key).unwrap(),
        None,
        "the clock went back"
    );
    assert!(!rig.store.take(&id, &key).unwrap());
    assert_ne!(rig.store.ask(&request).unwrap(), id);
    pass(3600 * 1000);
    assert_eq!(
        rig.store.get(&id).unwrap().unwrap().status,
        Status::Expired,
        "and forth"
    );
}

#[test]
fn a_decision_stands() {
    let rig = Rig::new();
    let id = rig.store.ask(&request("{}")).unwrap();
    rig.store.decide(&id, Choice::Deny).unwrap();
    for choice in [Choice::Approve, Choice::Deny] {
        let error = rig.store.decide(&id, choice).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("request `{id}` is denied already")
        );
    }
    let again = rig.store.ask(&request("{}")).unwrap_err();
    assert_eq!(
        again.to_string(),
        format!("a human has denied it as request `{id}`")
    );
    let other = Request {
        conversation: "c2",
        ..request("{}")
    };
    assert_ne!(rig.store.ask(&other).unwrap(), id);
    let error = rig.store.decide("req_\n", Choice::Approve).unwrap_err();
    assert_eq!(
        error.to_string(),
        r"there is no request with the id `req_\n`"
    );
}

#[test]
fn what_something_else_wrote_approves_nothing() {
    let rig = Rig::new();
    let (id, key) = approve(&rig.store, &request("{}"));
    let path = rig.directory.path().join("a.db");
    let raw = rusqlite::Connection::open(&path).unwrap();
    let pending = rig.store.ask(&request(r#"{"forged":1}"#)).unwrap();
    let forged = request(r#"{"forged":1}"#).key().unwrap();
    // With the seal of another approval, and times to match.
    raw.execute(
        "UPDATE request SET status = 'approved',
             (seal, decided_ms, expires_ms) =
                 (SELECT seal, decided_ms, expires_ms FROM request WHERE id = ?1)
         WHERE id = ?2",
        [&id, &pending],
    )
    .unwrap();
    assert_eq!(rig.store.approved(&forged).unwrap(), None);
    // Prolonged.
    raw.execute(
        "UPDATE request SET expires_ms = expires_ms + 1 WHERE id = ?1",
        [&id],
    )
    .unwrap();
    assert_eq!(rig.store.approved(&key).unwrap(), None);
    raw.execute(
        "UPDATE request SET expires_ms = expires_ms - 1 WHERE id = ?1",
        [&id],
    )
    .unwrap();
    assert_eq!(rig.store.approved(&key).unwrap(), Some(id));
}

#[test]
fn a_damaged_or_foreign_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in [("json.db", &b"{not json"[..]), ("long.db", &[7; 8192])] {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = Store::open(&path, Lifetimes::default()).unwrap_err();
        assert!(matches!(error, StoreError::Database(_)), "{error}");
    }
    let path = directory.path().join("later.db");
    drop(Store::open(&path, Lifetimes::default()).unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 3).unwrap();
    let error = Store::open(&path, Lifetimes::default()).unwrap_err();
    assert!(matches!(error, StoreError::Version(3)), "{error}");
    let path = directory.path().join("keyless.db");
    drop(Store::open(&path, Lifetimes::default()).unwrap());
    std::fs::write(path.with_extension("key"), "short").unwrap();
    let error = Store::open(&path, Lifetimes::default()).unwrap_err();
    assert!(matches!(error, StoreError::File(..)), "{error}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let rig = Rig::new();
    rig.store.ask(&request("{}")).unwrap();
    for entry in std::fs::read_dir(rig.directory.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?}", entry.path());
    }
}

#[test]
fn one_conversation_cannot_flood_it() {
    let rig = Rig::new();
    let ask = |number: usize, conversation| {
        let arguments = format!("[{number}]");
        rig.store.ask(&Request {
            conversation,
            ..request(&arguments)
        })
    };
    for number in 0..200 {
        ask(number, "c1").unwrap();
    }
    assert!(matches!(ask(200, "c1"), Err(StoreError::Full)));
    ask(201, "c2").unwrap();
    pass(25 * 3600 * 1000);
    ask(200, "c1").unwrap();
}

#[test]
fn the_look_up_uses_the_index() {
    let rig = Rig::new();
    let path = rig.directory.path().join("a.db");
    let raw = rusqlite::Connection::open(path).unwrap();
    let plan: String = raw
        .query_row(
            "EXPLAIN QUERY PLAN SELECT id, status, seal, decided_ms, expires_ms FROM request
             WHERE key = ?1 AND status IN ('pending', 'approved')",
            [[0u8; 32]],
            |row| row.get(3),
        )
        .unwrap();
    assert!(
        plan.contains("SEARCH") && plan.contains("INDEX open"),
        "{plan}"
    );
}

#[test]
fn lists_the_newest_first() {
    let rig = Rig::new();
    let first = rig.store.ask(&request("[1]")).unwrap();
    pass(1);
    let second = rig.store.ask(&request("[2]")).unwrap();
    rig.store.decide(&second, Choice::Deny).unwrap();
    let ids = |status| -> Vec<String> {
        let records = rig.store.list(status, 10).unwrap();
        records.into_iter().map(|record| record.id).collect()
    };
    assert_eq!(ids(None), [second.clone(), first.clone()]);
    assert_eq!(ids(Some(Status::Pending)), [first]);
    assert_eq!(ids(Some(Status::Denied)), [second]);
    assert!(ids(Some(Status::Used)).is_empty());
    assert_eq!(rig.store.list(None, 1).unwrap().len(), 1);
}

fn approve_for_conversation(store: &Store, request: &Request<'_>) -> (String, Key) {
    let id = store.ask(request).unwrap();
    let record = store.decide(&id, Choice::ApproveForConversation).unwrap();
    assert!(record.lasting && record.status == Status::Approved);
    (id, request.key().unwrap())
}

#[test]
fn an_approval_is_for_the_principal_it_was_asked_for() {
    let rig = Rig::new();
    let of = |conversation| Request {
        conversation,
        ..request(r#"{"x":1}"#)
    };
    let (id, alice) = approve(&rig.store, &of("alice/1"));
    let bob = of("bob/2").key().unwrap();
    assert_eq!(rig.store.approved(&bob).unwrap(), None);
    assert!(!rig.store.take(&id, &bob).unwrap());
    // Her agent may have come back in another conversation, and where nobody logs in an
    // agent that starts again has another one.
    assert_eq!(of("alice/3").key().unwrap(), alice);
    assert_eq!(of("c1").key().unwrap(), of("c2").key().unwrap());
    assert!(rig.store.take(&id, &alice).unwrap());
}

#[test]
fn an_approval_for_a_conversation_is_for_that_one_and_ends_with_it() {
    let rig = Rig::new();
    let request = request(r#"{"a":1}"#);
    let (id, key) = approve_for_conversation(&rig.store, &request);
    let other = rig.again();
    for uses in 1..=3 {
        assert_eq!(other.lasting(&key, "c1").unwrap(), Some(id.clone()));
        assert!(other.use_lasting(&id, &key, "c1").unwrap());
        let record = rig.store.get(&id).unwrap().unwrap();
        assert_eq!((record.status, record.uses), (Status::Approved, uses));
    }
    // It is none for once, so that nothing of it is left for another conversation.
    assert_eq!(rig.store.approved(&key).unwrap(), None);
    assert!(!rig.store.take(&id, &key).unwrap());
    assert_eq!(rig.store.lasting(&key, "c2").unwrap(), None);
    assert!(!rig.store.use_lasting(&id, &key, "c2").unwrap());
    // Nor for anything else in the same one.
    for differs in [
        Request {
            plan: "p2",
            ..request
        },
        Request {
            tool: "u",
            ..request
        },
        Request {
            server: None,
            ..request
        },
        Request {
            arguments: Some(b"{}"),
            ..request
        },
    ] {
        let key = differs.key().unwrap();
        assert_eq!(rig.store.lasting(&key, "c1").unwrap(), None, "{differs:?}");
        assert!(!rig.store.use_lasting(&id, &key, "c1").unwrap());
    }
    // Another conversation asks for itself, and has its own.
    let second = Request {
        conversation: "c2",
        ..request
    };
    let (second_id, _) = approve_for_conversation(&rig.store, &second);
    assert_ne!(second_id, id);
    assert_eq!(rig.store.ask(&request).unwrap(), id, "asked while it holds");
    rig.store.end("c1").unwrap();
    assert_eq!(rig.store.lasting(&key, "c1").unwrap(), None);
    assert!(!other.use_lasting(&id, &key, "c1").unwrap());
    assert_eq!(rig.store.get(&id).unwrap().unwrap().status, Status::Expired);
    assert_eq!(rig.store.lasting(&key, "c2").unwrap(), Some(second_id));
}

#[test]
fn an_approval_for_a_conversation_ends_after_a_day() {
    let rig = Rig::new();
    let (id, key) = approve_for_conversation(&rig.store, &request("{}"));
    pass(24 * 3600 * 1000 - 1);
    assert!(rig.store.use_lasting(&id, &key, "c1").unwrap());
    pass(1);
    assert_eq!(rig.store.lasting(&key, "c1").unwrap(), None);
    assert!(!rig.store.use_lasting(&id, &key, "c1").unwrap());
    assert_ne!(rig.store.ask(&request("{}")).unwrap(), id);
    let (id, key) = approve_for_conversation(&rig.store, &request("[1]"));
    pass(-3600 * 1000);
    assert_eq!(
        rig.store.lasting(&key, "c1").unwrap(),
        None,
        "the clock went back"
    );
    assert!(!rig.store.use_lasting(&id, &key, "c1").unwrap());
}

#[test]
fn what_was_approved_can_be_taken_back() {
    let rig = Rig::new();
    let (lasting, key) = approve_for_conversation(&rig.store, &request("{}"));
    assert!(rig.store.use_lasting(&lasting, &key, "c1").unwrap());
    let (once, once_key) = approve(&rig.store, &request("[1]"));
    for id in [&lasting, &once] {
        let record = rig.store.decide(id, Choice::Deny).unwrap();
        assert_eq!(record.status, Status::Denied);
        for choice in [
            Choice::Deny,
            Choice::Approve,
            Choice::ApproveForConversation,
        ] {
            assert!(rig.store.decide(id, choice).is_err());
        }
    }
    assert_eq!(rig.store.lasting(&key, "c1").unwrap(), None);
    assert!(!rig.store.use_lasting(&lasting, &key, "c1").unwrap());
    assert!(!rig.store.take(&once, &once_key).unwrap());
    assert!(matches!(
        rig.store.ask(&request("{}")),
        Err(StoreError::Denied(_))
    ));
    // What was used is used.
    let (used, key) = approve(&rig.store, &request("[2]"));
    assert!(rig.store.take(&used, &key).unwrap());
    assert!(rig.store.decide(&used, Choice::Deny).is_err());
}

#[test]
fn a_destination_is_approved_for_one_call_or_for_whatever_is_sent_there() {
    let rig = Rig::new();
    let to = Request {
        subject: Subject::Destination {
            param: "to",
            destination: "x",
        },
        ..request("{}")
    };
    let body = Request {
        arguments: Some(br#"{"body":"all"}"#),
        ..to
    };
    let (id, key) = approve(&rig.store, &to);
    assert_eq!(rig.store.approved(&key).unwrap(), Some(id.clone()));
    assert_eq!(rig.store.approved(&body.key().unwrap()).unwrap(), None);
    let wide = to.lasting_key().unwrap();
    assert_eq!(rig.store.lasting(&wide, "c1").unwrap(), None);
    assert!(rig.store.take(&id, &key).unwrap());

    let id = rig.store.ask(&to).unwrap();
    let choice = Choice::ApproveForConversation;
    assert!(rig.store.decide(&id, choice).unwrap().lasting);
    assert_eq!(body.lasting_key().unwrap(), wide);
    assert_eq!(rig.store.lasting(&wide, "c1").unwrap(), Some(id.clone()));
    assert!(rig.store.use_lasting(&id, &wide, "c1").unwrap());
    assert_eq!(rig.store.lasting(&wide, "c2").unwrap(), None);
    assert_eq!(rig.store.approved(&key).unwrap(), None);
    rig.store.decide(&id, Choice::Deny).unwrap();
    assert_eq!(rig.store.lasting(&wide, "c1").unwrap(), None);
}

#[test]
fn an_approval_for_once_cannot_be_made_to_last() {
    let rig = Rig::new();
    let (id, key) = approve(&rig.store, &request("{}"));
    let raw = rusqlite::Connection::open(rig.directory.path().join("a.db")).unwrap();
    let forge = "UPDATE request SET status = 'lasting', lasting = 1 WHERE id = ?1";
    raw.execute(forge, [&id]).unwrap();
    assert_eq!(rig.store.lasting(&key, "c1").unwrap(), None);
    // Nor one for a conversation to hold in another, or be used by it once.
    let (id, key) = approve_for_conversation(&rig.store, &request("[1]"));
    let forge = "UPDATE request SET conversation = 'c2' WHERE id = ?1";
    raw.execute(forge, [&id]).unwrap();
    assert_eq!(rig.store.lasting(&key, "c2").unwrap(), None);
    let forge = "UPDATE request SET status = 'approved' WHERE id = ?1";
    raw.execute(forge, [&id]).unwrap();
    assert_eq!(rig.store.approved(&key).unwrap(), None);
}

#[test]
fn what_is_asked_carries_where_it_comes_from() {
    use bouncer_engine::gate::{Grounds, Seen};
    let rig = Rig::new();
    let grounds = Grounds {
        param: "to".to_owned(),
        value: "eve@evil.example".to_owned(),
        seen: Some(Seen {
            label: "untrusted".to_owned(),
            server: Some("mail".to_owned()),
            tool: "read".to_owned(),
            call: 3,
            field: "body".to_owned(),
            time: 7,
            excerpt: "write to eve@evil.example".to_owned(),
        }),
    };
    let asked = Request {
        grounds: Some(&grounds),
        ..request("{}")
    };
    let id = rig.store.ask(&asked).unwrap();
    let record = rig.store.get(&id).unwrap().unwrap();
    assert_eq!(record.grounds.as_ref(), Some(&grounds));
    assert_eq!(asked.key().unwrap(), request("{}").key().unwrap());
}

#[test]
fn a_store_of_the_first_layout_goes_on() {
    let rig = Rig::new();
    let (id, key) = approve(&rig.store, &request("{}"));
    let path = rig.directory.path().join("a.db");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(
        "DROP INDEX lasting; ALTER TABLE request DROP COLUMN grounds;
         ALTER TABLE request DROP COLUMN lasting; ALTER TABLE request DROP COLUMN uses;
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(raw);
    let again = rig.again();
    assert!(again.take(&id, &key).unwrap());
    approve_for_conversation(&again, &request("[1]"));
}

/// What each of the processes below does: tries to take the approval until it is gone.
#[test]
fn race_worker() {
    let Ok(path) = std::env::var("BOUNCER_TEST_RACE") else {
        return;
    };
    let store = Store::open(Path::new(&path), Lifetimes::default()).unwrap();
    let mut taken = 0;
    for round in 0..20 {
        let arguments = format!("[{round}]");
        let key = request(&arguments).key().unwrap();
        for _ in 0..63 {
            if let Ok(Some(id)) = store.approved(&key)
                && store.take(&id, &key).unwrap_or(false)
            {
                taken += 1;
            }
        }
    }
    std::fs::write(format!("{path}.{}", std::process::id()), taken.to_string()).unwrap();
}

#[test]
fn of_eight_processes_exactly_one_takes_an_approval() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("race.db");
    let lasting = Lifetimes {
        approved: Duration::from_secs(3600),
        ..Lifetimes::default()
    };
    let store = Store::open(&path, lasting).unwrap();
    for round in 0..20 {
        approve(&store, &request(&format!("[{round}]")));
    }
    // 8 processes, 20 approvals, 63 tries each: 10,080 tries.
    let workers: Vec<_> = (0..8)
        .map(|_| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "approvals::tests::race_worker"])
                .env("BOUNCER_TEST_RACE", &path)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut taken = 0;
    for mut worker in workers {
        assert!(worker.wait().unwrap().success());
        let file = format!("{}.{}", path.display(), worker.id());
        taken += std::fs::read_to_string(file)
            .unwrap()
            .parse::<u32>()
            .unwrap();
    }
    assert_eq!(taken, 20);
    assert_eq!(store.list(Some(Status::Used), 100).unwrap().len(), 20);
}

#[test]
fn of_two_humans_exactly_one_decides() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("two.db");
    let store = Store::open(&path, Lifetimes::default()).unwrap();
    for round in 0..50 {
        let id = store.ask(&request(&format!("[{round}]"))).unwrap();
        let choices = [
            Choice::Approve,
            Choice::ApproveForConversation,
            Choice::Deny,
        ];
        let start = std::sync::Barrier::new(choices.len());
        let won: Vec<Choice> = std::thread::scope(|scope| {
            let humans = choices.map(|choice| {
                let (id, path, start) = (&id, &path, &start);
                scope.spawn(move || {
                    let store = Store::open(path, Lifetimes::default()).unwrap();
                    start.wait();
                    store.decide(id, choice).ok().map(|_| choice)
                })
            });
            humans
                .into_iter()
                .filter_map(|human| human.join().unwrap())
                .collect()
        });
        // A no takes back what was approved a moment before; nothing else comes second.
        let stands = store.get(&id).unwrap().unwrap();
        match won.as_slice() {
            [choice] => assert_eq!(*choice == Choice::Deny, stands.status == Status::Denied),
            [_, _] => assert_eq!(stands.status, Status::Denied, "{won:?}"),
            _ => panic!("{won:?}"),
        }
    }
}

#[test]
fn many_open_a_fresh_store_at_once() {
    for _ in 0..10 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        std::thread::scope(|scope| {
            let openers: Vec<_> = (0..8)
                .map(|number| {
                    let path = &path;
                    scope.spawn(move || {
                        let store = Store::open(path, Lifetimes::default()).unwrap();
                        store.ask(&request(&format!("[{number}]"))).unwrap();
                    })
                })
                .collect();
            for opener in openers {
                opener.join().unwrap();
            }
        });
        let store = Store::open(&path, Lifetimes::default()).unwrap();
        assert_eq!(store.list(None, 100).unwrap().len(), 8);
    }
}

#[test]
fn no_jump_of_the_wall_clock_revives_an_approval() {
    const MINUTE: i64 = 60_000;
    let rig = Rig::new();
    BOOT.set(1000);
    let request = request("{}");
    let (id, key) = approve(&rig.store, &request);
    let both = |by: i64| {
        pass(by);
        BOOT.set(BOOT.get() + by);
    };
    let holds = || rig.store.approved(&key).unwrap().is_some();
    both(10 * MINUTE);
    assert!(holds());
    // Twenty minutes later it is over, and nobody has looked. Then the wall clock goes back
    // to when it still held.
    both(10 * MINUTE);
    pass(-15 * MINUTE);
    assert!(!holds());
    assert!(!rig.store.take(&id, &key).unwrap());
    // Also not for who comes anew, or by a wall clock that stands still.
    assert!(!rig.again().take(&id, &key).unwrap());
    // One whose time the jump took gets no more of it than it had.
    BOOT.set(1000);
    let request = Request {
        tool: "other",
        ..request
    };
    let (id, key) = approve(&rig.store, &request);
    let holds = || rig.store.approved(&key).unwrap().is_some();
    pass(365 * 24 * 60 * MINUTE);
    assert!(!holds());
    pass(-365 * 24 * 60 * MINUTE);
    both(14 * MINUTE);
    assert!(holds());
    // Used is used, whatever the clocks say.
    assert!(rig.store.take(&id, &key).unwrap());
    for by in [-14 * MINUTE, 60 * MINUTE, -200 * MINUTE] {
        pass(by);
        assert!(!rig.store.take(&id, &key).unwrap() && !holds());
    }
}
