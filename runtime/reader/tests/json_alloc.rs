//! Reading JSON with a warm scratch allocates nothing. Its own binary, because it
//! replaces the allocator, and one test, because the count is for the process.

#![allow(unsafe_code, clippy::unwrap_used)]

mod counting;

use bouncer_reader::json::{Event, Limits, Reader, Scratch, members, validate_object};
use bouncer_reader::number;
use counting::allocations;

fn object(keys: usize) -> Vec<u8> {
    let members: Vec<String> = (0..keys)
        .map(|n| format!("\"k\\u0065y{n}\":[\"v\\n\",{{\"x\":1.5e3}}]"))
        .collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

fn read_all(bytes: &[u8], limits: &Limits, scratch: &mut Scratch) {
    let mut reader = Reader::new(bytes, limits, scratch).unwrap();
    while let Some(event) = reader.next().unwrap() {
        match event {
            Event::Key(text) => assert!(!text.eq_str("other")),
            Event::String(text) => assert!(text.hash(1) != 0 && text.eq_str("v\n")),
            Event::Number(text) => assert!(number::equal(text, "1500").unwrap()),
            _ => {}
        }
    }
}

#[test]
fn reading_does_not_allocate() {
    let boxed = || drop(std::hint::black_box(Box::new(1u8)));
    assert_eq!(allocations(boxed), 1, "the counter counts");
    let limits = Limits::default();
    let mut scratch = Scratch::new(&limits);
    // Fresh scratch, typical size.
    let small = object(100);
    let deep = [b"{\"a\":".repeat(127), b"{}".to_vec(), b"}".repeat(127)].concat();
    let count = allocations(|| {
        read_all(&small, &limits, &mut scratch);
        validate_object(&small, &limits, &mut scratch).unwrap();
        members(&small, ["key1", "absent"], &limits, &mut scratch).unwrap();
        validate_object(&deep, &limits, &mut scratch).unwrap();
    });
    assert_eq!(count, 0);
    // A large text grows the scratch once; the next one finds the room.
    let large = object(5000);
    assert!(allocations(|| read_all(&large, &limits, &mut scratch)) > 0);
    assert_eq!(allocations(|| read_all(&large, &limits, &mut scratch)), 0);
    // Errors are values too.
    let duplicate = br#"{"a":1,"\u0061":2}"#;
    let count = allocations(|| {
        assert!(validate_object(duplicate, &limits, &mut scratch).is_err());
    });
    assert_eq!(count, 0);
}
