//! What an unfinished load has filled, and what it has left.

use pgdyno_core::units;

use super::{LoadPlan, Stage, Table, Work, tasks};

/// Most gaps of a table that are listed.
const MOST_GAPS: usize = 3;

/// What an unfinished load has filled, and what it has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    tables: Vec<TableRemains>,
    /// Stages after that of the rows with undone tasks, and the numbers of undone and of all tasks.
    stages: Vec<(Stage, u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct TableRemains {
    table: Table,
    rows_there: u64,
    rows_total: u64,
    /// Units that are missing, as ranges without a common border.
    gaps: Vec<(u64, u64)>,
}

impl Remains {
    /// What is left of a plan when the tasks with these numbers are done.
    pub fn new(plan: &LoadPlan, done: &[usize]) -> Self {
        let tasks = tasks(plan);
        let mut is_done = vec![false; tasks.len()];
        done.iter().filter(|number| **number < tasks.len()).for_each(|number| is_done[*number] = true);
        let mut tables: Vec<TableRemains> = Vec::new();
        for (task, is_done) in tasks.iter().zip(&is_done) {
            let Work::Fill { table, part, .. } = task.work else { continue };
            let at = tables.iter().position(|known| known.table == table).unwrap_or_else(|| {
                let none = TableRemains { table, rows_there: 0, rows_total: 0, gaps: Vec::new() };
                tables.push(none);
                tables.len() - 1
            });
            tables[at].add(part.first, part.end, table.rows_of(part.rows()), *is_done);
        }
        let left = |stage: Stage| {
            let of_stage = tasks.iter().zip(&is_done).filter(|(task, _)| task.stage == stage);
            let (left, all) =
                of_stage.fold((0, 0), |(left, all), (_, done)| (left + u64::from(!done), all + 1));
            (stage, left, all)
        };
        let stages = Stage::ALL.into_iter().skip(1).map(left).filter(|(_, left, _)| *left > 0).collect();
        Self { tables, stages }
    }

    /// Whether nothing is left to do.
    pub fn is_nothing(&self) -> bool {
        self.stages.is_empty() && self.tables.iter().all(|of| of.gaps.is_empty())
    }

    /// Rows that are there, in all tables.
    pub fn rows_there(&self) -> u64 {
        self.tables.iter().map(|of| of.rows_there).sum()
    }

    /// The remains in words, a line for each table that is not complete and one for what follows.
    pub fn lines(&self) -> Vec<String> {
        let (complete, others): (Vec<_>, Vec<_>) = self.tables.iter().partition(|of| of.gaps.is_empty());
        let mut lines = Vec::new();
        if !complete.is_empty() {
            let names: Vec<_> = complete.iter().map(|of| of.table.generator().table()).collect();
            lines.push(format!("all rows are in {}", names.join(", ")));
        }
        lines.extend(others.into_iter().map(TableRemains::words));
        let stage = |(stage, left, all): &(Stage, u64, u64)| {
            let of = if left == all { String::new() } else { format!("{} of ", units::count(*left)) };
            format!("{} ({of}{})", stage.name(), units::plural(*all, "task"))
        };
        if !self.stages.is_empty() {
            let stages: Vec<_> = self.stages.iter().map(stage).collect();
            lines.push(format!("not done: {}", stages.join(", ")));
        }
        lines
    }
}

impl TableRemains {
    fn add(&mut self, first: u64, end: u64, rows: u64, is_done: bool) {
        self.rows_total += rows;
        if is_done {
            self.rows_there += rows;
            return;
        }
        match self.gaps.last_mut().filter(|(_, before)| *before == first) {
            Some((_, before)) => *before = end,
            None => self.gaps.push((first, end)),
        }
    }

    fn words(&self) -> String {
        let name = self.table.generator().table();
        let total = units::count(self.rows_total);
        if self.rows_there == 0 {
            return format!("{name}: none of {total} rows");
        }
        let grain = self.table.grain();
        let unit = if grain > 1 { "warehouses " } else { "" };
        let gap = |(first, end): &(u64, u64)| {
            format!("{} to {}", units::count(first / grain + 1), units::count(end.div_ceil(grain)))
        };
        let mut gaps: Vec<_> = self.gaps.iter().take(MOST_GAPS).map(gap).collect();
        if self.gaps.len() > MOST_GAPS {
            gaps.push(units::plural((self.gaps.len() - MOST_GAPS) as u64, "more range"));
        }
        let there = units::count(self.rows_there);
        format!("{name}: {there} of {total} rows; missing: {unit}{}", gaps.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadRequest, Set, Way};

    fn plan(set: Set, scale: u64, partitions: u64) -> LoadPlan {
        let method = (partitions == 0).then_some(Way::Chunks);
        let partitions = Some(partitions);
        let request = LoadRequest { set, scale: Some(scale), method, partitions, ..LoadRequest::default() };
        request.plan(1).expect("it can be")
    }

    /// Ten chunks of 100,000 rows; the numbers of tasks are those of the ledger.
    #[test]
    fn gaps_are_ranges_of_the_key() {
        let plan = LoadPlan { chunk_rows: 100_000, ..plan(Set::Tpcb, 10, 0) };
        let fills: Vec<_> =
            (0..tasks(&plan).len()).filter(|at| tasks(&plan)[*at].stage == Stage::Copy).collect();
        let accounts = fills.len() - 10;
        let done: Vec<_> = (0..accounts).chain([0, 3, 4, 6, 8].map(|chunk| accounts + chunk)).collect();
        let lines = Remains::new(&plan, &done).lines();
        assert_eq!(lines[0], "all rows are in pgbench_branches, pgbench_tellers");
        let gaps = "100,001 to 300,000, 500,001 to 600,000, 700,001 to 800,000, 1 more range";
        assert_eq!(lines[1], format!("pgbench_accounts: 500,000 of 1,000,000 rows; missing: {gaps}"));
        assert_eq!(lines[2], "not done: vacuum (4 tasks), primary keys (3 tasks)");
    }

    #[test]
    fn a_load_without_rows_and_one_that_has_them_all() {
        let plan = plan(Set::Tpcc, 4, 2);
        let lines = Remains::new(&plan, &[]).lines();
        assert!(lines.contains(&"stock: none of 400,000 rows".to_owned()), "{lines:?}");
        assert!(!Remains::new(&plan, &[]).is_nothing());
        assert!(Remains::new(&plan, &(0..tasks(&plan).len()).collect::<Vec<_>>()).is_nothing());
        let keys = |number: &usize| tasks(&plan)[*number].stage < Stage::Keys;
        let done: Vec<_> = (0..tasks(&plan).len()).filter(keys).collect();
        let first_key = done.len();
        let lines = Remains::new(&plan, &[done, vec![first_key]].concat()).lines();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[1], "not done: primary keys (14 of 15 tasks), key of the whole (7 tasks)");
    }

    #[test]
    fn warehouses_are_counted_where_they_stay_whole() {
        let plan = plan(Set::Tpcc, 4, 2);
        let of_stock = |number: &usize| {
            matches!(tasks(&plan)[*number].work, Work::Fill { table, part, .. }
                if table.generator().table() == "stock" && part.first == 0)
        };
        let done: Vec<_> = (0..tasks(&plan).len()).filter(of_stock).collect();
        let lines = Remains::new(&plan, &done).lines();
        let half = "stock: 200,000 of 400,000 rows; missing: warehouses 3 to 4";
        assert!(lines.contains(&half.to_owned()), "{lines:?}");
    }
}
