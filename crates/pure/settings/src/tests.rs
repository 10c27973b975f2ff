//! What the rules are to keep, together: names, limits, durability, and the judgements of published configurations.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_core::facts::{
    CgroupLimits, Choice, CpuFacts, HostFacts, HugePages, MemoryFacts, StorageFacts,
    amount::{GB, KB, MB},
    major_of,
};
use proptest::prelude::*;

use super::*;
use crate::{
    Finding, Purpose,
    Standing::{self, Dangerous, Fine, Improve, NoEffect, Obsolete, Refused, Unknown},
};

/// A version of each major.
const VERSIONS: [u32; 11] =
    [90_503, 90_624, 100_023, 110_022, 120_022, 130_023, 140_024, 150_019, 160_015, 170_011, 180_006];

/// The names that the five articles set (appendix A of the list of their items).
const OF_ARTICLES: &str = "archive_command archive_mode autovacuum autovacuum_analyze_scale_factor \
    autovacuum_freeze_max_age autovacuum_max_workers autovacuum_multixact_freeze_max_age autovacuum_naptime \
    autovacuum_vacuum_cost_delay autovacuum_vacuum_scale_factor autovacuum_work_mem backend_flush_after \
    bgwriter_delay bgwriter_flush_after bgwriter_lru_maxpages bgwriter_lru_multiplier check_function_bodies \
    checkpoint_completion_target checkpoint_flush_after checkpoint_timeout commit_delay commit_siblings \
    constraint_exclusion cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost datestyle deadlock_timeout \
    default_table_access_method default_text_search_config dynamic_shared_memory_type effective_cache_size \
    effective_io_concurrency fsync full_page_writes gin_fuzzy_search_limit gin_pending_list_limit huge_pages \
    idle_in_transaction_session_timeout jit lc_messages lc_monetary lc_numeric lc_time listen_addresses \
    lock_timeout log_autovacuum_min_duration log_checkpoints log_connections log_destination log_directory \
    log_disconnections log_error_verbosity log_filename log_line_prefix log_lock_waits log_rotation_age \
    log_rotation_size log_statement log_timezone log_truncate_on_rotation logging_collector \
    maintenance_work_mem max_connections max_parallel_maintenance_workers max_parallel_workers \
    max_parallel_workers_per_gather max_prepared_transactions max_replication_slots max_wal_senders \
    max_wal_size max_worker_processes min_parallel_index_scan_size min_parallel_table_scan_size min_wal_size \
    old_snapshot_threshold parallel_leader_participation parallel_setup_cost parallel_tuple_cost port \
    random_page_cost seq_page_cost shared_buffers statement_timeout superuser_reserved_connections \
    synchronous_commit tcp_keepalives_count tcp_keepalives_idle tcp_keepalives_interval timezone \
    track_activities track_functions unix_socket_directories unix_socket_permissions update_process_title \
    vacuum_cost_delay vacuum_cost_limit vacuum_freeze_table_age vacuum_multixact_freeze_table_age wal_buffers \
    wal_compression wal_keep_segments wal_level wal_sender_timeout wal_sync_method wal_writer_delay \
    wal_writer_flush_after work_mem";

/// What no recommendation may contain.
const UNTOUCHED: [&str; 10] = [
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "wal_sync_method",
    "data_sync_retry",
    "zero_damaged_pages",
    "ignore_checksum_failure",
    "wal_level",
    "autovacuum",
    "archive_mode",
];

fn host(memory_bytes: u64, cpus: u32) -> HostFacts {
    HostFacts {
        os: None,
        kernel: "6.1.0-32-amd64".into(),
        arch: "x86_64".into(),
        cpu: CpuFacts { model: None, allowed: (0..cpus).collect(), governor: None },
        memory: MemoryFacts {
            total_bytes: memory_bytes,
            available_bytes: memory_bytes,
            swap_bytes: 0,
            overcommit_mode: 0,
            commit_limit_bytes: memory_bytes / 2,
            committed_bytes: 0,
            huge_pages: HugePages { total: 0, free: 0, page_bytes: 2 * MB },
            transparent_huge_pages: None,
        },
        cgroup: CgroupLimits::default(),
        clocksource: Some("tsc".into()),
        virtualization: None,
        open_files_limit: 1_024,
        memlock_limit_bytes: Some(8 * MB),
    }
}

fn storage(available_bytes: u64, rotational: Option<bool>, filesystem: &str) -> StorageFacts {
    StorageFacts {
        path: "/data".into(),
        mount_point: None,
        filesystem: Some(filesystem.into()),
        mount_options: None,
        device: None,
        rotational,
        write_cache: None,
        size_bytes: available_bytes,
        available_bytes,
        backing: None,
        backing_is_cached: None,
    }
}

fn inputs<'a>(
    host: &'a HostFacts,
    data: &'a StorageFacts,
    version_num: u32,
    clients: u32,
    purpose: Purpose,
) -> Inputs<'a> {
    Inputs {
        host,
        data,
        wal: None,
        version_num,
        clients,
        relations: 0,
        key_workers: KeyDemand::default(),
        wal_segment_bytes: 16 * MB,
        server_cpus: None,
        purpose,
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What is said of the last of these settings on a host of 64 GB and 16 processors.
fn said_on(version_num: u32, purpose: Purpose, filesystem: &str, pairs: &[(&str, &str)]) -> Finding {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), filesystem));
    let inputs = inputs(&host, &data, version_num, 64, purpose);
    let name = pairs.last().expect("there is one").0;
    explain(&map(pairs), &inputs).into_iter().find(|finding| finding.name == name).expect("it is judged")
}

fn said(pairs: &[(&str, &str)]) -> Finding {
    said_on(180_006, Purpose::Oltp, "ext4", pairs)
}

#[test]
fn every_name_of_the_articles_has_a_page() {
    let names: Vec<&str> = OF_ARTICLES.split_whitespace().collect();
    assert_eq!(names.len(), 108);
    for name in names {
        let page = page(name).unwrap_or_else(|| panic!("{name} has no page"));
        assert!(page.why.len() > 10 && page.what.len() > 10 && !page.source.is_empty(), "{name}");
    }
}

