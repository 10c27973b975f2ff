//! What own servers log, so that a record shows why a run was slow: a few lines for events that take long, and in
//! the time zone of the record.

use pgdyno_core::facts::Choice;
use pgdyno_settings::{Inputs, LOGGED, choose};

/// Settings of the log that differ from the defaults of this version. None of them logs single statements, and none
/// changes what a commit waits for.
pub(crate) fn log_settings(inputs: &Inputs<'_>) -> Vec<Choice> {
    let mut settings: Vec<Choice> = LOGGED.iter().filter_map(|name| choose(name, inputs)).collect();
    let at = settings.len().min(3);
    settings.insert(
        at,
        Choice {
            name: "log_timezone".to_owned(),
            value: "GMT".to_owned(),
            reason: "the log has the times of the record".to_owned(),
        },
    );
    settings
}

#[cfg(test)]
mod tests {
    use pgdyno_core::{facts::amount::GB, host::samples::storage};
    use pgdyno_settings::{KeyDemand, Purpose};

    use super::*;
    use crate::advice::will_it_start::tests::host;

    #[test]
    fn defaults_are_left_out() {
        let (host, data) = (host(GB), storage(GB, None));
        let names = |version_num| -> Vec<String> {
            let inputs = Inputs {
                host: &host,
                data: &data,
                wal: None,
                version_num,
                clients: 1,
                relations: 0,
                key_workers: KeyDemand::default(),
                wal_segment_bytes: 16 << 20,
                server_cpus: None,
                purpose: Purpose::Oltp,
            };
            log_settings(&inputs).into_iter().map(|choice| choice.name).skip(4).collect()
        };
        assert_eq!(names(90_503), ["log_checkpoints", "log_line_prefix"]);
        assert_eq!(names(140_000), ["log_checkpoints"]);
        assert_eq!(names(150_000), [""; 0]);
    }
}
