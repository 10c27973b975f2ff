//! The plan reader with the bundled plans, and with noise.

use pgdyno_plan::{Auto, BENCH_TOML, Plan, Source, WorkloadFiles, schema};
use proptest::prelude::*;

#[test]
fn the_bundled_plan_is_the_default_one() {
    assert_eq!(Plan::from_toml(BENCH_TOML, "plans/bench.toml").expect("it is a plan"), Plan::bench());
}

#[test]
fn what_is_commented_out_in_the_bundled_plan_is_right_too() {
    let sample = |line: &str| match line.strip_prefix("# ") {
        Some(rest) if rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')) => rest.to_owned(),
        _ => line.to_owned(),
    };
    let text: Vec<_> = BENCH_TOML.lines().map(sample).collect();
    let plan = Plan::from_toml(&text.join("\n"), "plans/bench.toml").expect("it is a plan");
    assert_eq!(plan.seed, Some(42));
    assert_eq!(plan.measure.rate, Some(1000.0));
    assert_eq!(plan.server.pg.as_deref(), Some("18"));
}

/// The plans about disks: one starts no server, the other has a server behind each latency.
#[test]
fn the_plans_of_storage_are_plans() {
    let read = |text: &str| Plan::from_toml(text, "x.toml").expect("it is a plan");
    assert!(read(include_str!("../../../../../plans/storage.toml")).needs_no_server());
    let declared: String = include_str!("../../../../../plans/storage.toml")
        .replace("# [storage", "[storage")
        .replace("# disks", "disks");
    assert_eq!(read(&declared.replace("# iops", "iops")).storage.declared()[0].iops, Some(50_000.0));
    let latency = read(include_str!("../../../../../plans/io-latency.toml"));
    let dirs: Vec<_> = latency.subject.iter().filter_map(|subject| subject.data.as_deref()).collect();
    assert_eq!(dirs, ["/mnt/x1/data", "/mnt/x2/data", "/mnt/x5/data"]);
}

/// The plans of articles 003 and 004, at both sizes, with their commented keys.
#[test]
fn the_plans_of_large_tables_are_plans() {
    for (text, scale) in [
        (include_str!("../../../../../plans/ten-billion.toml"), 100_000),
        (include_str!("../../../../../plans/trillion.toml"), 10_000_000),
    ] {
        let with_tablespaces: String = text
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(key) if key.contains("tablespace") && key.contains(" = ") => format!("{key}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let plan = Plan::from_toml(&with_tablespaces, "x.toml").expect("it is a plan");
        assert_eq!((plan.server.tablespaces.len(), plan.load.tablespace.is_some()), (2, true));
        assert!(plan.stage.iter().filter(|stage| stage.action.name() == "probe sizes").count() == 2);
        let whole = plan.clone().expanded().expect("its levels can be combined");
        WorkloadFiles::without_files(&whole).expect("its scripts are in it");
        let article = plan.at_size("article").expect("it has this size");
        let load = article.loads(article.data.scale.given()).expect("it can be").expect("it loads");
        assert_eq!((load.scale, article.measure.blocks), (scale, 1));
    }
}

const SCALE_UP: &str = include_str!("../../../../../plans/version-scaleup.toml");

/// Contents of the files named by `plans/version-scaleup.toml`.
fn of_scale_up(path: &str) -> String {
    match path {
        "version-scaleup/setup.sql" => include_str!("../../../../../plans/version-scaleup/setup.sql"),
        "version-scaleup/insert-400.sql" => {
            include_str!("../../../../../plans/version-scaleup/insert-400.sql")
        }
        "version-scaleup/insert-400-own-table.sql" => {
            include_str!("../../../../../plans/version-scaleup/insert-400-own-table.sql")
        }
        other => panic!("{other}"),
    }
    .to_owned()
}

#[test]
fn the_plan_of_six_cases_is_that_of_the_article() {
    let plan = Plan::from_toml(SCALE_UP, "version-scaleup.toml").expect("it is a plan");
    let material = WorkloadFiles::of(&plan, "version-scaleup.toml", &mut |path| Ok(of_scale_up(path)));
    let material = material.expect("its SQL can be run");
    assert_eq!((material.work.len(), material.risks()), (6, Vec::new()));
    for work in &material.work {
        let text = &work.texts[0].text;
        let values = text.matches("(now())").count();
        assert_eq!(values, if work.name.contains("400") { 400 } else { values.min(1) }, "{}", work.name);
    }
    let article = plan.clone().at_size("article").expect("it has this size");
    let levels = vec![16, 32, 64, 72, 86, 96, 128, 192, 256];
    assert_eq!(article.measure.clients, Auto::Given(levels));
    let rows = |plan: &Plan| plan.loads(None).expect("it can be").map(|load| load.title());
    assert_eq!(
        rows(&article).as_deref(),
        Some("scaleup with 100,000,000 rows of test and 0 of log"),
        "in the article log begins empty"
    );
    assert!(
        material.work[0].definitions.iter().any(|one| (&one.name[..], &one.value[..]) == ("rows", "100000")),
        "its scripts draw from as many keys as are loaded"
    );
    assert_eq!(article.measure.duration.as_secs_f64(), 120.0);
    let small = plan.clone().at_size("small").expect("it has this size too");
    assert_eq!(small, plan, "the plan above has the small size");
    let problem = plan.at_size("big").expect_err("there is none");
    assert_eq!(problem.hint.as_deref(), Some("its sizes are article, small"));
}

const TPCC: &str = include_str!("../../../../../plans/tpcc.toml");

#[test]
fn the_plan_of_three_shapes_drives_the_same_transactions() {
    let plan = Plan::from_toml(TPCC, "tpcc.toml").expect("it is a plan");
    let material =
        WorkloadFiles::of(&plan, "tpcc.toml", &mut |path| panic!("{path}")).expect("its SQL can be run");
    assert!(!material.is_own() && material.risks().is_empty());
    let names: Vec<_> = material.work.iter().map(|work| work.name.as_str()).collect();
    assert_eq!(names, ["statements", "pipelined", "functions"]);
    for work in &material.work {
        let scripts: Vec<_> = work.scripts.iter().map(|script| script.name.as_str()).collect();
        assert_eq!(scripts, ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]);
        assert_eq!(work.weights, [4_425, 4_325, 416, 417, 417]);
    }
    let title = |plan: &Plan| plan.loads(None).expect("it can be").map(|load| load.title());
    assert_eq!(title(&plan).as_deref(), Some("tpcc with 10 warehouses"));
    let mut small = plan.at_size("small").expect("it has this size");
    assert_eq!(title(&small).as_deref(), Some("tpcc with 1 warehouse"));
    small.data.loaded = true;
    assert_eq!(title(&small), None, "what is there is not loaded");
}