#[test]
fn pages_are_sentences_of_settings_that_exist() {
    let mut seen = BTreeSet::new();
    for page in pages() {
        assert!(seen.insert(page.name), "{} has two pages", page.name);
        assert!(
            page.what.ends_with('.') && page.why.ends_with('.') && !page.source.ends_with('.'),
            "{}",
            page.name
        );
        assert!(page.danger.is_empty() || page.danger.ends_with('.'), "{}", page.name);
        for text in [page.what, page.why, page.danger] {
            assert!(!text.contains('\n') && !text.contains("  "), "{}: {text}", page.name);
        }
        let version = |major: u32| if major == 9 { 90_600 } else { major * 10_000 };
        let of_page = (page.since_major.map_or(90_500, version), page.until_major.map_or(u32::MAX, version));
        assert_eq!(catalogue::bounds(page.name), Some(of_page), "{}", page.name);
    }
    assert!(page("SHARED_BUFFERS").is_some() && page("nothing").is_none());
    assert_eq!(page("old_snapshot_threshold").map(|page| page.majors()).as_deref(), Some("9.6 to 16"));
    assert_eq!(page("wal_keep_segments").map(|page| page.majors()).as_deref(), Some("9.5 to 12"));
    assert_eq!(page("io_method").map(|page| page.majors()).as_deref(), Some("18 and later"));
    assert_eq!(page("fsync").map(|page| page.majors()).as_deref(), Some(""));
}

/// Of each purpose the settings of 9.5, and what each later major changes.
fn recommended() -> String {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), "ext4"));
    let mut text = String::new();
    for purpose in Purpose::ALL {
        let mut before: BTreeMap<String, String> = BTreeMap::new();
        for version in VERSIONS {
            text.push_str(&format!("{} {}\n", purpose.name(), major_of(version)));
            let inputs = inputs(&host, &data, version, 64, purpose);
            let now: BTreeMap<String, String> =
                recommend(&inputs).into_iter().map(|choice| (choice.name, choice.value)).collect();
            for name in before.keys().filter(|name| !now.contains_key(*name)) {
                text.push_str(&format!("- {name}\n"));
            }
            for (name, value) in now.iter().filter(|(name, value)| before.get(*name) != Some(value)) {
                text.push_str(&format!("+ {name} = {value}\n"));
            }
            before = now;
        }
    }
    text
}

#[test]
fn what_is_recommended_per_major_and_purpose() {
    let (found, golden) = (recommended(), include_str!("golden/recommended.txt"));
    assert!(found == golden, "golden/recommended.txt differs; now it is\n{found}");
}

#[test]
fn the_default_purpose_is_unchanged_for_servers_of_the_tool() {
    let (host, data) = (host(16 * GB, 4), storage(100 * GB, Some(false), "ext4"));
    let of =
        |name| choose(name, &inputs(&host, &data, 180_004, 64, Purpose::Oltp)).map(|choice| choice.value);
    for (name, value) in [
        ("shared_buffers", "4GB"),
        ("work_mem", "40MB"),
        ("maintenance_work_mem", "1GB"),
        ("max_wal_size", "5GB"),
        ("checkpoint_timeout", "15min"),
        ("max_parallel_workers_per_gather", "2"),
    ] {
        assert_eq!(of(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!((of("max_worker_processes"), of("nothing")), (None, None));
}

/// What sessions and page cache get beside a pool of huge pages, which they cannot use.
#[test]
fn huge_pages_are_no_memory_of_sessions_and_page_cache() {
    let of = |pool_bytes: u64, commit_limited: bool| {
        let (mut host, data) = (host(256 * GB, 32), storage(1_024 * GB, Some(false), "ext4"));
        host.memory.huge_pages = HugePages { total: pool_bytes / (2 * MB), free: 0, page_bytes: 2 * MB };
        if commit_limited {
            (host.memory.overcommit_mode, host.memory.commit_limit_bytes) = (2, 128 * GB);
        }
        let inputs = inputs(&host, &data, 180_006, 80, Purpose::Oltp);
        ["work_mem", "effective_cache_size"]
            .map(|name| choose(name, &inputs).expect("it is recommended").value)
    };
    assert_eq!(of(0, false), ["256MB", "192GB"]);
    assert_eq!(of(200 * GB, false), ["191MB", "106GB"], "shared buffers of 64 GB are in the pool");
    assert_eq!(of(16 * GB, false), ["256MB", "192GB"], "they do not fit into it");
    assert_eq!(of(160 * GB, false), ["256MB", "136GB"]);
    assert_eq!(of(200 * GB, true), of(0, true), "CommitLimit counts no huge pages");
}

#[test]
fn few_long_queries_have_more_memory_each() {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), "ext4"));
    let of = |clients| {
        let chosen = choose("work_mem", &inputs(&host, &data, 180_006, clients, Purpose::Olap));
        chosen.expect("it is chosen").value
    };
    // 48 GB over 2 x 4 x 9 processes; many clients get what short transactions would.
    assert_eq!((of(1), of(4), of(64)), ("1GB".into(), "682MB".into(), "163MB".into()));
}

#[test]
fn hints_are_comments_and_the_rest_is_set() {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), "ext4"));
    let load = inputs(&host, &data, 180_006, 8, Purpose::BulkLoad);
    let hints = hints(&load);
    assert!(hints.iter().any(|hint| hint.name == "wal_level" && hint.value == "minimal"));
    assert!(render_hints(&hints).lines().all(|line| line.is_empty() || line.starts_with('#')));
    let text = render(&recommend(&load));
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let settings = read("it", &text).expect("the server reads it").settings;
    let chosen: BTreeMap<String, String> =
        recommend(&load).into_iter().map(|choice| (choice.name, choice.value)).collect();
    assert_eq!(settings, chosen);
}

#[test]
fn texts_are_quoted_where_the_server_asks_for_it() {
    let of = |value: &str| {
        render(&[Choice { name: "a".into(), value: value.into(), reason: "it\nis so ".repeat(40) }])
    };
    for value in ["%m [%p] ", "", "it's", "back\\slash", "4GB", "0.9", "-1"] {
        let text = of(value);
        let read = read("it", &text).expect("it is a setting").settings;
        assert_eq!(read.get("a").map(String::as_str), Some(value), "{text}");
        let comment: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        assert_eq!(comment.join(" "), "it is so ".repeat(40).trim(), "nothing is cut");
        assert!(comment.len() > 1 && text.lines().all(|line| line.len() <= 100));
    }
}

#[test]
fn only_what_means_something_else_is_a_difference() {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), "ext4"));
    let inputs = inputs(&host, &data, 180_006, 64, Purpose::Oltp);
    let choice =
        |name: &str, value: &str| Choice { name: name.into(), value: value.into(), reason: String::new() };
    let choices = [
        choice("shared_buffers", "8GB"),
        choice("log_lock_waits", "on"),
        choice("jit", "off"),
        choice("random_page_cost", "4"),
        choice("work_mem", "8MB"),
    ];
    let present = map(&[("shared_buffers", "8192MB"), ("log_lock_waits", "true"), ("work_mem", "4MB")]);
    let found = difference(&choices, &present, &inputs);
    // The default of random_page_cost is 4, that of jit is on.
    assert_eq!(
        short(&found),
        [("jit", None, "off", false), ("work_mem", Some("4MB"), "8MB", true)],
        "4MB of work_mem are fine, too"
    );
}

