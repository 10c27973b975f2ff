//! The digest of a job, by which a resumed run recognises its experiment.

use pgdyno_plan::{Plan, Steps, Work};
use pgdyno_provision::Request;
use sha2::{Digest, Sha256};

use crate::{Job, SubjectJob, SubjectWork, Wanted};

/// SHA-256 of everything that a job requests: plan, texts of its scripts, servers, subjects and question. It leaves out
/// the seed, which is in the record, and names that every process chooses again. The same program gives the same digest
/// for the same job; another version may not.
pub fn digest(job: &Job) -> String {
    let plan = Plan { seed: None, ..job.plan.clone() };
    let setup = job.workload_files.setup.as_ref().map(steps);
    let works: Vec<String> = job.workload_files.work.iter().map(work).collect();
    let servers: Vec<String> = job.servers.iter().map(server).collect();
    let subject = |one: &SubjectJob| {
        let own = (one.load.clone(), one.clients, one.host.clone());
        (one.name.clone(), one.said.clone(), one.server, subject_work(&one.work), own)
    };
    let subjects: Vec<_> = job.subjects.iter().map(subject).collect();
    let asked = format!("{:?}", (plan, setup, works, job.trust, job.level, servers, subjects, &job.question));
    Sha256::digest(asked.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The texts of a workload. The parsed form has no stable order.
fn work(of: &Work) -> String {
    let reset = of.reset.as_ref().map(steps);
    let tries = of.max_tries;
    format!("{:?}", (&of.name, of.builtin, &of.texts, &of.weights, &of.definitions, reset, &of.tpcc, tries))
}

fn steps(of: &Steps) -> String {
    format!("{:?}", (&of.texts, &of.definitions))
}

fn subject_work(of: &SubjectWork) -> String {
    match of {
        SubjectWork::Plan => String::new(),
        SubjectWork::Load => "load".to_owned(),
        SubjectWork::Script { work: own, protocol } => format!("{} {protocol:?}", work(own)),
        SubjectWork::Command(command) => format!("{:?}", (&command.text, command.result.as_str())),
        SubjectWork::Storage(storage) => format!("{storage:?}"),
    }
}

fn server(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Own(request) => {
            let request = Request { name: String::new(), search_path: None, ..(**request).clone() };
            format!("{request:?}")
        }
        Wanted::External(external) => {
            let (drive, admin) = (&external.drive, external.admin());
            format!("{} {} {} {}", drive.places(), drive.database, admin.places(), admin.database)
        }
    }
}

#[cfg(test)]
mod tests {
    use pgdyno_plan::{WorkloadFiles, advice::bench::Level};
    use pgdyno_rows::load::LoadRequest;

    use super::*;
    use crate::Question;

    fn job() -> Job {
        let plan = Plan::bench();
        Job {
            workload_files: WorkloadFiles::without_files(&plan).expect("built-in scripts alone"),
            plan,
            trust: false,
            level: Level::Quick,
            servers: vec![Wanted::Own(Box::new(Request::named("bench-1")))],
            subjects: vec![SubjectJob::only()],
            question: Question::Levels,
            command: "pgdyno bench".into(),
            seed_given: false,
            keep: false,
            allow_host_changes: false,
        }
    }

    #[test]
    fn a_digest_depends_only_on_the_request() {
        let first = digest(&job());
        let mut same = job();
        (same.command, same.keep, same.plan.seed) = ("pgdyno bench --keep".into(), true, Some(3));
        same.servers = vec![Wanted::Own(Box::new(Request::named("bench-2")))];
        assert_eq!(digest(&same), first);
        let mut longer = job();
        longer.plan.measure.blocks += 1;
        let mut other = job();
        other.workload_files.work[0].texts = other.workload_files.work[1].texts.clone();
        other.workload_files.work[0].name.push('x');
        let mut set = job();
        let settings = [("jit".to_owned(), "off".to_owned())].into();
        set.servers = vec![Wanted::Own(Box::new(Request { settings, ..Request::named("x") }))];
        let (mut more, mut wider) = (job(), job());
        more.subjects[0].clients = Some(8);
        wider.subjects[0].load = Some(LoadRequest { fillfactor: Some(50), ..LoadRequest::default() });
        for changed in [longer, other, set, more, wider] {
            assert_ne!(digest(&changed), first);
        }
    }
}
