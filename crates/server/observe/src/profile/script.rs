//! The lines that `perf script -F pid,time,event,ip,sym,dso` prints: for each sample a line about it, its frames from
//! the innermost one outwards, and an empty line.

use pgdyno_core::profile::Side;

/// Name of code that has none.
pub(crate) const UNKNOWN: &str = "[unknown]";
/// Name of the kernel in a profile.
pub(crate) const KERNEL: &str = "[kernel.kallsyms]";
/// Longest name of a function that is kept: instances of templates have names of thousands of characters.
const LONGEST_NAME: usize = 200;
/// What follows the path of a file that was removed or replaced.
const DELETED: &str = " (deleted)";

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Line<'a> {
    /// A sample begins.
    Sample {
        /// Process.
        pid: u32,
        /// Time on the clock of the recording, in seconds.
        at_s: f64,
        /// Event, without its modifiers.
        event: &'a str,
    },
    /// A frame of the sample.
    Frame(Frame<'a>),
    /// The sample ends.
    End,
    /// So many events were lost.
    Lost(u64),
    /// Anything else.
    Other,
}

/// A frame of a call stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// Address of the instruction, relative to its file.
    pub(crate) address: u64,
    /// Function, or [`UNKNOWN`].
    pub(crate) name: &'a str,
    /// File that it is from, or [`UNKNOWN`].
    pub(crate) module: &'a str,
}

/// Reads one line, without its line end.
pub(crate) fn line(text: &str) -> Line<'_> {
    if text.trim().is_empty() {
        return Line::End;
    }
    if let Some(frame) = text.strip_prefix('\t') {
        return frame_of(frame).map_or(Line::Other, Line::Frame);
    }
    if text.contains("PERF_RECORD_") {
        return lost(text).map_or(Line::Other, Line::Lost);
    }
    sample(text).unwrap_or(Line::Other)
}

/// `  4711  1234.567890: cpu-clock:u: `
fn sample(text: &str) -> Option<Line<'_>> {
    let (pid, rest) = text.trim_start().split_once(' ')?;
    let (at, rest) = rest.trim_start().split_once(": ")?;
    let event = rest.trim_end().strip_suffix(':')?;
    let event = event.split(':').next().unwrap_or(event).trim();
    Some(Line::Sample { pid: pid.parse().ok()?, at_s: at.parse().ok()?, event })
}

/// `PERF_RECORD_LOST lost 12`; samples that the kernel counts instead of events have the same form.
fn lost(text: &str) -> Option<u64> {
    let (_, after) = text.split_once("PERF_RECORD_LOST")?;
    after.split_once("lost")?.1.split_whitespace().next()?.parse().ok()
}

/// `ffffffff81000000 name (module)`: names may have blanks and parentheses, and so may paths.
fn frame_of(text: &str) -> Option<Frame<'_>> {
    let (address, rest) = text.trim().split_once(' ')?;
    // Unwinding by DWARF may end in an address that is none.
    let address = u64::from_str_radix(address, 16).ok().filter(|address| *address != u64::MAX)?;
    let inner = rest.strip_suffix(')')?;
    let inner = inner.strip_suffix(DELETED).unwrap_or(inner);
    let (name, module) = split_module(inner)?;
    Some(Frame { address, name: cut(name.trim()), module })
}

/// The module begins with the last parenthesis before a path or a bracket; without either, with the last one.
fn split_module(text: &str) -> Option<(&str, &str)> {
    let at = [" (/", " (["].into_iter().filter_map(|begin| text.rfind(begin)).max();
    let at = at.or_else(|| text.rfind(" ("))?;
    Some((&text[..at], &text[at + 2..]))
}

fn cut(name: &str) -> &str {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}

