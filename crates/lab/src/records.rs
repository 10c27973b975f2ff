//! Loads, copies and comparisons of tables as they are recorded.

use pgdyno_postgres::load::{Copied, KeyWorkers, Phase, Proof, Span, StageTime};
use pgdyno_postgres::probe::Structure;
use pgdyno_record::{
    CopyRecord, KeyWorkersRecord, LoadPhaseRecord, LoadStageRecord, RangeRecord, StructureRecord,
    VerificationRecord,
};
use pgdyno_rows::load::Set;

/// The record of a comparison of all rows.
pub fn verification(set: Set, proof: &Proof, structure: Option<&Structure>) -> VerificationRecord {
    VerificationRecord {
        rows: proof.tables.iter().map(|table| table.found.rows).sum(),
        duration_s: proof.duration_s,
        keys_and_storage: proof.shape.is_some(),
        faults: proof.faults(),
        set: Some(set),
        remains: Vec::new(),
        structure: structure.map(self::structure),
    }
}

/// The record of a check by `amcheck`.
pub fn structure(structure: &Structure) -> StructureRecord {
    let Structure { tables, indexes, rows_in_indexes, faults, duration_s } = structure.clone();
    StructureRecord { tables, indexes, rows_in_indexes, faults, duration_s }
}

/// The records of copies.
pub fn copies(set: Set, copied: &[Copied]) -> Vec<CopyRecord> {
    let one = |copy: &Copied| CopyRecord {
        name: copy.name.clone(),
        duration_s: copy.duration_s,
        size_bytes: copy.size_bytes,
        bytes_per_s: copy.bytes_per_s(),
        verification: copy.proof.as_ref().map(|proof| verification(set, proof, None)),
    };
    copied.iter().map(one).collect()
}

/// The record of a stage of a load. `rows` is the number of rows of the whole load, if one process did all of it.
pub fn stage(time: &StageTime, rows: Option<u64>) -> LoadStageRecord {
    LoadStageRecord {
        name: time.stage.name().to_owned(),
        duration_s: time.seconds,
        wal_bytes: time.wal_bytes,
        temp_bytes: time.temp_bytes,
        rows_per_s: rows.filter(|_| time.seconds > 0.0).map(|rows| time.rate(rows)),
        phases: time.phases.0.iter().map(phase).collect(),
        observed: None,
    }
}

fn phase(phase: &Phase) -> LoadPhaseRecord {
    let each_s = |bytes: u64| (phase.seconds > 0.0).then(|| (bytes as f64 / phase.seconds) as u64);
    LoadPhaseRecord {
        name: phase.name.clone(),
        duration_s: phase.seconds,
        read_bytes: phase.devices.map(|moved| moved.read_bytes),
        read_bytes_per_s: phase.devices.and_then(|moved| each_s(moved.read_bytes)),
        written_bytes: phase.devices.map(|moved| moved.written_bytes),
        written_bytes_per_s: phase.devices.and_then(|moved| each_s(moved.written_bytes)),
    }
}

/// The record of the parallel workers that built keys.
pub fn key_workers(workers: &KeyWorkers) -> KeyWorkersRecord {
    KeyWorkersRecord {
        asked: workers.asked,
        planned: workers.planned.map(range),
        launched: workers.launched.map(range),
        limits: workers.limits.clone(),
    }
}

fn range(span: Span) -> RangeRecord {
    RangeRecord { least: span.least, most: span.most }
}