fn short(found: &[Difference]) -> Vec<(&str, Option<&str>, &str, bool)> {
    found
        .iter()
        .map(|one| (one.name.as_str(), one.present.as_deref(), one.recommended.as_str(), one.is_fine))
        .collect()
}

/// Whatever `explain` would improve is a difference, also of settings that rules leave alone, and with the same value.
#[test]
fn what_explain_improves_is_a_difference() {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), "ext4"));
    let inputs = inputs(&host, &data, 180_006, 64, Purpose::Oltp);
    let present = map(&[
        ("full_page_writes", "off"),
        ("autovacuum_max_workers", "32"),
        ("autovacuum_worker_slots", "32"),
        ("max_connections", "5000"),
        ("wal_level", "minimal"),
        ("max_wal_size", "32GB"),
        ("geqo", "off"),
    ]);
    let found = difference(&wanted(&inputs), &present, &inputs);
    for finding in explain(&present, &inputs) {
        let is_wrong = matches!(finding.standing, Refused | Dangerous | Improve);
        let one = found.iter().find(|one| one.name == finding.name);
        match one.filter(|one| !one.is_fine) {
            Some(one) => assert_eq!(Some(&one.recommended), finding.recommended.as_ref(), "{one:?}"),
            None => assert!(!is_wrong, "{finding:?}"),
        }
    }
    let names: BTreeSet<&str> = found.iter().map(|one| one.name.as_str()).collect();
    for name in ["full_page_writes", "autovacuum_max_workers", "max_connections", "wal_level", "work_mem"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    assert!(found.iter().any(|one| one.name == "max_wal_size" && one.is_fine), "{found:?}");
}

#[test]
fn defaults_are_left_out() {
    let (host, data) = (host(16 * GB, 4), storage(20 * GB, Some(false), "ext4"));
    let of = |segment, name: &str| {
        let inputs =
            Inputs { wal_segment_bytes: segment, ..inputs(&host, &data, 180_006, 64, Purpose::Oltp) };
        let has = |choices: Vec<Choice>| choices.iter().any(|choice| choice.name == name);
        (has(recommend(&inputs)), has(wanted(&inputs)))
    };
    for name in ["max_connections", "max_wal_size", "max_parallel_workers_per_gather"] {
        assert_eq!(of(16 * MB, name), (false, true), "{name}");
    }
    assert_eq!(of(16 * MB, "min_wal_size"), (true, true));
    assert_eq!(of(64 * MB, "max_wal_size"), (true, true), "initdb writes another default for these segments");
}

/// The manual: a checkpoint begins when `max_wal_size` over 1 and `checkpoint_completion_target` is written; before 11
/// over 2 and that.
#[test]
fn the_reason_of_max_wal_size_says_what_starts_checkpoints() {
    let reason = |free, version, purpose| {
        let (host, data) = (host(16 * GB, 4), storage(free, Some(false), "ext4"));
        choose("max_wal_size", &inputs(&host, &data, version, 64, purpose)).expect("it is chosen").reason
    };
    // 1 GiB / 1.9 / 900 s, 1 GiB / 2.9 / 900 s, 1 GiB / 1.9 / 1800 s, 16 GiB / 1.9 / 900 s.
    for (free, version, purpose, words) in [
        (20 * GB, 180_006, Purpose::Oltp, "there is little room: about a twentieth of the 20 GiB free"),
        (20 * GB, 180_006, Purpose::Oltp, "volume, not time, starts checkpoints from about 613 KiB/s"),
        (20 * GB, 100_023, Purpose::Oltp, "from about 402 KiB/s"),
        (20 * GB, 180_006, Purpose::BulkLoad, "from about 307 KiB/s"),
        (1_024 * GB, 180_006, Purpose::Oltp, "time starts checkpoints up to about 9.58 MiB/s of WAL"),
    ] {
        let found = reason(free, version, purpose);
        assert!(found.contains(words), "{words}: {found}");
    }
    assert!(!reason(1_024 * GB, 180_006, Purpose::Oltp).contains("little room"));
}

#[test]
fn nothing_is_said_of_free_space_that_is_not_known() {
    let (host, data) = (host(16 * GB, 4), storage(0, Some(false), "ext4"));
    let inputs = inputs(&host, &data, 180_006, 64, Purpose::Oltp);
    assert_eq!((choose("max_wal_size", &inputs), choose("min_wal_size", &inputs)), (None, None));
    let findings = explain(&map(&[("max_wal_size", "64GB"), ("min_wal_size", "1GB")]), &inputs);
    let standings: Vec<_> = findings.iter().map(|finding| finding.standing).collect();
    assert_eq!(standings, [Unknown, Fine]);
    assert!(hints(&inputs).iter().any(|hint| hint.name == "max_wal_size" && hint.value == "16GB"));
}

#[test]
fn a_guest_is_not_told_what_its_disks_are() {
    let mut guest = host(64 * GB, 16);
    guest.virtualization = Some("hypervisor".into());
    let conf = map(&[
        ("random_page_cost", "1.1"),
        ("effective_io_concurrency", "200"),
        ("autovacuum_vacuum_cost_delay", "0"),
    ]);
    let of = |host: &HostFacts, device: Option<&str>| -> Vec<(String, Standing)> {
        let data =
            StorageFacts { device: device.map(str::to_owned), ..storage(1_024 * GB, Some(true), "ext4") };
        let inputs = inputs(host, &data, 180_006, 64, Purpose::Oltp);
        let found = explain(&conf, &inputs);
        let mut found: Vec<_> = found.into_iter().map(|finding| (finding.name, finding.standing)).collect();
        found.sort();
        found
    };
    let named = |standings: [Standing; 3]| -> Vec<(String, Standing)> {
        let names = ["autovacuum_vacuum_cost_delay", "effective_io_concurrency", "random_page_cost"];
        names.map(str::to_owned).into_iter().zip(standings).collect()
    };
    let bare = host(64 * GB, 16);
    assert_eq!(of(&bare, Some("/dev/sda1")), named([Improve, Unknown, Improve]));
    assert_eq!(of(&guest, Some("/dev/sda1")), named([Fine, Unknown, Fine]));
    assert_eq!(of(&bare, Some("/dev/vda1")), named([Fine, Unknown, Fine]));
    let data = storage(1_024 * GB, Some(true), "ext4");
    let hints = hints(&inputs(&guest, &data, 150_019, 64, Purpose::Oltp));
    let of = |name: &str| hints.iter().find(|hint| hint.name == name).map(|hint| hint.value.as_str());
    assert_eq!((of("random_page_cost"), of("effective_io_concurrency")), (Some("1.1"), Some("100")));
}

