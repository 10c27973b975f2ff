//! Clock sources of the kernel, and the CPU time of a thread.

use std::{fs, path::Path};

/// Where Linux publishes the clock sources.
const CLOCK_SOURCES: &str = "sys/devices/system/clocksource/clocksource0";

/// The present clock source under `root`, and the available ones; each absent if it is not published.
pub(super) fn clock_sources(root: &Path) -> (Option<String>, Vec<String>) {
    let words = |file: &str| {
        let text = fs::read_to_string(root.join(CLOCK_SOURCES).join(file)).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    (words("current_clocksource").into_iter().next(), words("available_clocksource"))
}

/// CPU time of the calling thread in user space and in the kernel, in ticks; `None` if it cannot be read.
pub(super) fn cpu_ticks() -> Option<(u64, u64)> {
    parse_ticks(&fs::read_to_string("/proc/thread-self/stat").ok()?)
}

/// Fields `utime` and `stime` of a `stat` file of proc(5). The name before them is in parentheses and may have blanks.
fn parse_ticks(stat: &str) -> Option<(u64, u64)> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11).map(|field| field.parse().ok());
    Some((fields.next()??, fields.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_sources_are_read_or_absent() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(clock_sources(root.path()), (None, Vec::new()));
        let dir = root.path().join(CLOCK_SOURCES);
        fs::create_dir_all(&dir).expect("it is new");
        fs::write(dir.join("current_clocksource"), "hpet\n").expect("it is new");
        fs::write(dir.join("available_clocksource"), "tsc hpet acpi_pm \n").expect("it is new");
        let available = ["tsc", "hpet", "acpi_pm"].map(str::to_owned).to_vec();
        assert_eq!(clock_sources(root.path()), (Some("hpet".into()), available));
    }

    #[test]
    fn ticks_follow_the_name() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 170 33 0 0 20 0 1 0";
        assert_eq!(parse_ticks(stat), Some((170, 33)));
        assert_eq!(parse_ticks("7 (x) S 1"), None);
        assert!(cpu_ticks().is_some());
    }
}
