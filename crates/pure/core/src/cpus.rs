//! Lists of CPUs as the kernel writes them.

use std::{fmt, str::FromStr};

/// Highest CPU number accepted. Linux is built for at most 8,192 CPUs (`CONFIG_NR_CPUS`).
pub const MAX_CPU: u32 = 8_191;

/// A set of logical CPUs, written `0-3,8` (the "list format" of cpuset(7), without strides).
///
/// It has at least one CPU, in ascending order and without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(Vec<u32>);

/// Why a text is not a list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotACpuList {
    /// Nothing between commas, or no text at all.
    #[error("a CPU is missing in `{0}`")]
    Empty(String),
    /// Neither a number nor a range.
    #[error("`{0}` is neither a CPU number nor a range")]
    Shape(String),
    /// A number above [`MAX_CPU`].
    #[error("CPU {0} is above the highest possible number, {MAX_CPU}")]
    TooHigh(String),
    /// A descending range.
    #[error("the range `{0}` is descending")]
    Backwards(String),
    /// A duplicate.
    #[error("CPU {0} is listed twice")]
    Twice(u32),
}

impl CpuList {
    /// CPUs in ascending order.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// CPUs in ascending order.
    pub fn into_vec(self) -> Vec<u32> {
        self.0
    }

    /// A list of the given CPUs; `None` if there are none or one is above [`MAX_CPU`].
    pub fn of(mut cpus: Vec<u32>) -> Option<Self> {
        cpus.sort_unstable();
        cpus.dedup();
        (cpus.last().is_some_and(|&last| last <= MAX_CPU)).then_some(Self(cpus))
    }
}

impl FromStr for CpuList {
    type Err = NotACpuList;

    fn from_str(text: &str) -> Result<Self, NotACpuList> {
        let mut cpus = Vec::new();
        for item in text.split(',') {
            let (first, last) = range(item.trim(), text)?;
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        match cpus.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(NotACpuList::Twice(pair[0])),
            None => Ok(Self(cpus)),
        }
    }
}

/// CPUs of server and driver in words, such as `server on CPU 0 of 2, driver on CPU 1`; `None` if the server may use
/// all.
pub fn cpus_in_words(server: &[u32], driver: &[u32], of: usize) -> Option<String> {
    let words = |who: &str, cpus: &[u32]| {
        let many = if cpus.len() == 1 { "" } else { "s" };
        CpuList::of(cpus.to_vec()).map(|list| format!("{who} on CPU{many} {list}"))
    };
    let server = words("server", server).filter(|_| server.len() < of)?;
    let driver = words("driver", driver).map(|words| format!(", {words}")).unwrap_or_default();
    Some(format!("{server} of {of}{driver}"))
}

/// First and last CPU of one item of the list.
fn range(item: &str, text: &str) -> Result<(u32, u32), NotACpuList> {
    if item.is_empty() {
        return Err(NotACpuList::Empty(text.to_owned()));
    }
    let (first, last) = item.split_once('-').unwrap_or((item, item));
    let (first, last) = (number(first, item)?, number(last, item)?);
    if first > last { Err(NotACpuList::Backwards(item.to_owned())) } else { Ok((first, last)) }
}

fn number(text: &str, item: &str) -> Result<u32, NotACpuList> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NotACpuList::Shape(item.to_owned()));
    }
    match text.parse() {
        Ok(cpu) if cpu <= MAX_CPU => Ok(cpu),
        _ => Err(NotACpuList::TooHigh(text.to_owned())),
    }
}

/// Prints the list in its input format, with ranges as long as possible.
impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, run) in self.0.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match run {
                [only] => write!(f, "{comma}{only}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_in_the_kernels_format_are_parsed() {
        for (text, cpus) in [
            ("0", vec![0]),
            ("0-3,8", vec![0, 1, 2, 3, 8]),
            (" 8 , 0 - 3 ", vec![0, 1, 2, 3, 8]),
            ("5-5", vec![5]),
            ("8191", vec![8191]),
        ] {
            assert_eq!(text.parse::<CpuList>().map(CpuList::into_vec), Ok(cpus), "{text}");
        }
    }

    #[test]
    fn a_server_without_all_cpus_is_described() {
        assert_eq!(cpus_in_words(&[0], &[1], 2).as_deref(), Some("server on CPU 0 of 2, driver on CPU 1"));
        assert_eq!(
            cpus_in_words(&[2, 0, 1], &[3], 8).as_deref(),
            Some("server on CPUs 0-2 of 8, driver on CPU 3")
        );
        assert_eq!(cpus_in_words(&[0], &[], 2).as_deref(), Some("server on CPU 0 of 2"));
        assert_eq!((cpus_in_words(&[0, 1], &[0, 1], 2), cpus_in_words(&[], &[0], 2)), (None, None));
    }

    #[test]
    fn errors_explain_what_is_wrong() {
        for (text, message) in [
            ("", "a CPU is missing in ``"),
            ("0,,1", "a CPU is missing in `0,,1`"),
            ("0,", "a CPU is missing in `0,`"),
            ("a", "`a` is neither a CPU number nor a range"),
            ("-1", "`-1` is neither a CPU number nor a range"),
            ("0-3:2", "`0-3:2` is neither a CPU number nor a range"),
            ("3-1", "the range `3-1` is descending"),
            ("0-4294967295", "CPU 4294967295 is above the highest possible number, 8191"),
            ("99999999999999999999", "CPU 99999999999999999999 is above the highest possible number, 8191"),
            ("0-3,2", "CPU 2 is listed twice"),
        ] {
            assert_eq!(text.parse::<CpuList>().expect_err(text).to_string(), message);
        }
    }

    proptest! {
        #[test]
        fn printed_lists_parse_back(cpus in prop::collection::btree_set(0u32..=MAX_CPU, 1..50)) {
            let list = CpuList::of(cpus.into_iter().collect()).expect("there are processors");
            prop_assert_eq!(list.to_string().parse(), Ok(list));
        }
    }
}
