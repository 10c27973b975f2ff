//! `latency.hlog`: the HdrHistogram interval log, one line per interval.
//!
//! Times are seconds since the start of pgdyno's run (the log's `BaseTime`), values are nanoseconds. The tag is
//! `script/clients/block`, followed by `/warm-up` for intervals of the warm-up; a protocol other than `prepared` is
//! appended to the script as `_(protocol)`. The format is that of Java's `HistogramLogWriter`, so its tools can read
//! the file.

use std::time::{Duration, SystemTime};

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{
    Deserializer, V2DeflateSerializer,
    interval_log::{IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag},
};
use pgdyno_core::measure::{Latency, Workload};

/// One line of `latency.hlog`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedInterval {
    /// `script/clients/block`, or `script/clients/block/warm-up`.
    pub tag: String,
    /// Start in seconds since the start of pgdyno's run.
    pub start_s: f64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Latencies of the attempts that committed.
    pub latency: Latency,
}

/// The tag of a run's intervals. Characters that the format does not allow are replaced by `_`.
pub(crate) fn tag(workload: &Workload, block: u32) -> String {
    let plain = |text: &str| text.replace([',', ' ', '\r', '\n', '/'], "_");
    let script = plain(&workload.title());
    let subject = workload.subject.as_ref().map(|name| format!("{}/", plain(name))).unwrap_or_default();
    format!("{subject}{script}/{}/{block}", workload.clients)
}

/// The lines of an interval log before the first interval.
pub fn header(started: SystemTime) -> Vec<u8> {
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("[Histogram log format version 1.3]");
    builder.add_comment("[pgdyno: latency in nanoseconds, Tag=script/clients/block]");
    builder.with_start_time(started).with_base_time(started);
    builder.begin_log_with(&mut out, &mut serializer).expect("writing to memory");
    out
}

/// One line of an interval log; `start` counts from the time in the header.
pub fn line(tag: &str, start: Duration, duration: Duration, latency: &Latency) -> Vec<u8> {
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let builder = IntervalLogWriterBuilder::new();
    let mut writer = builder.begin_log_with(&mut out, &mut serializer).expect("writing to memory");
    writer
        .write_histogram(latency.as_histogram(), start, duration, Tag::new(tag))
        .expect("a histogram of pgdyno's range can be written to memory");
    out
}

/// Reads one line; `None` for comments.
pub(crate) fn parse(line: &str) -> Result<Option<LoggedInterval>, String> {
    if line.starts_with('#') || line.is_empty() {
        return Ok(None);
    }
    let whole = format!("{line}\n");
    let Some(Ok(LogEntry::Interval(entry))) = IntervalLogIterator::new(whole.as_bytes()).next() else {
        return Err("not an interval of a histogram log".to_owned());
    };
    let bytes = STANDARD.decode(entry.encoded_histogram()).map_err(|e| e.to_string())?;
    let histogram = Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]).map_err(|e| e.to_string())?;
    Ok(Some(LoggedInterval {
        tag: entry.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default(),
        start_s: entry.start_timestamp().as_secs_f64(),
        duration_s: entry.duration().as_secs_f64(),
        latency: Latency::from_histogram(&histogram)
            .ok_or("the histogram has a different range from pgdyno's")?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_distinguish_protocols_and_subjects() {
        let of = |protocol: &str, subject: Option<&str>| Workload {
            script: "select-only".into(),
            builtin: None,
            protocol: protocol.into(),
            clients: 4,
            rate_per_s: None,
            subject: subject.map(str::to_owned),
        };
        assert_eq!(tag(&of("prepared", None), 2), "select-only/4/2");
        assert_eq!(tag(&of("simple", None), 2), "select-only_(simple)/4/2");
        assert_eq!(tag(&of("simple", Some("pg 18,a/b")), 0), "pg_18_a_b/select-only_(simple)/4/0");
    }
}
