//! Where the processes of a server spent their CPU time, as `perf` sampled it.
//!
//! Samples are counted; a share of them is a share of CPU time. What is unknown is absent, never zero.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether server processes are profiled, and how their call stacks are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profiling {
    /// They are not profiled.
    #[default]
    None,
    /// By frame pointers if the server's program keeps them, else by DWARF.
    Auto,
    /// By frame pointers: cheap, and wrong for programs that were built without them.
    Fp,
    /// By the unwind tables of the programs, from a copy of the stack in every sample: works for all programs, and
    /// makes much data.
    Dwarf,
}

/// A text that is no [`Profiling`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotProfiling;

impl fmt::Display for NotProfiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is none, auto, fp or dwarf")
    }
}

impl std::error::Error for NotProfiling {}

impl FromStr for Profiling {
    type Err = NotProfiling;

    fn from_str(text: &str) -> Result<Self, NotProfiling> {
        Ok(match text {
            "none" => Self::None,
            "auto" => Self::Auto,
            "fp" => Self::Fp,
            "dwarf" => Self::Dwarf,
            _ => return Err(NotProfiling),
        })
    }
}

/// How call stacks were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StackKind {
    /// By frame pointers.
    #[default]
    Fp,
    /// By DWARF unwind tables.
    Dwarf,
}

/// Whose code a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The server's program.
    Server,
    /// The kernel and its modules.
    Kernel,
    /// Shared libraries, extensions of the server among them, and code made at run time.
    Library,
}

/// What of the kernel a profile shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelSide {
    /// Its functions by name.
    Named,
    /// How much time was spent in it, but no names: `kernel.kptr_restrict` hides them.
    Unnamed,
    /// Nothing: `kernel.perf_event_paranoid` forbids it to this user. Time in the kernel is missing from all shares.
    #[default]
    NotSampled,
}

/// Which names of functions a program file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Symbols {
    /// Of all functions.
    All,
    /// Of all functions, in a separate file of debug symbols.
    Separate,
    /// Of exported functions only: the program is stripped.
    Exported,
    /// None.
    None,
}

/// The program of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfiledProgram {
    /// Its file.
    pub path: String,
    /// Its build id in hexadecimal; absent if it was built without one.
    pub build_id: Option<String>,
    /// Which functions can be named.
    pub symbols: Symbols,
    /// Whether line numbers of its source are known (DWARF `.debug_info`, in it or in a separate file).
    pub debug_info: bool,
    /// Whether its functions keep frame pointers, by the first instructions of some hundred of them; absent on
    /// processors whose instructions are not known here.
    pub keeps_frame_pointers: Option<bool>,
}

/// CPU time of one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SymbolUse {
    /// Its name; `[unknown]` for all code of the module without one.
    pub symbol: String,
    /// File name of the program or library, `[kernel.kallsyms]` for the kernel.
    pub module: String,
    /// Whose code it is.
    pub side: Side,
    /// Samples in the function itself.
    pub self_samples: u64,
    /// Samples in the function or in what it called.
    pub total_samples: u64,
}

/// A profile of the processes of a server over the measured intervals of a cell, or over a stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// Version of `perf`.
    pub perf: String,
    /// The event that was sampled: `cycles`, or `cpu-clock` on machines without hardware counters.
    pub event: String,
    /// Samples per second of CPU time.
    pub frequency_hz: u32,
    /// How call stacks were found.
    pub stacks: StackKind,
    /// What is seen of the kernel.
    pub kernel: KernelSide,
    /// Value of `kernel.perf_event_paranoid`; absent if it cannot be read.
    pub perf_event_paranoid: Option<i64>,
    /// Value of `kernel.kptr_restrict`; absent if it cannot be read.
    pub kptr_restrict: Option<i64>,
    /// The server's program; absent if its file cannot be read.
    pub program: Option<ProfiledProgram>,
    /// Most processes that were there when sampling began. Those that they started later were sampled as well.
    pub processes: u64,
    /// Seconds in which samples were taken.
    pub over_s: f64,
    /// Samples.
    pub samples: u64,
    /// CPUs that the processes used on average, by the samples: in a profile of `cycles` about.
    pub cpus: Option<f64>,
    /// Samples that perf lost because they were not read fast enough.
    pub lost: u64,
    /// Samples in the server's program itself.
    pub server_samples: u64,
    /// Samples in the kernel.
    pub kernel_samples: u64,
    /// Samples in libraries.
    pub library_samples: u64,
    /// Samples in code without a name.
    pub unknown_samples: u64,
    /// Samples whose stacks the file has under `[other stacks]`, because it has too many.
    pub other_stack_samples: u64,
    /// The functions with the most samples of their own, and those with the most in all.
    pub symbols: Vec<SymbolUse>,
    /// CPUs that `perf record` used while it sampled, on average. What sampling costs within the server's processes is
    /// not known.
    pub perf_cpus: Option<f64>,
    /// Seconds that it took to read the samples afterwards, outside of what is measured.
    pub reading_s: f64,
    /// File of the run directory with all stacks, one on each line with its samples.
    pub file: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_of_profiling_are_named_as_in_a_plan() {
        for way in [Profiling::None, Profiling::Auto, Profiling::Fp, Profiling::Dwarf] {
            let json = serde_json::to_value(way).expect("it is a word");
            assert_eq!(json.as_str().map(str::parse), Some(Ok(way)));
        }
        assert_eq!("lbr".parse::<Profiling>(), Err(NotProfiling));
    }
}
