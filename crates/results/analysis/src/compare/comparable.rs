//! Whether two subjects are comparable: the verdict shown with every comparison.

use pgdyno_core::{
    facts::ServerFacts,
    results::{Comparable, Difference, Fairness, Why},
};

use super::{
    difference::{Asked, Side},
    differences::{clients, differences, tiers},
    settings,
};

/// Compares two subjects; returns the verdict and all differences. The verdict is the same for A and B as for B and A.
pub fn compare_sides(a: &Side<'_>, b: &Side<'_>, asked: &Asked) -> (Comparable, Vec<Difference>) {
    let found = differences(a, b, asked);
    let of = |why: Why| -> Vec<String> {
        found.iter().filter(|row| row.why == Some(why)).map(|row| row.what.clone()).collect()
    };
    let mut comparable = Comparable {
        besides: of(Why::Besides),
        defaults_of_version: of(Why::DefaultOfVersion),
        chosen_for_version: of(Why::ChosenForVersion),
        follow_from_sizes: of(Why::FollowsFromSizes),
        unknown: unknown(a, b).into_iter().map(str::to_owned).collect(),
        ..compare_work(asked)
    };
    comparable.asked.extend(of(Why::Asked));
    comparable.verdict = match () {
        () if !comparable.besides.is_empty() => Fairness::DiffersBesides,
        () if !comparable.unknown.is_empty() => Fairness::NotKnown,
        () if !comparable.asked.is_empty() => Fairness::AlikeButForWhatWasAsked,
        () => Fairness::Alike,
    };
    (comparable, found)
}

/// Compares two workloads on one server, whose durability, client counts and settings of sessions may differ.
pub fn compare_at_one_server(a: &Side<'_>, b: &Side<'_>, asked: &Asked) -> (Comparable, Vec<Difference>) {
    let servers = a.server.zip(b.server);
    let tiers = servers.and_then(|(a, b)| tiers(a, b, asked));
    let mut found: Vec<_> = [tiers, clients(a, b, asked)].into_iter().flatten().collect();
    found.extend(settings::differences(a, b, asked));
    let mut comparable = compare_work(asked);
    for row in &found {
        let (list, verdict) = match row.why {
            Some(Why::Asked) => (&mut comparable.asked, Fairness::AlikeButForWhatWasAsked),
            _ => (&mut comparable.besides, Fairness::DiffersBesides),
        };
        list.push(row.what.clone());
        if comparable.verdict != Fairness::DiffersBesides {
            comparable.verdict = verdict;
        }
    }
    (comparable, found)
}

/// Compares two workloads on one server, which may be identical.
pub fn compare_work(asked: &Asked) -> Comparable {
    let is_same = asked.work.is_empty();
    Comparable {
        verdict: if is_same { Fairness::Alike } else { Fairness::AlikeButForWhatWasAsked },
        asked: asked.work.clone(),
        besides: Vec::new(),
        defaults_of_version: Vec::new(),
        chosen_for_version: Vec::new(),
        follow_from_sizes: Vec::new(),
        unknown: Vec::new(),
    }
}

/// Names of facts that are unknown for one or both subjects.
fn unknown(a: &Side<'_>, b: &Side<'_>) -> Vec<&'static str> {
    let Some((of_a, of_b)) = a.server.zip(b.server) else { return vec!["servers"] };
    let either = |is_known: fn(&Side<'_>) -> bool| !is_known(a) || !is_known(b);
    let server = |is_known: fn(&ServerFacts) -> bool| !is_known(of_a) || !is_known(of_b);
    let (one, other) = (&of_a.build, &of_b.build);
    // Two servers of the same program have the same build, even if its details are unknown.
    let built = !same_program(of_a, of_b);
    let rules = [
        ("compiler", built && one.has_compiler_of(other).is_none()),
        ("flags", built && one.has_flags_of(other).is_none()),
        ("features", built && server(|server| server.build.features.is_some())),
        ("WAL block size", built && server(|server| server.wal_block_bytes.is_some())),
        ("table segment size", built && server(|server| server.segment_bytes.is_some())),
        ("encoding and locale", server(|server| server.database.is_some())),
        ("defaults of settings", server(|server| server.defaults.is_some())),
        ("connection", either(|side| side.connection.is_some())),
        ("data", either(|side| side.data.is_some())),
        ("clients", either(|side| side.clients.is_some())),
        ("CPUs", either(|side| side.processors.is_some())),
    ];
    rules.into_iter().filter_map(|(name, is_unknown)| is_unknown.then_some(name)).collect()
}