#[test]
fn reading_ahead_is_never_rightly_off() {
    for rotational in [Some(true), Some(false), None] {
        let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, rotational, "ext4"));
        for (version, value, expected, better) in [
            (180_006, "0", Improve, Some(if rotational == Some(false) { "32" } else { "16" })),
            (170_011, "0", Improve, Some(if rotational == Some(false) { "100" } else { "1" })),
            (180_006, "200", if rotational == Some(false) { Fine } else { Unknown }, None),
        ] {
            let inputs = inputs(&host, &data, version, 64, Purpose::Oltp);
            let found = explain(&map(&[("effective_io_concurrency", value)]), &inputs).remove(0);
            assert_eq!((found.standing, found.recommended.as_deref()), (expected, better), "{found:?}");
        }
    }
}

#[test]
fn one_side_of_a_conflict_is_changed() {
    let pairs = map(&[("wal_level", "minimal"), ("max_wal_senders", "5"), ("archive_mode", "on")]);
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), "ext4"));
    let findings = explain(&pairs, &inputs(&host, &data, 180_006, 64, Purpose::Oltp));
    assert!(findings.iter().all(|finding| finding.standing == Refused), "{findings:?}");
    let better: Vec<_> = findings.iter().filter_map(|finding| finding.recommended.as_deref()).collect();
    assert_eq!(better, ["replica"]);
}

#[test]
fn a_command_that_archives_nothing_has_no_better_value() {
    let finding = said(&[("archive_mode", "on"), ("archive_command", "/bin/date")]);
    assert_eq!((finding.standing, finding.recommended), (Dangerous, None));
}

#[test]
fn included_files_that_cannot_be_read_are_told() {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), "ext4"));
    let inputs = inputs(&host, &data, 180_006, 64, Purpose::Oltp);
    let of = |why: Unreadable| {
        let find = |include: &Include<'_>| -> Vec<Included> {
            vec![Included { name: include.value.to_owned(), text: Err(why.clone()) }]
        };
        let file = read_all("/x.conf", "include 'y.conf'", &find).expect("it is right");
        let finding = explain_file(&file, &inputs).remove(0);
        (finding.name, finding.present, finding.standing)
    };
    let own = |standing| ("include".to_owned(), Some("y.conf".to_owned()), standing);
    assert_eq!(of(Unreadable::Missing), own(Refused));
    assert_eq!(of(Unreadable::Other("permission denied".into())), own(Unknown));
}

#[test]
fn what_is_recommended_is_fine() {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), "ext4"));
    for (version, purpose) in
        VERSIONS.into_iter().flat_map(|version| Purpose::ALL.map(|purpose| (version, purpose)))
    {
        let inputs = inputs(&host, &data, version, 64, purpose);
        let chosen: BTreeMap<String, String> =
            recommend(&inputs).into_iter().map(|choice| (choice.name, choice.value)).collect();
        assert_eq!(difference(&recommend(&inputs), &chosen, &inputs), []);
        for finding in explain(&chosen, &inputs) {
            assert_eq!(finding.standing, Fine, "{version} {purpose:?} {finding:?}");
        }
    }
}

#[test]
fn defaults_are_never_dangerous_and_always_start() {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, None, "ext4"));
    for version in VERSIONS {
        // This one came with a minor release.
        let is_later = |name: &str| name == "data_sync_retry" && version < 90_516;
        let here = |entry: &&Entry| (entry.since..entry.until).contains(&version) && !is_later(entry.name);
        let defaults =
            ENTRIES.iter().filter(here).map(|entry| (entry.name.to_owned(), entry.default.to_owned()));
        for finding in explain(&defaults.collect(), &inputs(&host, &data, version, 64, Purpose::Oltp)) {
            assert_ne!(finding.standing, Dangerous, "{version} {finding:?}");
            assert!(!finding.reason.contains("does not start"), "{version} {finding:?}");
        }
    }
}

/// Settings of which the last is judged, how it stands, and words of the reason.
type Case = (&'static [(&'static str, &'static str)], Standing, &'static str);

