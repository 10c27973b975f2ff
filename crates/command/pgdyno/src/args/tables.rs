//! Which tables of an existing server are measured.

use clap::ValueEnum;
use pgdyno_plan::{Plan, Scale};

/// Flags about the tables of an existing server.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[group(skip)]
pub(super) struct TablesFlags {
    /// Tables to measure on an existing server: own ones, loaded into schema pgdyno and removed afterwards, or those
    /// that its sessions find, which stay
    #[arg(long, value_name = "own|existing", hide_possible_values = true)]
    tables: Option<Tables>,
    /// The same as --tables existing
    #[arg(long, conflicts_with = "tables")]
    loaded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tables {
    /// Loaded for the run.
    Own,
    /// Those that are there.
    Existing,
}

impl TablesFlags {
    /// Whether tables that are there are measured; `None` if no flag says so.
    pub fn existing(self) -> Option<bool> {
        let by_name = self.tables.map(|tables| tables == Tables::Existing);
        by_name.or(self.loaded.then_some(true))
    }
}

/// Leaves out the TPC-B tables that a plan would load by default, unless something `uses` them.
pub(super) fn leave_out_unused(plan: &mut Plan, uses: bool) {
    let is_requested = plan.data.scale != Scale::Auto || !plan.load.is_default() || !plan.stage.is_empty();
    if plan.has_tpcb() && !is_requested && !uses {
        plan.data.scale = Scale::None;
    }
}
