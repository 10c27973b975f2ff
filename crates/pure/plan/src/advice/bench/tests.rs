use pgdyno_core::host::{Inventory, samples};
use pgdyno_rows::PAGE_BYTES;
use proptest::prelude::*;

use super::*;

const GIB: u64 = 1 << 30;

fn host(cpus: u32, memory_bytes: u64) -> Inventory {
    samples::host(memory_bytes, cpus)
}

/// The same host, whose process may open so many files.
fn with_files(mut host: Inventory, open_files: u64) -> Inventory {
    host.process.as_mut().expect("it has one").open_files = Some(open_files);
    host
}

fn facts(host: &Inventory, disk: u64) -> BenchFacts<'_> {
    BenchFacts {
        host,
        disk_available_bytes: Some(disk),
        disk_path: Some("/data"),
        side_by_side: 1,
        own_server: true,
        server_local: true,
        max_connections: None,
        reserved_connections: 0,
        shared_buffers_bytes: None,
        page_bytes: PAGE_BYTES,
    }
}

fn plan(level: Level) -> Plan {
    let mut plan = Plan::bench();
    level.apply(&mut plan);
    plan
}

fn bench(level: Level, facts: &BenchFacts<'_>) -> BenchPlan {
    resolve(&plan(level), level, facts).unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn the_usual_machine_gets_a_first_look_in_three_minutes() {
    let host = host(2, 24 * GIB);
    let facts = facts(&host, 100 * GIB);
    let screening = bench(Level::Screening, &facts);
    assert_eq!(
        (screening.scale, screening.clients.as_slice(), screening.jobs),
        (Some(50), &[1, 4, 16][..], 1)
    );
    assert_eq!((screening.cpus.driver.as_slice(), screening.cpus.server.as_slice()), (&[1][..], &[0][..]));
    assert!(!screening.cpus.shared && screening.balance == BalanceCheckMode::Full);
    assert!(screening.cost.runs == 18 && screening.cost.seconds < 180.0, "{:?}", screening.cost);
    let quick = bench(Level::Quick, &facts);
    assert!(quick.scale == Some(16) && quick.cost.seconds < 40.0, "{:?}", quick.cost);
    let thorough = bench(Level::Thorough, &facts);
    assert!(thorough.scale == Some(200) && thorough.cost.seconds < 40.0 * 60.0, "{:?}", thorough.cost);
    let names: Vec<_> = screening.choices.iter().map(|choice| choice.name.as_str()).collect();
    assert_eq!(names, ["driver_cpus", "server_cpus", "clients", "jobs", "scale", "balance"]);
}

#[test]
fn the_bundled_plan_is_the_screening_level() {
    assert_eq!(plan(Level::Screening), Plan::bench());
}

#[test]
fn many_clients_find_a_branch_each() {
    let host = with_files(host(64, 512 * GIB), 65_536);
    let facts = facts(&host, 1_000 * GIB);
    let screening = bench(Level::Screening, &facts);
    assert_eq!((screening.scale, screening.clients[2], screening.cpus.driver.len()), (Some(200), 512, 16));
    assert_eq!(bench(Level::Thorough, &facts).scale, Some(512));
}

/// A stock server has 128 MB of shared buffers, which hold six units of scale well.
#[test]
fn clients_that_update_branches_get_one_each_also_where_buffers_are_small() {
    let host = host(2, 24 * GIB);
    let stock = BenchFacts { shared_buffers_bytes: Some(128 << 20), ..facts(&host, 100 * GIB) };
    for level in [Level::Quick, Level::Screening, Level::Thorough] {
        let chosen = bench(level, &stock);
        assert_eq!((chosen.scale, chosen.clients.last()), (Some(16), Some(&16)), "{level:?}");
        let why = chosen.choices.iter().find(|one| one.name == "scale").expect("a reason").reason.clone();
        assert!(why.starts_with("a branch for each of 16 clients") && why.contains("128 MiB"), "{why}");
        assert_eq!(few_branches(16, 16), None);
    }
    let warning = few_branches(6, 16).expect("ten of them wait");
    assert!(
        warning.starts_with("scale 6 has fewer branches") && warning.contains("at least scale 16"),
        "{warning}"
    );
    // If the disk has no room for that, the scale is limited by it.
    let full = BenchFacts { disk_available_bytes: Some(3 << 30), ..stock };
    let chosen = bench(Level::Screening, &full);
    let why = chosen.choices.iter().find(|one| one.name == "scale").expect("a reason").reason.clone();
    assert!(chosen.scale < Some(16) && why.starts_with("as much as a third of the free disk"), "{why}");
}

#[test]
fn one_processor_is_shared() {
    let host = host(1, 4 * GIB);
    let one = bench(Level::Screening, &facts(&host, 100 * GIB));
    assert!(one.cpus.shared);
    assert_eq!((one.cpus.driver, one.cpus.server), (vec![0], vec![0]));
}

#[test]
fn a_quota_counts_as_processors() {
    let mut host = host(16, 64 * GIB);
    (host.kernel.cgroup.cpus, host.kernel.cgroup.memory_bytes) = (Some(2.5), Some(GIB));
    let facts = facts(&host, 100 * GIB);
    let limited = bench(Level::Screening, &facts);
    assert_eq!((limited.clients, facts.memory_bytes()), (vec![1, 4, 16], GIB));
    // 256 MiB of shared buffers hold 12 units of scale well, and 16 clients want a branch each.
    assert_eq!(limited.scale, Some(16));
    let mut reads = plan(Level::Screening);
    reads.workload.retain(|workload| workload.as_builtin().is_some_and(|script| !script.updates_branches()));
    let reads = resolve(&reads, Level::Screening, &facts).expect("it is possible");
    assert_eq!(reads.scale, Some(12), "select-only does not wait for others");
}

#[test]
fn a_foreign_server_is_neither_moved_nor_overrun() {
    let host = host(4, 24 * GIB);
    let foreign = BenchFacts { own_server: false, max_connections: Some(20), ..facts(&host, 100 * GIB) };
    let resolved = bench(Level::Screening, &foreign);
    assert_eq!((resolved.clients.as_slice(), resolved.cpus.server.len()), (&[1, 8, 10][..], 0));
    assert!(resolved.cpus.shared, "it is on this machine, somewhere");
    let remote = BenchFacts { server_local: false, ..foreign };
    assert!(!bench(Level::Screening, &remote).cpus.shared);
    let mut plan = plan(Level::Screening);
    plan.measure.clients = Auto::Given(vec![1, 32]);
    let problem = resolve(&plan, Level::Screening, &foreign).expect_err("there are 20 connections");
    assert_eq!(problem.what, "32 clients are more than the server's max_connections (20) leave room for");
    let reserved = BenchFacts { max_connections: Some(40), reserved_connections: 13, ..foreign };
    let problem = resolve(&plan, Level::Screening, &reserved).expect_err("there are 23 connections");
    assert!(problem.what.contains("(40, 13 of them reserved)"), "{}", problem.what);
    assert_eq!(problem.hint.as_deref(), Some("use at most 23 clients, or raise max_connections"));
}

#[test]
fn many_backends_on_little_memory_are_warned_of_and_not_refused() {
    let host = with_files(host(2, 2 * GIB), 65_536);
    let facts = facts(&host, 100 * GIB);
    let warned = |clients: u32| {
        let mut plan = plan(Level::Screening);
        plan.measure.clients = Auto::Given(vec![1, clients]);
        resolve(&plan, Level::Screening, &facts).expect("it is no reason to refuse").warnings
    };
    // 5 MiB and a 512th of 512 MiB for each, 1.5 GiB besides shared buffers: 256 of them.
    assert_eq!(warned(256), Vec::<String>::new());
    let warning = warned(257);
    assert!(
        warning[0].starts_with("257 clients may need 1.5 GiB of memory besides shared buffers ("),
        "{warning:?}"
    );
}

#[test]
fn servers_side_by_side_share_memory_and_disk() {
    let host = with_files(host(2, 2 * GIB), 65_536);
    let alone = BenchFacts { shared_buffers_bytes: Some(GIB / 2), ..facts(&host, 10 * GIB) };
    let several = BenchFacts { side_by_side: 3, ..alone };
    let warned = |facts: &BenchFacts<'_>, clients: u32| {
        let mut plan = plan(Level::Screening);
        (plan.measure.clients, plan.data.scale) = (Auto::Given(vec![clients]), Scale::Given(1));
        resolve(&plan, Level::Screening, facts).expect("it is no reason to refuse").warnings
    };
    // Three times 512 MiB leave 512 MiB: 85 backends of 6 MiB.
    assert_eq!((warned(&alone, 86), warned(&several, 85)), (vec![], vec![]));
    let warning = warned(&several, 86);
    assert!(
        warning[0].contains("besides shared buffers of 3 servers") && warning[0].contains("512 MiB are left"),
        "{warning:?}"
    );
    let mut large = plan(Level::Screening);
    large.data.scale = Scale::Given(1_000);
    let refused = resolve(&large, Level::Screening, &several).expect_err("there is no room").what;
    assert!(
        refused.contains(
            "of disk space for each of 3 servers, and 10.0 GiB are free for each of 3 servers in /data"
        ),
        "{refused}"
    );
    large.data.scale = Scale::Given(2_000_000);
    let existing = BenchFacts { own_server: false, ..alone };
    let refused = resolve(&large, Level::Screening, &existing).expect_err("there is no room");
    assert!(refused.what.contains(" TiB of disk space, and 10.0 GiB are free in /data"), "{refused:?}");
    assert!(refused.hint.is_some_and(|hint| !hint.contains("--data")), "its data directory is what it is");
}

