//! The tasks of a load, which workers of any process can take, in consecutive stages.

use super::{LoadPlan, PartitionMethod, Set, Table, Way};
use crate::Part;

/// Version of the derivation of tasks from a plan. A load must be finished by a program with the same version.
pub const LAYOUT: u32 = 2;

/// Stages in order; each begins when all tasks of the preceding one are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// Filling tables.
    Copy = 1,
    /// VACUUM of tables and partitions.
    Vacuum = 2,
    /// ANALYZE of a partitioned table.
    Analyze = 3,
    /// Primary keys of tables and partitions.
    Keys = 4,
    /// Primary key of a partitioned table, made from the keys of its partitions.
    ParentKey = 5,
    /// Foreign keys.
    ForeignKeys = 6,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 6] =
        [Self::Copy, Self::Vacuum, Self::Analyze, Self::Keys, Self::ParentKey, Self::ForeignKeys];

    /// Name of the stage as shown to users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "rows",
            Self::Vacuum => "vacuum",
            Self::Analyze => "analyze",
            Self::Keys => "primary keys",
            Self::ParentKey => "key of the whole",
            Self::ForeignKeys => "foreign keys",
        }
    }
}

/// Action of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Fills a part of a table or a partition, in one transaction.
    Fill {
        /// Table to fill.
        table: Table,
        /// Partition (from 1) to fill, if known.
        partition: Option<u64>,
        /// Range of units to fill.
        part: Part,
        /// Whether these are all rows of the table or partition, which is then truncated in the same
        /// transaction, so that COPY can freeze the rows.
        whole: bool,
    },
    /// VACUUM of a table or a partition.
    Vacuum {
        /// Table to vacuum.
        table: Table,
        /// Partition to vacuum, from 1.
        partition: Option<u64>,
    },
    /// ANALYZE of a partitioned table with all partitions.
    Analyze {
        /// Table to analyze.
        table: Table,
    },
    /// Builds the primary key of a table or a partition, or the indexes that a table has instead.
    Key {
        /// Table to index.
        table: Table,
        /// Partition to index, from 1.
        partition: Option<u64>,
    },
    /// Adds the foreign key with this index, from 0, among those of the tables.
    ForeignKey(usize),
}

/// A task of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Stage that the task belongs to.
    pub stage: Stage,
    /// Action of the task.
    pub work: Work,
}

/// Tasks of a plan, in order of their stages; the number of a task is its index. They depend on the plan alone.
pub fn tasks(plan: &LoadPlan) -> Vec<Task> {
    let parts = plan.partitions.map_or(0, |partitions| partitions.count);
    let mut all = Vec::new();
    let mut add =
        |stage: Stage, work: Vec<Work>| all.extend(work.into_iter().map(|work| Task { stage, work }));
    add(Stage::Copy, fills(plan));
    // The largest first, so that no worker waits long for the last one.
    let spread = plan.set.spread().iter().flat_map(|table| {
        let partitions = (1..=parts).map(|number| (*table, Some(number)));
        (parts == 0).then_some((*table, None)).into_iter().chain(partitions)
    });
    let filled: Vec<_> = spread.chain(plan.set.single().iter().map(|table| (*table, None))).collect();
    let empty = (plan.set == Set::Tpcb).then_some((Table::History, None));
    let vacuumed = filled.iter().copied().chain(empty);
    add(Stage::Vacuum, vacuumed.map(|(table, partition)| Work::Vacuum { table, partition }).collect());
    let wholes = || plan.set.spread().iter().copied().filter(|_| parts > 0);
    add(Stage::Analyze, wholes().map(|table| Work::Analyze { table }).collect());
    let keyed = filled.into_iter().filter(|(table, _)| has_indexes(*table));
    add(Stage::Keys, keyed.map(|(table, partition)| Work::Key { table, partition }).collect());
    let keyed = wholes().filter(|table| has_indexes(*table));
    add(Stage::ParentKey, keyed.map(|table| Work::Key { table, partition: None }).collect());
    if plan.foreign_keys {
        add(Stage::ForeignKeys, (0..plan.set.foreign_keys()).map(Work::ForeignKey).collect());
    }
    all
}

/// Whether a table has a primary key or other indexes.
fn has_indexes(table: Table) -> bool {
    table.key().is_some() || table == Table::Log
}

