//! From the lines of `perf script` to stacks, for each of the times of a recording.

use std::{
    collections::BTreeMap,
    io::{self, BufRead},
};

use pgdyno_core::observe::Role;

use crate::profile::{
    folded::Folded,
    script::{self, Line},
};

/// Longest line that is read; the rest of a longer one is skipped.
const LONGEST_LINE: u64 = 1 << 16;
/// Most frames of a stack.
pub(crate) const MOST_FRAMES: usize = 127;

/// A time of which a profile is wanted, by the clock of the recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Segment {
    pub(crate) begin_s: f64,
    pub(crate) end_s: f64,
}

/// What the samples of one segment add up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) folded: Folded,
    /// Time of the last sample.
    pub(crate) last_s: Option<f64>,
}

/// What is known of the processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Processes {
    pub(crate) roles: BTreeMap<u32, Role>,
    /// Path of the server's program.
    pub(crate) program: Option<String>,
}

/// Adds up all samples by the segment that they are in. Samples outside of all segments are left out; lost events have
/// no time, and count in the segment of the sample before.
///
/// # Errors
/// The lines cannot be read.
pub(crate) fn fold(
    mut lines: impl BufRead,
    segments: &[Segment],
    processes: &Processes,
) -> io::Result<Vec<Part>> {
    let mut parts = vec![Part::default(); segments.len()];
    let mut sample: Option<(usize, Role, Vec<u32>)> = None;
    let mut last = 0;
    let mut bytes = Vec::new();
    while read_line(&mut lines, &mut bytes)? {
        let text = String::from_utf8_lossy(&bytes);
        match script::line(&text) {
            Line::Sample { pid, at_s, event } => {
                add(&mut parts, sample.take());
                let inside = |segment: &Segment| (segment.begin_s..segment.end_s).contains(&at_s);
                let Some(at) = segments.iter().position(inside) else { continue };
                last = at;
                let part = &mut parts[at];
                part.last_s = Some(part.last_s.map_or(at_s, |last_s| last_s.max(at_s)));
                part.folded.of_event(event);
                sample = Some((at, processes.roles.get(&pid).copied().unwrap_or(Role::Ended), Vec::new()));
            }
            Line::Frame(frame) => {
                if let Some((at, _, stack)) = &mut sample
                    && stack.len() < MOST_FRAMES
                {
                    stack.push(parts[*at].folded.function(&frame, processes.program.as_deref()));
                }
            }
            Line::End => add(&mut parts, sample.take()),
            Line::Lost(events) => parts.get_mut(last).into_iter().for_each(|part| part.folded.lose(events)),
            Line::Other => {}
        }
    }
    add(&mut parts, sample.take());
    Ok(parts)
}

fn add(parts: &mut [Part], sample: Option<(usize, Role, Vec<u32>)>) {
    if let Some((at, role, stack)) = sample {
        parts[at].folded.add(role, &stack);
    }
}

/// Reads a line without its end; `false` if there is none.
fn read_line(lines: &mut impl BufRead, into: &mut Vec<u8>) -> io::Result<bool> {
    into.clear();
    let read = io::Read::take(&mut *lines, LONGEST_LINE).read_until(b'\n', into)?;
    if into.last() == Some(&b'\n') {
        into.pop();
    } else if read as u64 == LONGEST_LINE {
        lines.skip_until(b'\n')?;
    }
    Ok(read > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Segment = Segment { begin_s: 0.0, end_s: 1e9 };

    fn processes() -> Processes {
        let roles = BTreeMap::from([(7, Role::Client), (8, Role::WalWriter)]);
        Processes { roles, program: Some("/usr/lib/postgresql/18/bin/postgres".to_owned()) }
    }

    fn folded(text: &str, segments: &[Segment]) -> Vec<Part> {
        fold(text.as_bytes(), segments, &processes()).expect("it is in memory")
    }

    const GOLDEN: &str = include_str!("../../tests/golden/mixed.script");

    #[test]
    fn a_recording_of_all_kinds_of_frames_is_folded() {
        let parts = folded(GOLDEN, &[ALL]);
        assert_eq!(parts[0].folded.text(), include_str!("../../tests/golden/mixed.folded"));
        assert_eq!(parts[0].last_s, Some(104.25));
    }

    #[test]
    fn samples_count_in_the_segment_of_their_time() {
        let halves = [Segment { begin_s: 100.0, end_s: 102.0 }, Segment { begin_s: 102.0, end_s: 104.0 }];
        let parts = folded(GOLDEN, &halves);
        let samples: Vec<u64> = parts.iter().map(|part| part.folded.samples()).collect();
        assert_eq!(samples, [2, 2]);
        assert!(folded(GOLDEN, &[]).is_empty());
    }

    #[test]
    fn garbage_and_endless_lines_end_nothing() {
        let long = format!("\t 10 {} (/lib/x.so)\n", "x".repeat(200_000));
        let text = format!(
            "7 1.0: cycles: \n{long}\t 11 f (/lib/x.so)\n\n\u{fffd}\n7 2.0: cycles: \n\t 11 f (/lib/x.so)"
        );
        let parts = folded(&text, &[ALL]);
        assert_eq!(parts[0].folded.text(), "client backend;f 2\n");
        let deep: String = (0..1_000).map(|n| format!("\t {n:x} f{n} (/lib/x.so)\n")).collect();
        let parts = folded(&format!("7 1.0: cycles: \n{deep}\n"), &[ALL]);
        assert_eq!(parts[0].folded.text().matches(';').count(), MOST_FRAMES);
    }
}
