//! What this process may use of the machine.

use std::path::Path;

use pgdyno_core::{cpus::CpuList, host::Process};
use rustix::process::{Resource, getrlimit};

use super::file::text;

pub(super) fn read(root: &Path) -> Process {
    Process {
        allowed_cpus: allowed(&text(root, "proc/self/status").unwrap_or_default()),
        open_files: getrlimit(Resource::Nofile).current,
        locked_memory_bytes: getrlimit(Resource::Memlock).current,
    }
}

fn allowed(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.and_then(|list| list.trim().parse::<CpuList>().ok()).map(CpuList::into_vec).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_processors_come_from_status() {
        assert_eq!(allowed("Name:\tcat\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"), [0, 1]);
        assert_eq!(allowed(""), Vec::<u32>::new());
    }
}
