//! Whether the storage keeps what it acknowledged. Nothing that can be seen from here proves it; much can be seen
//! that speaks against it.

use pgdyno_core::disk::sync::{
    BookedWork, BulkSync, PlaceKind, SyncAction, SyncEvidence, SyncJudgement, SyncMethod, SyncPlace,
    SyncTest, SyncTiming, SyncVerdict,
};

/// Fewest operations whose bookings are judged: other programs book too.
const FEWEST_OPERATIONS: u64 = 20;
/// Share of the operations that disks must book as writes and as flushes. A flush may serve several programs.
const LEAST_BOOKED: f64 = 0.5;
/// The same where nothing but the number connects what disks book with the operations.
const LEAST_BOOKED_ELSEWHERE: f64 = 0.9;
/// Share of a large amount that remains dirty where it was not synced.
const DIRTY_SHARE: f64 = 0.5;
/// Bytes per second that no device writes: twice what PCIe 5.0 x4 carries, in which a stripe of two has its place.
const MOST_BYTES_PER_S: f64 = 32e9;
/// Nanoseconds that a write and its flush take at least, from system call to device and back: a request to NVMe with
/// a protected cache takes about 10 µs.
const LEAST_LATENCY_NS: f64 = 5_000.0;
/// Rate with syncs over that without, from which on they cost nothing.
const FREE_SHARE: f64 = 0.5;
/// Writes per second to one place of a rotating disk: twice the rotations of one with 15,000 per minute.
const MOST_ROTATING_PER_S: f64 = 500.0;

const POWER_CUT: &str = "Cut the power of the machine that has the disks while another machine logs which writes were \
                         acknowledged (as diskchecker.pl does), and read them back.";

/// What was found of a directory.
#[derive(Debug, Clone, Copy)]
pub struct Findings<'a> {
    /// The directory and what holds it.
    pub place: &'a SyncPlace,
    /// The tests.
    pub tests: &'a [SyncTest],
    /// What disks booked during the tests with `fdatasync` and one write; `None` if unknown.
    pub booked: Option<&'a BookedWork>,
    /// A large amount that was synced once; `None` if it was not, or if disks show no counters.
    pub bulk: Option<&'a BulkSync>,
}

/// Judges whether synced data is durable.
///
/// One finding against it makes the verdict [`SyncVerdict::Suspicious`]. It is [`SyncVerdict::Plausible`] if disks
/// booked what was synced, and [`SyncVerdict::CannotTell`] otherwise, and always for file systems of other machines.
pub fn judge(findings: Findings<'_>) -> SyncJudgement {
    let against = [
        findings.in_memory(),
        findings.stays_dirty(),
        findings.no_writes(),
        findings.no_flushes(),
        findings.instant_bulk(),
        findings.implausible_latency(),
        findings.free_sync(),
        findings.faster_than_rotation(),
    ];
    let mut evidence: Vec<SyncEvidence> = against.into_iter().flatten().chain(findings.withheld()).collect();
    let suspicious = !evidence.is_empty();
    let supporting = findings.reached_disks();
    let booked = supporting.iter().any(|one| matches!(one, SyncEvidence::Booked(_)));
    let verdict = match findings.place.kind {
        _ if suspicious => SyncVerdict::Suspicious,
        PlaceKind::Network => SyncVerdict::CannotTell,
        _ if booked => SyncVerdict::Plausible,
        _ => SyncVerdict::CannotTell,
    };
    evidence.extend(supporting);
    SyncJudgement { verdict, evidence, unknown: findings.unknown(), what_would_prove: POWER_CUT.to_owned() }
}

