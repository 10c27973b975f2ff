//! The flag that detaches a command from its terminal.

use pgdyno_core::problem::Problem;
use pgdyno_wire::ConnectOptions;

use super::recorded;
use crate::detach::Detachment;

/// The flag that detaches a command from its terminal.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct Detach {
    /// Continue without this terminal: return when the run has begun, and print its name [default: such as bench-1]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    detach: Option<String>,
}

impl Detach {
    /// What is to be detached, with the existing servers that it connects to; `None` without the flag.
    pub fn detachment(
        &self,
        kind: &'static str,
        servers: impl FnOnce() -> Result<Vec<ConnectOptions>, Problem>,
    ) -> Option<Result<Detachment, Problem>> {
        let name = self.detach.as_ref()?;
        let name = (!name.is_empty()).then(|| name.clone());
        Some(servers().map(|servers| Detachment { kind, name, servers, command: recorded::of_process() }))
    }
}
