//! Compares whole reports with golden files. `PGDYNO_BLESS=1 cargo test -p pgdyno-report --test report` rewrites them:
//! read the difference before you commit it.

use std::collections::BTreeSet;

use pgdyno_document::{
    Document, Paint, SHORT_LINES,
    block::{Block, Doubt, Table, Tone},
    csv, csv_blocks, html, markdown, paste, short, text,
};
use pgdyno_record::{Found, OperationRecord};
use pgdyno_report::{Details, Kept, doubt_heading, report, why};
use testkit::fixtures::{self, Fixture};

fn variants() -> [(&'static str, Fixture); 16] {
    [
        ("complete", fixtures::complete()),
        ("thorough", fixtures::thorough()),
        ("tpcc", fixtures::tpcc()),
        ("tpcc-sets", fixtures::tpcc_sets()),
        ("partial", fixtures::partial()),
        ("failed", fixtures::failed()),
        ("zero-cells", fixtures::zero_cells()),
        ("absent-values", fixtures::absent_values()),
        ("ab-faster", fixtures::faster()),
        ("ab-cannot-tell", fixtures::cannot_tell()),
        ("ab-commands", fixtures::commands()),
        ("ab-loads", fixtures::loads()),
        ("subjects", fixtures::several()),
        ("pgbench", fixtures::pgbench()),
        ("operations", fixtures::operations()),
        ("profiled", fixtures::profiled()),
    ]
}

/// The reports whose other forms than text are compared with golden files.
const IN_ALL_FORMS: [&str; 2] = ["tpcc-sets", "partial"];

/// Compares another form than text.
fn check_form(name: &str, form: &str, got: &str) {
    if IN_ALL_FORMS.contains(&name) {
        check(&format!("{name}.{form}"), got);
    }
}

fn check(name: &str, got: &str) {
    testkit::golden(env!("CARGO_MANIFEST_DIR"), name, got);
}

/// The headings of all doubts of a record.
fn doubts(fixture: &Fixture) -> impl Iterator<Item = &'static str> + '_ {
    fixture.record.doubts.iter().map(|doubt| doubt_heading(doubt.kind))
}

fn width(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn text_matches_the_golden_files() {
    for (name, fixture) in variants() {
        let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
        let got = text(&document, Paint::Plain);
        assert!(
            width(&got) <= 80,
            "{name} is {} wide:\n{}",
            width(&got),
            got.lines().filter(|line| line.chars().count() > 80).collect::<Vec<_>>().join("\n")
        );
        check(&format!("{name}.txt"), &got);
        let coloured = text(&document, Paint::Colour);
        assert!(coloured.contains("\x1b[1m") && !got.contains('\x1b'));
    }
}

/// What `pgdyno why` prints of a run and its first cell.
fn why_complete(fixture: &Fixture) -> Document {
    let tails = fixtures::tails(&fixture.record);
    let id = fixture.record.id.clone();
    let kept = Kept { directory: format!("./pgdyno-runs/{id}"), called: id };
    why(&kept, &fixture.record, &tails, &[tails.tails[0].cell.clone()])
}

/// What the slowest transactions waited for, as the command prints it and in the report.
#[test]
fn why_matches_the_golden_files() {
    let fixture = fixtures::complete();
    let tails = fixtures::tails(&fixture.record);
    let document = why_complete(&fixture);
    let got = short(&document, Paint::Plain, SHORT_LINES);
    assert!(width(&got) <= 80 && got.lines().count() <= SHORT_LINES, "{got}");
    check("why.short.txt", &got);
    let whole = text(&document, Paint::Plain);
    assert!(width(&whole) <= 80, "{whole}");
    check("why.txt", &whole);
    let report = text(
        &report(None, &fixture.record, &[], Details { tails: Some(&tails), ..Details::default() }),
        Paint::Plain,
    );
    let begin = report.find("WHAT THE SLOWEST TRANSACTIONS WAITED FOR").expect("it is there");
    let section = report[begin..].split("\n\n").take(8).collect::<Vec<_>>().join("\n\n");
    assert!(width(&section) <= 80, "{section}");
    check("why.section.txt", &section);
}

/// The short report of a run in the usual directory.
fn shortened(fixture: &Fixture) -> String {
    let id = fixture.record.id.clone();
    let kept = Kept { directory: format!("./pgdyno-runs/{id}"), called: id };
    short(&report(Some(&kept), &fixture.record, &[], Details::default()), Paint::Plain, SHORT_LINES)
}

#[test]
fn the_short_report_matches_the_golden_files() {
    for (name, fixture) in variants() {
        let got = shortened(&fixture);
        assert!(width(&got) <= 80 && got.lines().count() <= SHORT_LINES, "{name}: {got}");
        assert!(doubts(&fixture).all(|doubt| got.contains(doubt)), "{got}");
        let id = &fixture.record.id;
        assert!(got.contains(&format!("pgdyno show {id} --full")) && got.contains("./pgdyno-runs/"), "{got}");
        let command = fixture.record.command.as_str();
        // Tables that were loaded or copied cannot be made again.
        let makes_tables = |of: &OperationRecord| matches!(of.found, Found::Load(_) | Found::Copies(_));
        let is_made = fixture.record.runs.is_empty() && fixture.record.operations.iter().any(makes_tables);
        assert!(is_made || got.replace(" \\\n  ", " ").contains(command), "{got}");
        check_form(name, "short.txt", &got);
    }
}

/// Whatever a run has a lot of, its report fits a screen, counts what it leaves out, and keeps what says most.
#[test]
fn the_short_report_of_any_run_fits_a_screen() {
    for (subjects, scripts, levels) in [(1, 1, 3), (1, 6, 9), (2, 1, 1), (5, 6, 9), (40, 3, 2), (3, 30, 1)] {
        let case = format!("{subjects} subjects, {scripts} scripts, {levels} levels");
        for worsen in [
            |_: &mut Fixture| (),
            many_doubts,
            |of: &mut Fixture| {
                many_doubts(of);
                failed_checks(of);
                long_texts(of);
            },
        ] {
            let mut fixture = plan_of(subjects, scripts, levels);
            worsen(&mut fixture);
            let got = shortened(&fixture);
            assert!(width(&got) <= 80 && got.lines().count() <= SHORT_LINES, "{case}\n{got}");
            let total = format!("DOUBTS ({})", fixture.record.doubts.len());
            assert!(got.contains(&total) || fixture.record.doubts.is_empty(), "{case}\n{got}");
            let named = got.lines().filter(|line| line.starts_with("  ! ")).count();
            let is_counted = got.contains(" more doubts: pgdyno show ");
            assert!(named == fixture.record.doubts.len() || is_counted, "{case}\n{got}");
            assert!(
                fixture
                    .record
                    .subjects
                    .iter()
                    .all(|of| of.balance.as_ref().is_none_or(|of| of.violations == 0))
                    || got.contains("The balance check failed"),
                "{case}\n{got}"
            );
            let cells = fixture.record.cells.len();
            let is_whole = cells <= got.lines().filter(|line| line.ends_with("shared buffers")).count();
            assert!(
                is_whole || got.contains(" more rows: pgdyno show ") || got.contains(" more table"),
                "{got}"
            );
            let best = fixture.record.cells.iter().max_by(|a, b| a.tps.value.total_cmp(&b.tps.value));
            let best = pgdyno_core::units::rate(best.expect("there are cells").tps.value);
            assert!(got.contains(&best), "{best}: {case}\n{got}");
        }
    }
}

/// A level that is faster stays in a table that is cut, and one without a difference gives way.
#[test]
fn verdicts_that_say_something_stay() {
    let mut fixture = plan_of(60, 1, 1);
    let levels = &mut fixture.record.levels.as_mut().expect("there are some").list;
    for level in levels.iter_mut() {
        level.result.as_mut().expect("a result").verdict = pgdyno_analysis::compare::Verdict::NoDifference;
    }
    let faster = levels.last_mut().expect("there are some");
    faster.result.as_mut().expect("a result").verdict = pgdyno_analysis::compare::Verdict::Faster;
    faster.among_all = true;
    let name = faster.subject.clone();
    let got = shortened(&fixture);
    let row = got.lines().find(|line| line.trim_start().starts_with(&name) && line.contains("faster"));
    assert!(row.is_some() && got.contains(" more rows: pgdyno show "), "{got}");
}

/// Everything but the legend gives way to lines of doubts before advice is lost, and no line stays unused while
/// something is left out.
#[test]
fn the_lines_of_the_short_report_are_used() {
    for (subjects, scripts, levels) in [(1, 1, 3), (1, 6, 9), (5, 6, 9), (3, 30, 1), (1, 10, 1)] {
        for doubts in [0, 1, 4, 8, 30] {
            let mut fixture = plan_of(subjects, scripts, levels);
            let doubt = fixtures::complete().record.doubts[1].clone();
            let detail = "words that say what was found ".repeat(9);
            fixture.record.doubts = vec![pgdyno_analysis::Doubt { detail, ..doubt }; doubts];
            let got = shortened(&fixture);
            let case =
                format!("{subjects} subjects, {scripts} scripts, {levels} levels, {doubts} doubts\n{got}");
            let lines = got.lines().count();
            let leaves_out = got.contains(" more row") || got.contains(" more sentence");
            // A row may need a heading, and a sentence two lines.
            assert!(!leaves_out || lines + 3 >= SHORT_LINES, "{lines} lines of {case}");
            let advised = got.lines().filter(|line| line.starts_with("    → ")).count();
            assert!(advised >= doubts.min(1), "{case}");
            let cut = got.lines().filter(|line| line.starts_with("  ! ") && line.ends_with('…'));
            for line in cut {
                let last = line.trim_end_matches([' ', '…']).rsplit(' ').next().expect("a word");
                assert!("words that say what was found :".contains(last), "{line}\n{case}");
            }
        }
    }
}

/// Ten scripts have ten rows, in addition to what a plan did to its tables.
#[test]
fn a_plan_with_ten_scripts_shows_more_than_one() {
    let mut fixture = plan_of(1, 10, 1);
    fixture.record.operations = fixtures::operations().record.operations;
    let got = shortened(&fixture);
    let rows = got.lines().filter(|line| line.contains("  1,000  –")).count();
    assert!(rows >= 4, "{got}");
}

fn many_doubts(fixture: &mut Fixture) {
    let doubt = fixtures::complete().record.doubts[1].clone();
    fixture.record.doubts.extend((0..30).map(|_| doubt.clone()));
}

fn failed_checks(fixture: &mut Fixture) {
    let balance = fixtures::failed().record.subjects[0].balance.clone().expect("it was checked");
    let broken = pgdyno_record::BalanceRecord { violations: 2, ..balance };
    fixture.record.subjects.iter_mut().for_each(|subject| subject.balance = Some(broken.clone()));
}

fn long_texts(fixture: &mut Fixture) {
    fixture.record.command += &" --set some_setting=some_value".repeat(60);
    fixture.record.status = pgdyno_record::Status::Stopped;
    fixture.record.error = Some("could not read a block of a relation; ".repeat(40));
}

/// Texts of a foreign record are shown, but not interpreted by a terminal or a spreadsheet.
#[test]
fn a_hostile_record_is_only_text() {
    let mut fixture = fixtures::complete();
    let server = fixture.record.subjects[0].server.as_mut().expect("the fixture has one");
    server.version = "18\u{1b}]0;title\u{7}".into();
    server.version_text = "\u{1b}[2J\u{9b}31m".into();
    server.build.compiler = Some("=HYPERLINK(\"http://x\")".into());
    server.build.cflags = Some("-2+3+cmd|' /C calc'!A0".into());
    fixture.record.command = "pgdyno bench \u{1b}[31m".into();
    fixture.record.choices[0].reason = "<img src=x>\u{1b}[1m|\rforged".into();
    fixture.record.runs[0].workload.script = "@SUM(1)\u{202e}".into();
    let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
    for got in [
        text(&document, Paint::Plain),
        markdown(&document),
        csv(&document),
        paste(&document),
        html(&document),
    ] {
        let obeyed = got.chars().find(|c| (c.is_control() && !"\n\t".contains(*c)) || *c == '\u{202e}');
        assert_eq!(obeyed, None, "{got}");
    }
    assert!(text(&document, Paint::Plain).contains("18\\u{1b}]0;title\\u{7}"));
    assert!(!markdown(&document).replace("\\<", "").contains('<'), "every bracket is taken as it is");
    let csv = csv(&document) + &csv_blocks(&document);
    for field in [",\"'=HYPERLINK(\"\"http://x\"\")\",", ",'-2+3+cmd|", ",'@SUM(1)"] {
        assert!(csv.contains(field), "{field}\n{csv}");
    }
    assert!(!csv.contains(",=") && !csv.contains(",-2+"), "{csv}");
}

#[test]
fn paste_is_short_and_whole() {
    for (name, fixture) in variants() {
        let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
        let got = paste(&document);
        assert!(width(&got) <= 80 && got.lines().count() <= 25, "{got}");
        assert!(doubts(&fixture).all(|doubt| got.contains(doubt)), "{got}");
        let drove = fixture.record.operations.is_empty() || fixture.record.comparison.is_some();
        assert!(got.contains("durability: ") && got.contains("noise floor: ") == drove, "{got}");
        assert!(got.replace(" \\\n  ", " ").contains(&fixture.record.command), "{got}");
        // Facts and names may be cut at their ends, sentences may not.
        let cut = |line: &&str| line.ends_with('…') && !line.starts_with("machine: ");
        assert_eq!(got.lines().skip(1).find(cut), None, "{name}: {got}");
        check_form(name, "paste.txt", &got);
    }
}

/// CPUs of a pinned server are shown at the head of every form.
#[test]
fn cpus_of_a_pinned_server_are_shown() {
    let mut fixture = fixtures::complete();
    (fixture.record.plan.server_cpus, fixture.record.plan.driver_cpus) = (vec![0], vec![1]);
    let of = fixture.record.host.allowed_cpus().len();
    let said = format!("server on CPU 0 of {of}, driver on CPU 1");
    let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
    let head = |text: &str| text.lines().take(12).any(|line| line.contains(&said));
    assert!(head(&text(&document, Paint::Plain)) && head(&markdown(&document)) && head(&paste(&document)));
    assert!(pgdyno_document::html(&document).contains(&said));
    fixture.record.plan.server = "external".to_owned();
    let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
    assert!(!text(&document, Paint::Plain).contains(&said), "the CPUs of an existing server are unknown");
}

#[test]
fn a_driver_that_waited_for_its_cpu_is_no_clean_check() {
    let mut fixture = fixtures::complete();
    let is_clean = |fixture: &Fixture| {
        let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
        let said = text(&document, Paint::Plain).split_whitespace().collect::<Vec<_>>().join(" ");
        (said.contains("it was not the limit"), said.contains("had to wait for it: it was a limit"))
    };
    assert_eq!(is_clean(&fixture), (true, false));
    let found = fixture.record.limits.iter_mut().find_map(|limits| limits.found.first_mut());
    found.expect("something was found").kind = pgdyno_core::results::BottleneckKind::DriverStarved;
    assert_eq!(is_clean(&fixture), (false, true));
}

/// A floor above every difference is no figure to compare with.
#[test]
fn noise_that_hides_everything_is_said_to() {
    let mut fixture = fixtures::complete();
    fixture.record.noise_by_script[1].noise.smallest_difference = 12.749;
    let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
    let got = text(&document, Paint::Plain).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        got.contains("with 3 cells per script and 3 blocks, differences cannot be judged: even differences of over 100 \
                      %"),
        "{got}"
    );
}

/// With all doubts and a long command, the lines still suffice and no doubt is omitted.
#[test]
fn paste_gives_up_words_before_doubts() {
    let mut fixture = fixtures::failed();
    let kinds: Vec<serde_json::Value> = [
        "screening-run",
        "partial",
        "too-few-blocks",
        "not-steady",
        "noisy",
        "driver-saturated",
        "cores-shared",
        "cpu-steal",
        "uneven-checkpoints",
        "build-not-optimised",
        "mixed-cache",
        "weak-durability",
        "misses",
        "balance-violated",
        "not-checked",
        "server-not-observed",
        "unpinned-bundle",
        "build-differs",
        "tests-disagree",
        "dependent-blocks",
    ]
    .map(Into::into)
    .to_vec();
    let some = fixture.record.doubts[0].clone();
    fixture.record.doubts = kinds
        .into_iter()
        .map(|kind| {
            let kind = serde_json::from_value(kind).expect("a kind of doubt");
            pgdyno_analysis::Doubt { kind, ..some.clone() }
        })
        .collect();
    fixture.record.command += &" --set some_setting=some_value".repeat(14);
    let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
    let got = paste(&document);
    assert!(got.lines().count() <= 25 && width(&got) <= 80, "{got}");
    let unbroken = got.replace("\n  ", " ");
    assert!(doubts(&fixture).all(|doubt| unbroken.contains(doubt)), "{got}");
}

#[test]
fn markdown_and_csv_match_the_golden_files() {
    for (name, fixture) in variants() {
        let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
        check_form(name, "md", &markdown(&document));
        let table = csv(&document);
        // Quoted fields may contain commas.
        let commas =
            |line: &str| line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>();
        assert!(table.lines().all(|line| commas(line) == commas(table.lines().next().expect("a header"))));
        check_form(name, "csv", &table);
        check_form(name, "blocks.csv", &csv_blocks(&document));
    }
}

#[test]
fn no_form_leaves_out_a_doubt() {
    for (name, fixture) in variants() {
        let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
        for said in [text(&document, Paint::Plain), markdown(&document), paste(&document), html(&document)] {
            assert!(doubts(&fixture).all(|doubt| said.contains(doubt)), "{name}: {said}");
        }
    }
}

/// Two servers with the same weakness: its name occurs once in the headline, and twice among the doubts.
#[test]
fn a_headline_names_a_doubt_once() {
    let mut fixture = fixtures::several();
    let doubt = fixture.record.doubts[0].clone();
    fixture.record.doubts.insert(0, doubt.clone());
    let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
    let warning = document.head.iter().find_map(|block| match block {
        Block::Prose(prose) if prose.tone == Tone::Warning => Some(prose.sentences[0].plain()),
        _ => None,
    });
    let warning = warning.expect("there are doubts");
    let name = doubt_heading(doubt.kind).to_lowercase();
    assert_eq!(warning.matches(&name).count(), 1, "{warning}");
    let said = text(&document, Paint::Plain);
    assert_eq!(said.matches(&*format!("  ! {}", doubt_heading(doubt.kind))).count(), 2, "{said}");
}

#[test]
fn an_absent_value_is_never_a_zero() {
    let fixture = fixtures::absent_values();
    let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
    let first = text(&document, Paint::Plain);
    let row = first.lines().find(|line| line.trim_start().starts_with("1  ")).expect("the first cell");
    assert_eq!(row.split_whitespace().filter(|word| *word == "–").count(), 5, "{row}");
    let table = csv(&document);
    assert!(table.lines().nth(1).expect("a run").contains(",,"), "{table}");
}

/// Builds with different compilers or flags are never called versions.
#[test]
fn the_difference_of_two_builds_is_not_called_one_of_versions() {
    let fixture = fixtures::cannot_tell();
    let report = text(&report(None, &fixture.record, &fixture.timeline(), Details::default()), Paint::Plain);
    let differs = report.split("DIFFERENCES").nth(1).and_then(|rest| rest.split("\n\n").next());
    let differs = differs.expect("there is such a section");
    for what in ["build", "compiler", "flags"] {
        let row = differs.lines().find(|line| line.trim_start().starts_with(what)).expect("it differs");
        assert!(row.ends_with("not requested"), "{differs}");
    }
    assert!(!differs.contains("version"), "{differs}");
    assert!(report.contains("differ in more than was requested: build, compiler, flags"), "{report}");
}

/// The analysis of a record gives the same result after writing and reading the record.
#[test]
fn a_record_that_was_read_is_judged_as_the_one_that_was_written() {
    let all = [
        fixtures::complete(),
        fixtures::partial(),
        fixtures::failed(),
        fixtures::zero_cells(),
        fixtures::absent_values(),
        fixtures::pgbench(),
        fixtures::tpcc(),
        fixtures::tpcc_sets(),
        fixtures::several(),
        fixtures::faster(),
        fixtures::cannot_tell(),
        fixtures::commands(),
    ];
    for fixture in all {
        let mut written = fixture.record;
        pgdyno_analysis::analyse(&mut written, &[]);
        let text = serde_json::to_string(&written).expect("it can be written");
        let mut read: pgdyno_record::RunRecord = serde_json::from_str(&text).expect("it can be read");
        pgdyno_analysis::analyse(&mut read, &[]);
        assert_eq!(serde_json::to_string(&read).expect("it can be written"), text, "{}", written.command);
    }
}

/// Six scripts at nine levels of five subjects: the head fits on a screen, its rows are not repeated, and all rows are
/// at the end.
#[test]
fn a_big_plan_has_a_first_screen_that_a_person_reads() {
    let fixture = big_plan();
    let document = report(None, &fixture.record, &fixture.timeline(), Details::default());
    let (said, page, markdown) = (text(&document, Paint::Plain), html(&document), markdown(&document));
    let short = paste(&document);
    assert!(fixture.record.runs.len() > 500);
    let first = said.lines().position(|line| line.starts_with("LEVEL BY LEVEL")).expect("it is there");
    assert!(first <= 55, "the head takes {first} lines\n{said}");
    assert!(width(&said) <= 80 && short.lines().count() <= 25, "{short}");
    for (rows, form) in [("LEVEL BY LEVEL: ALL ROWS", &said), ("## Level by level: all rows", &markdown)] {
        let (shown, below) = form.split_once(rows).expect("the whole table is below");
        let of_subject = |text: &str| text.matches("pg=9").count();
        assert!(of_subject(below) > 54 && of_subject(shown) < 54 * 3, "{form}");
        let section =
            shown.to_lowercase().rsplit_once("level by level\n").map(|(_, section)| section.to_owned());
        let section =
            section.and_then(|section| Some(section.split_once("throughput and latency")?.0.to_owned()));
        assert_eq!(
            of_subject(&section.expect("there is such a section")),
            0,
            "the head has these rows: {form}"
        );
    }
    assert!(page.contains("<details><summary>All rows</summary>"));
}

/// A plan of six scripts at nine levels of five subjects in two blocks.
fn big_plan() -> Fixture {
    plan_of(5, 6, 9)
}

/// A plan of so many subjects, scripts and levels in two blocks.
fn plan_of(subjects: usize, scripts: usize, levels_of_each: u32) -> Fixture {
    let mut fixture = fixtures::several();
    let record = &mut fixture.record;
    let names: Vec<String> = match subjects {
        5 => ["pg=9.6", "pg=10", "pg=14", "pg=17", "pg=18"].map(str::to_owned).to_vec(),
        _ => (1..=subjects).map(|number| format!("build=b{number}")).collect(),
    };
    let first = record.subjects[0].clone();
    let second = record.subjects[1].clone();
    let subject = |(at, name): (usize, &String)| {
        let like = if at == 0 { &first } else { &second };
        pgdyno_record::SubjectRecord { name: name.clone(), ..like.clone() }
    };
    record.subjects = names.iter().enumerate().map(subject).collect();
    let (cell, run) = (record.cells[0].clone(), record.runs[0].clone());
    (record.cells, record.runs) = (Vec::new(), Vec::new());
    let level = record.levels.as_ref().expect("there are some").list[0].clone();
    let mut levels = Vec::new();
    let common = ["select-one", "select-400", "update-one", "update-400", "insert-one", "insert-400"];
    let script_of =
        |at: usize| common.get(at).map_or_else(|| format!("script-{at}"), |name| (*name).to_owned());
    for script in (0..scripts).map(script_of) {
        for clients in (0..levels_of_each).map(|level| 1 << level.min(8)) {
            for name in &names {
                let mut cell = cell.clone();
                cell.workload.script.clone_from(&script);
                (cell.workload.clients, cell.workload.subject) = (clients, Some(name.clone()));
                cell.tps.value = 1_000.0 * f64::from(clients.min(64)) / f64::from(1 + clients / 64);
                let runs = (0..2).map(|block| {
                    let workload = cell.workload.clone();
                    pgdyno_core::measure::CellRun { block, workload, ..run.clone() }
                });
                record.runs.extend(runs);
                record.cells.push(cell);
                let (script, subject) = (script.clone(), name.clone());
                levels.push(pgdyno_analysis::compare::LevelResult {
                    script,
                    subject,
                    clients,
                    ..level.clone()
                });
            }
        }
    }
    levels.retain(|level| level.subject != names[0]);
    let record_levels = record.levels.as_mut().expect("there are some");
    (record_levels.judged, record_levels.list) = (levels.len() as u32, levels);
    if subjects == 1 {
        record.levels = None;
        record.cells.iter_mut().for_each(|cell| cell.workload.subject = None);
    }
    fixture
}

/// The hosts of `reference/hosts` whose reports are golden files.
const HOSTS: [(&str, &str); 3] = [
    ("article-004", include_str!("../../../../../reference/hosts/article-004.json")),
    ("small-cloud-vm", include_str!("../../../../../reference/hosts/small-cloud-vm.json")),
    ("article-000-cloud-disks", include_str!("../../../../../reference/hosts/article-000-cloud-disks.json")),
];

fn host(text: &str) -> pgdyno_core::host::Inventory {
    serde_json::from_str(text).expect("it is a host")
}

#[test]
fn facts_of_hosts_match_the_golden_files() {
    for (name, of) in HOSTS {
        let got = text(&pgdyno_report::host_facts(&host(of)), Paint::Plain);
        assert!(width(&got) <= 80, "{name}:\n{got}");
        check(&format!("host-{name}.txt"), &got);
    }
}

#[test]
fn differences_of_hosts_match_the_golden_file() {
    let [(_, a), (_, b), _] = HOSTS;
    let got = text(&pgdyno_report::host_differences(&host(a), &host(b)), Paint::Plain);
    assert!(width(&got) <= 80, "{got}");
    check("host-differences.txt", &got);
    let same = text(&pgdyno_report::host_differences(&host(a), &host(a)), Paint::Plain);
    assert!(same.contains("do not differ"), "{same}");
}

/// Names of a host cannot control a terminal, and circles of devices end.
#[test]
fn absurd_hosts_are_written() {
    let mut of = host(HOSTS[0].1);
    of.name = "a\u{1b}[2J".into();
    of.devices[0].parents = vec!["dm-0".into(), "nothing".into()];
    of.kernel.sysctls.insert("x/~\u{1b}".into(), "\u{1b}[31m".into());
    let got = text(&pgdyno_report::host_facts(&of), Paint::Plain);
    assert!(!got.contains('\u{1b}') && got.contains("a\\u{1b}[2J"), "{got}");
    let empty = text(&pgdyno_report::host_facts(&pgdyno_core::host::Inventory::default()), Paint::Plain);
    assert!(!empty.is_empty());
}

/// The hosts of `reference/hosts` without golden files.
const OTHER_HOSTS: [(&str, &str); 3] = [
    ("article-001", include_str!("../../../../../reference/hosts/article-001.json")),
    ("article-000-local-ssd", include_str!("../../../../../reference/hosts/article-000-local-ssd.json")),
    ("this-host", include_str!("../../../../../reference/hosts/this-host.json")),
];

/// What rules say of a host of `reference/hosts`.
fn judged(name: &str) -> pgdyno_rules::Check {
    let mut all = HOSTS.iter().chain(&OTHER_HOSTS);
    let (_, of) = all.find(|(own, _)| *own == name).expect("it is one of them");
    pgdyno_rules::Check::of(&host(of), pgdyno_rules::Purpose::Oltp)
}

/// The only finding of a rule.
fn finding<'a>(check: &'a pgdyno_rules::Check, name: &str) -> &'a pgdyno_rules::Finding {
    let found: Vec<_> = check.findings.iter().filter(|finding| finding.name == name).collect();
    assert_eq!(found.len(), 1, "{}: {name}: {found:?}", check.host);
    found[0]
}

