//! What a load falls into: tasks that any worker of any process can take, in stages that follow each other.

use super::{PartitionMethod, TpcbPlan};
use crate::rows::{
    Maker, Part, TableRows,
    tpcb::{Accounts, Branches, Histories, Tellers},
};

/// Changes when other tasks follow from a plan: a load is finished by a program that sees the same ones.
pub const LAYOUT: u32 = 1;

/// Stages in order; one begins when all tasks of the one before are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// Rows.
    Copy = 1,
    /// VACUUM.
    Vacuum = 2,
    /// ANALYZE of partitioned accounts.
    Analyze = 3,
    /// Primary keys of tables and partitions.
    Keys = 4,
    /// The primary key of partitioned accounts, made of those of the partitions.
    ParentKey = 5,
    /// Foreign keys.
    ForeignKeys = 6,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Self; 6] =
        [Self::Copy, Self::Vacuum, Self::Analyze, Self::Keys, Self::ParentKey, Self::ForeignKeys];

    /// What a user calls it.
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

/// A table of TPC-B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// `pgbench_branches`.
    Branches,
    /// `pgbench_tellers`.
    Tellers,
    /// `pgbench_accounts`.
    Accounts,
    /// `pgbench_history`.
    History,
}

impl Table {
    /// All.
    pub const ALL: [Self; 4] = [Self::Branches, Self::Tellers, Self::Accounts, Self::History];

    /// What makes its rows.
    pub fn maker(self) -> &'static dyn Maker {
        match self {
            Self::Branches => &Branches,
            Self::Tellers => &Tellers,
            Self::Accounts => &Accounts,
            Self::History => &Histories,
        }
    }
}

/// What one task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Rows of a part into a table or a partition, in one transaction.
    Copy {
        /// The table.
        table: Table,
        /// The partition (from 1) that they go to, where that is known.
        partition: Option<u64>,
        /// Which rows.
        part: Part,
        /// Whether these are all rows of that table or partition: then it is emptied first, in the same
        /// transaction, and the rows are frozen as they are written.
        whole: bool,
    },
    /// VACUUM of a table or a partition.
    Vacuum {
        /// The table.
        table: Table,
        /// The partition, from 1.
        partition: Option<u64>,
    },
    /// ANALYZE of partitioned accounts with all partitions.
    Analyze,
    /// The primary key of a table or a partition.
    Key {
        /// The table.
        table: Table,
        /// The partition, from 1.
        partition: Option<u64>,
    },
    /// The foreign key of this number among those of pgbench, from 0.
    ForeignKey(usize),
}

/// A task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// When.
    pub stage: Stage,
    /// What.
    pub work: Work,
}

/// Foreign keys of pgbench's tables.
const FOREIGN_KEYS: usize = 5;

/// The tasks of a plan, in order of their stages; a task's number is its place. They follow from the plan alone.
pub fn tasks(plan: &TpcbPlan) -> Vec<Task> {
    let parts = plan.partitions.map_or(0, |partitions| partitions.count);
    let mut all = Vec::new();
    let mut add =
        |stage: Stage, work: Vec<Work>| all.extend(work.into_iter().map(|work| Task { stage, work }));
    add(Stage::Copy, copies(plan));
    let whole = |table: Table| (table, None);
    let partitions = || (1..=parts).map(|number| (Table::Accounts, Some(number)));
    // The largest first, so that nobody waits long for the last one.
    let accounts = || (parts == 0).then_some(whole(Table::Accounts)).into_iter().chain(partitions());
    let small = [Table::Tellers, Table::Branches].map(whole);
    let vacuumed = accounts().chain(small).chain([whole(Table::History)]);
    add(Stage::Vacuum, vacuumed.map(|(table, partition)| Work::Vacuum { table, partition }).collect());
    if parts > 0 {
        add(Stage::Analyze, vec![Work::Analyze]);
    }
    let keyed = accounts().chain(small);
    add(Stage::Keys, keyed.map(|(table, partition)| Work::Key { table, partition }).collect());
    if parts > 0 {
        add(Stage::ParentKey, vec![Work::Key { table: Table::Accounts, partition: None }]);
    }
    if plan.foreign_keys {
        add(Stage::ForeignKeys, (0..FOREIGN_KEYS).map(Work::ForeignKey).collect());
    }
    all
}

