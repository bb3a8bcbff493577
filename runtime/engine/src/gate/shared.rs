//! Attempts that conversations, also of other processes, count together.
//!
//! Where they are kept is not known here: see [`Tally`]. A conversation goes on counting
//! by itself as well, and the larger of both numbers holds.

use super::budget::Attempts;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// What attempts of tools are counted in together.
pub trait Tally: fmt::Debug + Send {
    /// Counts an attempt of the tool under that key if `counts`, in one step that nobody
    /// else can come into, and tells what is counted then. `None`: that cannot be done, and
    /// the call must not go out.
    ///
    /// Attempts up to the number `after` are known already. Of the others, the times of
    /// the latest `most` matter, now and later.
    fn attempt(&mut self, tool: &str, counts: bool, after: u64, most: usize) -> Option<Tallied>;

    /// Whether somebody else counts just now, so that counting would have to wait. Who can
    /// wait otherwise than by standing still asks this first.
    fn is_busy(&mut self) -> bool {
        false
    }
}

/// What is counted of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallied {
    /// Attempts, ever.
    pub total: u64,
    /// How long ago the latest of those that were not known were made, oldest first, in
    /// milliseconds. Fewer than asked for count as made just now.
    pub ages_ms: Vec<u64>,
}

/// A tally that several conversations have.
pub type SharedTally = Arc<Mutex<dyn Tally>>;

/// What a conversation knows of a tally.
#[derive(Debug)]
pub(super) struct Together {
    tally: SharedTally,
    /// By keys of tools.
    known: HashMap<String, Attempts>,
}

impl Together {
    pub fn new(tally: SharedTally) -> Self {
        Self {
            tally,
            known: HashMap::new(),
        }
    }

    /// Counts an attempt if `counts`, and gives all that were counted; `None`: the tally
    /// cannot be used.
    pub fn attempt(
        &mut self,
        tool: &str,
        counts: bool,
        history: usize,
        now_ms: u64,
    ) -> Option<&Attempts> {
        if !self.known.contains_key(tool) {
            self.known.insert(tool.to_owned(), Attempts::new(history));
        }
        let known = self.known.get_mut(tool)?;
        if known.history() != history {
            // Another plan judges: what it needs is read anew.
            *known = Attempts::new(history);
        }
        let mut tally = self.tally.lock().ok()?;
        let mut news = tally.attempt(tool, counts, known.total(), history)?;
        if news.total < known.total() {
            // Somebody began it anew.
            *known = Attempts::new(history);
            news = tally.attempt(tool, false, 0, history)?;
        }
        known.note_all(&news, now_ms);
        Some(known)
    }
}

impl Attempts {
    /// Notes what others counted, and this conversation among them.
    fn note_all(&mut self, news: &Tallied, now_ms: u64) {
        let new = news.total.saturating_sub(self.total());
        let timed = usize::try_from(new).map_or(self.history(), |new| new.min(self.history()));
        let given = news.ages_ms.len().min(timed);
        self.note_untimed(new.saturating_sub(timed as u64));
        for _ in given..timed {
            self.note(now_ms);
        }
        let skipped = news.ages_ms.len() - given;
        for age in news.ages_ms.iter().skip(skipped) {
            self.note(now_ms.saturating_sub(*age));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts in memory; the clock stands at `now`.
    #[derive(Debug, Default)]
    struct InMemory {
        now: u64,
        times: Vec<u64>,
        kept: usize,
        broken: bool,
    }

    impl Tally for InMemory {
        fn attempt(&mut self, _: &str, counts: bool, after: u64, most: usize) -> Option<Tallied> {
            if self.broken {
                return None;
            }
            if counts {
                self.times.push(self.now);
            }
            let from = (after as usize).max(self.times.len().saturating_sub(most.min(self.kept)));
            let times = self.times.get(from..).unwrap_or_default();
            Some(Tallied {
                total: self.times.len() as u64,
                ages_ms: times.iter().map(|time| self.now - time).collect(),
            })
        }
    }

    fn together(tally: &Arc<Mutex<InMemory>>) -> Together {
        let tally: SharedTally = Arc::<Mutex<InMemory>>::clone(tally);
        Together::new(tally)
    }

    #[test]
    fn two_conversations_count_as_one() {
        let tally = Arc::new(Mutex::new(InMemory {
            kept: 100,
            ..InMemory::default()
        }));
        let (mut one, mut two) = (together(&tally), together(&tally));
        // Their clocks have nothing in common.
        for (step, (counter, base)) in [(&mut one, 1_000_000), (&mut two, 5_000_000)]
            .into_iter()
            .enumerate()
        {
            for at in 0..3 {
                let now = step as u64 * 30 + at * 10;
                tally.lock().unwrap().now = now;
                let all = counter.attempt("t", true, 4, base + now).unwrap();
                assert_eq!(all.total(), step as u64 * 3 + at + 1);
                // Only the history is remembered.
                let within = (now / 10 + 1).min(4);
                assert_eq!(all.within(60, base + now), within);
                assert_eq!(all.within(1, base + now), 1);
            }
        }
        // Looking counts nothing.
        let all = one.attempt("t", false, 4, 1_000_050).unwrap();
        assert_eq!((all.total(), all.within(25, 1_000_050)), (6, 3));
    }

    #[test]
    fn what_is_not_kept_counts_as_now_and_what_fails_is_no_number() {
        let tally = Arc::new(Mutex::new(InMemory {
            times: vec![0; 10],
            now: 1_000_000,
            ..InMemory::default()
        }));
        let mut one = together(&tally);
        let all = one.attempt("t", true, 5, 1 << 40).unwrap();
        assert_eq!((all.total(), all.within(1, 1 << 40)), (11, 5));
        tally.lock().unwrap().broken = true;
        assert!(one.attempt("t", true, 5, 1 << 40).is_none());
        // Begun anew: the count is what it is now.
        *tally.lock().unwrap() = InMemory::default();
        assert_eq!(one.attempt("t", true, 5, 1 << 40).unwrap().total(), 1);
    }
}
