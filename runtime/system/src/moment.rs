//! A point in time that processes can compare, whatever becomes of the wall clock.
//!
//! Within one run of the machine, how long ago something was is told by a clock that nobody
//! can set and that also counts while the machine sleeps. Across two runs, and on systems
//! where there is no such clock to be read, only the wall clock knows.

use std::time::{SystemTime, UNIX_EPOCH};

/// The clock since the start of the machine is read in steps of this many milliseconds.
const STEP_MS: i64 = 10;

/// A point in time, told by each clock that there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Which run of the machine; empty if that cannot be told.
    pub boot: String,
    /// Milliseconds since its start.
    pub boot_ms: i64,
    /// Milliseconds of Unix time.
    pub wall_ms: i64,
}

impl Moment {
    /// This one.
    #[must_use]
    pub fn now() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let wall_ms = wall.map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
        let (boot, boot_ms) = since_start().unwrap_or_default();
        Self {
            boot,
            boot_ms,
            wall_ms,
        }
    }

    /// Whether both are of one run of the machine, for certain.
    #[must_use]
    pub fn shares_run(&self, other: &Self) -> bool {
        !self.boot.is_empty() && self.boot == other.boot
    }

    /// How many milliseconds ago `then` was, or a little less. What seems to come later
    /// counts as now.
    #[must_use]
    pub fn since(&self, then: &Self) -> u64 {
        let age = if self.shares_run(then) {
            self.boot_ms.saturating_sub(then.boot_ms)
        } else {
            self.wall_ms.saturating_sub(then.wall_ms)
        };
        u64::try_from(age.saturating_sub(STEP_MS)).unwrap_or(0)
    }
}

/// Which run of the machine, and how many milliseconds ago it began.
#[cfg(target_os = "linux")]
fn since_start() -> Option<(String, i64)> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, hundredths) = uptime.split_whitespace().next()?.split_once('.')?;
    let seconds: i64 = seconds.parse().ok()?;
    let hundredths: i64 = hundredths.get(..2)?.parse().ok()?;
    let ms = seconds
        .checked_mul(1000)?
        .checked_add(hundredths.checked_mul(10)?)?;
    Some((boot.trim().to_owned(), ms))
}

#[cfg(not(target_os = "linux"))]
const fn since_start() -> Option<(String, i64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(boot: &str, boot_ms: i64, wall_ms: i64) -> Moment {
        Moment {
            boot: boot.to_owned(),
            boot_ms,
            wall_ms,
        }
    }

    #[test]
    fn only_across_runs_the_wall_clock_is_asked() {
        let then = at("a", 50_000, 1_000_000);
        for (now, age) in [
            // A year forward, a year back: the other clock says a second.
            (at("a", 51_000, 31_000_000_000), 990),
            (at("a", 51_000, -31_000_000_000), 990),
            (at("b", 10, 1_020_000), 19_990),
            (at("b", 90_000, 500_000), 0),
            (at("", 0, 1_020_000), 19_990),
        ] {
            assert_eq!(now.since(&then), age, "{now:?}");
        }
    }

    #[test]
    fn this_moment_is_not_before_the_one_before() {
        let (one, two) = (Moment::now(), Moment::now());
        assert_eq!(one.boot, two.boot);
        assert!(one.boot_ms <= two.boot_ms && two.since(&one) < 60_000);
        #[cfg(target_os = "linux")]
        assert!(one.shares_run(&two));
    }
}
