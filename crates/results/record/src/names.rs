//! Names of run directories and of the files in them.

/// Name of the record, the main file of a run directory.
pub const RUN_JSON: &str = "run.json";

/// Name of the copy of the server's log.
pub const SERVER_LOG: &str = "server.log";

/// Name of the stream of intervals.
pub const TIMELINE: &str = "timeline.ndjson";

/// Name of the HdrHistogram interval log.
pub const LATENCY_LOG: &str = "latency.hlog";

/// Name of the histogram log of whole runs.
pub const RUN_LATENCIES: &str = "runs.hlog";

/// Name of the stream of the slowest attempts.
pub const SLOWEST_ATTEMPTS: &str = "slowest.ndjson";

/// Name of the stream of observations.
pub const OBSERVATIONS: &str = "observations.ndjson";

/// Name of the stream of events.
pub const EVENTS: &str = "events.ndjson";

/// Name of the stacks of profile `number`, from 1.
pub fn profile_of(number: usize) -> String {
    format!("profile-{number}.folded")
}

/// Name of the output of a detached run; a run that is resumed has `output-2.log` and so on for its later parts.
pub const OUTPUT: &str = "output.log";

/// Name of the output of part `number` of a run, from 1.
pub fn output_of_part(number: usize) -> String {
    match number {
        0 | 1 => OUTPUT.to_owned(),
        number => format!("output-{number}.log"),
    }
}

/// Whether a file is the output of a detached run.
pub(crate) fn is_output(name: &str) -> bool {
    let number = name.strip_prefix("output-").and_then(|rest| rest.strip_suffix(".log"));
    name == OUTPUT || number.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// Length of the timestamp at the beginning of an id in bytes.
pub(crate) const SECOND_LEN: usize = "YYYYMMDDThhmmssZ".len();

/// Whether a name has the form `<YYYYMMDDThhmmssZ>-<name>-<4 hex>`.
pub(crate) fn is_id(name: &str) -> bool {
    let is = |text: &str, form: fn(&u8) -> bool| text.as_bytes().iter().all(form);
    match (name.split_once('-'), name.rsplit_once('-')) {
        (Some((time, _)), Some((_, hex))) => {
            time.len() == SECOND_LEN
                && time.as_bytes()[8] == b'T'
                && time.ends_with('Z')
                && is(&time[..8], u8::is_ascii_digit)
                && hex.len() == 4
                && is(hex, u8::is_ascii_hexdigit)
        }
        _ => false,
    }
}
