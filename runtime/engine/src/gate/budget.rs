//! Attempts of one tool in one conversation: budgets, rates, `calls(this)`.

use bouncer_plan::format::RateLimit;

/// Attempts of one tool.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    total: u64,
    /// The latest attempts' times, a ring; its length never changes.
    times: Box<[u64]>,
    /// Where the next time goes.
    next: usize,
    /// How many of `times` are set.
    filled: usize,
}

impl Attempts {
    /// Remembers the times of up to `history` attempts.
    pub fn new(history: usize) -> Self {
        Self {
            times: vec![0; history].into_boxed_slice(),
            ..Self::default()
        }
    }

    /// How many attempts' times are remembered at most.
    pub const fn history(&self) -> usize {
        self.times.len()
    }

    /// Notes attempts of which only the number matters.
    pub const fn note_untimed(&mut self, attempts: u64) {
        self.total = self.total.saturating_add(attempts);
    }

    /// Notes an attempt. A clock that runs backwards counts as standing still.
    pub fn note(&mut self, now_ms: u64) {
        self.total = self.total.saturating_add(1);
        let now = now_ms.max(self.newest(0).unwrap_or(0));
        if let Some(slot) = self.times.get_mut(self.next) {
            *slot = now;
            self.next = (self.next + 1) % self.times.len();
            self.filled = (self.filled + 1).min(self.times.len());
        }
    }

    /// All attempts so far.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The time of the `age`-th latest attempt (0: the latest).
    fn newest(&self, age: usize) -> Option<u64> {
        if age >= self.filled {
            return None;
        }
        let length = self.times.len();
        self.times
            .get((self.next + length - 1 - age) % length)
            .copied()
    }

    /// Remembers these times, oldest first, and room for `history`.
    fn set_times(&mut self, history: usize, times: &[u64]) {
        self.times = vec![0; history].into_boxed_slice();
        self.filled = times.len().min(history);
        for (slot, time) in self.times.iter_mut().zip(times) {
            *slot = *time;
        }
        self.next = self.filled.checked_rem(history).unwrap_or(0);
    }

    /// Remembers the times of up to `history` attempts from now on. Times that were not
    /// kept count as now: too recent, never forgotten.
    pub fn resize(&mut self, history: usize, now_ms: u64) {
        let known = self.filled;
        let wanted = usize::try_from(self.total()).map_or(history, |total| total.min(history));
        let fill = |age: usize| match self.newest(age) {
            Some(time) if wanted <= known => time,
            _ => now_ms.max(self.newest(0).unwrap_or(0)),
        };
        // Oldest first.
        let times: Vec<u64> = (0..wanted).rev().map(fill).collect();
        self.set_times(history, &times);
    }

    /// Attempts within the last `window_ms` milliseconds (0: ever), as far as they are
    /// remembered. Logarithmic in the history.
    pub fn within(&self, window_ms: u64, now_ms: u64) -> u64 {
        if window_ms == 0 {
            return self.total;
        }
        let now = now_ms.max(self.newest(0).unwrap_or(0));
        let (mut low, mut high) = (0, self.filled);
        while low < high {
            let middle = low.midpoint(high);
            let recent = self
                .newest(middle)
                .is_some_and(|time| now - time < window_ms);
            if recent {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low as u64
    }

    /// The first rate that the attempts noted so far exceed.
    pub fn exceeded<'p>(&self, rates: &'p [RateLimit], now_ms: u64) -> Option<&'p RateLimit> {
        rates
            .iter()
            .find(|rate| self.within(rate.window_ms.get(), now_ms) > u64::from(rate.count.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_count_what_is_recent() {
        let mut attempts = Attempts::new(4);
        for time in [0, 10, 20, 1000] {
            attempts.note(time);
        }
        assert_eq!(attempts.total(), 4);
        assert_eq!(attempts.within(0, 1000), 4);
        assert_eq!(
            attempts.within(1000, 1000),
            3,
            "an attempt exactly a window ago is out"
        );
        assert_eq!(attempts.within(1, 1000), 1);
        assert_eq!(attempts.within(1, 5000), 0);
        attempts.note(1001);
        assert_eq!(
            attempts.within(10_000, 1001),
            4,
            "only the history is remembered"
        );
    }

    #[test]
    fn a_clock_that_runs_backwards_frees_nothing() {
        let mut attempts = Attempts::new(3);
        attempts.note(1000);
        attempts.note(5);
        assert_eq!(attempts.within(100, 5), 2);
    }

    #[test]
    fn no_history_is_no_panic() {
        let mut attempts = Attempts::new(0);
        attempts.note(1);
        assert_eq!(attempts.within(5, 1), 0);
        assert_eq!(attempts.total(), 1);
    }

    #[test]
    fn attempts_are_never_forgotten_by_a_longer_memory() {
        let mut attempts = Attempts::new(2);
        for time in [0, 10, 20, 5000] {
            attempts.note(time);
        }
        assert_eq!(attempts.within(1000, 5000), 1);
        attempts.resize(3, 6000);
        assert_eq!(attempts.total(), 4);
        assert_eq!(attempts.within(1000, 6000), 3);
        assert_eq!(attempts.within(1000, 7001), 0);
        // A shorter one keeps what is newest.
        let mut attempts = Attempts::new(4);
        for time in [0, 10, 20, 5000] {
            attempts.note(time);
        }
        attempts.resize(2, 6000);
        assert_eq!(attempts.within(1000, 5001), 1);
        assert_eq!(attempts.within(10_000, 5001), 2);
        attempts.note(5002);
        assert_eq!(attempts.within(1000, 5002), 2);
    }
}