/// Each rule is tested by itself; here, that facts which the files have or lack reach the rules.
#[test]
fn recorded_hosts_are_judged_by_what_they_tell() {
    use pgdyno_rules::Standing::{Dangerous, Fine, Improve, NoEffect, Obsolete, Unknown};
    for (host, rule, standing, recommended) in [
        ("article-001", "vm.nr_hugepages", Improve, Some("33,954 for a new server, at most 98,304")),
        ("article-001", "vm.dirty_ratio", Improve, Some("vm.dirty_bytes = 1610612736")),
        ("article-001", "vm.swappiness", Improve, Some("1")),
        ("article-001", "net.core.rmem_max", NoEffect, None),
        ("article-001", "intel_idle.max_cstate", Unknown, None),
        ("article-001", "fs.file-max", Fine, None),
        ("article-001", "kernel.sem", Obsolete, None),
        // The 16 disks of a guest count as 512 MiB, four times over.
        ("article-004", "vm.dirty_ratio", Improve, Some("vm.dirty_bytes = 2147483648")),
        ("article-004", "vm.dirty_background_bytes", Fine, None),
        ("article-004", "vm.swappiness", Fine, None),
        ("article-004", "kernel.sem", Obsolete, None),
        ("article-004", "net.ipv4.tcp_tw_reuse", NoEffect, None),
        ("article-000-local-ssd", "vm.swappiness", Unknown, None),
        ("article-000-cloud-disks", "vm.swappiness", Unknown, None),
        ("small-cloud-vm", "kernel.perf_event_paranoid", Fine, None),
        ("small-cloud-vm", "ext4 journal", Fine, None),
        ("this-host", "ext4 journal", Dangerous, None),
        ("this-host", "vm.dirty_background_bytes", Improve, Some("134217728")),
        ("this-host", "free space", Fine, None),
    ] {
        let check = judged(host);
        let found = finding(&check, rule);
        assert_eq!(found.standing, standing, "{host}: {found:?}");
        if let Some(recommended) = recommended {
            assert_eq!(found.recommended.as_deref(), Some(recommended), "{host}: {found:?}");
        }
    }
    let article = judged("article-001");
    let reason = &finding(&article, "vm.nr_hugepages").reason;
    assert!(
        reason.starts_with("200 GiB in huge pages, if each has 2 MiB as usual: 78.1 % of the memory"),
        "{reason}"
    );
    assert!(finding(&article, "CommitLimit").reason.contains("− 200 GiB in huge pages"), "{article:?}");
    let unknown = judged("article-004");
    let reason = &finding(&unknown, "CommitLimit").reason;
    assert!(
        reason.contains("(503 GiB − huge pages) × 90 % + 0 B of swap (not all of these are known)"),
        "{reason}"
    );
    assert!(judged("this-host").findings.iter().all(|finding| finding.name != "container"));
}

