//! A running command.

use pgdyno_observe::activity::ProgressReader;

use super::{At, until};

pub fn a_command_says_how_far_it_is(at: &At<'_>) {
    let mut watch = at.session();
    let mut reader = ProgressReader::new(&mut watch).expect("it answers");
    if at.version_num < 90_600 {
        assert_eq!(reader.read(&mut watch).expect("there is no view"), []);
        return;
    }
    let mut work = at.session();
    let pid = work.backend_pid();
    for sql in ["SET vacuum_cost_delay = 50", "SET vacuum_cost_limit = 1"] {
        work.execute(sql).expect("it may");
    }
    let slow = std::thread::spawn(move || drop(work.execute("VACUUM t")));
    let seen = until("it is seen", || {
        let mut seen = reader.read(&mut watch).expect("it can be read");
        seen.retain(|one| one.pid == pid && one.total.is_some());
        seen.pop()
    });
    assert_eq!((seen.command.as_str(), seen.relation.as_deref()), ("VACUUM", Some("t")));
    assert_eq!((seen.unit.as_deref(), seen.phase.is_empty()), (Some("blocks"), false));
    assert!(seen.done <= seen.total, "{seen:?}");
    watch.execute(&format!("SELECT pg_cancel_backend({pid})")).expect("it may");
    slow.join().expect("it does not panic");
}
