//! Block devices (`/proc/diskstats`, Documentation/admin-guide/iostats.rst), computed as `iostat -x` does.

use std::{collections::BTreeMap, fs, path::Path};

use pgdyno_core::observe::{DeviceSample, Place};

/// Sector size in `/proc/diskstats`, in bytes; independent of the device's own sector size.
const SECTOR_BYTES: u64 = 512;

/// Bytes read and written since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl DeviceCounters {
    /// Reads the counters of a device such as `/dev/vda1`; `None` if the kernel keeps none (network or memory file
    /// systems).
    pub fn read(device: &str) -> Option<Self> {
        let name = fs::canonicalize(device).ok()?;
        Self::of_device(&read_disks(), name.file_name().map(Path::new)?.to_str()?)
    }

    /// Bytes that a process has fetched from devices, and that the kernel booked to it as written to them; `None` if it
    /// does not exist, or may not be read because it is another user's.
    pub fn of_process(pid: u32) -> Option<Self> {
        Self::parse_io(&fs::read_to_string(format!("/proc/{pid}/io")).ok()?)
    }

    /// Bytes that the calling thread has fetched from devices, and that the kernel booked to it as written to them.
    pub fn of_this_thread() -> Option<Self> {
        Self::parse_io(&fs::read_to_string("/proc/thread-self/io").ok()?)
    }

    fn parse_io(text: &str) -> Option<Self> {
        let bytes = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
        Some(Self { read_bytes: bytes("read_bytes: ")?, written_bytes: bytes("write_bytes: ")? })
    }

    fn of_device(all: &Disks, name: &str) -> Option<Self> {
        let Requests { sectors_read, sectors_written, .. } = all.get(name)?;
        Some(Self {
            read_bytes: sectors_read.saturating_mul(SECTOR_BYTES),
            written_bytes: sectors_written.saturating_mul(SECTOR_BYTES),
        })
    }

    /// Bytes read and written since the earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
        }
    }
}

/// Counters of all devices by name.
pub(super) type Disks = BTreeMap<String, Requests>;

/// Counters of a device since it appeared, or their growth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Requests {
    reads: u64,
    reads_merged: u64,
    sectors_read: u64,
    reading_ms: u64,
    writes: u64,
    writes_merged: u64,
    sectors_written: u64,
    writing_ms: u64,
    busy_ms: u64,
    queued_ms: u64,
    /// Flushes and their milliseconds; kernels before 5.5 do not count them.
    flushes: Option<[u64; 2]>,
}

pub(super) fn read_disks() -> Disks {
    parse_disks(&fs::read_to_string("/proc/diskstats").unwrap_or_default())
}

pub(super) fn parse_disks(text: &str) -> Disks {
    text.lines().filter_map(Requests::parse).collect()
}

impl Requests {
    /// The device and the numbers of a line.
    fn parse(line: &str) -> Option<(String, Self)> {
        let mut words = line.split_whitespace().skip(2);
        let name = words.next()?.to_owned();
        let n: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let [
            reads,
            reads_merged,
            sectors_read,
            reading_ms,
            writes,
            writes_merged,
            sectors_written,
            writing_ms,
            ..,
        ] = n[..]
        else {
            return None;
        };
        let of = Self {
            reads,
            reads_merged,
            sectors_read,
            reading_ms,
            writes,
            writes_merged,
            sectors_written,
            writing_ms,
            busy_ms: *n.get(9)?,
            queued_ms: *n.get(10)?,
            flushes: n.get(15).copied().zip(n.get(16).copied()).map(|(count, ms)| [count, ms]),
        };
        Some((name, of))
    }

    /// Growth since `earlier`; `None` if the counters began again from 0, because the device was replaced.
    fn since(&self, earlier: &Self) -> Option<Self> {
        let flushes = self.flushes.zip(earlier.flushes);
        let flushes =
            flushes.map(|(now, then)| Some([now[0].checked_sub(then[0])?, ms_since(now[1], then[1])]));
        Some(Self {
            reads: self.reads.checked_sub(earlier.reads)?,
            reads_merged: self.reads_merged.checked_sub(earlier.reads_merged)?,
            sectors_read: self.sectors_read.checked_sub(earlier.sectors_read)?,
            reading_ms: ms_since(self.reading_ms, earlier.reading_ms),
            writes: self.writes.checked_sub(earlier.writes)?,
            writes_merged: self.writes_merged.checked_sub(earlier.writes_merged)?,
            sectors_written: self.sectors_written.checked_sub(earlier.sectors_written)?,
            writing_ms: ms_since(self.writing_ms, earlier.writing_ms),
            busy_ms: ms_since(self.busy_ms, earlier.busy_ms),
            queued_ms: ms_since(self.queued_ms, earlier.queued_ms),
            flushes: flushes.flatten(),
        })
    }

