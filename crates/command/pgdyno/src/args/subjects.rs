//! Several subjects of a plan: `--subject pg=9.6 --subject pg=18`, or the plan's `[[subject]]`.

use pgdyno_core::problem::Problem;
use pgdyno_plan::{HostPlan, MAX_SUBJECTS, Plan, ServerPlan};

use super::{arm::Arm, arms_own::refuse_load, connection::Connection, own_server::refuse_as_published};
use pgdyno_lab::{SubjectJob, SubjectWork, Wanted};
use pgdyno_rows::load::LoadRequest;

/// Longest name derived from the terms of a subject, in characters.
const MAX_NAME: usize = 40;

/// A subject with its name.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    arm: Arm,
}

/// Flags that apply to all subjects.
#[derive(Debug)]
pub(super) struct ForAll<'a> {
    /// An existing server; at most one is possible.
    pub connection: &'a Connection,
    /// Properties of every temporary server.
    pub arm: Arm,
    /// User to run temporary servers as.
    pub run_as: Option<&'a str>,
}

impl ForAll<'_> {
    /// Refuses flags that name one server, or one directory, for several subjects.
    fn refuse_with_several(&self, plan: &Plan, subjects: usize) -> Result<(), Problem> {
        let Connection { server, host, port, username, dbname, dsn, admin_dsn } = self.connection;
        let given = [
            ("--server", server.is_some()),
            ("-h", host.is_some()),
            ("-p", port.is_some()),
            ("-U", username.is_some()),
            ("-d", dbname.is_some()),
            ("--dsn", dsn.is_some()),
            ("--admin-dsn", admin_dsn.is_some()),
            ("--data", (self.arm.server.data.is_some() || plan.server.data.is_some()) && subjects > 1),
            ("--waldir", (self.arm.server.waldir.is_some() || plan.server.waldir.is_some()) && subjects > 1),
            ("tablespaces of [server]", !plan.server.tablespaces.is_empty() && subjects > 1),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => {
                Err(Problem::wrong_request(format!("could not use {flag} with subjects of a plan"))
                    .hint("write it for one of them: --subject data=DIR,pg=18, --subject dsn=CONNINFO"))
            }
        }
    }
}

/// Subjects and their servers, in the same order.
type SubjectsAndServers = (Vec<SubjectJob>, Vec<Wanted>);

/// The subjects of a plan and their servers, in the same order; `None` if none is named. `words` are the arguments of
/// the command line; if there are any, they replace the plan's list.
///
/// # Errors
/// A wrong request.
pub(super) fn subjects(
    words: &[String],
    plan: &Plan,
    all: &ForAll<'_>,
) -> Result<Option<SubjectsAndServers>, Problem> {
    let said = match words.is_empty() {
        true => plan.subject.iter().map(of_plan).collect::<Vec<_>>(),
        false => words.iter().map(|word| of_word(word)).collect::<Result<_, _>>()?,
    };
    if said.is_empty() {
        return Ok(None);
    }
    all.refuse_with_several(plan, said.len())?;
    if said.len() > MAX_SUBJECTS {
        let what = format!("{} subjects are too many: at most {MAX_SUBJECTS} are possible", said.len());
        return Err(
            Problem::wrong_request(what).hint("all their servers run at the same time: compare fewer")
        );
    }
    let named = with_names_of_their_own(said);
    let full: Vec<Named> = named
        .iter()
        .map(|one| Named { name: one.name.clone(), arm: one.arm.clone().over(&all.arm) })
        .collect();
    full.iter().try_for_each(|one| makes_sense(one, plan))?;
    if all.run_as.is_some() && full.iter().all(|one| one.arm.dsn.is_some()) {
        let what = "could not use --run-as: all subjects are existing servers";
        return Err(Problem::wrong_request(what).hint("leave it out"));
    }
    apart(&full)?;
    let described: Vec<_> = full.iter().map(|one| one.arm.server.clone().over(&plan.server)).collect();
    refuse_as_published(&described)?;
    let servers = full
        .iter()
        .enumerate()
        .map(|(at, one)| server(at + 1, one, plan, all.run_as))
        .collect::<Result<_, _>>()?;
    let job = |(at, one): (usize, &Named)| {
        Ok(SubjectJob {
            name: one.name.clone(),
            said: pgdyno_record::redact(&one.arm.said()),
            asked: full[0].arm.asked(&one.arm),
            server: Some(at),
            work: SubjectWork::Plan,
            load: load(one, plan)?,
            clients: None,
            drive: None,
            host: one.arm.host.over(&plan.host),
        })
    };
    let subjects: Result<Vec<_>, Problem> = full.iter().enumerate().map(job).collect();
    Ok(Some((subjects?, servers)))
}