/// On 18, for short transactions, on the host of [`said_on`] with ext4.
const JUDGEMENTS: &[Case] = &[
    (&[("fsync", "off")], Dangerous, "corrupt beyond repair"),
    (&[("fsync", "on")], Fine, ""),
    (&[("full_page_writes", "off")], Dangerous, "half written"),
    (&[("synchronous_commit", "off")], Dangerous, "last 600 ms"),
    (&[("wal_writer_delay", "10ms"), ("synchronous_commit", "off")], Dangerous, "last 30 ms"),
    (&[("synchronous_commit", "local")], Fine, "local disk"),
    (&[("synchronous_standby_names", "a"), ("synchronous_commit", "local")], Improve, "do not wait"),
    (&[("synchronous_commit", "off"), ("commit_delay", "10")], NoEffect, "no commit flushes WAL"),
    (&[("fsync", "off"), ("commit_delay", "100")], NoEffect, "fsync = off"),
    (&[("commit_delay", "10")], Improve, "timer slack"),
    (&[("commit_siblings", "16")], NoEffect, "commit_delay is 0"),
    (&[("wal_writer_delay", "10ms")], NoEffect, "themselves"),
    (&[("wal_sync_method", "open_datasync")], Improve, "equally safe"),
    (&[("zero_damaged_pages", "on")], Dangerous, ""),
    (&[("wal_level", "minimal")], Refused, "max_wal_senders is 10"),
    (&[("wal_level", "minimal"), ("max_wal_senders", "10")], Refused, "raise that"),
    (&[("wal_level", "minimal"), ("archive_mode", "on")], Refused, "raise that"),
    (
        &[("max_wal_senders", "0"), ("summarize_wal", "on"), ("wal_level", "minimal")],
        Refused,
        "summarize_wal",
    ),
    (&[("max_wal_senders", "0"), ("wal_level", "minimal")], Improve, "no base backup"),
    (
        &[("max_wal_senders", "0"), ("archive_mode", "on"), ("wal_level", "minimal")],
        Refused,
        "archive_mode is on",
    ),
    (&[("wal_level", "hot_standby")], Fine, "replica"),
    (&[("shared_buffers", "16GB"), ("wal_buffers", "1981MB")], Improve, "more than a segment of 16MB"),
    (&[("shared_buffers", "16GB"), ("wal_buffers", "16MB")], Fine, ""),
    (&[("wal_buffers", "-1")], Fine, "4MB"),
    (&[("full_page_writes", "off"), ("wal_compression", "on")], NoEffect, "full_page_writes is off"),
    (&[("archive_mode", "on"), ("archive_command", "/bin/date")], Dangerous, "stores nothing"),
    (&[("archive_mode", "on"), ("archive_command", "cp %p /a/%f")], Fine, ""),
    (&[("archive_mode", "on"), ("archive_command", "/bin/false")], Dangerous, "fills"),
    (&[("archive_mode", "on"), ("archive_command", "")], Dangerous, "nothing archives"),
    (&[("archive_command", "/bin/true")], NoEffect, "archive_mode is off"),
    (&[("archive_command", "true"), ("archive_mode", "on")], Improve, "no archive"),
    (&[("max_wal_size", "2TB")], Dangerous, "free"),
    (&[("max_wal_size", "1GB")], Improve, "twentieth"),
    (&[("max_wal_size", "128GB")], Fine, "replayed"),
    (&[("max_wal_size", "600GB")], Improve, "more than half of the 1 TiB"),
    (&[("max_wal_size", "1GB"), ("min_wal_size", "2GB")], NoEffect, "above max_wal_size"),
    (&[("checkpoint_timeout", "5min")], Improve, "full-page images"),
    (&[("checkpoint_timeout", "55min")], Fine, "110 min"),
    (&[("checkpoint_timeout", "20min"), ("checkpoint_completion_target", "0.1")], Improve, "2.0 of 20 min"),
    (&[("checkpoint_timeout", "55min"), ("checkpoint_completion_target", "0.99")], Improve, "33 s"),
    (&[("bgwriter_delay", "10ms"), ("bgwriter_lru_maxpages", "1000")], Fine, "781 MiB/s"),
    (&[("bgwriter_lru_maxpages", "0")], Improve, "off"),
    (&[("bgwriter_flush_after", "256")], Improve, "512 kB"),
    (&[("shared_buffers", "41GB")], Improve, "64 % of 64 GiB"),
    (&[("shared_buffers", "70GB")], Refused, "more than memory and swap together, 64 GiB"),
    (&[("shared_buffers", "64GB")], Dangerous, "no less than the 64 GiB"),
    (&[("shared_buffers", "60GB")], Dangerous, "94 %"),
    (&[("shared_buffers", "128MB")], Improve, "only 0.2 %"),
    (&[("shared_buffers", "16GB")], Fine, "25 %"),
    (&[("max_connections", "2000"), ("shared_buffers", "16GB"), ("work_mem", "32MB")], Improve, "62.5 GiB"),
    (&[("work_mem", "64kB")], Improve, "spill"),
    (&[("autovacuum_max_workers", "16"), ("maintenance_work_mem", "4GB")], Improve, "16 workers"),
    (&[("maintenance_work_mem", "2GB")], Fine, ""),
    (&[("autovacuum_max_workers", "16"), ("autovacuum_work_mem", "4GB")], Improve, "up to 64 GiB of 64 GiB"),
    (&[("autovacuum_work_mem", "-1")], Fine, "maintenance_work_mem applies"),
    (&[("hash_mem_multiplier", "4")], Fine, "16 MiB"),
    (&[("work_mem", "2GB"), ("hash_mem_multiplier", "4")], Improve, "8 GiB"),
    (&[("shared_buffers", "16GB"), ("huge_pages", "on")], Refused, "8192 or more are needed"),
    (&[("huge_page_size", "1GB"), ("huge_pages", "on")], Unknown, "not known"),
    (&[("shared_memory_type", "sysv"), ("huge_pages", "on")], Refused, "sysv"),
    (&[("shared_memory_type", "sysv"), ("huge_pages", "try")], NoEffect, "sysv"),
    (&[("shared_buffers", "16GB"), ("huge_pages", "off")], Improve, "32 MiB"),
    (&[("huge_pages", "try")], Fine, "ordinary pages"),
    (&[("dynamic_shared_memory_type", "mmap")], Improve, "data directory"),
    (&[("autovacuum", "off")], Dangerous, "dead rows"),
    (&[("track_counts", "off"), ("autovacuum", "on")], NoEffect, "track_counts"),
    (&[("autovacuum_max_workers", "17")], NoEffect, "autovacuum_worker_slots"),
    (&[("autovacuum_max_workers", "8")], Fine, "share one cost limit"),
    (&[("autovacuum_freeze_max_age", "1600000000")], Dangerous, "547,483,648"),
    (&[("autovacuum_freeze_max_age", "1200000000")], Improve, "947,483,648"),
    (&[("autovacuum_freeze_max_age", "800000000")], Fine, "1,347,483,648"),
    (
        &[("autovacuum_freeze_max_age", "1200000000"), ("vacuum_freeze_table_age", "1150000000")],
        NoEffect,
        "limited to 1,140,000,000, 95 %",
    ),
    (&[("vacuum_multixact_freeze_table_age", "150000000")], Fine, ""),
    (&[("autovacuum_vacuum_cost_delay", "0ms")], Fine, "3 workers"),
    (&[("autovacuum_vacuum_cost_delay", "20ms")], Improve, "39.1 MiB/s"),
    (&[("vacuum_cost_delay", "10")], Improve, "sleeps 10 ms"),
    (&[("vacuum_cost_delay", "0")], Fine, "full speed"),
    (
        &[("autovacuum_vacuum_cost_delay", "0"), ("vacuum_cost_limit", "10000")],
        NoEffect,
        "nothing is limited",
    ),
    (&[("vacuum_cost_limit", "10000")], Fine, "autovacuum has it too"),
    (&[("autovacuum_vacuum_cost_limit", "1000")], Fine, "1.91 GiB/s"),
    (&[("autovacuum_vacuum_cost_delay", "0"), ("autovacuum_vacuum_cost_limit", "1000")], NoEffect, "limited"),
    (&[("old_snapshot_threshold", "-1")], Refused, "17 removed it"),
    (&[("max_worker_processes", "8"), ("max_parallel_workers", "64")], NoEffect, "allows no more"),
    (&[("max_worker_processes", "128"), ("max_parallel_workers", "64")], Improve, "16 processors"),
    (&[("max_parallel_workers_per_gather", "0")], Fine, "no query is parallel"),
    (&[("max_parallel_workers_per_gather", "0"), ("parallel_setup_cost", "0")], NoEffect, "is 0"),
    (&[("parallel_setup_cost", "0")], Improve, "short queries"),
    (&[("maintenance_work_mem", "64MB"), ("max_parallel_maintenance_workers", "4")], NoEffect, "32 MiB"),
    (&[("parallel_leader_participation", "off")], Improve, ""),
    (&[("effective_cache_size", "128GB")], Improve, "cannot be cached"),
    (&[("shared_buffers", "16GB"), ("effective_cache_size", "8GB")], Improve, "less than shared_buffers"),
    (&[("effective_cache_size", "40GB")], Fine, "close to 48GB"),
    (&[("seq_page_cost", "0.014329")], Improve, "70 times"),
    (&[("seq_page_cost", "0.014329"), ("random_page_cost", "0.016")], Fine, "1.12 times"),
    (&[("seq_page_cost", "0.014329"), ("cpu_index_tuple_cost", "0.00433497")], Improve, "60.5 times"),
    (&[("seq_page_cost", "0.014329"), ("cpu_tuple_cost", "0.00018884")], Fine, "1.3 times"),
    (&[("random_page_cost", "4")], Improve, "4.00 times"),
    (&[("random_page_cost", "0.5")], Improve, "no page is cheaper"),
    (&[("constraint_exclusion", "on")], Improve, "every query"),
    (&[("jit", "on")], Improve, "100000"),
    (&[("jit", "off")], Fine, ""),
    (&[("gin_fuzzy_search_limit", "10")], Improve, "random part"),
    (&[("effective_io_concurrency", "0")], Improve, "nothing is read ahead"),
    (&[("effective_io_concurrency", "2")], Improve, ""),
    (&[("default_statistics_target", "10000")], Improve, "3,000,000 rows"),
    (&[("default_statistics_target", "1")], Improve, "300 rows"),
    (&[("default_statistics_target", "500")], Fine, "150,000 rows"),
    (&[("wal_recycle", "off")], Improve, "WAL is on ext4"),
    (&[("wal_init_zero", "off")], Improve, "WAL is on ext4"),
    (&[("log_checkpoints", "off")], Improve, "no line"),
    (&[("io_method", "sync")], Improve, ""),
    (&[("io_method", "sync"), ("io_workers", "8")], NoEffect, "io_method is sync"),
    (&[("max_connections", "2000")], Improve, "pooler"),
    (&[("max_connections", "50")], Improve, "do not get in"),
    (&[("max_connections", "100")], Fine, ""),
    (&[("max_connections", "100"), ("superuser_reserved_connections", "100")], Refused, "does not start"),
    (&[("reserved_connections", "97"), ("superuser_reserved_connections", "3")], Refused, "it is 100"),
    (&[("max_locks_per_transaction", "64")], Fine, "default"),
    (&[("max_locks_per_transaction", "256")], Fine, "9.77 MiB"),
    (&[("max_locks_per_transaction", "32")], Improve, "fail"),
    (&[("max_connections", "2000"), ("max_locks_per_transaction", "8192")], Improve, "a sixteenth of 64 GiB"),
    (
        &[
            ("max_connections", "5000"),
            ("max_prepared_transactions", "5000"),
            ("max_locks_per_transaction", "20000"),
        ],
        Refused,
        "74.5 GiB",
    ),
    (&[("max_prepared_transactions", "2000")], Improve, "holds back vacuum"),
    (&[("max_prepared_transactions", "0")], Fine, ""),
    (
        &[("tcp_keepalives_interval", "10"), ("tcp_keepalives_count", "10"), ("tcp_keepalives_idle", "60")],
        Fine,
        "after 160 s",
    ),
    (&[("lock_timeout", "6s")], Unknown, "after 6 s in every session"),
    (&[("statement_timeout", "30")], Improve, "without a unit is in milliseconds"),
    (&[("statement_timeout", "30ms")], Improve, "after 30.0 ms in every session"),
    (&[("idle_in_transaction_session_timeout", "30")], Improve, "without a unit"),
    (&[("idle_in_transaction_session_timeout", "5min")], Fine, "5 min 00 s"),
    (&[("deadlock_timeout", "10s")], Improve, "1 s"),
    (&[("log_destination", "csvlog")], Improve, "logging_collector"),
    (&[("log_filename", "x.log")], NoEffect, "logging_collector is off"),
    (&[("log_statement", "all")], Improve, "each statement"),
    (&[("log_min_duration_statement", "0")], Improve, "each statement"),
    (&[("log_line_prefix", "")], Improve, "lack"),
    (&[("log_line_prefix", "%m [%p] ")], Fine, ""),
    (&[("track_activities", "off")], Improve, "blind"),
    (&[("track_io_timing", "off")], Improve, ""),
    (&[("update_process_title", "off")], Improve, "not measured"),
    (&[("port", "1921")], Fine, ""),
    (&[("port", "70000")], Refused, "accepts 1 to 65535"),
    (&[("work_mem", "8mb")], Refused, "does not start"),
    (&[("wal_keep_segments", "0")], Refused, "13 removed it"),
    (&[("checkpoint_segments", "64")], Refused, "max_wal_size"),
    (&[("ssl_ecdh_curve", "prime256v1")], Obsolete, "ssl_groups"),
    (&[("default_with_oids", "false")], Obsolete, "accepts off alone"),
    (&[("default_with_oids", "on")], Refused, "12 removed it"),
    (&[("my.setting", "1")], Unknown, "extension"),
    (&[("shared_bufers", "1GB")], Refused, "no setting of this name"),
    (&[("geqo", "off")], Unknown, "no rule"),
    (&[("backend_flush_after", "256")], Unknown, "bounds what a load leaves dirty"),
    (&[("geqo", "true")], Fine, "default"),
];

