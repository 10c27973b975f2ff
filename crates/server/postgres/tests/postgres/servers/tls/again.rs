//! A connection lost in the measured path is encrypted again after reconnecting.

use std::sync::Arc;

use pgdyno_core::stop::Stop;
use pgdyno_engine::{MergedInterval, Settings, SocketDriver, run};
use pgdyno_postgres::targets::SqlClients;
use pgdyno_script::{Protocol, Scripts};

use super::server::Server;

const SCRIPT: &str =
    "BEGIN;\nINSERT INTO again SELECT ssl::int FROM pg_stat_ssl WHERE pid = pg_backend_pid();\nEND;\n";

/// Ends all client sessions twice; they reconnect with TLS 1.3 and TLS 1.2, and every commit is a row.
pub fn connections_are_made_again(server: &Server) {
    let mut session = server.connects("user=plain sslmode=require");
    for version in ["TLSv1.3", "TLSv1.2"] {
        for sql in ["DROP TABLE IF EXISTS again", "CREATE TABLE again (encrypted int)"] {
            session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        let script = Arc::new(Scripts::one("again", SCRIPT).expect("it is a script"));
        let settings = Settings {
            warmup_ns: 0,
            ramp_ns: 0,
            duration_ns: 60_000_000_000,
            interval_ns: 100_000_000,
            drain_ns: 5_000_000_000,
            rate_per_s: None,
            seed: 1,
            statements: script.statements().count(),
            cpus: Vec::new(),
        };
        let stop = Stop::default();
        let text =
            format!("user=plain sslmode=require application_name=again ssl_max_protocol_version={version}");
        let sql = SqlClients::new(script, Protocol::Prepared);
        let (workers, _) = sql.connect(&server.options(&text), 3, 1, &stop).expect("they connect");
        let mut number = 0;
        let on_interval = |interval: &MergedInterval| {
            number += 1;
            if [2, 4].contains(&number) {
                let all =
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'again'";
                session.execute(all).expect("it may");
            } else if number > 15 && interval.counts.committed > 0 {
                stop.request("enough");
            }
        };
        let report =
            run(SocketDriver::best(), workers, &settings, &stop, on_interval, |_| ()).expect("it runs");
        let (whole, outage) = (&report.counts_whole, &report.outage);
        whole.check().expect("nothing is lost in counting");
        assert_eq!(report.stopped.as_deref(), Some("enough"), "{report:?}");
        assert!(outage.lost >= 3 && outage.made_again == outage.lost, "{version}: {report:?}");
        let mut number = |sql: &str| -> u64 {
            session.value(sql).expect("it answers").and_then(|text| text.parse().ok()).expect("a number")
        };
        let rows = number("SELECT count(*) FROM again WHERE encrypted = 1");
        assert!(
            (whole.committed..=whole.committed + whole.in_doubt).contains(&rows),
            "{rows} rows, {report:?}"
        );
        assert_eq!(number("SELECT count(*) FROM again"), rows, "none went in plain");
    }
}
