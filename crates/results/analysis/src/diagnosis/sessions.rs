//! What the sessions of clients did, as shares of their time.

use pgdyno_core::measure::Waits;

/// Shares of samples, each from 0 to 1.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    activities: Vec<Activity>,
    /// Mean number of sessions in a sample.
    pub present: f64,
    /// The same with those whose state the server hides.
    pub connected: f64,
}

/// Something that sessions did or waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Activity {
    /// The name in the server's words, such as `LWLock:WALWrite`.
    pub event: String,
    /// The type of the event in lower case, such as `lwlock`; `client` and `running` are types of their own.
    kind: String,
    /// The name of the event without its spelling, which differs between majors: `WALWriteLock` of 12, `WALWrite` of 13
    /// and `wal_write` are all `walwrite`.
    name: String,
    /// Share of all samples.
    pub share: f64,
}

impl Sessions {
    /// The shares of these samples; `None` if there are too few samples. Sessions whose state the server hides do not
    /// count.
    pub fn of<'a>(all: impl Iterator<Item = &'a Waits>) -> Option<Self> {
        let mut activities: Vec<Activity> = Vec::new();
        let all: Vec<_> = all.collect();
        let looks = all.iter().map(|waits| waits.looks).sum::<u64>().max(1) as f64;
        let seen: u64 = all.iter().map(|waits| waits.sessions).sum();
        for seen in all.iter().flat_map(|waits| &waits.events).filter(|seen| seen.event != "not seen") {
            let count = seen.count as f64;
            match activities.iter_mut().find(|known| known.event == seen.event) {
                Some(known) => known.share += count,
                None => activities.push(Activity::new(&seen.event, count)),
            }
        }
        let sum: f64 = activities.iter().map(|activity| activity.share).sum();
        if sum < FEWEST_SAMPLES {
            return None;
        }
        activities.iter_mut().for_each(|activity| activity.share /= sum);
        activities.sort_by(|a, b| b.share.total_cmp(&a.share));
        Some(Self { activities, present: sum / looks, connected: seen as f64 / looks })
    }

    /// Share of the time that a session's backend had nothing to do: its client had not sent anything yet.
    pub fn client(&self) -> f64 {
        self.of_kind("client")
    }

    /// Share of the time that backends waited for nothing: they ran, or waited for a CPU.
    pub fn running(&self) -> f64 {
        self.of_kind("running")
    }

    /// Share of the time that backends waited for something.
    pub fn waiting(&self) -> f64 {
        1.0 - self.client() - self.running()
    }

    fn of_kind(&self, kind: &str) -> f64 {
        self.activities.iter().filter(|activity| activity.kind == kind).map(|activity| activity.share).sum()
    }

    /// Waits of a type whose names begin in one of these ways, the most frequent first.
    pub fn waits(&self, kind: &str, beginnings: &[&str]) -> Waiting<'_> {
        let is_one = |activity: &&Activity| {
            activity.kind == kind && beginnings.iter().any(|begin| activity.name.starts_with(begin))
        };
        Waiting(self.activities.iter().filter(is_one).collect())
    }

    /// Waits of a type whose names begin in none of these ways, the most frequent first.
    pub fn other_waits(&self, kind: &str, beginnings: &[&str]) -> Waiting<'_> {
        let is_one = |activity: &&Activity| {
            activity.kind == kind && !beginnings.iter().any(|begin| activity.name.starts_with(begin))
        };
        Waiting(self.activities.iter().filter(is_one).collect())
    }
}

/// Samples below which shares say nothing: at 200 a share of 20 % is known to within 6 points.
const FEWEST_SAMPLES: f64 = 200.0;

/// Waits of one family.
#[derive(Debug, Clone)]
pub struct Waiting<'a>(Vec<&'a Activity>);

impl<'a> Waiting<'a> {
    /// Their share of all samples.
    pub fn share(&self) -> f64 {
        self.0.iter().map(|activity| activity.share).sum()
    }