/// What the facts of a host name can be explained.
#[test]
fn names_of_facts_have_pages() {
    let is_explained = |name: &str| pgdyno_rules::pages().any(|page| page.is_of(name));
    for (of, text) in HOSTS.iter().chain(&OTHER_HOSTS) {
        let host = host(text);
        let names = host.kernel.sysctls.keys().chain(host.cpu.mitigations.keys());
        let unexplained: Vec<&String> = names.filter(|name| !is_explained(name.as_str())).collect();
        assert!(unexplained.is_empty(), "{of}: {unexplained:?}");
        for option in host.mounts.iter().flat_map(|mount| &mount.options) {
            let name = option.split('=').next().unwrap_or_default();
            let with_value = format!("{name}=");
            let is_known = [option.as_str(), name, with_value.as_str()].into_iter().any(is_explained);
            assert!(is_known || matches!(name, "rw" | "ro"), "{of}: {option}");
        }
    }
}

/// A label that is printed can be looked up as it is.
#[test]
fn labels_of_findings_have_pages() {
    for (name, _) in HOSTS.iter().chain(&OTHER_HOSTS) {
        for finding in judged(name).findings {
            let label = format!("{} ({})", finding.name, finding.object);
            for label in [&label, &finding.name] {
                assert!(pgdyno_rules::pages().any(|page| page.is_of(label)), "{name}: {label}");
            }
        }
    }
}

