//! The plan as a whole: its keys, its sizes, and the tables it loads.

use std::{collections::BTreeMap, path::PathBuf};

use pgdyno_core::problem::Problem;
use pgdyno_rows::load::{LoadPlan, LoadRequest, Set};
use pgdyno_script::{Builtin, Definition, Protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Action, Auto, CheckPlan, DataPlan, FactorPlan, HostPlan, LOADED_AT_S, MAX_SUBJECTS, MeasurePlan, Scale,
    ScaleupPlan, ScriptPlan, ServerPlan, SizePlan, StagePlan, StoragePlan, TpccPlan, Variables, WorkloadPlan,
    factor::MAX_FACTORS,
    fault::shown,
    stage::MAX_STAGES,
    work::{MAX_WORKLOADS, VARIABLES, definitions},
};

/// Text of `plans/bench.toml`, the plan of `pgdyno bench`.
pub const BENCH_TOML: &str = include_str!("../../../../plans/bench.toml");

/// The JSON Schema (draft 2020-12) of a plan file, for editors and for publication.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Plan);
    schema.insert("title".into(), "A plan of pgdyno".into());
    schema.to_value()
}

/// An experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the experiment, also part of the run directory's name: 1 to 64 letters, digits, dots, dashes and
    /// underscores.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    #[schemars(extend("examples" = ["bench"]))]
    pub name: String,
    /// One sentence for the report.
    #[serde(default)]
    pub description: String,
    /// Seed of every random choice; if absent, one is drawn and printed.
    #[serde(default)]
    pub seed: Option<u64>,
    /// The server to measure.
    #[serde(default)]
    pub server: ServerPlan,
    /// Several servers to measure in turn; the first is the baseline. Keys that a subject leaves out are taken
    /// from `[server]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_SUBJECTS))]
    pub subject: Vec<ServerPlan>,
    /// What of the host is changed for the runs, and put back after them.
    #[serde(default, skip_serializing_if = "HostPlan::is_default")]
    pub host: HostPlan,
    /// The data to load.
    #[serde(default)]
    pub data: DataPlan,
    /// How tables are loaded.
    #[serde(default, skip_serializing_if = "LoadRequest::is_default")]
    pub load: LoadRequest,
    /// Variables for the plan's own SQL (setup, resets and scripts), written `:name` there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-expects" = VARIABLES))]
    pub variables: Variables,
    /// Keys with several levels; every combination of them is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_FACTORS))]
    #[schemars(extend("x-expects" = "a list of factors: write [[factor]] and its keys below, once for each"))]
    pub factor: Vec<FactorPlan>,
    /// Stages in the order of their execution. Default: load, drive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_STAGES))]
    #[schemars(extend("x-expects" = "a list of stages: write [[stage]] and its keys below, once for each"))]
    pub stage: Vec<StagePlan>,
    /// A file of published figures, relative to the plan, that are shown next to those of `disk` stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["../reference/000-storage.toml"]))]
    pub reference: Option<PathBuf>,
    /// What is known of the storage without measuring it.
    #[serde(default, skip_serializing_if = "StoragePlan::is_empty")]
    pub storage: StoragePlan,
    /// Workloads to run, in this order; none only if the plan has stages.
    #[serde(default)]
    #[schemars(length(max = MAX_WORKLOADS))]
    pub workload: Vec<WorkloadPlan>,
    /// How to measure.
    #[serde(default)]
    pub measure: MeasurePlan,
    /// Named sizes of the experiment, chosen by `--size`; without it the rest of the plan applies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-expects" = "tables of sizes: write [size.small] and its keys below, once for each"))]
    pub size: BTreeMap<String, SizePlan>,
    /// Checks after the runs.
    #[serde(default)]
    pub check: CheckPlan,
}

impl Plan {
    /// A plan with the given name and workloads, and defaults for everything else.
    pub fn new(name: impl Into<String>, workload: Vec<WorkloadPlan>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            seed: None,
            server: ServerPlan::default(),
            subject: Vec::new(),
            host: HostPlan::default(),
            data: DataPlan::default(),
            load: LoadRequest::default(),
            variables: Variables::new(),
            factor: Vec::new(),
            stage: Vec::new(),
            reference: None,
            storage: StoragePlan::default(),
            workload,
            measure: MeasurePlan::default(),
            size: BTreeMap::new(),
            check: CheckPlan::default(),
        }
    }

    /// The plan of `pgdyno bench`, equal to `plans/bench.toml`.
    pub fn bench() -> Self {
        let workload = |script| WorkloadPlan::builtin(script, Protocol::Prepared);
        let mut plan = Self::new("bench", vec![workload(Builtin::SelectOnly), workload(Builtin::TpcbLike)]);
        plan.description = "A first look: point reads, then TPC-B-like transactions.".into();
        plan
    }
}