fn copies(plan: &TpcbPlan) -> Vec<Work> {
    let all = |table: Table| Part { first: 0, end: table.maker().rows_at(plan.scale) };
    let whole = |table| Work::Copy { table, partition: None, part: all(table), whole: true };
    let mut works = vec![whole(Table::Branches), whole(Table::Tellers)];
    let total = Accounts::total(plan.scale);
    let accounts = |partition, part, whole| Work::Copy { table: Table::Accounts, partition, part, whole };
    match plan.partitions {
        Some(partitions) if partitions.method == PartitionMethod::Range => {
            // As pgbench cuts ranges: the last parts may be short, or empty.
            let size = total.div_ceil(partitions.count);
            let cut = |number: u64| total.min(number * size);
            works.extend((1..=partitions.count).map(|number| {
                accounts(Some(number), Part { first: cut(number - 1), end: cut(number) }, true)
            }));
        }
        partitions => {
            let chunk = plan.chunk_rows;
            let alone = partitions.is_none() && chunk >= total;
            works.extend((0..total.div_ceil(chunk)).map(|number| {
                let first = number * chunk;
                accounts(None, Part { first, end: total.min(first + chunk) }, alone)
            }));
        }
    }
    works
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::load::Wish;

    fn plan(scale: u64, partitions: u64, method: PartitionMethod, streams: u64) -> TpcbPlan {
        let method = (partitions > 0).then_some(method);
        let wish = Wish { scale: Some(scale), partitions: Some(partitions), method, ..Wish::default() };
        wish.plan(streams).expect("it can be")
    }

    proptest! {
        /// However it is cut, every account is in exactly one task, and stages never go back.
        #[test]
        fn tasks_are_the_table(scale in 1u64..3_000, parts in 0u64..70, hash: bool, streams in 1u64..9) {
            let method = if hash { PartitionMethod::Hash } else { PartitionMethod::Range };
            let tasks = tasks(&plan(scale, parts, method, streams));
            prop_assert!(tasks.windows(2).all(|pair| pair[0].stage <= pair[1].stage));
            let mut next = 0;
            for task in &tasks {
                if let Work::Copy { table: Table::Accounts, part, .. } = task.work {
                    prop_assert_eq!(part.first, next);
                    next = part.end;
                }
            }
            prop_assert_eq!(next, scale * 100_000);
        }
    }

    #[test]
    fn frozen_is_what_one_task_fills() {
        let frozen = |plan: &TpcbPlan| {
            let of_accounts = tasks(plan).into_iter().filter_map(|task| match task.work {
                Work::Copy { table: Table::Accounts, whole, partition, .. } => Some((partition, whole)),
                _ => None,
            });
            of_accounts.collect::<Vec<_>>()
        };
        let range = PartitionMethod::Range;
        assert_eq!(frozen(&plan(1, 0, range, 1)), [(None, false), (None, false)]);
        let one = TpcbPlan { chunk_rows: 100_000, ..plan(1, 0, range, 1) };
        assert_eq!(frozen(&one), [(None, true)]);
        assert_eq!(frozen(&plan(1, 2, range, 1)), [(Some(1), true), (Some(2), true)]);
        assert_eq!(frozen(&plan(1, 2, PartitionMethod::Hash, 1)), [(None, false), (None, false)]);
    }

    #[test]
    fn the_key_of_the_whole_comes_after_those_of_the_parts() {
        let of = |plan: &TpcbPlan, stage| tasks(plan).iter().filter(|task| task.stage == stage).count();
        let parted = plan(1, 3, PartitionMethod::Range, 1);
        assert_eq!(
            (of(&parted, Stage::Keys), of(&parted, Stage::ParentKey), of(&parted, Stage::Vacuum)),
            (5, 1, 6)
        );
        let plain = TpcbPlan { foreign_keys: true, ..plan(1, 0, PartitionMethod::Range, 1) };
        assert_eq!((of(&plain, Stage::Keys), of(&plain, Stage::ParentKey)), (3, 0));
        assert_eq!((of(&plain, Stage::Analyze), of(&plain, Stage::ForeignKeys)), (0, 5));
    }
}
