//! The programs of a job's servers, determined before any of them starts, and whether their builds match.

use std::collections::BTreeSet;

use pgdyno_analysis::compare::{Asked, AskedProgram};
use pgdyno_core::{
    facts::{BuildFacts, ServerSource, major_of, same_build},
    problem::Problem,
};
use pgdyno_plan::advice::alike::{Candidate, unlike};
use pgdyno_provision::{
    Dirs, Foreseen, Wanted as Version,
    builds::{self, Build, Manifest},
    bundle_archive::about_mb,
    foresee_bundle, foresee_settings,
};

use crate::{Event, Job, Prepared, SubjectJob, Wanted, dirs, inspect_server::ExistingServer};

/// The programs of the own servers, in the job's order; `None` for an existing server.
///
/// # Errors
/// A named program does not exist, or refuses a setting that was given.
pub fn foresee(job: &Job) -> Result<Vec<Option<Foreseen>>, Problem> {
    let of = |wanted: &Wanted| match wanted {
        Wanted::External(_) => Ok(None),
        Wanted::Own(request) => {
            let program = pgdyno_provision::foresee(request, &dirs()?)?;
            foresee_settings(request, &program).map(|()| Some(program))
        }
    };
    job.servers.iter().map(of).collect()
}

/// A server of the job in words: what it is, and where its programs are.
pub fn words(job: &Job, prepared: &Prepared, at: usize) -> String {
    match (
        job.servers.get(at),
        prepared.programs.get(at).and_then(Option::as_ref),
        prepared.existing.get(at).and_then(Option::as_ref),
    ) {
        (Some(Wanted::External(external)), _, reached) => {
            let version = reached.map(|reached| format!(", PostgreSQL {}", reached.facts.version));
            let behind = reached.map(behind).unwrap_or_default();
            let places = external.drive.places();
            format!("{places} (database {}){}{behind}", external.drive.database, version.unwrap_or_default())
        }
        (Some(Wanted::Own(_)), Some(program), _) => {
            format!("PostgreSQL {}, {}; started for this run", program.version, program_words(program))
        }
        _ => "started for this run".to_owned(),
    }
}

fn program_words(program: &Foreseen) -> String {
    let place = program.bindir.as_ref().map(|dir| dir.display().to_string());
    match (program.source, &program.named, place) {
        (ServerSource::Bundle, _, Some(place)) => format!("embedded bundle in {place}"),
        (ServerSource::Bundle, _, None) => {
            format!("embedded bundle, fetched first (about {} MB)", about_mb(program.version_num))
        }
        (_, Some(named), Some(place)) => format!("build `{}` in {place}", named.name),
        (_, _, place) => format!("installed in {}", place.unwrap_or_default()),
    }
}

/// The pooler in front of a server, in words.
fn behind(reached: &ExistingServer) -> String {
    match &reached.connection.pooler {
        Some(pooler) => {
            format!(", through {} in {} mode", pooler.name.as_deref().unwrap_or("a pooler"), pooler.mode)
        }
        None => String::new(),
    }
}

/// Warns if the compared servers are different builds, and suggests matching ones.
pub fn warn_of_builds(job: &Job, prepared: &Prepared) -> Option<Event> {
    let compared = compared(job, prepared);
    let text = unlike(&compared)?;
    let own = job.servers.iter().all(|wanted| matches!(wanted, Wanted::Own(_)));
    let hint = match dirs() {
        Ok(dirs) if own => matching_flags(&compared, job.comparison().is_none(), &dirs),
        _ => "to compare versions, name servers from matching builds, or let pgdyno start them".to_owned(),
    };
    Some(Event::Warning { text, hint: Some(hint) })
}

/// What is compared: both arms, or all subjects; empty if a single server is measured.
fn compared<'a>(job: &'a Job, prepared: &Prepared) -> Vec<Candidate<'a>> {
    // A command that brings its own server reveals nothing about it.
    let known = job.subjects.iter().all(|subject| subject.server.is_some());
    if !known || !job.has_several() || job.has_one_server() {
        return Vec::new();
    }
    let of = |subject: &'a SubjectJob| candidate(prepared, &subject.name, subject.server?, &subject.asked);
    job.subjects.iter().filter_map(of).collect()
}