#[test]
fn judgements() {
    let mut wrong = Vec::new();
    for (pairs, standing, words) in JUDGEMENTS {
        let finding = said(pairs);
        if finding.standing != *standing || !finding.reason.contains(words) {
            wrong.push(format!("{pairs:?}: expected {standing:?} {words:?}, found {finding:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Version, purpose, file system and settings, and what is said of the last of these.
type CaseOn = (u32, Purpose, &'static str, &'static [(&'static str, &'static str)], Standing, &'static str);

const CASES_ON: &[CaseOn] = &[
    (180_006, Purpose::Oltp, "zfs", &[("full_page_writes", "off")], Fine, "recordsize"),
    (180_006, Purpose::Oltp, "xfs", &[("full_page_writes", "off")], Dangerous, "on xfs"),
    (180_006, Purpose::Olap, "ext4", &[("max_parallel_workers_per_gather", "0")], Improve, "at most 16"),
    (180_006, Purpose::Olap, "ext4", &[("jit", "on")], Fine, "compiled"),
    (
        180_006,
        Purpose::BulkLoad,
        "ext4",
        &[("max_wal_senders", "0"), ("wal_level", "minimal")],
        Fine,
        "loads",
    ),
    (90_624, Purpose::Oltp, "ext4", &[("wal_level", "minimal")], Improve, "no base backup"),
    (90_503, Purpose::Oltp, "ext4", &[("max_parallel_workers", "8")], Refused, "10 brought it"),
    (90_503, Purpose::Oltp, "ext4", &[("data_sync_retry", "on")], Refused, "9.5.16 brought it; 9.5.3"),
    (90_525, Purpose::Oltp, "ext4", &[("data_sync_retry", "on")], Dangerous, "marks the pages clean"),
    (90_500, Purpose::Oltp, "ext4", &[("data_sync_retry", "off")], Fine, "default"),
    (100_006, Purpose::Oltp, "ext4", &[("data_sync_retry", "on")], Refused, "10.7 brought it; 10.6"),
    (90_503, Purpose::Oltp, "ext4", &[("max_worker_processes", "8")], Fine, "slots for 8"),
    (90_624, Purpose::Oltp, "ext4", &[("max_worker_processes", "8")], Fine, "all of them may be parallel"),
    (
        90_624,
        Purpose::Oltp,
        "ext4",
        &[("max_worker_processes", "2"), ("max_parallel_workers_per_gather", "4")],
        NoEffect,
        "max_worker_processes = 2",
    ),
    (130_023, Purpose::Oltp, "ext4", &[("huge_pages", "on")], Refused, "64 or more are needed"),
    (90_624, Purpose::Oltp, "ext4", &[("huge_pages", "on")], Refused, "64 or more are needed"),
    (
        110_022,
        Purpose::Oltp,
        "ext4",
        &[("max_wal_senders", "98"), ("superuser_reserved_connections", "3")],
        Refused,
        "it is 101",
    ),
    (110_022, Purpose::Oltp, "ext4", &[("max_wal_senders", "100")], Refused, "before 12"),
    (130_023, Purpose::Oltp, "ext4", &[("max_wal_senders", "100")], Fine, "room for 100"),
    (160_015, Purpose::Oltp, "ext4", &[("force_parallel_mode", "on")], Refused, "16 removed it"),
    (190_000, Purpose::Oltp, "ext4", &[("of_tomorrow", "on")], Unknown, "end at PostgreSQL 18"),
    (180_006, Purpose::Olap, "ext4", &[("default_statistics_target", "100")], Improve, "long queries"),
    (180_006, Purpose::Oltp, "zfs", &[("wal_recycle", "off")], Fine, "ZFS"),
    (180_006, Purpose::Oltp, "nfs4", &[("wal_recycle", "off")], Unknown, "copy-on-write"),
    (
        160_015,
        Purpose::Oltp,
        "ext4",
        &[("autovacuum_max_workers", "40"), ("autovacuum_work_mem", "2GB")],
        Improve,
        "up to 40 GiB of 64 GiB",
    ),
    (90_503, Purpose::Oltp, "ext4", &[("max_wal_size", "1024")], Fine, "twentieth"),
    (90_503, Purpose::Oltp, "ext4", &[("wal_compression", "lz4")], Refused, "neither on nor off"),
    (130_023, Purpose::Oltp, "ext4", &[("old_snapshot_threshold", "-1")], Fine, "default"),
    (130_023, Purpose::Oltp, "ext4", &[("track_activities", "off")], Improve, "wait events"),
    (160_015, Purpose::Oltp, "ext4", &[("autovacuum_work_mem", "2GB")], NoEffect, "at most 1GB"),
    (170_011, Purpose::Oltp, "ext4", &[("autovacuum_work_mem", "2GB")], Fine, "6 GiB"),
    (170_011, Purpose::Oltp, "ext4", &[("io_method", "worker")], Refused, "18 brought it"),
];

#[test]
fn judgements_follow_major_purpose_and_storage() {
    for (version, purpose, filesystem, pairs, standing, words) in CASES_ON {
        let finding = said_on(*version, *purpose, filesystem, pairs);
        assert!(
            finding.standing == *standing && finding.reason.contains(words),
            "{version} {pairs:?}: expected {standing:?} {words:?}, found {finding:?}"
        );
    }
}

#[test]
fn a_recommendation_goes_where_the_reason_points() {
    let of = |pairs: &[(&str, &str)]| said(pairs).recommended;
    // 48 GB over 3 x 2,000 connections.
    let crowd = [("max_connections", "2000"), ("shared_buffers", "16GB"), ("work_mem", "32MB")];
    assert_eq!(of(&crowd).as_deref(), Some("8MB"));
    assert_eq!(of(&[("max_connections", "200"), ("work_mem", "32MB")]), None, "it is fine as it is");
    assert_eq!(of(&[("work_mem", "163MB")]).as_deref(), Some("163MB"));
    assert_eq!(of(&[("fsync", "off")]).as_deref(), Some("on"));
    assert_eq!(of(&[("seq_page_cost", "0.01"), ("cpu_tuple_cost", "0.01")]).as_deref(), Some("0.0001"));
}

#[test]
fn the_last_of_repeated_names_counts() {
    let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), "ext4"));
    let inputs = inputs(&host, &data, 180_006, 64, Purpose::Oltp);
    let findings = explain_text("x", "fsync = off\nfsync = on\nFsync = on\n", &inputs).expect("it is right");
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].standing, findings[0].present.as_deref()), (Fine, Some("on")));
    assert!(findings[0].reason.ends_with("(set 3 times: the last one counts)"), "{}", findings[0].reason);
    assert!(explain_text("x", "include 'y'", &inputs).is_err());
}