/// A check says of how many rules it says nothing, and no value is printed as if it were missing.
#[test]
fn a_check_counts_its_rules() {
    let mut check = judged("small-cloud-vm");
    let shown = |check: &pgdyno_rules::Check| {
        let text = pgdyno_report::host_check(check, true);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let expected = format!("{} of {} rules concern this host", check.judging, check.rules);
    assert!(shown(&check).contains(&expected), "{}", shown(&check));
    let finding = &mut check.findings[0];
    (finding.present, finding.recommended) = (Some("/bin/date".into()), Some(String::new()));
    assert!(shown(&check).contains("/bin/date, better ''"), "{}", shown(&check));
}

fn kinds_of_table(table: &Table) -> Vec<String> {
    let has = |name: &str, there: bool| there.then(|| format!("table with {name}"));
    let mut cells = table.rows().flat_map(|row| &row.cells);
    let found = [
        has("rows", !table.is_empty()),
        has("groups", table.is_grouped()),
        has("notes of groups", table.groups.iter().any(|group| !group.note.is_empty())),
        has("warnings", table.rows().any(|row| row.warning)),
        has("bars", cells.any(|cell| cell.bar.is_some())),
        has("further lines", table.rows().flat_map(|row| &row.cells).any(|cell| !cell.more.is_empty())),
        has("common headings", table.columns.iter().any(|column| !column.over.is_empty())),
        has("more rows than are shown in its place", table.shown_in_place().is_some()),
    ];
    found.into_iter().flatten().collect()
}

/// Every kind of block of a document, also by what decides how a form writes it.
fn kinds(document: &Document) -> BTreeSet<String> {
    let blocks = document.head.iter().chain(document.sections.iter().flat_map(|section| &section.blocks));
    let kinds = blocks.flat_map(|block| match block {
        Block::Prose(prose) => vec![format!("{:?} prose", prose.tone)],
        Block::Table(table) => kinds_of_table(table),
        Block::Facts(facts) if facts.title.is_empty() => vec!["facts".to_owned()],
        Block::Facts(_) => vec!["facts with a title".to_owned()],
        Block::Chart(_) => vec!["a chart".to_owned()],
        Block::Lanes(_) => vec!["lanes".to_owned()],
        Block::Flame(_) => vec!["a flame graph".to_owned()],
        Block::Doubts(doubts) if doubts.is_empty() => vec!["no doubts".to_owned()],
        Block::Doubts(doubts) => {
            let of =
                |doubt: &Doubt| if doubt.concerned.is_empty() { "a doubt" } else { "a doubt about cells" };
            doubts.iter().map(|doubt| of(doubt).to_owned()).collect()
        }
        Block::Code(_) => vec!["a command".to_owned()],
    });
    let warning = document.warning.iter().map(|_| "a warning".to_owned());
    kinds.chain(warning).collect()
}

/// How a form writes a report depends on its blocks alone.
#[test]
fn two_reports_have_every_kind_of_block() {
    let of = |fixture: &Fixture| report(None, &fixture.record, &fixture.timeline(), Details::default());
    let complete = fixtures::complete();
    let mut all = kinds(&why_complete(&complete));
    all.extend(variants().iter().flat_map(|(_, fixture)| kinds(&of(fixture))));
    let of_two = variants().into_iter().filter(|(name, _)| IN_ALL_FORMS.contains(name));
    assert_eq!(of_two.flat_map(|(_, fixture)| kinds(&of(&fixture))).collect::<BTreeSet<_>>(), all);
}