impl Findings<'_> {
    fn is_local(&self) -> bool {
        self.place.kind == PlaceKind::Local && !self.is_persistent_memory()
    }

    /// Persistent memory is written by the CPU, in less than a microsecond and without requests.
    fn is_persistent_memory(&self) -> bool {
        self.place.devices.iter().any(|device| device.name.starts_with("pmem"))
    }

    fn timing(&self, wanted: SyncAction) -> Option<&SyncTiming> {
        self.tests.iter().find(|test| test.action == wanted)?.timing.as_ref()
    }

    fn synced(&self) -> Option<&SyncTiming> {
        self.timing(SyncAction::Method { method: SyncMethod::Fdatasync, writes: 1 })
    }

    /// Whether a flush must be sent for data to be durable.
    fn needs_flushes(&self) -> bool {
        let mut caches = self.place.devices.iter().filter_map(|device| device.write_cache.as_deref());
        self.place.devices.is_empty() || caches.any(|cache| cache == "write back")
    }

    fn in_memory(&self) -> Option<SyncEvidence> {
        (self.place.kind == PlaceKind::Memory).then_some(SyncEvidence::InMemory)
    }

    /// Pages of a file are dirty after its sync where a layer passed on the writes and not the sync. They are those
    /// of this file if they are gone after it was truncated.
    fn stays_dirty(&self) -> Option<SyncEvidence> {
        let bulk = self.bulk?;
        let after_sync = bulk.dirty_after_sync_bytes? as f64;
        let discarded = after_sync - bulk.dirty_after_truncation_bytes? as f64;
        let least = DIRTY_SHARE * bulk.booked.written_bytes as f64;
        (after_sync >= least && discarded >= least).then(|| SyncEvidence::StaysDirty(bulk.clone()))
    }

    fn no_writes(&self) -> Option<SyncEvidence> {
        let booked = self.booked.filter(|booked| booked.operations >= FEWEST_OPERATIONS)?;
        let none = (booked.disk_writes as f64) < LEAST_BOOKED * booked.operations as f64;
        (self.is_local() && none).then(|| SyncEvidence::NoWrites(booked.clone()))
    }

    fn no_flushes(&self) -> Option<SyncEvidence> {
        let booked = self.booked.filter(|booked| booked.operations >= FEWEST_OPERATIONS)?;
        let operations = booked.operations as f64;
        let none = (booked.disk_flushes? as f64) < LEAST_BOOKED * operations;
        let writes = booked.disk_writes as f64;
        let on_disks = match self.place.kind {
            PlaceKind::Local => self.is_local() && writes >= LEAST_BOOKED * operations,
            PlaceKind::Stacked | PlaceKind::UserSpace | PlaceKind::Unknown => {
                writes >= LEAST_BOOKED_ELSEWHERE * operations
            }
            PlaceKind::Memory | PlaceKind::Network => false,
        };
        (none && on_disks && self.needs_flushes()).then(|| SyncEvidence::NoFlushes(booked.clone()))
    }

    fn instant_bulk(&self) -> Option<SyncEvidence> {
        let bulk = self.bulk?;
        let instant = (bulk.sync_ns as f64) < least_bulk_ns(bulk);
        let missing =
            (bulk.booked.disk_written_bytes as f64) < LEAST_BOOKED * bulk.booked.written_bytes as f64;
        (self.is_local() && instant && missing).then(|| SyncEvidence::InstantBulk(bulk.clone()))
    }

    fn implausible_latency(&self) -> Option<SyncEvidence> {
        let latency_ns = self.synced()?.latency.mean_ns;
        (self.is_local() && latency_ns < LEAST_LATENCY_NS)
            .then_some(SyncEvidence::ImplausibleLatency { latency_ns, least_ns: LEAST_LATENCY_NS })
    }

    fn free_sync(&self) -> Option<SyncEvidence> {
        let (rate_per_s, unsynced_rate_per_s) =
            (self.synced()?.rate_per_s, self.timing(SyncAction::Write)?.rate_per_s);
        (self.is_local() && rate_per_s > FREE_SHARE * unsynced_rate_per_s)
            .then_some(SyncEvidence::FreeSync { rate_per_s, unsynced_rate_per_s })
    }

    fn faster_than_rotation(&self) -> Option<SyncEvidence> {
        let rate_per_s = self.synced()?.rate_per_s;
        let devices = &self.place.devices;
        let rotating = !devices.is_empty() && devices.iter().all(|device| device.rotational == Some(true));
        (rotating && self.needs_flushes() && rate_per_s > MOST_ROTATING_PER_S)
            .then_some(SyncEvidence::FasterThanRotation { rate_per_s, most_per_s: MOST_ROTATING_PER_S })
    }

    /// Devices that report a volatile cache which the kernel is configured not to flush.
    fn withheld(&self) -> Vec<SyncEvidence> {
        let is = |cache: &Option<String>, word: &str| {
            cache.as_deref().is_some_and(|cache| cache.starts_with(word))
        };
        let devices = self.place.devices.iter();
        devices
            .filter(|one| is(&one.write_cache, "write through") && is(&one.reported_cache, "write back"))
            .map(|one| SyncEvidence::FlushesWithheld(one.clone()))
            .collect()
    }

    fn reached_disks(&self) -> Vec<SyncEvidence> {
        if self.place.kind == PlaceKind::Memory {
            return Vec::new();
        }
        let least = if self.is_local() { LEAST_BOOKED } else { LEAST_BOOKED_ELSEWHERE };
        let in_step = |booked: &&BookedWork| {
            let enough = |count: u64| count as f64 >= least * booked.operations as f64;
            let flushed = !self.needs_flushes() || booked.disk_flushes.is_none_or(enough);
            booked.operations >= FEWEST_OPERATIONS && enough(booked.disk_writes) && flushed
        };
        let arrived = |bulk: &&BulkSync| {
            let enough = bulk.booked.disk_written_bytes as f64
                >= LEAST_BOOKED_ELSEWHERE * bulk.booked.written_bytes as f64;
            enough && (bulk.write_ns + bulk.sync_ns) as f64 >= least_bulk_ns(bulk)
        };
        let booked = self.booked.filter(in_step).map(|booked| SyncEvidence::Booked(booked.clone()));
        let bulk = self.bulk.filter(arrived).map(|bulk| SyncEvidence::BulkReachedDisks(bulk.clone()));
        booked.into_iter().chain(bulk).collect()
    }

    fn unknown(&self) -> Vec<String> {
        let of_kind = match self.place.kind {
            PlaceKind::Local => {
                "What a disk does with a flush, or the host of a virtual disk, cannot be seen."
            }
            PlaceKind::Memory => "There is nothing to find out: a restart empties it.",
            PlaceKind::Stacked => {
                "Which file system lies below, and what the layer does with a sync, is concluded from what the disks \
                 of the whole machine booked."
            }
            PlaceKind::UserSpace => {
                "What the process that serves this file system does with a sync is concluded from what the disks of \
                 the whole machine booked. If it keeps data elsewhere, nothing can be seen."
            }
            PlaceKind::Network => "Whether the other machine makes data durable can be seen only there.",
            PlaceKind::Unknown => {
                "The type of this file system is not known here; what the disks of the whole machine booked is all \
                 that can be seen."
            }
        };
        let missing = [
            (self.booked.is_none(), "The kernel shows no counters of disks."),
            (
                self.is_persistent_memory(),
                "Persistent memory books no requests, so that none can be missing.",
            ),
        ];
        let missing = missing.into_iter().filter_map(|(is, what)| is.then_some(what));
        std::iter::once(of_kind).chain(missing).map(str::to_owned).collect()
    }
}