const FOUR_DRIVERS: &str = include_str!("../../../../../plans/tpcc-four-drivers.toml");

#[test]
fn the_plan_of_four_drivers_has_as_many_sets() {
    let plan = Plan::from_toml(FOUR_DRIVERS, "tpcc-four-drivers.toml").expect("it is a plan");
    let drivers: Vec<_> = plan.workload.iter().filter_map(|of| Some(of.tpcc?.drivers)).collect();
    assert_eq!(drivers, [0, 4]);
    let sets = |plan: &Plan| plan.data.tpcc.as_ref().map(|tpcc| (tpcc.count(), tpcc.all_warehouses()));
    assert_eq!(sets(&plan), Some((4, 4)));
    let article = plan.at_size("article").expect("it has this size");
    assert_eq!(sets(&article), Some((4, 4_000)));
}

#[test]
fn several_sets_have_no_stages_but_loading_and_driving() {
    let stages =
        |more: &str| format!("{FOUR_DRIVERS}\n[[stage]]\ndo = \"load\"\n{more}[[stage]]\ndo = \"drive\"\n");
    assert!(Plan::from_toml(&stages(""), "x.toml").is_ok());
    let wrong = Plan::from_toml(&stages("[[stage]]\ndo = \"prewarm\"\n"), "x.toml").expect_err("which set?");
    assert!(wrong.what.contains("cannot work on several sets of tables"), "{}", wrong.what);
}

#[test]
fn a_plan_of_its_own_is_read_as_it_is_written() {
    for text in [SCALE_UP, TPCC, FOUR_DRIVERS, include_str!("../../../../../fuzz/corpus/plan/own_sql")] {
        let plan = Plan::from_toml(text, "x.toml").expect("it is a plan");
        let written = toml::to_string(&plan).expect("it can be written");
        assert_eq!(Plan::from_toml(&written, "x.toml"), Ok(plan), "{written}");
    }
}

#[test]
fn a_script_is_a_name_or_a_path() {
    for (word, is_file) in [
        ("tpcb-like", Some(false)),
        ("./tpcb-like", Some(true)),
        ("a.sql", Some(true)),
        ("dir/a", Some(true)),
        ("tpcb", None),
        (".sql", None),
        ("", None),
    ] {
        let source = Source::from_word(word);
        assert_eq!(source.map(|source| source.builtin().is_none()), is_file, "{word}");
    }
}

/// Deep nesting is refused rather than overflowing the stack, of which test threads have 2 MiB.
#[test]
fn deep_nesting_gets_an_answer() {
    let deep = 100_000;
    for text in [
        format!("name = {}", "[".repeat(deep)),
        format!("name = {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("name = {}", "{a=".repeat(deep)),
        format!("name{} = 1", ".a".repeat(deep)),
        format!("[name{}]", ".a".repeat(deep)),
        format!("[server.settings{}]\nx = 1", ".a".repeat(deep)),
        format!("server.settings{} = 1", ".a".repeat(deep)),
    ] {
        let problem = Plan::from_toml(&text, "x.toml").expect_err("it is no plan");
        assert!(problem.what.len() < 400, "{}", problem.what.len());
    }
}

#[test]
fn every_key_is_described_in_the_schema() {
    let schema = schema();
    let tables = schema["$defs"].as_object().expect("there are definitions").values().chain([&schema]);
    for table in tables {
        for (key, property) in table["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{key} has no description");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn noise_gets_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Plan::from_toml(&String::from_utf8_lossy(&bytes), "x.toml");
    }

    /// A valid plan with a damaged range, closer to real mistakes than noise.
    #[test]
    fn a_damaged_plan_gets_an_answer(
        at in 0usize..4_000,
        len in 0usize..40,
        noise in "\\PC{0,12}|[\\[\\]{}=\",.\n0-9a-z]{0,20}",
    ) {
        let mut text: Vec<char> = BENCH_TOML.chars().collect();
        let start = at.min(text.len());
        let end = (start + len).min(text.len());
        text.splice(start..end, noise.chars());
        if let Err(problem) = Plan::from_toml(&text.into_iter().collect::<String>(), "x.toml") {
            prop_assert!(problem.what.starts_with("x.toml:"), "{}", problem.what);
            prop_assert!(!problem.what.contains('\n'));
        }
    }
}
