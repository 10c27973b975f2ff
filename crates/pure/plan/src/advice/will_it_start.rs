//! Detects servers that cannot start before a start is tried. Every rule uses a lower bound of what the server
//! needs, so nothing that could start is refused.

use std::collections::BTreeMap;

use pgdyno_core::{
    facts::amount::{KB, MB, format, parse},
    host::Inventory,
    problem::Problem,
};

/// Open files that the server requires for itself (`FD_MINFREE` and its reserve in `fd.c`).
const LEAST_OPEN_FILES: u64 = 64;

/// Fewest shared buffers that the server accepts (`guc_tables.c`).
const LEAST_BUFFERS: u64 = 16;

/// Effective settings by name.
pub type Settings = BTreeMap<String, String>;

/// Everything in these settings that this machine cannot provide, each with a hint; empty if no obstacle is
/// known. `block_bytes` is the server's block size, the unit of numbers without one.
pub fn problems(host: &Inventory, version_num: u32, block_bytes: u64, settings: &Settings) -> Vec<Problem> {
    let look = Checker { host, version_num, block_bytes, settings };
    [
        look.unreadable_shared_buffers(),
        look.memory(),
        look.huge_pages(),
        look.commit_limit(),
        look.open_files(),
        look.io_uring_files(),
        look.io_uring_memlock(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

struct Checker<'a> {
    host: &'a Inventory,
    version_num: u32,
    block_bytes: u64,
    settings: &'a Settings,
}

impl Checker<'_> {
    fn is(&self, name: &str, value: &str) -> bool {
        self.settings.get(name).is_some_and(|set| set.eq_ignore_ascii_case(value))
    }

    /// Lower bound of the shared memory in bytes: `shared_buffers` alone, by default the server's 128 MB.
    fn shared_bytes(&self) -> u64 {
        self.settings.get("shared_buffers").and_then(|text| parse(text, self.block_bytes)).unwrap_or(128 * MB)
    }

    fn unreadable_shared_buffers(&self) -> Option<Problem> {
        let text = self.settings.get("shared_buffers")?;
        let (bytes, block) = (parse(text, self.block_bytes), format(self.block_bytes));
        bytes.is_none_or(|bytes| bytes < LEAST_BUFFERS * self.block_bytes).then(|| {
            let least = format(LEAST_BUFFERS * self.block_bytes);
            Problem::wrong_request(format!(
                "shared_buffers = `{text}` is not an amount of memory of {least} or more"
            ))
            .hint(format!("write a number of {block} blocks, or a number with kB, MB, GB or TB, such as 4GB"))
        })
    }

    fn memory(&self) -> Option<Problem> {
        let (wanted, total) = (self.shared_bytes(), self.host.memory.total_bytes);
        let (limit, whose) = match self.host.kernel.cgroup.memory_bytes {
            Some(limit) if limit < total => (limit, "the control group allows"),
            _ => (total, "this machine has"),
        };
        (wanted > limit).then(|| {
            let (wanted, limit) = (format(wanted), format(limit / MB * MB));
            Problem::wrong_request(format!(
                "shared_buffers = {wanted} is more than the {limit} of memory {whose}"
            ))
            .hint("a quarter of memory is a good start; leave shared_buffers out and pgdyno chooses it")
        })
    }

    fn huge_pages(&self) -> Option<Problem> {
        let pool = self.host.default_huge_pages();
        let free = pool.unreserved();
        let custom = self.settings.get("huge_page_size").and_then(|text| parse(text, KB)).unwrap_or(0);
        if !self.is("huge_pages", "on") || (custom != 0 && custom != pool.page_bytes) {
            return None;
        }
        let needed = self.shared_bytes().div_ceil(pool.page_bytes.max(1));
        (needed > free).then(|| {
            Problem::wrong_request(format!(
                "huge_pages = on needs at least {needed} free huge pages of {}, and there are {free}",
                format(pool.page_bytes)
            ))
            .hint(format!(
                "reserve them with `sysctl vm.nr_hugepages={}`, or use huge_pages = try",
                pool.total - free.min(pool.total) + needed + needed / 20 + 16
            ))
        })
    }

    fn commit_limit(&self) -> Option<Problem> {
        // Explicit huge pages are not counted against the commit limit.
        let left = self.host.commit_left_bytes().filter(|_| !self.is("huge_pages", "on"))?;
        (self.shared_bytes() > left).then(|| {
            Problem::wrong_request(format!(
                "shared_buffers = {} is more than the {} left under the kernel's CommitLimit",
                format(self.shared_bytes()),
                format(left / MB * MB)
            ))
            .detail("vm.overcommit_memory is 2: the kernel refuses memory that it could not back")
            .hint("lower shared_buffers, or raise vm.overcommit_ratio")
        })
    }

    fn open_files(&self) -> Option<Problem> {
        let limit = self.host.open_files_limit();
        (limit < LEAST_OPEN_FILES).then(|| {
            Problem::could_not(format!(
                "a server needs {LEAST_OPEN_FILES} open files, and the limit here is {limit}"
            ))
            .hint("raise it with `ulimit -n 1024` and try again")
        })
    }

    /// With `io_uring` the postmaster opens a ring for every possible process before it forks any.
    fn io_uring_files(&self) -> Option<Problem> {
        if !self.uses_io_uring() {
            return None;
        }
        let number = |name: &str, default| {
            self.settings.get(name).and_then(|text| text.parse::<u64>().ok()).unwrap_or(default)
        };
        let connections = number("max_connections", 100);
        let needed = connections + number("max_worker_processes", 8) + LEAST_OPEN_FILES;
        let limit = self.host.open_files_limit();
        (needed > limit).then(|| {
            Problem::wrong_request(format!(
                "io_uring with max_connections = {connections} needs {needed} open files, the limit is {limit}"
            ))
            .hint("raise it with `ulimit -n`, lower max_connections, or use io_method = worker")
        })
    }

    /// Before Linux 5.12 the memory of a ring counted as locked memory.
    fn io_uring_memlock(&self) -> Option<Problem> {
        let limit = self.host.process.as_ref()?.locked_memory_bytes?;
        let counted = self.host.kernel.version().is_some_and(|version| version < (5, 12));
        (self.uses_io_uring() && counted && limit < 8 * MB).then(|| {
            Problem::wrong_request(format!(
                "io_method = io_uring on Linux {} needs locked memory, and the limit is {}",
                self.host.kernel.release,
                format(limit)
            ))
            .hint("raise it with `ulimit -l unlimited`, or use io_method = worker")
        })
    }

    fn uses_io_uring(&self) -> bool {
        self.version_num >= 180_000 && self.is("io_method", "io_uring")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use pgdyno_core::{
        facts::amount::{BLOCK, GB},
        host::samples,
    };

    use super::*;

    /// A machine with this much memory and four processors, without any obstacle.
    pub fn host(memory_bytes: u64) -> Inventory {
        samples::host(memory_bytes, 4)
    }

    fn said(host: &Inventory, settings: &[(&str, &str)]) -> Vec<String> {
        let settings = settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        problems(host, 180_004, BLOCK, &settings).into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn an_ordinary_request_has_nothing_in_its_way() {
        assert_eq!(said(&host(4 * GB), &[]), Vec::<String>::new());
        assert_eq!(
            said(&host(4 * GB), &[("shared_buffers", "1GB"), ("huge_pages", "try")]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn more_buffers_than_memory() {
        let words = said(&host(4 * GB), &[("shared_buffers", "5GB")]);
        assert_eq!(words, ["shared_buffers = 5GB is more than the 4GB of memory this machine has"]);
        let mut small = host(4 * GB);
        small.kernel.cgroup.memory_bytes = Some(GB);
        let words = said(&small, &[("shared_buffers", "2GB")]);
        assert_eq!(words, ["shared_buffers = 2GB is more than the 1GB of memory the control group allows"]);
    }

    #[test]
    fn an_amount_nobody_can_read() {
        for wrong in ["lots", "4gb", "0", "64kB"] {
            assert_eq!(said(&host(4 * GB), &[("shared_buffers", wrong)]).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn numbers_without_a_unit_count_blocks_of_the_build() {
        let of = |blocks: &str, block_bytes| {
            let settings = [("shared_buffers".to_owned(), blocks.to_owned())].into();
            problems(&host(4 * GB), 180_004, block_bytes, &settings).into_iter().next()
        };
        // 200,000 blocks are 1.5 GB of 8 KiB and 6 GB of 32 KiB.
        assert_eq!(of("200000", BLOCK), None);
        let problem = of("200000", 4 * BLOCK).expect("it is more than there is");
        assert!(problem.what.contains("more than the 4GB of memory"), "{problem}");
        assert_eq!(of("256kB", BLOCK), None);
        let problem = of("256kB", 4 * BLOCK).expect("it is too little");
        assert!(problem.what.ends_with("is not an amount of memory of 512kB or more"), "{problem}");
        assert!(problem.hint.is_some_and(|hint| hint.contains("32kB blocks")));
        assert_eq!(of("512kB", 4 * BLOCK), None);
    }

    #[test]
    fn huge_pages_that_are_not_there() {
        let host = host(4 * GB);
        let wanted = [("shared_buffers", "1GB"), ("huge_pages", "on")];
        assert_eq!(said(&host, &wanted).len(), 1);
        let host = samples::with_huge_pages(host, 600, 600);
        assert_eq!(said(&host, &wanted), Vec::<String>::new());
        let host = samples::with_huge_pages(host, 600, 511);
        let words = said(&host, &wanted);
        assert_eq!(words, ["huge_pages = on needs at least 512 free huge pages of 2MB, and there are 511"]);
    }

    #[test]
    fn the_commit_limit_binds_in_mode_two_only() {
        let mut host = host(4 * GB);
        host.memory.commit_limit_bytes = Some(GB);
        let wanted = [("shared_buffers", "2GB")];
        assert_eq!(said(&host, &wanted), Vec::<String>::new());
        host.kernel.sysctls.insert("vm.overcommit_memory".into(), "2".into());
        assert_eq!(said(&host, &wanted).len(), 1);
    }

    #[test]
    fn open_files_and_rings() {
        let of = |open_files, locked_memory_bytes, release: &str| {
            let mut host = host(4 * GB);
            let process = host.process.as_mut().expect("it has one");
            (process.open_files, process.locked_memory_bytes) = (Some(open_files), Some(locked_memory_bytes));
            host.kernel.release = release.to_owned();
            host
        };
        assert_eq!(said(&of(40, 8 * MB, "6.1.0"), &[]).len(), 1);
        let rings = [("io_method", "io_uring"), ("max_connections", "2000")];
        assert!(said(&of(1_024, 8 * MB, "6.1.0"), &rings)[0].contains("open files"));
        assert_eq!(said(&of(100_000, 8 * MB, "6.1.0"), &rings), Vec::<String>::new());
        assert!(said(&of(100_000, 64 * KB, "5.10.0"), &rings)[0].contains("locked memory"));
    }
}