#[test]
fn copy_on_write_storage_keeps_no_old_segments() {
    let names = |filesystem| -> Vec<String> {
        let (host, data) = (host(64 * GB, 16), storage(1_024 * GB, Some(false), filesystem));
        let chosen = recommend(&inputs(&host, &data, 180_006, 64, Purpose::Oltp));
        chosen.into_iter().map(|choice| choice.name).filter(|name| name.starts_with("wal_")).collect()
    };
    assert_eq!(names("zfs"), ["wal_recycle", "wal_init_zero"]);
    assert_eq!(names("ext4"), [""; 0]);
}

/// The configurations of the articles, with the version that they were published for, the memory and the processors of
/// their hosts, and what must be found dangerous.
const PRESETS: [(&str, u32, u64, u32, &[&str]); 8] = [
    (
        include_str!("../../plan/presets/scaleup-9.5.toml"),
        90_503,
        512,
        64,
        &["full_page_writes", "synchronous_commit"],
    ),
    (
        include_str!("../../plan/presets/scaleup-9.6.toml"),
        90_624,
        512,
        64,
        &["full_page_writes", "synchronous_commit"],
    ),
    (
        include_str!("../../plan/presets/storage-12.toml"),
        120_022,
        512,
        64,
        &["archive_command", "synchronous_commit"],
    ),
    (include_str!("../../plan/presets/ten-billion-11.toml"), 110_022, 503, 64, &["synchronous_commit"]),
    (
        include_str!("../../plan/presets/trillion-11.toml"),
        110_022,
        503,
        64,
        &["full_page_writes", "synchronous_commit"],
    ),
    (
        include_str!("../../plan/presets/tpcc-9.5.toml"),
        90_503,
        256,
        32,
        &["full_page_writes", "synchronous_commit"],
    ),
    (
        include_str!("../../plan/presets/tpcc-9.5-stage-3.toml"),
        90_503,
        256,
        32,
        &["full_page_writes", "synchronous_commit"],
    ),
    (
        include_str!("../../plan/presets/tpcc-9.5-stage-4.toml"),
        90_503,
        256,
        32,
        &["full_page_writes", "synchronous_commit"],
    ),
];

