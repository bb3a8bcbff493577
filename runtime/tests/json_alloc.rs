//! Reading JSON with a warm scratch allocates nothing. Its own binary, because it
//! replaces the allocator, and one test, because the count is for the process.

#![allow(unsafe_code, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bouncer_runtime::json::{Event, Limits, Reader, Scratch, members, validate_object};
use bouncer_runtime::number;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system allocator unchanged; counting touches a
// thread-local without a destructor, which itself never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as for `dealloc`, and the caller keeps `realloc`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many allocations `work` makes on this thread.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

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