/// A plan of workloads that it brings itself.
fn own_plan(toml: &str) -> Plan {
    Plan::from_toml(&format!("name = \"own\"\n{toml}"), "own.toml")
        .unwrap_or_else(|problem| panic!("{problem:?}"))
}

#[test]
fn tables_of_its_own_need_no_others() {
    let host = host(2, 24 * GIB);
    let facts = facts(&host, 10 * GIB);
    let of = |toml: &str| resolve(&own_plan(toml), Level::Screening, &facts).expect("it is possible");
    let own = "[data]\nsetup_text = \"CREATE TABLE t()\"\n[[workload]]\nname = \"t\"\ntext = \"SELECT 1\"\n";
    let alone = of(own);
    assert_eq!((alone.scale, alone.balance), (None, BalanceCheckMode::Off));
    let why = |bench: &BenchPlan| {
        bench.choices.iter().find(|one| one.name == "balance").expect("a reason").reason.clone()
    };
    assert!(why(&alone).starts_with("there are no TPC-B tables"), "{}", why(&alone));
    let both = of(&format!("{own}[[workload]]\nscript = \"tpcb-like\"\n"));
    assert!(both.scale.is_some() && why(&both).contains("own scripts may have written"), "{}", why(&both));
    let reads = of(&format!("{own}[[workload]]\nscript = \"select-only\"\n"));
    assert!(why(&reads).starts_with("only the plan's own scripts write"), "{}", why(&reads));
}