/// Settings of the articles of which no rule judges a value that is not the default.
const UNJUDGED: [&str; 12] = [
    "autovacuum_naptime",
    "backend_flush_after",
    "bgwriter_lru_multiplier",
    "listen_addresses",
    "lock_timeout",
    "log_connections",
    "log_disconnections",
    "max_replication_slots",
    "track_functions",
    "unix_socket_directories",
    "unix_socket_permissions",
    "wal_sender_timeout",
];

#[test]
fn the_configurations_of_the_articles_are_judged_value_by_value() {
    for (text, version, gigabytes, cpus, dangerous) in PRESETS {
        let settings = text.split_once("[settings]\n").expect("it has settings").1.replace('"', "'");
        let (host, data) = (host(gigabytes * GB, cpus), storage(8_192 * GB, Some(false), "ext4"));
        let inputs = inputs(&host, &data, version, 64, Purpose::Oltp);
        let findings = explain_text("preset", &settings, &inputs).expect("it is a configuration");
        assert_eq!(findings.len(), settings.lines().count(), "every value is judged");
        let of = |standing| -> Vec<&Finding> {
            findings.iter().filter(|finding| finding.standing == standing).collect()
        };
        let names: Vec<&str> = of(Dangerous).iter().map(|finding| finding.name.as_str()).collect();
        assert_eq!(names, dangerous, "{findings:#?}");
        assert_eq!(of(Obsolete), Vec::<&Finding>::new());
        // Of these no value is right everywhere.
        let unjudged = of(Unknown).into_iter().filter(|finding| !UNJUDGED.contains(&finding.name.as_str()));
        assert_eq!(unjudged.collect::<Vec<_>>(), Vec::<&Finding>::new());
        // Huge pages have to be reserved, and none are here.
        let refused: Vec<&str> = of(Refused).iter().map(|finding| finding.name.as_str()).collect();
        assert!(refused.iter().all(|name| *name == "huge_pages"), "{refused:?}");
    }
}

fn amount(choices: &BTreeMap<String, String>, inputs: &Inputs<'_>, name: &str) -> Option<f64> {
    let entry = entry(name, inputs.version_num)?;
    let (Kind::Int(unit) | Kind::Real(unit)) = entry.kind else { return None };
    let text = choices.get(name).map_or(entry.default, String::as_str);
    value::number(text, unit, inputs.wal_segment_bytes)
}

proptest! {
    #[test]
    fn recommendations_are_within_what_server_and_host_allow(
        memory_mb in 1_024_u64..4 << 20,
        cpus in 1_u32..=512,
        version in prop::sample::select(VERSIONS.to_vec()),
        purpose in prop::sample::select(Purpose::ALL.to_vec()),
        clients in 1_u32..=10_000,
        free in 0_u64..1 << 50,
        rotational in prop::option::of(any::<bool>()),
        filesystem in prop::sample::select(vec!["ext4", "zfs"]),
        (relations, each, keys) in (0_u64..100_000, 0_u64..2_000, 1_u64..100),
        shift in 20_u32..=30,
    ) {
        let memory = memory_mb * MB;
        let (host, data) = (host(memory, cpus), storage(free, rotational, filesystem));
        let inputs = Inputs {
            relations,
            key_workers: KeyDemand { each: each.min(1_024), keys },
            wal_segment_bytes: 1 << shift,
            ..inputs(&host, &data, version, clients, purpose)
        };
        let chosen = recommend(&inputs);
        for choice in &chosen {
            let entry = entry(&choice.name, version);
            prop_assert!(entry.is_some(), "{} in {version}", choice.name);
            let refused = entry.and_then(|entry| refusal(entry, &choice.value, inputs.wal_segment_bytes));
            prop_assert_eq!(refused, None, "{} = {}", &choice.name, &choice.value);
            prop_assert!(!UNTOUCHED.contains(&choice.name.as_str()), "{}", &choice.name);
            prop_assert!(!choice.reason.is_empty());
        }
        let names: BTreeSet<&str> = chosen.iter().map(|choice| choice.name.as_str()).collect();
        prop_assert_eq!(names.len(), chosen.len());
        let chosen: BTreeMap<String, String> =
            chosen.into_iter().map(|choice| (choice.name, choice.value)).collect();
        let of = |name: &str| amount(&chosen, &inputs, name);
        let number = |name: &str| of(name).expect("every major has it");
        let (memory, clients) = (memory as f64, f64::from(clients));
        prop_assert!(number("shared_buffers") <= memory / 2.0);
        prop_assert!(number("shared_buffers") + number("maintenance_work_mem") <= memory);
        prop_assert!(number("effective_cache_size") <= memory);
        prop_assert!(number("max_connections") >= clients + number("superuser_reserved_connections"));
        // Four megabytes are the default: below that the rule does not go.
        let sessions = if purpose == Purpose::Olap { clients } else { number("max_connections") };
        prop_assert!(
            number("work_mem") <= (4 * MB) as f64
                || number("work_mem") * sessions + number("shared_buffers") <= memory
        );
        prop_assert!(number("max_wal_size") >= 2.0 * inputs.wal_segment_bytes as f64);
        prop_assert!(number("min_wal_size") >= 2.0 * inputs.wal_segment_bytes as f64);
        prop_assert!(number("min_wal_size") <= number("max_wal_size"));
        if let Some(workers) = of("max_parallel_workers") {
            prop_assert!(number("max_worker_processes") >= workers);
            prop_assert!(workers >= number("max_parallel_workers_per_gather"));
            if let Some(of_maintenance) = of("max_parallel_maintenance_workers") {
                prop_assert!(workers >= of_maintenance);
            }
        }
        if let Some(own) = of("autovacuum_work_mem").filter(|own| *own > 0.0) {
            prop_assert!(own <= number("maintenance_work_mem") && own >= (64 * KB) as f64);
        }
    }

    #[test]
    fn no_configuration_panics(
        pairs in prop::collection::btree_map("[a-z_.]{1,20}", "\\PC*", 0..4),
        name in prop::sample::select(ENTRIES.iter().map(|entry| entry.name).collect::<Vec<_>>()),
        value in "-?[0-9a-zA-Z%./ ]{0,9}",
        version in prop::sample::select(VERSIONS.to_vec()),
    ) {
        let (host, data) = (host(GB, 1), storage(0, None, "ext4"));
        let mut conf = pairs;
        conf.insert(name.to_owned(), value);
        for purpose in Purpose::ALL {
            let findings = explain(&conf, &inputs(&host, &data, version, 1, purpose));
            prop_assert_eq!(findings.len(), conf.len());
            for finding in findings {
                prop_assert!(!finding.reason.is_empty());
            }
        }
    }
}