/// How the tables of a subject are loaded, if not as the plan says.
fn load(one: &Named, plan: &Plan) -> Result<Option<LoadRequest>, Problem> {
    if one.arm.load.is_default() {
        return Ok(None);
    }
    refuse_load(&one.arm, &one.name, plan)?;
    let load = one.arm.load.over(&plan.load);
    plan.with_load(&load)
        .validate()
        .map_err(|problem| Problem { what: format!("{}: {}", one.name, problem.what), ..problem })?;
    Ok(Some(load))
}

fn of_plan(subject: &ServerPlan) -> Named {
    let (load, host) = (LoadRequest::default(), HostPlan::default());
    let server = ServerPlan { name: None, load, host, ..subject.clone() };
    let arm = Arm { server, load: subject.load.clone(), host: subject.host.clone(), ..Arm::default() };
    Named { name: subject.name.clone().unwrap_or_else(|| name_of(&arm)), arm }
}

fn of_word(word: &str) -> Result<Named, Problem> {
    let arm = Arm::parse(word)?;
    Ok(Named { name: name_of(&arm), arm })
}

/// A name derived from the terms of an arm.
fn name_of(arm: &Arm) -> String {
    let said = pgdyno_record::redact(&arm.said());
    match said.char_indices().nth(MAX_NAME) {
        Some((cut, _)) => format!("{}…", &said[..cut]),
        None => said,
    }
}

/// Numbers subjects of the same name: measuring the same twice shows the noise of the machine.
fn with_names_of_their_own(mut said: Vec<Named>) -> Vec<Named> {
    for at in 1..said.len() {
        let is_taken = |name: &str| said[..at].iter().any(|other| other.name == name);
        let first = said[at].name.clone();
        let numbered = (2..).map(|number: u32| format!("{first} ({number})"));
        let free = std::iter::once(first.clone()).chain(numbered).find(|name| !is_taken(name));
        said[at].name = free.unwrap_or(first);
    }
    said
}

/// Refuses a subject that contradicts itself or the plan.
fn makes_sense(one: &Named, plan: &Plan) -> Result<(), Problem> {
    let Named { name, arm } = one;
    let work = arm.script.is_some() || arm.builtin.is_some() || arm.protocol.is_some();
    let rules = [
        (
            work || arm.command.is_some(),
            "the plan defines the workload",
            "leave out script, builtin, protocol and command",
        ),
        (
            arm.clients.is_some(),
            "the plan defines the clients, which are those of all subjects",
            "leave out clients=, and write them into the plan ([measure]); `pgdyno ab` compares two arms that differ \
             in them",
        ),
        (
            arm.dsn.is_some() && !arm.server.is_default(),
            "it names an existing server and describes a temporary one",
            "leave out dsn, or leave out version, programs, directories and settings",
        ),
        (
            arm.dsn.is_some() && !plan.server.is_default(),
            "the plan's [server] describes a temporary server, and an existing one is not changed",
            "move these keys to the temporary subjects: --subject pg=18,set:NAME=VALUE",
        ),
        (
            [arm.server.bindir.is_some(), arm.server.build.is_some(), arm.server.bundle]
                .into_iter()
                .filter(|is| *is)
                .count()
                > 1,
            "its programs are named twice",
            "keep one of bindir, build and bundle",
        ),
    ];
    match rules.into_iter().find(|(is_broken, ..)| *is_broken) {
        None => Ok(()),
        Some((_, what, hint)) => {
            Err(Problem::wrong_request(format!("could not use subject {name}: {what}")).hint(hint))
        }
    }
}

