//! The plan for which time, space and memory are estimated, if the subjects of a job differ in clients or tables.

use pgdyno_plan::{
    Plan, WorkloadPlan,
    advice::bench::{BenchFacts, loaded_bytes},
};
use pgdyno_rows::load::LoadRequest;
use pgdyno_script::{Builtin, Protocol};

use crate::{Job, SubjectJob, SubjectWork};

/// The plan with the largest tables of any server. If the subjects of a comparison have client counts of their own,
/// each has a workload of its own, with half of the runs.
pub fn estimated(job: &Job, plan: &Plan) -> Plan {
    let mut estimated = match job.all_loads().into_iter().min_by_key(LoadRequest::fillfactor) {
        Some(largest) => plan.with_load(&largest),
        None => plan.clone(),
    };
    if job.has_own_clients() {
        estimated.workload = job.subjects.iter().map(|subject| workload(subject, plan)).collect();
        estimated.measure.blocks /= job.subjects.len() as u32;
    }
    estimated
}

/// What a subject runs, as far as estimates distinguish it. Scripts are taken for the most expensive built-in one.
fn workload(subject: &SubjectJob, plan: &Plan) -> WorkloadPlan {
    let builtin = |builtin| WorkloadPlan::builtin(builtin, Protocol::Prepared);
    let of_plan = plan.workload.first().cloned();
    let work = match &subject.work {
        SubjectWork::Plan => of_plan.unwrap_or_else(|| builtin(Builtin::TpcbLike)),
        SubjectWork::Script { work, .. } => builtin(work.builtin.unwrap_or(Builtin::TpcbLike)),
        SubjectWork::Command(_) | SubjectWork::Load | SubjectWork::Storage(_) => builtin(Builtin::SelectOnly),
    };
    WorkloadPlan { clients: subject.clients.map(|clients| vec![clients]), ..work }
}

/// Estimated size in bytes of the smallest tables of any server, if the servers are loaded differently; `None` if the
/// plan's own SQL makes tables as well.
pub fn smallest_tables_bytes(
    job: &Job,
    plan: &Plan,
    scale: Option<u64>,
    facts: &BenchFacts<'_>,
) -> Option<u64> {
    let bytes = |load: LoadRequest| loaded_bytes(&plan.with_load(&load), scale, facts);
    let is_known = !job.loads_all_alike() && plan.data.setup.is_none();
    job.all_loads().into_iter().map(bytes).min().filter(|_| is_known)
}

#[cfg(test)]
mod tests {
    use pgdyno_analysis::compare::{Asked, ComparedRate, looks};
    use pgdyno_core::host::Inventory;
    use pgdyno_plan::{Auto, Scale, Work, WorkloadFiles, advice::bench::Level};
    use pgdyno_provision::Request;
    use pgdyno_rows::PAGE_BYTES;

    use super::*;
    use crate::{Compare, Question, Wanted};

    fn arm(name: &str, server: usize, builtin: Builtin, clients: u32, fillfactor: u32) -> SubjectJob {
        SubjectJob {
            name: name.into(),
            said: String::new(),
            asked: Asked::default(),
            server: Some(server),
            work: SubjectWork::Script {
                work: Box::new(Work::builtin(builtin)),
                protocol: Protocol::Prepared,
            },
            load: Some(LoadRequest { fillfactor: Some(fillfactor), ..LoadRequest::default() }),
            clients: Some(clients),
            drive: None,
            host: pgdyno_plan::HostPlan::default(),
        }
    }

    fn job() -> Job {
        let mut plan = Plan::new("ab", vec![WorkloadPlan::builtin(Builtin::TpcbLike, Protocol::Prepared)]);
        (plan.measure.blocks, plan.measure.clients) = (32, Auto::Given(vec![64, 4]));
        plan.data.scale = Scale::Given(10);
        let own = |name| Wanted::Own(Box::new(Request::named(name)));
        Job {
            workload_files: WorkloadFiles::without_files(&plan).expect("built-in scripts alone"),
            plan,
            trust: false,
            level: Level::Screening,
            servers: vec![own("a"), own("b")],
            subjects: vec![arm("A", 0, Builtin::SelectOnly, 64, 100), arm("B", 1, Builtin::TpcbLike, 4, 50)],
            question: Question::Comparison(Compare {
                looks: looks(16),
                by: ComparedRate::Tps,
                keep_disturbed: false,
                slots: false,
                fail_if_slower: false,
            }),
            command: String::new(),
            seed_given: false,
            keep: false,
            allow_host_changes: false,
        }
    }

    fn facts(host: &Inventory) -> BenchFacts<'_> {
        BenchFacts {
            host,
            disk_available_bytes: None,
            disk_path: None,
            side_by_side: 2,
            own_server: true,
            server_local: true,
            max_connections: None,
            reserved_connections: 0,
            shared_buffers_bytes: None,
            page_bytes: PAGE_BYTES,
        }
    }

    #[test]
    fn an_estimate_has_the_clients_of_each_arm_and_the_largest_tables() {
        let job = job();
        let plan = estimated(&job, &job.plan);
        assert_eq!((plan.measure.blocks, plan.load.fillfactor), (16, Some(50)));
        let works: Vec<_> = plan.workload.iter().map(|one| (one.as_builtin(), one.clients.clone())).collect();
        let expected =
            [(Some(Builtin::SelectOnly), Some(vec![64])), (Some(Builtin::TpcbLike), Some(vec![4]))];
        assert_eq!(works, expected);
    }

    #[test]
    fn arms_that_differ_in_neither_are_estimated_by_the_plan() {
        let mut job = job();
        job.subjects.iter_mut().for_each(|arm| (arm.load, arm.clients) = (None, None));
        assert_eq!(estimated(&job, &job.plan), job.plan);
        let host = pgdyno_host::facts::host().expect("we are on one");
        assert_eq!(smallest_tables_bytes(&job, &job.plan, Some(10), &facts(&host)), None);
    }

    #[test]
    fn the_smallest_tables_are_those_with_the_highest_fill_factor() {
        let host = pgdyno_host::facts::host().expect("we are on one");
        let (job, facts) = (job(), facts(&host));
        let full = loaded_bytes(&job.plan, Some(10), &facts);
        assert_eq!(smallest_tables_bytes(&job, &job.plan, Some(10), &facts), Some(full));
        assert!(loaded_bytes(&estimated(&job, &job.plan), Some(10), &facts) > full);
    }
}
