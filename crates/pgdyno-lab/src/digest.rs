//! By what an experiment is known again.

use pgdyno_plan::Plan;
use pgdyno_provision::Request;
use sha2::{Digest, Sha256};

use crate::{Job, Wanted};

/// SHA-256 of all that a job asks for: plan, texts of its scripts, servers, subjects and question, but for the seed,
/// which the record has, and for names that every process chooses anew. The same program gives the same digest for the
/// same job; another one may not.
pub fn digest(job: &Job) -> String {
    let plan = Plan { seed: None, ..job.plan.clone() };
    let servers: Vec<String> = job.servers.iter().map(server).collect();
    let subjects: Vec<_> =
        job.subjects.iter().map(|one| (&one.name, &one.said, one.server, &one.work)).collect();
    let asked =
        format!("{:?}", (plan, &job.material, job.trust, job.level, servers, subjects, &job.question));
    Sha256::digest(asked.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn server(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Own(request) => {
            let request = Request { name: String::new(), search_path: None, ..(**request).clone() };
            format!("{request:?}")
        }
        Wanted::External(external) => {
            let admin = external.admin();
            format!(
                "{} {} {} {}",
                external.drive.places(),
                external.drive.database,
                admin.places(),
                admin.database
            )
        }
    }
}
