//! Memory in pools of explicit huge pages, which nothing else can use.

use pgdyno_core::{facts::amount::MB, host::HugePagePool, units};

use super::Facts;

/// Least share of the memory that is left to what does not use explicit huge pages.
const MEMORY_WITHOUT_HUGE_PAGES: f64 = 0.25;
/// The size of the default huge page of x86-64, unless the boot line says otherwise.
const USUAL_BYTES: u64 = 2 * MB;

/// Memory in pools of explicit huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HugeMemory {
    /// Bytes of all pools.
    pub bytes: u64,
    /// The size of a page, where the pools could not be read and their size is that which is usual.
    pub assumed_page_bytes: Option<u64>,
}

impl HugeMemory {
    /// `16 GiB in huge pages`, with what is assumed.
    pub(crate) fn words(self) -> String {
        let bytes = units::bytes(self.bytes);
        match self.assumed_page_bytes {
            None => format!("{bytes} in huge pages"),
            Some(page) => format!("{bytes} in huge pages, if each has {} as usual", units::bytes(page)),
        }
    }
}

impl<'a> Facts<'a> {
    /// The pool of huge pages of the default size.
    pub(crate) fn default_pool(&self) -> Option<&'a HugePagePool> {
        let size = self.host.memory.default_huge_page_bytes?;
        self.host.memory.huge_pages.iter().find(|pool| pool.page_bytes == size)
    }

    /// The size of the default huge page, and whether it is only assumed; `None` if it is unknown and depends on the
    /// machine.
    pub(crate) fn default_huge_page(&self) -> Option<(u64, bool)> {
        let host = self.host;
        let known = host.memory.default_huge_page_bytes.filter(|bytes| *bytes > 0);
        let is_usual = host.arch == "x86_64" && host.kernel.boot_word("default_hugepagesz").is_none();
        known.map(|bytes| (bytes, false)).or_else(|| is_usual.then_some((USUAL_BYTES, true)))
    }

    /// Memory in all pools of huge pages; where no pool could be read, the kernel parameter gives the pages of the
    /// default size. `None` if it is unknown.
    pub(crate) fn huge_memory(&self) -> Option<HugeMemory> {
        let pools = &self.host.memory.huge_pages;
        if !pools.is_empty() {
            let sizes = pools.iter().map(|pool| pool.total.saturating_mul(pool.page_bytes));
            let bytes = sizes.fold(0, u64::saturating_add);
            return Some(HugeMemory { bytes, assumed_page_bytes: None });
        }
        match u64::try_from(self.host.sysctl_number("vm.nr_hugepages")?).ok()? {
            0 => Some(HugeMemory { bytes: 0, assumed_page_bytes: None }),
            pages => {
                let (size, is_assumed) = self.default_huge_page()?;
                let bytes = pages.saturating_mul(size);
                Some(HugeMemory { bytes, assumed_page_bytes: is_assumed.then_some(size) })
            }
        }
    }

    /// Bytes of all pools of huge pages together, which no other memory can use; 0 if none is known.
    pub(crate) fn huge_pool_bytes(&self) -> u64 {
        self.huge_memory().map_or(0, |huge| huge.bytes)
    }

    /// Bytes of memory that pools of huge pages leave to all else; 0 if the memory is unknown.
    pub(crate) fn bytes_without_huge_pages(&self) -> u64 {
        self.host.memory.total_bytes.saturating_sub(self.huge_pool_bytes())
    }

    /// Bytes that pools of huge pages may have at most so that the rest of the host can work.
    pub(crate) fn most_huge_bytes(&self) -> u64 {
        (self.host.memory.total_bytes as f64 * (1.0 - MEMORY_WITHOUT_HUGE_PAGES)) as u64
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{facts::amount::GB, host::Inventory};

    use super::*;
    use crate::{Purpose, host::testing::host};

    fn huge(host: &Inventory) -> Option<HugeMemory> {
        Facts { host, purpose: Purpose::Oltp }.huge_memory()
    }

    #[test]
    fn without_pools_the_parameter_counts() {
        let mut known = host(&[("vm.nr_hugepages", "5")]);
        known.memory.huge_pages[0].total = 1024;
        assert_eq!(huge(&known), Some(HugeMemory { bytes: 2 * GB, assumed_page_bytes: None }), "the pool");
        known.memory.huge_pages.clear();
        assert_eq!(huge(&known), Some(HugeMemory { bytes: 10 * MB, assumed_page_bytes: None }));
        known.memory.default_huge_page_bytes = None;
        assert_eq!(huge(&known), None, "the size depends on the machine");
        known.arch = "x86_64".to_owned();
        let assumed = HugeMemory { bytes: 10 * MB, assumed_page_bytes: Some(2 * MB) };
        assert_eq!(huge(&known), Some(assumed));
        assert_eq!(assumed.words(), "10 MiB in huge pages, if each has 2 MiB as usual");
        known.kernel.boot_words = vec!["default_hugepagesz=1G".to_owned()];
        assert_eq!(huge(&known), None, "it is not the usual size");
        known.kernel.sysctls.insert("vm.nr_hugepages".to_owned(), "0".to_owned());
        assert_eq!(huge(&known).map(|huge| huge.bytes), Some(0), "none, whatever their size");
        known.kernel.sysctls.clear();
        assert_eq!(huge(&known), None);
    }
}