/// Refuses two subjects in one place.
fn apart(all: &[Named]) -> Result<(), Problem> {
    for (at, one) in all.iter().enumerate() {
        let before = &all[..at];
        let place = |of: &Arm| {
            let dirs = of.server.data.iter().chain(&of.server.waldir).chain(of.server.tablespaces.values());
            dirs.cloned().collect::<Vec<_>>()
        };
        let shared = |other: &&Named| place(&other.arm).iter().any(|dir| place(&one.arm).contains(dir));
        if before.iter().any(|other| shared(&other)) {
            let what = format!("subject {} has a directory of another subject", one.name);
            return Err(Problem::wrong_request(what).hint("give each its own: data=/srv/a and data=/srv/b"));
        }
        let database = |of: &Arm| of.admin_dsn.clone().or_else(|| of.dsn.clone());
        let same = |other: &&Named| database(&other.arm) == database(&one.arm);
        if one.arm.dsn.is_some() && before.iter().any(|other| same(&other)) {
            let what = format!("subject {} is on the server and database of another subject", one.name);
            return Err(Problem::wrong_request(what)
                .hint("each subject needs a database of its own: all tables go into its schema `pgdyno`"));
        }
    }
    Ok(())
}

fn server(number: usize, one: &Named, plan: &Plan, run_as: Option<&str>) -> Result<Wanted, Problem> {
    let name = format!("{}-{}-{number}", plan.name, std::process::id());
    let none = || Problem::wrong_request(format!("subject {} names no server", one.name));
    one.arm.server(plan, run_as.map(str::to_owned), name)?.ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use pgdyno_analysis::compare::AskedProgram;
    use pgdyno_plan::WorkloadPlan;
    use pgdyno_script::{Builtin, Protocol};

    use super::*;

    fn plan() -> Plan {
        Plan::new("x", vec![WorkloadPlan::builtin(Builtin::SelectOnly, Protocol::Prepared)])
    }

    fn of(words: &[&str], plan: &Plan) -> Result<Option<SubjectsAndServers>, Problem> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        with_flags(&words, plan, &Connection::default(), Arm::default())
    }

    fn with_flags(
        words: &[String],
        plan: &Plan,
        connection: &Connection,
        arm: Arm,
    ) -> Result<Option<SubjectsAndServers>, Problem> {
        subjects(words, plan, &ForAll { connection, arm, run_as: None })
    }

    #[test]
    fn words_override_the_list_of_the_plan() {
        let mut plan = plan();
        assert!(of(&[], &plan).expect("nothing is wrong").is_none());
        plan.subject = vec![
            ServerPlan { name: Some("old".into()), pg: Some("15".into()), ..ServerPlan::default() },
            ServerPlan { pg: Some("18".into()), ..ServerPlan::default() },
        ];
        let names = |found: Option<SubjectsAndServers>| {
            let (subjects, servers) = found.expect("there are some");
            assert_eq!(subjects.len(), servers.len());
            subjects.into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(names(of(&[], &plan).expect("it is right")), ["old", "pg=18"]);
        plan.subject[1].load = LoadRequest { partitions: Some(8), ..LoadRequest::default() };
        let (subjects, _) = of(&[], &plan).expect("it is right").expect("there are some");
        assert_eq!((subjects[1].name.as_str(), &subjects[0].load), ("pg=18,load:partitions=8", &None));
        let own = subjects[1].load.as_ref().expect("it has tables of its own");
        assert!(own.partitions == Some(8) && subjects[1].asked.load.contains("partitions"));
        let found = of(&["pg=18", "pg=18", "pg=18,set:jit=off"], &plan).expect("it is right");
        assert_eq!(names(found), ["pg=18", "pg=18 (2)", "pg=18,set:jit=off"]);
    }

    #[test]
    fn what_was_asked_to_differ_is_shown_against_the_first() {
        let (subjects, _) =
            of(&["pg=9.6", "pg=18", "pg=9.6,set:jit=off"], &plan()).expect("right").expect("some");
        let asked: Vec<_> =
            subjects.iter().map(|one| (one.asked.program, one.asked.settings.len())).collect();
        let expected = [(AskedProgram::Nothing, 0), (AskedProgram::Version, 0), (AskedProgram::Nothing, 1)];
        assert_eq!(asked, expected);
    }

    #[test]
    fn tables_of_a_subject_override_those_of_the_plan() {
        let mut plan = plan();
        plan.load.fillfactor = Some(70);
        let (subjects, _) = of(&["pg=18", "pg=18,load:partitions=8"], &plan).expect("right").expect("some");
        let [first, second] = [0, 1].map(|at: usize| subjects[at].load.clone());
        assert_eq!(first, None);
        let second = second.expect("it has tables of its own");
        assert_eq!((second.partitions, second.fillfactor), (Some(8), Some(70)));
        assert!(subjects[1].asked.load.contains("partitions"));
        plan.data.loaded = true;
        plan.load.fillfactor = None;
        let problem = of(&["pg=18", "pg=18,load:partitions=8"], &plan).expect_err("nothing is loaded");
        assert!(problem.what.contains("the plan loads no tables"), "{}", problem.what);
    }

    #[test]
    fn what_no_subject_can_be_is_refused() {
        for (words, said) in [
            (&["pg=18", "builtin=select-only"][..], "the plan defines the workload"),
            (&["pg=18", "command=true"], "the plan defines the workload"),
            (&["pg=18", "pg=18,clients=8"], "the plan defines the clients"),
            (&["pg=18,load:partition-method=hash", "pg=18"], "there are no partitions"),
            (&["pg=18,dsn=host=/x", "pg=18"], "describes a temporary one"),
            (&["bundle,bindir=/x", "pg=18"], "named twice"),
            (&["pg=18,data=/x", "pg=15,waldir=/x"], "has a directory of another"),
            (&["dsn=host=/x", "dsn=host=/x"], "is on the server and database of another"),
            (
                &["dsn=host=/a,admin-dsn=host=/x", "dsn=host=/b,admin-dsn=host=/x"],
                "is on the server and database of another",
            ),
            (&["pg=18", "pgs=15"], "`pgs=15` is not a term of an arm"),
        ] {
            let problem = of(words, &plan()).expect_err(said);
            assert!(problem.what.contains(said), "{words:?}: {}", problem.what);
        }
        let many = vec!["pg=18"; MAX_SUBJECTS + 1];
        assert!(of(&many, &plan()).is_err_and(|problem| problem.what.contains("at most 16")));
    }

    #[test]
    fn what_a_plan_asks_of_servers_is_not_kept_from_one_that_is_there_in_silence() {
        let words = &["dsn=host=/x", "pg=18"];
        assert!(of(words, &plan()).is_ok());
        for asked in [
            ServerPlan { settings: [("jit".to_owned(), "off".to_owned())].into(), ..ServerPlan::default() },
            ServerPlan { pg: Some("18".into()), ..ServerPlan::default() },
            ServerPlan { cpus: Some("0".into()), ..ServerPlan::default() },
            ServerPlan { data_checksums: Some(true), ..ServerPlan::default() },
        ] {
            let plan = Plan { server: asked, ..plan() };
            assert!(of(&["pg=15", "pg=18"], &plan).is_ok());
            let problem = of(words, &plan).expect_err("it cannot be given them");
            assert!(
                problem.what.contains("dsn=host=/x") && problem.what.contains("[server]"),
                "{}",
                problem.what
            );
        }
        let shared =
            Plan { server: ServerPlan { data: Some("/x".into()), ..ServerPlan::default() }, ..plan() };
        let problem = of(&["pg=15", "pg=18"], &shared).expect_err("there is one such directory");
        assert!(problem.what.contains("--data"), "{}", problem.what);
    }

    #[test]
    fn flags_that_name_one_server_are_refused_with_several() {
        let words = ["pg=15".to_owned(), "pg=18".to_owned()];
        let nowhere = Connection::default();
        let host = Connection { host: Some("h".into()), ..Connection::default() };
        let of = |server| Arm { server, ..Arm::default() };
        let data = of(ServerPlan { data: Some("/x".into()), ..ServerPlan::default() });
        for (connection, arm, flag) in [(&nowhere, data, "--data"), (&host, Arm::default(), "-h")] {
            let problem = with_flags(&words, &plan(), connection, arm).expect_err(flag);
            assert!(problem.what.contains(flag), "{}", problem.what);
        }
        let run_as = ForAll { connection: &nowhere, arm: Arm::default(), run_as: Some("somebody") };
        let there = ["dsn=host=/x".to_owned(), "dsn=host=/y".to_owned()];
        let problem = subjects(&there, &plan(), &run_as).expect_err("nobody is started");
        assert!(problem.what.contains("--run-as"), "{}", problem.what);
        let settings = [("jit".into(), "off".into())].into();
        let jit = of(ServerPlan { settings, ..ServerPlan::default() });
        let (_, servers) = with_flags(&words, &plan(), &nowhere, jit).expect("right").expect("some");
        let has_it =
            |wanted: &Wanted| matches!(wanted, Wanted::Own(request) if request.settings["jit"] == "off");
        assert!(servers.iter().all(has_it), "what is set, is set for all");
    }
}