fn fills(plan: &LoadPlan) -> Vec<Work> {
    let whole = |table: Table| {
        let part = Part { first: 0, end: plan.units(table) };
        Work::Fill { table, partition: None, part, whole: true }
    };
    let mut works = match plan.set {
        Set::Tpcb => vec![whole(Table::Branches), whole(Table::Tellers)],
        Set::Scaleup if plan.way == Way::Stream && !plan.log_chunks => vec![whole(Table::Log)],
        Set::Scaleup => chunks(plan, Table::Log),
        Set::Tpcc => plan.set.single().iter().map(|table| whole(*table)).collect(),
    };
    for &table in plan.set.spread() {
        match plan.partitions {
            Some(partitions) if partitions.method == PartitionMethod::Range => {
                works.extend(ranges(plan, table, partitions.count));
            }
            _ if plan.whole() => works.push(whole(table)),
            _ => works.extend(chunks(plan, table)),
        }
    }
    works
}

/// One task for each range partition, cut as by pgbench: the last ones may be short or empty.
fn ranges(plan: &LoadPlan, table: Table, count: u64) -> impl Iterator<Item = Work> {
    let (total, grain) = (plan.units(table), table.grain());
    let size = (total / grain).div_ceil(count) * grain;
    (1..=count).map(move |number| {
        let part = Part { first: ((number - 1) * size).min(total), end: (number * size).min(total) };
        Work::Fill { table, partition: Some(number), part, whole: true }
    })
}