    fn plus(&self, more: &Self) -> Self {
        let flushes = self.flushes.zip(more.flushes);
        Self {
            reads: self.reads.saturating_add(more.reads),
            reads_merged: self.reads_merged.saturating_add(more.reads_merged),
            sectors_read: self.sectors_read.saturating_add(more.sectors_read),
            reading_ms: self.reading_ms.saturating_add(more.reading_ms),
            writes: self.writes.saturating_add(more.writes),
            writes_merged: self.writes_merged.saturating_add(more.writes_merged),
            sectors_written: self.sectors_written.saturating_add(more.sectors_written),
            writing_ms: self.writing_ms.saturating_add(more.writing_ms),
            busy_ms: self.busy_ms.saturating_add(more.busy_ms),
            queued_ms: self.queued_ms.saturating_add(more.queued_ms),
            flushes: flushes.map(|(a, b)| [a[0].saturating_add(b[0]), a[1].saturating_add(b[1])]),
        }
    }
}

/// Milliseconds since an earlier reading. The kernel shows them with 32 bits, so that they begin again at 0 after 50
/// days of work; half of that is more than any step, so a larger one is a counter that went back a little.
fn ms_since(now: u64, then: u64) -> u64 {
    let wrapped = || (now as u32).wrapping_sub(then as u32);
    match now.checked_sub(then) {
        Some(ms) => ms,
        None if then <= u64::from(u32::MAX) && wrapped() < u32::MAX / 2 => u64::from(wrapped()),
        None => 0,
    }
}

/// What a device did over a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DeviceUse {
    of: Requests,
    over_s: f64,
}

impl DeviceUse {
    /// `None` if the counters began again from 0.
    pub(super) fn between(now: &Requests, then: &Requests, over_s: f64) -> Option<Self> {
        now.since(then).map(|of| Self { of, over_s })
    }

    #[must_use]
    pub(super) fn plus(&self, more: &Self) -> Self {
        Self { of: self.of.plus(&more.of), over_s: self.over_s + more.over_s }
    }