    /// The waits of both families.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self.0.sort_by(|a, b| b.share.total_cmp(&a.share));
        self
    }

    /// The most frequent ones with their shares: "waited 42 % of their time for `IO:WALSync`, 20 % for …".
    pub fn words(&self) -> String {
        let one = |activity: &&'a Activity| format!("{:.0} % for {}", activity.share * 100.0, activity.event);
        let named: Vec<_> = self.0.iter().take(MOST_NAMED).map(one).collect();
        format!("sessions waited {}", named.join(", "))
    }
}

/// Most waits that a clause names.
const MOST_NAMED: usize = 3;

impl Activity {
    fn new(event: &str, share: f64) -> Self {
        let (kind, name) = event.split_once(':').unwrap_or((event, ""));
        let kind = match kind {
            // 9.6 distinguishes locks with a name of their own from those of a tranche.
            "LWLockNamed" | "LWLockTranche" => "lwlock".to_owned(),
            other => other.to_lowercase(),
        };
        let plain: String = name.chars().filter(|c| *c != '_').collect::<String>().to_lowercase();
        let name = match kind.as_str() {
            "lwlock" => plain.strip_suffix("lock").unwrap_or(&plain).to_owned(),
            _ => plain,
        };
        Self { event: event.to_owned(), kind, name, share }
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::measure::WaitCount;

    use super::*;

    fn waits(events: &[(&str, u64)]) -> Waits {
        let seen = |(event, count): &(&str, u64)| WaitCount { event: (*event).into(), count: *count };
        let sessions = events.iter().map(|(_, count)| count).sum();
        Waits { looks: 100, sessions, events: events.iter().map(seen).collect() }
    }

    #[test]
    fn shares_are_of_all_samples_that_tell_something() {
        let seen =
            [waits(&[("running", 300), ("not seen", 5_000)]), waits(&[("client", 100), ("running", 0)])];
        let sessions = Sessions::of(seen.iter()).expect("it is enough");
        assert!((sessions.running() - 0.75).abs() < 1e-9 && (sessions.client() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn too_few_samples_say_nothing() {
        assert!(Sessions::of([waits(&[("running", 199)])].iter()).is_none());
    }

    /// Spellings of 9.6, 10 to 12, 13 to 16, and 17.
    #[test]
    fn a_wait_is_the_same_in_every_major() {
        for event in ["LWLockNamed:WALWriteLock", "LWLock:WALWriteLock", "LWLock:WALWrite"] {
            let sessions = Sessions::of([waits(&[(event, 400)])].iter()).expect("it is enough");
            assert_eq!(sessions.waits("lwlock", &["walwrite"]).share(), 1.0, "{event}");
            assert_eq!(sessions.other_waits("lwlock", &["walwrite"]).share(), 0.0, "{event}");
        }
        for event in ["IO:WALSync", "IO:WalSync"] {
            let sessions = Sessions::of([waits(&[(event, 400)])].iter()).expect("it is enough");
            assert_eq!(sessions.waits("io", &["walsync"]).share(), 1.0, "{event}");
        }
        for event in ["LWLockTranche:wal_insert", "LWLock:wal_insert", "LWLock:WALInsert"] {
            let sessions = Sessions::of([waits(&[(event, 400)])].iter()).expect("it is enough");
            assert_eq!(sessions.waits("lwlock", &["walinsert"]).share(), 1.0, "{event}");
        }
    }

    #[test]
    fn the_most_frequent_waits_are_named_first() {
        let seen = [waits(&[("IO:WALSync", 100), ("LWLock:WALWrite", 300)])];
        let sessions = Sessions::of(seen.iter()).expect("it is enough");
        let both = sessions.waits("io", &["wal"]).and(sessions.waits("lwlock", &["walwrite"]));
        assert_eq!(both.words(), "sessions waited 75 % for LWLock:WALWrite, 25 % for IO:WALSync");
    }
}