impl Plan {
    /// The stages in order: those of the plan, or loading and driving.
    pub fn stages(&self) -> Vec<StagePlan> {
        match self.stage.is_empty() {
            true => vec![StagePlan::new(Action::Load), StagePlan::new(Action::Drive)],
            false => self.stage.clone(),
        }
    }

    /// Whether all that is done needs no server.
    pub fn needs_no_server(&self) -> bool {
        !self.stage.is_empty() && self.stage.iter().all(StagePlan::needs_no_server)
    }

    /// The stages that read tables into shared buffers before the runs.
    pub fn prewarms(&self) -> impl Iterator<Item = &StagePlan> {
        let before = self.stage.iter().take_while(|stage| stage.action != Action::Drive);
        before.filter(|stage| stage.action == Action::Prewarm)
    }
}

impl SizePlan {
    /// Overrides a plan with the keys of this size.
    pub(super) fn apply(&self, plan: &mut Plan) {
        let measure = &mut plan.measure;
        if let Some(clients) = &self.clients {
            measure.clients = Auto::Given(clients.clone());
        }
        measure.duration = self.duration.unwrap_or(measure.duration);
        measure.warmup = self.warmup.unwrap_or(measure.warmup);
        measure.blocks = self.blocks.unwrap_or(measure.blocks);
        plan.data.scale = self.scale.map_or(plan.data.scale, Scale::Given);
        plan.data.scaleup = self.scaleup.or(plan.data.scaleup);
        plan.data.tpcc = self.tpcc.clone().or(plan.data.tpcc.take());
        plan.variables.extend(self.variables.clone());
        for factor in &mut plan.factor {
            if let Some(levels) = self.levels.get(factor.title()).cloned() {
                factor.levels = levels;
            }
        }
    }
}

impl Plan {
    /// The plan with one of its sizes applied.
    ///
    /// # Errors
    /// The plan has no such size; the hint lists those it has.
    pub fn at_size(mut self, name: &str) -> Result<Self, Problem> {
        let Some(size) = self.size.get(name).cloned() else {
            let what = format!("the plan {} has no size `{}`", self.name, shown(name));
            let names: Vec<_> = self.size.keys().map(String::as_str).collect();
            let hint = match names.as_slice() {
                [] => "the plan has only one size: leave --size out".to_owned(),
                names => format!("its sizes are {}", names.join(", ")),
            };
            return Err(Problem::wrong_request(what).hint(hint));
        };
        size.apply(&mut self);
        Ok(self)
    }

    /// Variables of all the plan's SQL: its own, and those for the numbers of loaded rows.
    pub(super) fn definitions(&self) -> Vec<Definition> {
        let loaded = self.data.scaleup.into_iter().flat_map(ScaleupPlan::variables);
        definitions(&self.variables).chain(loaded).collect()
    }

    /// Whether the plan loads the TPC-B tables.
    pub fn has_tpcb(&self) -> bool {
        let builtin = |part: &ScriptPlan| part.script.as_ref().is_some_and(|s| s.builtin().is_some());
        match self.data.scale {
            Scale::Given(_) => true,
            Scale::None => false,
            Scale::Auto => {
                let others = self.data.is_own() || self.data.scaleup.is_some() || self.data.tpcc.is_some();
                !others || self.workload.iter().any(|one| one.parts().iter().any(builtin))
            }
        }
    }

    /// The request for the tables that the plan loads, with those of TPC-B at this scale if it is given.
    pub(super) fn load_request(&self, scale: Option<u64>) -> Option<LoadRequest> {
        if self.data.loaded {
            return None;
        }
        let request = self.load.clone();
        Some(match (scale, self.data.scaleup, &self.data.tpcc) {
            (Some(_), ..) => LoadRequest { scale, ..request },
            (None, Some(ScaleupPlan { rows, log_rows }), _) => {
                LoadRequest { set: Set::Scaleup, scale: Some(rows), log_rows: Some(log_rows), ..request }
            }
            (None, None, Some(TpccPlan { warehouses, .. })) => LoadRequest {
                set: Set::Tpcc,
                scale: Some(*warehouses),
                seed: self.seed,
                at_us: Some(LOADED_AT_S * 1_000_000),
                ..request
            },
            (None, None, None) => return None,
        })
    }

    /// The plan with other options for loading its tables.
    #[must_use]
    pub fn with_load(&self, load: &LoadRequest) -> Self {
        Self { load: load.clone(), ..self.clone() }
    }

    /// The load that the plan asks for, with TPC-B tables at this scale if it is given; `None` if nothing is loaded.
    ///
    /// # Errors
    /// The requested load is impossible or contradictory.
    pub fn loads(&self, scale: Option<u64>) -> Result<Option<LoadPlan>, Problem> {
        self.load_request(scale).map(|request| request.plan_alike()).transpose()
    }
}