fn same_program(a: &ServerFacts, b: &ServerFacts) -> bool {
    a.bindir.is_some() && a.bindir == b.bindir
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use pgdyno_core::{
        facts::{
            Choice, ConnectionFacts, DurabilityTier, MadeFacts, PatchFacts, PoolerFacts, ServerSource,
            Setting, Transport, same_build,
        },
        host::{Storage, samples},
    };
    use pgdyno_rows::load::AccountsState;
    use proptest::prelude::*;

    use super::{
        super::difference::{AskedProgram, LoadedData},
        *,
    };
    use crate::doubts::samples::server;

    /// All facts of a subject, for tests to modify.
    #[derive(Debug, Clone)]
    struct Known {
        server: ServerFacts,
        connection: Option<ConnectionFacts>,
        storage: Storage,
        data: Option<LoadedData>,
        clients: Option<u32>,
        processors: Option<u32>,
        chosen: Vec<Choice>,
    }

    fn storage(available_bytes: u64) -> Storage {
        samples::storage(available_bytes, Some(false))
    }

    impl Known {
        fn side(&self) -> Side<'_> {
            Side {
                server: Some(&self.server),
                connection: self.connection.clone(),
                storage: Some(&self.storage),
                data: self.data.clone(),
                clients: self.clients,
                processors: self.processors,
                chosen: &self.chosen,
            }
        }
    }

    fn known() -> Known {
        let data = LoadedData {
            scale: 50,
            rows: 5_000_550,
            load: "COPY text, frozen".into(),
            options: BTreeMap::from([("jobs".into(), "1".into())]),
            in_buffers: true,
            size_bytes: 780 << 20,
            accounts: Some(AccountsState { access_method: "heap".into(), ..AccountsState::default() }),
        };
        Known {
            server: server(),
            connection: Some(ConnectionFacts::of_own_server()),
            storage: storage(1 << 40),
            data: Some(data),
            clients: Some(8),
            processors: Some(4),
            chosen: vec![],
        }
    }

    fn way(known: &mut Known) -> &mut ConnectionFacts {
        known.connection.as_mut().expect("it is known")
    }

    fn data(known: &mut Known) -> &mut LoadedData {
        known.data.as_mut().expect("it is known")
    }

    fn accounts(known: &mut Known) -> &mut AccountsState {
        data(known).accounts.as_mut().expect("it is known")
    }

    fn set(known: &mut Known, name: &str, value: &str) {
        let source = "configuration file".into();
        known.server.settings.push(Setting { name: name.into(), value: value.into(), source });
    }

    fn default(known: &mut Known, name: &str, value: &str) {
        known.server.defaults.get_or_insert_default().insert(name.into(), value.into());
    }

    fn made(known: &mut Known) -> &mut MadeFacts {
        known.server.build.made.get_or_insert_default()
    }

    fn judged(a: &Known, b: &Known, asked: &Asked) -> Comparable {
        compare_sides(&a.side(), &b.side(), asked).0
    }

    #[test]
    fn two_scripts_at_one_server_may_be_of_two_tiers() {
        let (a, mut b) = (known(), known());
        let asked = Asked { work: vec!["script".into()], ..Asked::default() };
        let judged = |b: &Known| compare_at_one_server(&a.side(), &b.side(), &asked);
        assert_eq!(judged(&b), (compare_work(&asked), Vec::new()));
        b.server.durability = DurabilityTier::AsyncCommit;
        let (comparable, differences) = judged(&b);
        assert_eq!(
            (comparable.verdict, &comparable.besides[..]),
            (Fairness::DiffersBesides, &["durability".to_owned()][..])
        );
        assert_eq!(differences.iter().map(|row| row.a.as_deref()).collect::<Vec<_>>(), [Some("full")]);
    }

    #[test]
    fn two_client_counts_at_one_server_are_the_question() {
        let (a, mut b) = (known(), known());
        let asked = Asked { clients: true, ..Asked::default() };
        let verdict = |b: &Known| compare_at_one_server(&a.side(), &b.side(), &asked).0;
        assert_eq!(verdict(&b).verdict, Fairness::Alike);
        b.clients = Some(16);
        let found = verdict(&b);
        assert_eq!(found.verdict, Fairness::AlikeButForWhatWasAsked);
        assert_eq!((found.asked, found.besides), (vec!["clients".to_owned()], vec![]));
        b.server.durability = DurabilityTier::AsyncCommit;
        assert_eq!(verdict(&b).verdict, Fairness::DiffersBesides);
    }

    /// Of the options of a load, those that the catalog shows are compared as it has them.
    #[test]
    fn an_option_of_the_load_is_one_difference() {
        let (a, mut b) = (known(), known());
        let asked = Asked { load: ["fillfactor".to_owned()].into(), ..Asked::default() };
        data(&mut b).options.insert("fillfactor".into(), "50".into());
        accounts(&mut b).options = vec!["fillfactor=50".into()];
        assert_eq!(judged(&a, &b, &asked).asked, ["storage options"]);
        let (mut a, mut b) = (a, b);
        (data(&mut a).accounts, data(&mut b).accounts) = (None, None);
        assert_eq!(judged(&a, &b, &asked).asked, ["fillfactor"]);
        data(&mut b).options.insert("unlogged".into(), "yes".into());
        assert_eq!(judged(&a, &b, &asked).besides, ["unlogged"]);
    }

    #[test]
    fn the_tier_of_unlogged_tables_that_were_asked_for_is_asked_for() {
        let (a, mut b) = (known(), known());
        let asked = Asked { load: ["unlogged".to_owned()].into(), ..Asked::default() };
        b.server.durability = DurabilityTier::Unlogged;
        assert_eq!(judged(&a, &b, &asked).asked, ["durability"]);
        b.server.durability = DurabilityTier::NoSync;
        assert_eq!(judged(&a, &b, &asked).besides, ["durability"]);
    }

    type Change = (&'static str, fn(&mut Known));

    /// Every fact in the list of differences, with a modification that changes this fact alone.
    const CHANGES: [Change; 39] = [
        ("version", |known| (known.server.version_num, known.server.version) = (170_006, "17.6".into())),
        ("compiler", |known| known.server.build.compiler = Some("clang 19".into())),
        ("flags", |known| known.server.build.cflags = Some("-O3".into())),
        ("features", |known| known.server.build.features = Some(vec!["zstd".into()])),
        ("patches", |known| {
            made(known).patches = vec![PatchFacts { name: "a.patch".into(), sha256: "11".into() }];
        }),
        ("source", |known| known.server.source = ServerSource::Built),
        ("block size", |known| known.server.block_bytes = 32_768),
        ("WAL block size", |known| known.server.wal_block_bytes = Some(16_384)),
        ("table segment size", |known| known.server.segment_bytes = Some(2 << 30)),
        ("WAL segment size", |known| known.server.wal_segment_bytes = 1 << 30),
        ("data checksums", |known| known.server.data_checksums = false),
        ("encoding", |known| known.server.database.as_mut().expect("known").encoding = "SQL_ASCII".into()),
        ("locale", |known| known.server.database.as_mut().expect("known").collate = "en_US.UTF-8".into()),
        ("locale", |known| known.server.database.as_mut().expect("known").provider = "icu".into()),
        ("durability", |known| known.server.durability = DurabilityTier::NoSync),
        ("shared_buffers", |known| known.server.shared_buffers_bytes = 1 << 30),
        ("work_mem", |known| set(known, "work_mem", "64MB")),
        ("jit", |known| set(known, "jit", "off")),
        ("io_method", |known| default(known, "io_method", "sync")),
        ("transport", |known| way(known).transport = Some(Transport::Tcp)),
        ("encryption", |known| way(known).encryption = Some("TLSv1.3".into())),
        ("pooler", |known| {
            way(known).pooler =
                Some(PoolerFacts { name: None, mode: "session".into(), keeps_prepared: false });
        }),
        ("standby", |known| way(known).standby = true),
        ("storage of WAL", |known| {
            let device = Some("/dev/wal".into());
            known.server.wal_storage = Some(Storage { device, ..known.storage.clone() });
        }),
        ("storage", |known| known.storage.device = Some("/dev/other".into())),
        ("clients", |known| known.clients = Some(16)),
        ("CPUs", |known| known.processors = Some(2)),
        ("scale", |known| data(known).scale = 100),
        ("rows", |known| data(known).rows = 1),
        ("load", |known| data(known).load = "COPY binary, frozen".into()),
        ("data in buffers", |known| data(known).in_buffers = false),
        ("tablespace", |known| drop(data(known).options.insert("tablespace".into(), "fast".into()))),
        ("load jobs", |known| drop(data(known).options.insert("jobs".into(), "8".into()))),
        ("partitions", |known| accounts(known).partitions = 4),
        ("storage options", |known| accounts(known).options = vec!["fillfactor=50".into()]),
        ("access method", |known| accounts(known).access_method = "columnar".into()),
        ("unlogged tables", |known| accounts(known).unlogged = true),
        ("foreign keys", |known| accounts(known).foreign_keys = 5),
        ("size of the data", |known| data(known).size_bytes *= 2),
    ];

    #[test]
    fn every_listed_fact_matters() {
        for (name, change) in CHANGES {
            let (a, mut b) = (known(), known());
            change(&mut b);
            let found = judged(&a, &b, &Asked::default());
            assert_eq!((found.verdict, &found.besides), (Fairness::DiffersBesides, &vec![name.to_owned()]));
        }
    }

    #[test]
    fn what_was_asked_is_the_question_and_no_more() {
        let settings = |names: &[&str]| Asked {
            settings: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Asked::default()
        };
        let program = |program| Asked { program, ..Asked::default() };
        let build = || program(AskedProgram::Build);
        let load = |name: &str| Asked { load: [name.to_owned()].into(), ..Asked::default() };
        let asked = |name: &str| match name {
            "version" => program(AskedProgram::Version),
            "compiler" | "flags" | "features" | "patches" | "source" => build(),
            "block size" | "WAL block size" | "table segment size" => build(),
            "durability" => settings(&["fsync"]),
            "shared_buffers" | "work_mem" | "jit" | "io_method" => settings(&[name]),
            "storage" | "storage of WAL" => Asked { places: true, ..Asked::default() },
            "clients" => Asked { clients: true, ..Asked::default() },
            "load" | "partitions" | "tablespace" => load(name),
            "load jobs" => load("jobs"),
            "storage options" | "size of the data" => load("fillfactor"),
            "unlogged tables" => load("unlogged"),
            "foreign keys" => load("foreign-keys"),
            _ => Asked::default(),
        };
        for (name, change) in CHANGES {
            let (a, mut b) = (known(), known());
            change(&mut b);
            let found = judged(&a, &b, &asked(name));
            let never_asked = asked(name) == Asked::default();
            let expected =
                if never_asked { Fairness::DiffersBesides } else { Fairness::AlikeButForWhatWasAsked };
            assert_eq!(found.verdict, expected, "{name}");
            assert_eq!(found.asked.is_empty(), never_asked, "{name}");
        }
    }

    /// Sizes may differ between versions and block sizes; free space maps are not a difference.
    #[test]
    fn a_size_follows_from_what_was_asked_of_the_program() {
        let (a, mut b) = (known(), known());
        data(&mut b).size_bytes += 7 << 20;
        assert_eq!(judged(&a, &b, &Asked::default()).verdict, Fairness::Alike);
        data(&mut b).size_bytes += 7 << 20;
        assert_eq!(judged(&a, &b, &Asked::default()).besides, ["size of the data"]);
        for program in [AskedProgram::Version, AskedProgram::Build] {
            let found = judged(&a, &b, &Asked { program, ..Asked::default() });
            assert_eq!(found.verdict, Fairness::AlikeButForWhatWasAsked, "{program:?}");
        }
    }

    /// Versions were requested, but the builds differ.
    #[test]
    fn another_compiler_is_no_part_of_a_version() {
        let asked = Asked { program: AskedProgram::Version, ..Asked::default() };
        let (a, mut b) = (known(), known());
        (b.server.version_num, b.server.version) = (170_006, "17.6".into());
        assert_eq!(judged(&a, &b, &asked).asked, ["version"]);
        b.server.build.cflags = Some("-Wall -Os".into());
        let found = judged(&a, &b, &asked);
        assert_eq!(found.besides, ["build", "flags"]);
        assert!(found.asked.is_empty(), "no line says version: {found:?}");
        let builds = Asked { program: AskedProgram::Build, ..Asked::default() };
        assert_eq!(judged(&a, &b, &builds).asked, ["build", "flags"]);
    }

    #[test]
    fn defaults_of_versions_follow_from_the_version() {
        let asked = Asked { program: AskedProgram::Version, ..Asked::default() };
        let (mut a, mut b) = (known(), known());
        (b.server.version_num, b.server.version) = (110_022, "11.22".into());
        default(&mut a, "jit", "on");
        default(&mut b, "jit", "off");
        default(&mut a, "io_method", "worker");
        b.server.defaults.as_mut().expect("known").remove("io_method");
        set(&mut a, "max_parallel_workers", "2");
        set(&mut a, "effective_io_concurrency", "32");
        set(&mut b, "effective_io_concurrency", "100");
        default(&mut a, "backtrace_functions", "");
        let choice = |name: &str| Choice { name: name.into(), value: String::new(), reason: String::new() };
        a.chosen = vec![choice("effective_io_concurrency")];
        b.chosen.clone_from(&a.chosen);
        let found = judged(&a, &b, &asked);
        assert_eq!(found.verdict, Fairness::AlikeButForWhatWasAsked, "{found:?}");
        assert_eq!(found.defaults_of_version, ["io_method", "jit", "max_parallel_workers"]);
        assert_eq!(found.chosen_for_version, ["effective_io_concurrency"]);
        b.chosen.clear();
        assert_eq!(judged(&a, &b, &asked).besides, ["effective_io_concurrency"]);
    }

    #[test]
    fn a_setting_that_pgdyno_sets_to_the_others_default_is_no_difference() {
        let (mut a, mut b) = (known(), known());
        default(&mut a, "checkpoint_completion_target", "0.9");
        set(&mut b, "checkpoint_completion_target", "0.9");
        assert_eq!(judged(&a, &b, &Asked::default()).verdict, Fairness::Alike);
    }

    #[test]
    fn what_cannot_be_seen_is_named() {
        let hide: [Change; 10] = [
            ("compiler", |known| known.server.build.compiler = None),
            ("flags", |known| known.server.build.cflags = None),
            ("features", |known| known.server.build.features = None),
            ("WAL block size", |known| known.server.wal_block_bytes = None),
            ("table segment size", |known| known.server.segment_bytes = None),
            ("encoding and locale", |known| known.server.database = None),
            ("defaults of settings", |known| known.server.defaults = None),
            ("connection", |known| known.connection = None),
            ("data", |known| known.data = None),
            ("CPUs", |known| known.processors = None),
        ];
        for (name, hide) in hide {
            let mut b = known();
            hide(&mut b);
            let found = judged(&known(), &b, &Asked::default());
            assert_eq!((found.verdict, found.unknown), (Fairness::NotKnown, vec![name.to_owned()]));
        }
        let nothing = compare_sides(&Side::default(), &known().side(), &Asked::default()).0;
        assert_eq!((nothing.verdict, nothing.unknown), (Fairness::NotKnown, vec!["servers".to_owned()]));
    }

    #[test]
    fn one_program_is_built_alike_even_where_it_does_not_tell_how() {
        let mut one = known();
        (one.server.build.cflags, one.server.bindir) = (None, Some("/p/bin".into()));
        assert_eq!(judged(&one, &one, &Asked::default()).verdict, Fairness::Alike);
        let mut other = one.clone();
        other.server.bindir = Some("/q/bin".into());
        assert_eq!(judged(&one, &other, &Asked::default()).verdict, Fairness::NotKnown);
    }

    fn changed(which: &BTreeSet<usize>) -> Known {
        let mut known = known();
        which.iter().for_each(|at| CHANGES[*at].1(&mut known));
        known
    }

    fn asked(program: u8, settings: &BTreeSet<usize>) -> Asked {
        let program = match program {
            0 => AskedProgram::Nothing,
            1 => AskedProgram::Version,
            _ => AskedProgram::Build,
        };
        let settings = settings.iter().map(|at| CHANGES[*at].0.to_owned()).collect();
        Asked { program, settings, ..Asked::default() }
    }

    prop_compose! {
        fn some()(which in prop::collection::btree_set(0..CHANGES.len(), 0..8)) -> BTreeSet<usize> { which }
    }

    proptest! {
        #[test]
        fn a_subject_is_like_itself(which in some(), program in 0_u8..3, settings in some()) {
            let one = changed(&which);
            let (found, rows) = compare_sides(&one.side(), &one.side(), &asked(program, &settings));
            prop_assert_eq!(found.verdict, Fairness::Alike);
            prop_assert_eq!(rows, vec![]);
        }

        #[test]
        fn a_and_b_may_change_places(x in some(), y in some(), program in 0_u8..3, settings in some()) {
            let (a, b, asked) = (changed(&x), changed(&y), asked(program, &settings));
            let (one, rows) = compare_sides(&a.side(), &b.side(), &asked);
            let (other, mut turned) = compare_sides(&b.side(), &a.side(), &asked);
            turned.iter_mut().for_each(|row| std::mem::swap(&mut row.a, &mut row.b));
            prop_assert_eq!(one, other);
            prop_assert_eq!(rows, turned);
        }

        /// The doubt about builds and the verdict use the same rule.
        #[test]
        fn two_builds_have_a_row_of_their_compilers_or_flags(x in some(), y in some(), program in 0_u8..3) {
            let (a, b) = (changed(&x), changed(&y));
            let (_, rows) = compare_sides(&a.side(), &b.side(), &asked(program, &BTreeSet::new()));
            let row = |name: &str| rows.iter().any(|row| row.what == name);
            let differ = same_build(&a.server.build, &b.server.build) == Some(false);
            prop_assert_eq!(differ, row("compiler") || row("flags"));
            prop_assert!(!(differ && row("version")));
        }
    }

    #[test]
    fn a_record_of_older_times_has_no_defaults_and_names_no_default() {
        let (mut a, mut b) = (known(), known());
        (a.server.defaults, b.server.defaults) = (None, Some(BTreeMap::from([("jit".into(), "on".into())])));
        let found = judged(&a, &b, &Asked::default());
        assert_eq!((found.verdict, found.unknown), (Fairness::NotKnown, vec!["defaults of settings".into()]));
    }
}