/// The tasks of a table that is filled in chunks.
fn chunks(plan: &LoadPlan, table: Table) -> Vec<Work> {
    let (total, grain) = (plan.units(table), table.grain());
    let chunk = (plan.chunk_rows / table.rows_of(grain)).max(1) * grain;
    let parts = (0..total.div_ceil(chunk)).map(|number| {
        let first = number * chunk;
        Part { first, end: (first + chunk).min(total) }
    });
    parts.map(|part| Work::Fill { table, partition: None, part, whole: false }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::load::LoadRequest;

    fn plan(scale: u64, partitions: u64, method: PartitionMethod, streams: u64) -> LoadPlan {
        let method = (partitions > 0).then_some(method);
        let request = LoadRequest {
            scale: Some(scale),
            partitions: Some(partitions),
            partition_method: method,
            ..LoadRequest::default()
        };
        request.plan(streams).expect("it can be")
    }

    fn chunks(plan: LoadPlan) -> LoadPlan {
        LoadPlan { way: Way::Chunks, ..plan }
    }

    proptest! {
        /// With any options every account is in exactly one task, and stages never decrease.
        #[test]
        fn tasks_are_the_table(scale in 1u64..3_000, parts in 0u64..70, hash: bool, streams in 1u64..9) {
            let method = if hash { PartitionMethod::Hash } else { PartitionMethod::Range };
            let tasks = tasks(&plan(scale, parts, method, streams));
            prop_assert!(tasks.windows(2).all(|pair| pair[0].stage <= pair[1].stage));
            let mut next = 0;
            for task in &tasks {
                if let Work::Fill { table: Table::Accounts, part, .. } = task.work {
                    prop_assert_eq!(part.first, next);
                    next = part.end;
                }
            }
            prop_assert_eq!(next, scale * 100_000);
        }
    }

    #[test]
    fn every_row_of_the_other_set_is_in_one_task() {
        for (way, tasks_of_log) in [(Way::Stream, 1), (Way::Chunks, 3), (Way::Server, 3)] {
            let request = LoadRequest {
                set: Set::Scaleup,
                scale: Some(110_000),
                log_rows: Some(130_000),
                method: Some(way),
                ..LoadRequest::default()
            };
            let tasks = tasks(&request.plan(1).expect("it can be"));
            let parts = |of: Table| {
                let fills = tasks.iter().filter_map(|task| match task.work {
                    Work::Fill { table, part, .. } if table == of => Some(part),
                    _ => None,
                });
                fills.collect::<Vec<_>>()
            };
            for (table, rows) in [(Table::Test, 110_000), (Table::Log, 130_000)] {
                let parts = parts(table);
                assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].first), "{parts:?}");
                assert_eq!((parts[0].first, parts[parts.len() - 1].end), (0, rows));
            }
            assert_eq!(parts(Table::Log).len(), tasks_of_log);
            let of = |stage| tasks.iter().filter(|task| task.stage == stage).count();
            assert_eq!((of(Stage::Vacuum), of(Stage::Keys), of(Stage::ForeignKeys)), (2, 2, 0));
        }
    }

    /// `log` is filled in chunks along with partitions unless one stream is requested or faster.
    #[test]
    fn a_long_log_next_to_partitions_is_cut() {
        let of_log = |log_rows, way, streams| {
            let request = LoadRequest {
                set: Set::Scaleup,
                scale: Some(1_000),
                log_rows: Some(log_rows),
                partitions: Some(2),
                method: way,
                ..LoadRequest::default()
            };
            let tasks = tasks(&request.plan(streams).expect("it can be"));
            let fills = tasks.into_iter().filter_map(|task| match task.work {
                Work::Fill { table: Table::Log, part, whole, .. } => Some((part.rows(), whole)),
                _ => None,
            });
            fills.collect::<Vec<_>>()
        };
        let million = 1_000_000;
        assert_eq!(of_log(1_000 * million, None, 1), [(10 * million, false); 100]);
        assert_eq!(of_log(16 * million, None, 4), [(250_000, false); 64]);
        assert_eq!(of_log(million, None, 1), [(million, true)]);
        assert_eq!(of_log(1_000 * million, Some(Way::Stream), 1), [(1_000 * million, true)]);
    }

    proptest! {
        /// With any options every unit of every TPC-C table is in exactly one task, and cuts are between warehouses.
        #[test]
        fn warehouses_stay_whole(
            warehouses in 1u64..400,
            parts in 0u64..9,
            hash: bool,
            streams in 1u64..9,
            way in 0usize..3,
        ) {
            let method = (parts > 0).then_some(if hash { PartitionMethod::Hash } else { PartitionMethod::Range });
            let way = [None, Some(Way::Stream), Some(Way::Chunks)][way].filter(|_| parts == 0);
            let partitions = Some(parts.min(warehouses));
            let set = LoadRequest { set: Set::Tpcc, scale: Some(warehouses), ..Default::default() };
            let request = LoadRequest { partitions, partition_method: method, method: way, ..set };
            let plan = request.plan(streams).expect("it can be");
            let tasks = tasks(&plan);
            prop_assert!(tasks.windows(2).all(|pair| pair[0].stage <= pair[1].stage));
            for of in plan.set.tables() {
                let mut next = 0;
                for task in &tasks {
                    if let Work::Fill { table, part, .. } = task.work && table == *of {
                        prop_assert_eq!((part.first, part.first % of.grain()), (next, 0));
                        next = part.end;
                    }
                }
                prop_assert_eq!(next, plan.units(*of));
            }
            let of = |stage| tasks.iter().filter(|task| task.stage == stage).count() as u64;
            let spread = plan.partitions.map_or(1, |partitions| partitions.count);
            prop_assert_eq!((of(Stage::Vacuum), of(Stage::Keys)), (8 * spread + 1, 7 * spread + 1));
            let wholes = u64::from(plan.partitions.is_some());
            prop_assert_eq!((of(Stage::Analyze), of(Stage::ParentKey)), (8 * wholes, 7 * wholes));
        }
    }

    #[test]
    fn frozen_is_what_one_task_fills() {
        let frozen = |plan: &LoadPlan| {
            let of_accounts = tasks(plan).into_iter().filter_map(|task| match task.work {
                Work::Fill { table: Table::Accounts, whole, partition, .. } => Some((partition, whole)),
                _ => None,
            });
            of_accounts.collect::<Vec<_>>()
        };
        let range = PartitionMethod::Range;
        assert_eq!(frozen(&chunks(plan(1, 0, range, 1))), [(None, false), (None, false)]);
        assert_eq!(frozen(&plan(1, 0, range, 1)), [(None, true)]);
        assert_eq!(frozen(&plan(1, 2, range, 1)), [(Some(1), true), (Some(2), true)]);
        assert_eq!(frozen(&plan(1, 2, PartitionMethod::Hash, 1)), [(None, false), (None, false)]);
    }

    #[test]
    fn the_key_of_the_whole_comes_after_those_of_the_parts() {
        let of = |plan: &LoadPlan, stage| tasks(plan).iter().filter(|task| task.stage == stage).count();
        let parted = plan(1, 3, PartitionMethod::Range, 1);
        assert_eq!(
            (of(&parted, Stage::Keys), of(&parted, Stage::ParentKey), of(&parted, Stage::Vacuum)),
            (5, 1, 6)
        );
        let plain = LoadPlan { foreign_keys: true, ..plan(1, 0, PartitionMethod::Range, 1) };
        assert_eq!((of(&plain, Stage::Keys), of(&plain, Stage::ParentKey)), (3, 0));
        assert_eq!((of(&plain, Stage::Analyze), of(&plain, Stage::ForeignKeys)), (0, 5));
    }
}