/// Tables given by rows are included in the cost like those given by scale.
#[test]
fn loaded_rows_have_their_cost() {
    let host = host(2, 24 * GIB);
    let of = |rows: u64, available: u64| {
        let toml = format!(
            "[data]\nscaleup = {{ rows = {rows} }}\n[[workload]]\nname = \"t\"\ntext = \"SELECT 1\"\n"
        );
        resolve(&own_plan(&toml), Level::Screening, &facts(&host, available))
    };
    let cost = |rows: u64| of(rows, 1_000 * GIB).expect("it is possible").cost;
    let (few, many) = (cost(1), cost(100_000_000));
    // 112 rows to a page, and 20 bytes for each in the key, full to 90 %.
    let bytes = 100_000_000 / 112 * 8_192 + 100_000_000 * 22;
    let more = (many.disk_bytes - few.disk_bytes) as f64 / bytes as f64;
    // The data, and the WAL that stays.
    assert!((1.0..1.3).contains(&more), "{more}");
    assert!(many.written_bytes > few.written_bytes + 2 * bytes && many.seconds > few.seconds + 200.0);
    let refused = of(1_000_000_000, 10 * GIB).expect_err("there is no room").what;
    assert!(
        refused.starts_with("scaleup with 1,000,000,000 rows of test and 0 of log needs about"),
        "{refused}"
    );
}

#[test]
fn a_workload_may_have_levels_of_its_own() {
    let host = host(2, 24 * GIB);
    let plan = own_plan(
        "[[workload]]\nname = \"a\"\ntext = \"SELECT 1\"\nclients = [16, 256]\n\
         [[workload]]\nscript = \"select-only\"\n[measure]\nclients = [1, 16]\nblocks = 2\n",
    );
    let resolved = resolve(&plan, Level::Screening, &facts(&host, 100 * GIB)).expect("it is possible");
    assert_eq!(resolved.levels, [vec![16, 256], vec![1, 16]]);
    assert_eq!((resolved.clients.as_slice(), resolved.max_clients()), (&[16, 256, 1][..], 256));
    assert_eq!(resolved.cost.runs, 8);
}