fn least_bulk_ns(bulk: &BulkSync) -> f64 {
    bulk.booked.written_bytes as f64 / MOST_BYTES_PER_S * 1e9
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{
        disk::sync::SyncDevice,
        host::Storage,
        measure::{Latency, Precision},
    };
    use proptest::prelude::*;

    use super::*;

    const BULK: u64 = 64 << 20;

    /// All that is found, as a fault changes it.
    #[derive(Debug, Clone)]
    struct Found {
        place: SyncPlace,
        synced_ns: u64,
        unsynced_ns: u64,
        booked: Option<BookedWork>,
        bulk: Option<BulkSync>,
    }

    /// An honest SSD with a cache.
    fn honest() -> Found {
        let storage = Storage {
            path: "/data".to_owned(),
            size_bytes: 1 << 40,
            available_bytes: 1 << 40,
            ..Storage::default()
        };
        let ssd = SyncDevice {
            name: "sda".to_owned(),
            write_cache: Some("write back".to_owned()),
            reported_cache: Some("write back".to_owned()),
            rotational: Some(false),
        };
        let booked = |operations, written_bytes, disk_writes| BookedWork {
            operations,
            written_bytes,
            disk_writes,
            disk_written_bytes: written_bytes,
            disk_flushes: Some(operations),
        };
        Found {
            place: SyncPlace { storage, kind: PlaceKind::Local, devices: vec![ssd], named: false },
            synced_ns: 700_000,
            unsynced_ns: 3_000,
            booked: Some(booked(2_000, 2_000 * 8_192, 2_000)),
            bulk: Some(BulkSync {
                booked: booked(1, BULK, 130),
                write_ns: 40_000_000,
                sync_ns: 120_000_000,
                dirty_after_sync_bytes: Some(40_960),
                dirty_after_truncation_bytes: Some(4_096),
            }),
        }
    }

    impl Found {
        fn judge(&self) -> SyncJudgement {
            let test = |action, latency_ns: u64| {
                let mut latency = Latency::new(Precision::Run);
                latency.record(latency_ns);
                let timing = SyncTiming {
                    operations: 1,
                    duration_ns: latency_ns,
                    rate_per_s: 1e9 / latency_ns as f64,
                    written_bytes: 8_192,
                    latency: latency.summary().expect("there is one"),
                    p90_ns: None,
                    distribution: Vec::new(),
                    block_rates_per_s: Vec::new(),
                };
                SyncTest { action, write_bytes: 8_192, direct: None, timing: Some(timing), unavailable: None }
            };
            let synced = SyncAction::Method { method: SyncMethod::Fdatasync, writes: 1 };
            let tests = [test(synced, self.synced_ns), test(SyncAction::Write, self.unsynced_ns)];
            let (booked, bulk) = (self.booked.as_ref(), self.bulk.as_ref());
            judge(Findings { place: &self.place, tests: &tests, booked, bulk })
        }

        fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
            change(&mut self);
            self
        }

        fn books(self, change: impl FnOnce(&mut BookedWork)) -> Self {
            self.with(|found| found.booked.iter_mut().for_each_once(change))
        }

        fn bulks(self, change: impl FnOnce(&mut BulkSync)) -> Self {
            self.with(|found| found.bulk.iter_mut().for_each_once(change))
        }

        fn of_kind(self, kind: PlaceKind) -> Self {
            self.with(|found| {
                found.place.kind = kind;
                found.place.devices.clear();
            })
        }
    }

    trait Once<T> {
        fn for_each_once(self, change: impl FnOnce(T));
    }

    impl<T, I: Iterator<Item = T>> Once<T> for I {
        fn for_each_once(mut self, change: impl FnOnce(T)) {
            change(self.next().expect("an honest disk has all"));
        }
    }

    fn kind_of(evidence: &SyncEvidence) -> String {
        let value = serde_json::to_value(evidence).expect("it is plain data");
        value["kind"].as_str().expect("it has a kind").to_owned()
    }

    /// Verdict and evidence by name.
    fn seen(found: &Found) -> (SyncVerdict, Vec<String>) {
        let judgement = found.judge();
        (judgement.verdict, judgement.evidence.iter().map(kind_of).collect())
    }

    use SyncVerdict::{CannotTell, Plausible, Suspicious};

    #[test]
    fn an_honest_disk_is_plausible_and_never_proven() {
        let judgement = honest().judge();
        assert_eq!(seen(&honest()), (Plausible, vec!["booked".to_owned(), "bulk_reached_disks".to_owned()]));
        assert!(
            judgement.unknown[0].contains("cannot be seen") && judgement.what_would_prove.contains("power")
        );
    }

    /// Each planted fault is found by the evidence that is meant for it.
    #[test]
    fn every_lie_has_its_evidence() {
        let through = Some("write through".to_owned());
        let table = [
            ("in_memory", honest().of_kind(PlaceKind::Memory)),
            ("no_writes", honest().books(|booked| booked.disk_writes = 900)),
            ("no_flushes", honest().books(|booked| booked.disk_flushes = Some(900))),
            ("free_sync", honest().with(|found| found.synced_ns = 5_900)),
            ("implausible_latency", honest().with(|found| found.synced_ns = 4_900)),
            ("faster_than_rotation", honest().with(|found| found.place.devices[0].rotational = Some(true))),
            ("flushes_withheld", honest().with(|found| found.place.devices[0].write_cache = through)),
            (
                "instant_bulk",
                honest().bulks(|bulk| {
                    bulk.sync_ns = 1_000_000;
                    bulk.booked.disk_written_bytes = 4_096;
                }),
            ),
            ("stays_dirty", honest().bulks(|bulk| bulk.dirty_after_sync_bytes = Some(BULK as i64))),
        ];
        for (kind, found) in table {
            let (verdict, evidence) = seen(&found);
            assert_eq!(verdict, Suspicious, "{kind}");
            assert!(evidence.iter().any(|one| one == kind), "{kind}: {evidence:?}");
            assert!(found.judge().evidence.len() <= 5, "{evidence:?}");
        }
    }

    /// What looks like a lie and is none.
    #[test]
    fn what_is_explained_otherwise_is_no_evidence() {
        let through = || Some("write through".to_owned());
        let innocent = [
            ("a busy machine books more", honest().books(|booked| booked.disk_flushes = Some(90_000))),
            ("flushes shared with others", honest().books(|booked| booked.disk_flushes = Some(1_100))),
            (
                "a protected cache needs no flushes",
                honest().books(|booked| booked.disk_flushes = Some(0)).with(|found| {
                    found.place.devices[0].write_cache = through();
                    found.place.devices[0].reported_cache = through();
                }),
            ),
            (
                "a controller with a protected cache before rotating disks",
                honest().with(|found| {
                    found.place.devices[0].rotational = Some(true);
                    found.place.devices[0].write_cache = through();
                    found.place.devices[0].reported_cache = None;
                }),
            ),
            (
                "other programs dirty memory",
                honest().bulks(|bulk| {
                    bulk.dirty_after_sync_bytes = Some(2 * BULK as i64);
                    bulk.dirty_after_truncation_bytes = Some(2 * BULK as i64);
                }),
            ),
            (
                "writes were on the disk before the sync",
                honest().bulks(|bulk| {
                    bulk.write_ns = 150_000_000;
                    bulk.sync_ns = 100_000;
                }),
            ),
        ];
        for (what, found) in innocent {
            assert_eq!(found.judge().verdict, Plausible, "{what}: {:?}", found.judge().evidence);
        }
    }

    /// A layer is judged by what the disks of the machine book, as far as that says anything.
    #[test]
    fn layers_are_plausible_only_in_step_with_disks() {
        for kind in [PlaceKind::Stacked, PlaceKind::UserSpace, PlaceKind::Unknown] {
            assert_eq!(seen(&honest().of_kind(kind)).0, Plausible);
            let elsewhere = honest().of_kind(kind).books(|booked| {
                booked.disk_writes = 3;
                booked.disk_flushes = Some(1);
            });
            assert_eq!(elsewhere.judge().verdict, CannotTell, "it may keep data elsewhere");
            let unflushed = honest().of_kind(kind).books(|booked| booked.disk_flushes = Some(5));
            assert_eq!(unflushed.judge().verdict, Suspicious);
            let dropped = elsewhere.bulks(|bulk| bulk.dirty_after_sync_bytes = Some(BULK as i64));
            assert_eq!(dropped.judge().verdict, Suspicious);
        }
        assert_eq!(honest().of_kind(PlaceKind::Network).judge().verdict, CannotTell);
    }

    #[test]
    fn without_counters_nothing_is_plausible() {
        let blind = honest().with(|found| {
            found.booked = None;
            found.bulk = None;
        });
        assert_eq!(seen(&blind), (CannotTell, Vec::new()));
        assert!(blind.judge().unknown.iter().any(|what| what.contains("no counters")));
        let few = honest().books(|booked| {
            booked.operations = 3;
            booked.disk_writes = 0;
        });
        assert_eq!(seen(&few), (CannotTell, vec!["bulk_reached_disks".to_owned()]));
    }

    #[test]
    fn persistent_memory_has_no_requests() {
        let pmem = honest().with(|found| {
            found.place.devices[0].name = "pmem0".to_owned();
            found.synced_ns = 900;
        });
        let pmem = pmem.books(|booked| {
            booked.disk_writes = 0;
            booked.disk_flushes = Some(0);
        });
        assert_eq!(pmem.judge().verdict, CannotTell);
    }

    proptest! {
        /// More work booked, or a slower sync, never makes a verdict worse.
        #[test]
        fn more_work_is_never_more_suspicious(
            writes in 0..4_000_u64, flushes in 0..4_000_u64, more in 0..4_000_u64,
            synced_ns in 1_000..1_000_000_u64, slower in 1..10_u64,
        ) {
            let found = honest().with(|found| found.synced_ns = synced_ns).books(|booked| {
                booked.disk_writes = writes;
                booked.disk_flushes = Some(flushes);
            });
            let better = found.clone().with(|found| found.synced_ns *= slower).books(|booked| {
                booked.disk_writes += more.max(flushes);
                booked.disk_flushes = Some(flushes + more);
            });
            let against = |found: &Found| found.judge().verdict == Suspicious;
            // A disk that books writes and no flushes is suspected by another name than one that books nothing.
            prop_assert!(against(&found) || !against(&better), "{found:?}");
        }
    }
}