    pub(super) fn sample(&self, device: &str, places: Vec<Place>) -> DeviceSample {
        let Self { of, over_s } = self;
        let per_s = |amount: u64| amount as f64 / over_s;
        let await_ms = |ms: u64, count: u64| (count > 0).then(|| ms as f64 / count as f64);
        DeviceSample {
            device: device.to_owned(),
            places,
            reads_per_s: per_s(of.reads),
            writes_per_s: per_s(of.writes),
            flushes_per_s: of.flushes.map(|[count, _]| per_s(count)),
            read_bytes_per_s: per_s(of.sectors_read.saturating_mul(SECTOR_BYTES)),
            written_bytes_per_s: per_s(of.sectors_written.saturating_mul(SECTOR_BYTES)),
            read_await_ms: await_ms(of.reading_ms, of.reads),
            write_await_ms: await_ms(of.writing_ms, of.writes),
            flush_await_ms: of.flushes.and_then(|[count, ms]| await_ms(ms, count)),
            read_merges_per_s: per_s(of.reads_merged),
            write_merges_per_s: per_s(of.writes_merged),
            queue: per_s(of.queued_ms) / 1_000.0,
            // The kernel counts in ticks, so that a busy device may exceed a second by a few milliseconds.
            utilisation: (per_s(of.busy_ms) / 1_000.0).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const THEN: &str = " 254 0 vda 100 10 800 50 200 20 1600 400 0 300 450 0 0 0 0 10 30\n";

    fn one(text: &str) -> Requests {
        parse_disks(text)["vda"]
    }

    #[test]
    fn sectors_are_of_512_bytes() {
        let text = " 254 0 vda 10 0 100 5 20 0 200 9 0 1 2\n 254 1 vda1 1 0 8 5 2 0 16 9 0 1 2\n";
        let counters = DeviceCounters::of_device(&parse_disks(text), "vda1").expect("it is listed");
        assert_eq!(counters, DeviceCounters { read_bytes: 8 * 512, written_bytes: 16 * 512 });
        assert_eq!(DeviceCounters::of_device(&parse_disks(text), "sda"), None);
    }

    /// `rchar` and `wchar` count what the page cache served, too.
    #[test]
    fn bytes_of_a_process_are_those_of_devices() {
        let text = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\n\
                    cancelled_write_bytes: 1\n";
        let counters = DeviceCounters { read_bytes: 4_096, written_bytes: 8_192 };
        assert_eq!(DeviceCounters::parse_io(text), Some(counters));
    }

    #[test]
    fn figures_are_those_of_iostat() {
        let now = one(" 254 0 vda 300 30 4800 450 600 60 9600 1200 7 1300 2450 0 0 0 0 30 90\n");
        let used = DeviceUse::between(&now, &one(THEN), 2.0).expect("it stayed");
        let sample = used.sample("vda", vec![Place::Data]);
        assert_eq!(
            (sample.reads_per_s, sample.writes_per_s, sample.flushes_per_s),
            (100.0, 200.0, Some(10.0))
        );
        assert_eq!((sample.read_bytes_per_s, sample.written_bytes_per_s), (1_024_000.0, 2_048_000.0));
        let awaits = (sample.read_await_ms, sample.write_await_ms, sample.flush_await_ms);
        assert_eq!(awaits, (Some(2.0), Some(2.0), Some(3.0)));
        assert_eq!((sample.read_merges_per_s, sample.write_merges_per_s), (10.0, 20.0));
        assert_eq!((sample.queue, sample.utilisation), (1.0, 0.5));
        let twice = used.plus(&used).sample("vda", vec![Place::Data]);
        assert_eq!(twice, sample, "the mean of two equal times");
    }

    #[test]
    fn what_did_not_happen_has_no_duration() {
        let sample =
            DeviceUse::between(&one(THEN), &one(THEN), 1.0).expect("it stayed").sample("vda", Vec::new());
        assert_eq!((sample.read_await_ms, sample.write_await_ms, sample.flush_await_ms), (None, None, None));
        assert_eq!((sample.reads_per_s, sample.utilisation, sample.flushes_per_s), (0.0, 0.0, Some(0.0)));
        let old = " 8 0 vda 1 0 8 5 2 0 16 9 0 1 2\n";
        let sample =
            DeviceUse::between(&one(old), &one(old), 1.0).expect("it stayed").sample("vda", Vec::new());
        assert_eq!(sample.flushes_per_s, None);
    }

    #[test]
    fn counters_that_begin_again_are_no_use_and_wrapped_times_are() {
        let fresh = one(" 254 0 vda 1 0 8 5 2 0 16 9 0 1 2 0 0 0 0 0 0\n");
        assert_eq!(DeviceUse::between(&fresh, &one(THEN), 1.0), None);
        let high = Requests { busy_ms: 4_294_967_290, reads: 5, ..Requests::default() };
        let low = Requests { busy_ms: 494, reads: 6, ..Requests::default() };
        assert_eq!(low.since(&high).map(|grown| grown.busy_ms), Some(500));
        assert_eq!(ms_since(99, 100), 0, "a counter that went back a little");
    }

    proptest! {
        /// Whatever two readings say, no figure is negative, infinite or beyond what the counters allow.
        #[test]
        fn no_figure_is_wild(now in any::<[u64; 17]>(), then in any::<[u64; 17]>(), cut in 0_usize..18) {
            let line = |n: &[u64]| n.iter().fold(" 8 0 vda".to_owned(), |line, n| format!("{line} {n}"));
            let (now, then) = (parse_disks(&line(&now)), parse_disks(&line(&then[..cut.min(17)])));
            let both = now.get("vda").zip(then.get("vda"));
            let used = both.and_then(|(now, then)| DeviceUse::between(now, then, 1.0));
            let Some(sample) = used.map(|used| used.plus(&used).sample("vda", Vec::new())) else { return Ok(()) };
            let all =
                [sample.reads_per_s, sample.writes_per_s, sample.read_bytes_per_s, sample.queue, sample.utilisation];
            prop_assert!(all.iter().all(|figure| figure.is_finite() && *figure >= 0.0), "{sample:?}");
            prop_assert!(sample.utilisation <= 1.0);
        }
    }
}