fn candidate<'a>(prepared: &Prepared, name: &'a str, at: usize, asked: &Asked) -> Option<Candidate<'a>> {
    let build_asked = asked.program == AskedProgram::Build;
    if let Some(reached) = &prepared.existing[at] {
        let facts = &reached.facts;
        let (version_num, version, build) = (facts.version_num, facts.version.clone(), facts.build.clone());
        return Some(Candidate {
            name,
            version_num,
            version,
            build,
            is_unfetched: false,
            is_bundle: false,
            build_asked,
        });
    }
    let program = prepared.programs.get(at)?.as_ref()?;
    Some(Candidate {
        name,
        version_num: program.version_num,
        version: program.version.clone(),
        build: program.build(),
        is_unfetched: program.bindir.is_none(),
        is_bundle: program.source == ServerSource::Bundle,
        build_asked,
    })
}

/// The flags for matching builds of the same majors: existing builds, else bundles, else builds to be made.
fn matching_flags(compared: &[Candidate<'_>], subjects: bool, dirs: &Dirs) -> String {
    let majors: Vec<String> = compared.iter().map(|one| major_of(one.version_num)).collect();
    if let Some(names) = matching_builds(&majors, dirs) {
        return format!("for matching programs use {}", flags_of_builds(&names, subjects));
    }
    let made: Vec<String> = majors.iter().map(|major| format!("pg{}", major.replace('.', "-"))).collect();
    let commands = compared.iter().zip(&made);
    let commands: BTreeSet<String> = commands
        .map(|(one, name)| format!("pgdyno build {name} --source postgresql-{}.tar.bz2", one.version))
        .collect();
    let commands = commands.into_iter().collect::<Vec<_>>().join(" && ");
    let build = format!("make builds ({commands}) and use {}", flags_of_builds(&made, subjects));
    let bundles = match bundles_match(&majors, dirs) {
        true => format!("use embedded bundles ({}), or ", flags_of_bundles(&majors, subjects)),
        false => String::new(),
    };
    format!("for matching programs {bundles}{build}")
}

fn flags_of_builds(names: &[String], subjects: bool) -> String {
    let flag = |name: &String| match subjects {
        true => format!("--subject build={name}"),
        false => format!("--build {name}"),
    };
    names.iter().map(flag).collect::<Vec<_>>().join(" ")
}

fn flags_of_bundles(majors: &[String], subjects: bool) -> String {
    match subjects {
        true => majors.iter().map(|pg| format!("--subject pg={pg},bundle")).collect::<Vec<_>>().join(" "),
        false => majors.iter().map(|pg| format!("--pg {pg}")).collect::<Vec<_>>().join(" ") + " --bundle",
    }
}

/// Whether there are tested bundles of these majors that are known to match.
fn bundles_match(majors: &[String], dirs: &Dirs) -> bool {
    let bundle = |major: &String| {
        let version: Version = major.parse().ok()?;
        Some(foresee_bundle(Some(version), dirs).build())
    };
    let bundles: Option<Vec<BuildFacts>> = majors.iter().map(bundle).collect();
    bundles.is_some_and(|all| all.windows(2).all(|pair| same_build(&pair[0], &pair[1]) == Some(true)))
}

/// Names of matching builds of these majors.
fn matching_builds(majors: &[String], dirs: &Dirs) -> Option<Vec<String>> {
    let all = builds::all(dirs);
    let recipe = |build: &Build| {
        let Manifest { compiler, cflags, configure, block_kb, wal_block_kb, segment_gb, .. } =
            build.manifest.clone();
        (compiler, cflags, configure, [block_kb, wal_block_kb, segment_gb])
    };
    let find = |major: &String, is_it: &dyn Fn(&Build) -> bool| {
        let of = |build: &&Build| {
            build.manifest.patches.is_empty() && major_of(build.manifest.version_num) == *major
        };
        all.iter().filter(of).find(|build| is_it(build))
    };
    let (first, others) = majors.split_first()?;
    let group = |one: &Build| -> Option<Vec<String>> {
        let like = |major: &String| Some(find(major, &|other| recipe(other) == recipe(one))?.name.clone());
        std::iter::once(Some(one.name.clone())).chain(others.iter().map(like)).collect()
    };
    all.iter().filter(|build| find(first, &|of| of.name == build.name).is_some()).find_map(group)
}