#[test]
fn what_a_machine_cannot_do_is_said_before_the_run() {
    let host = host(2, 24 * GIB);
    let facts = facts(&host, 10 * GIB);
    let refuse = |change: fn(&mut Plan)| {
        let mut plan = plan(Level::Screening);
        change(&mut plan);
        resolve(&plan, Level::Screening, &facts).expect_err("it is impossible").what
    };
    assert_eq!(
        refuse(|plan| plan.measure.driver_cpus = Some("2".into())),
        "driver_cpus: pgdyno may not run on processor 2"
    );
    assert_eq!(
        refuse(|plan| plan.measure.clients = Auto::Given(vec![2_000])),
        "2000 clients need more open files than this process may have (1024)"
    );
    let no_room = refuse(|plan| plan.data.scale = Scale::Given(1_000));
    assert!(
        no_room.starts_with("scale 1000 needs about 16.")
            && no_room.ends_with("and 10.0 GiB are free in /data"),
        "{no_room}"
    );
    let full = BenchFacts { disk_available_bytes: Some(10 << 20), ..facts };
    let problem = resolve(&plan(Level::Screening), Level::Screening, &full).expect_err("there is no room");
    assert!(problem.what.starts_with("scale 1 needs about"), "{}", problem.what);
}

#[test]
fn threads_without_clients_are_not_started() {
    let host = host(8, 24 * GIB);
    let mut plan = plan(Level::Screening);
    plan.measure.clients = Auto::Given(vec![1, 3]);
    plan.measure.jobs = Auto::Given(8);
    let resolved = resolve(&plan, Level::Screening, &facts(&host, 100 * GIB)).expect("it is possible");
    assert_eq!(resolved.jobs, 3);
}

#[test]
fn reading_alone_needs_no_check() {
    let host = host(2, 24 * GIB);
    let mut plan = plan(Level::Screening);
    plan.workload.truncate(1);
    let resolved = resolve(&plan, Level::Screening, &facts(&host, 100 * GIB)).expect("it is possible");
    assert_eq!(resolved.balance, BalanceCheckMode::Off);
}

proptest! {
    #[test]
    fn choices_stay_within_their_bounds(
        cpus in 1u32..300,
        memory in 1u64..2_000,
        disk in 20u64..5_000,
        level in 0usize..3,
    ) {
        let level = [Level::Quick, Level::Screening, Level::Thorough][level];
        let host = with_files(host(cpus, memory * GIB / 4), 100_000);
        let facts = facts(&host, disk * GIB);
        let Ok(resolved) = resolve(&plan(level), level, &facts) else { return Ok(()) };
        let (base, ceiling) = level.scales();
        prop_assert!(resolved.scale.is_some_and(|scale| (1..=ceiling.max(base)).contains(&scale)));
        prop_assert!(resolved.cost.disk_bytes <= disk * GIB / 3);
        prop_assert!(resolved.clients.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(resolved.jobs >= 1 && resolved.jobs <= resolved.clients[resolved.clients.len() - 1]);
        let CpuSplit { driver, server, shared } = &resolved.cpus;
        prop_assert!(!driver.is_empty() && !server.is_empty());
        prop_assert_eq!(*shared, cpus == 1);
        prop_assert_eq!(driver.iter().any(|cpu| server.contains(cpu)), *shared);
        prop_assert!(cpus == 1 || driver.len() + server.len() == cpus as usize);
    }

    /// More memory or more disk never gives less data.
    #[test]
    fn scale_is_monotone(
        cpus in 1u32..64,
        memory in 1u64..500,
        disk in 1u64..500,
        more_memory in 0u64..500,
        more_disk in 0u64..500,
    ) {
        let scale = |memory: u64, disk: u64| {
            let host = with_files(host(cpus, memory * GIB / 8), 100_000);
            let facts = facts(&host, disk * GIB);
            resolve(&plan(Level::Thorough), Level::Thorough, &facts).map_or(0, |plan| plan.scale.unwrap_or(0))
        };
        prop_assert!(scale(memory, disk) <= scale(memory + more_memory, disk + more_disk));
    }
}
