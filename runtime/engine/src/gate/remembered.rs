//! What was told of a few names lately.
//!
//! What an argument's name means takes long to tell, and the same names come with every call.
//! A name that falls on another's place takes it, so that names which somebody chose cost no
//! more than being told of anew. Never allocates after it was made.

/// Places; a power of two.
const PLACES: usize = 64;
/// Longer names are told of anew each time.
const LONGEST: usize = 22;

/// A name, and what was told of it.
#[derive(Clone, Copy, Debug)]
struct Told<T> {
    name: [u8; LONGEST],
    len: u8,
    what: T,
}

/// What was told of names, each at the place that its form gives it.
#[derive(Debug)]
pub(super) struct Remembered<T>(Vec<Option<Told<T>>>);

impl<T: Copy> Default for Remembered<T> {
    fn default() -> Self {
        Self(vec![None; PLACES])
    }
}

impl<T: Copy> Remembered<T> {
    /// What `tell` says of a name, or said of it lately.
    pub fn of(&mut self, name: &str, tell: impl FnOnce(&str) -> T) -> T {
        let bytes = name.as_bytes();
        let Some(place) = self.0.get_mut(place(bytes)) else {
            return tell(name);
        };
        if let Some(told) = place
            && told.name.get(..told.len as usize) == Some(bytes)
        {
            return told.what;
        }
        let what = tell(name);
        let mut kept = [0; LONGEST];
        if let Some(room) = kept.get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
            *place = Some(Told {
                name: kept,
                len: bytes.len() as u8,
                what,
            });
        }
        what
    }
}

/// Where a name goes.
fn place(name: &[u8]) -> usize {
    let at = |index: usize| name.get(index).copied().unwrap_or_default() as usize;
    let (first, middle) = (at(0), at(name.len() / 2));
    let last = at(name.len().saturating_sub(1));
    (name.len() ^ first.wrapping_mul(5) ^ middle.wrapping_mul(11) ^ last.wrapping_mul(23)) % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_told_of_as_it_is() {
        let mut told = Remembered::default();
        let names: Vec<String> = (0..1000)
            .map(|n| format!("name_{n}_{}", "x".repeat(n % 40)))
            .collect();
        for _ in 0..2 {
            for name in &names {
                assert_eq!(told.of(name, str::len), name.len());
            }
        }
        assert_eq!(told.of("", str::len), 0);
    }

    #[test]
    fn a_name_is_told_of_once() {
        let mut told = Remembered::default();
        assert!(told.of("to", |_| true));
        assert!(told.of("to", |_| false));
    }
}