impl Frame<'_> {
    /// Whose code it is; `program` is the path of the server's program.
    pub(crate) fn side(&self, program: Option<&str>) -> Side {
        // Linux maps itself into the upper half of the addresses. Files have small ones, garbage has any.
        let is_kernel = self.module.starts_with("[kernel") || self.module.starts_with("[guest.kernel");
        let is_kernel = is_kernel || (self.address >= 0xffff_0000_0000_0000 && self.module != "[vsyscall]");
        match program {
            _ if is_kernel => Side::Kernel,
            Some(path) if self.module == path => Side::Server,
            _ => Side::Library,
        }
    }

    /// The module as it is shown: all of the kernel is one, files go by their names.
    pub(crate) fn module_name(&self, side: Side) -> &str {
        match side {
            Side::Kernel if !self.module.starts_with('[') || self.module.starts_with("[kernel") => KERNEL,
            Side::Kernel if self.module == UNKNOWN => KERNEL,
            _ => self.module.rsplit('/').next().unwrap_or(self.module),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(address: u64, name: &'static str, module: &'static str) -> Line<'static> {
        Line::Frame(Frame { address, name, module })
    }

    #[test]
    fn lines_of_samples_are_read() {
        let of = |pid, at_s, event| Line::Sample { pid, at_s, event };
        assert_eq!(line("14738 23053.187254: cpu-clock: "), of(14738, 23053.187254, "cpu-clock"));
        assert_eq!(line("    7     3.000001: cycles:u: "), of(7, 3.000001, "cycles"));
        assert_eq!(line("  123   12.5: cpu_core/cycles/: "), of(123, 12.5, "cpu_core/cycles/"));
        assert_eq!(line(""), Line::End);
        assert_eq!(line("Warning:"), Line::Other);
    }

    #[test]
    fn names_and_paths_may_have_blanks_and_parentheses() {
        assert_eq!(
            line("\t          2a1b5c ExecScan (/usr/lib/postgresql/18/bin/postgres)"),
            frame(0x2a1b5c, "ExecScan", "/usr/lib/postgresql/18/bin/postgres")
        );
        assert_eq!(
            line("\tffffffff81c00b5f do_syscall_64 ([kernel.kallsyms])"),
            frame(0xffff_ffff_81c0_0b5f, "do_syscall_64", KERNEL)
        );
        assert_eq!(
            line("\t    7ffc52369c90 [unknown] ([unknown])"),
            frame(0x7ffc_5236_9c90, UNKNOWN, UNKNOWN)
        );
        assert_eq!(
            line(
                "\t 10 std::map<int, (anonymous namespace)::T>::find(int const&) const (/opt/a b/lib (1).so)"
            ),
            frame(
                16,
                "std::map<int, (anonymous namespace)::T>::find(int const&) const",
                "/opt/a b/lib (1).so"
            )
        );
        assert_eq!(
            line("\t 10 operator()(char) (/srv/bin/postgres (deleted))"),
            frame(16, "operator()(char)", "/srv/bin/postgres")
        );
        assert_eq!(line("\t 10 f (inlined)"), frame(16, "f", "inlined"));
        assert_eq!(line("\tgarbage"), Line::Other);
        assert_eq!(line("\tffffffffffffffff [unknown] ([unknown])"), Line::Other);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let name = "ä".repeat(1_000);
        let text = format!("\t 10 {name} (/lib/x.so)");
        let Line::Frame(cut) = line(&text) else { panic!("a frame") };
        assert_eq!(cut.name.chars().count(), LONGEST_NAME);
    }

    #[test]
    fn lost_events_are_counted_and_other_records_are_not() {
        assert_eq!(line("    0     0.000000: PERF_RECORD_LOST lost 12"), Line::Lost(12));
        assert_eq!(line("    0 PERF_RECORD_COMM: sh:14738/14738"), Line::Other);
    }

    #[test]
    fn sides_are_known_by_module_and_address() {
        let side = |address, module| Frame { address, name: "f", module }.side(Some("/bin/postgres"));
        assert_eq!(side(16, "/bin/postgres"), Side::Server);
        assert_eq!(side(16, "/lib/libc.so.6"), Side::Library);
        assert_eq!(side(0xffff_ffff_8100_0000, "[xfs]"), Side::Kernel);
        assert_eq!(side(0xffff_ffff_8100_0000, UNKNOWN), Side::Kernel);
        assert_eq!(side(0x6e65_7261_7020_676e, UNKNOWN), Side::Library);
        let name =
            |module| Frame { address: u64::MAX, name: "f", module }.module_name(Side::Kernel).to_owned();
        assert_eq!(
            [name("[kernel.kallsyms]_stext"), name("[xfs]"), name(UNKNOWN)],
            [KERNEL, "[xfs]", KERNEL]
        );
    }
}
