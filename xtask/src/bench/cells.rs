//! The cells of a comparison of drivers, numbered so that a long run can be split.

use std::ops::RangeInclusive;

use pgdyno_core::units;

/// One script with a number of threads and clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Number among all cells that the flags describe, from 1.
    pub number: usize,
    /// Built-in script.
    pub script: String,
    /// Threads of every program, at most one per client.
    pub threads: u32,
    /// Clients of every program.
    pub clients: u32,
}

impl Cell {
    /// Every script with every number of threads and clients, in this order. The number of threads is limited to that
    /// of clients; duplicates are left out.
    pub fn all(scripts: &[String], threads: &[u32], clients: &[u32]) -> Vec<Self> {
        let mut cells: Vec<Self> = Vec::new();
        for script in scripts {
            for &most in threads {
                for &clients in clients {
                    let number = cells.len() + 1;
                    let cell = Self { number, script: script.clone(), threads: most.min(clients), clients };
                    let known = |other: &Self| (other.script == cell.script) && other.load() == cell.load();
                    if !cells.iter().any(known) {
                        cells.push(cell);
                    }
                }
            }
        }
        cells
    }

    fn load(&self) -> (u32, u32) {
        (self.threads, self.clients)
    }

    /// First fields of its lines in a CSV file.
    pub fn csv(&self) -> String {
        format!("{},{},{},{}", self.number, self.script, self.threads, self.clients)
    }

    /// Heading of the cell.
    pub fn title(&self, protocol: &str) -> String {
        let [threads, clients] = [(self.threads, "thread"), (self.clients, "client")]
            .map(|(count, what)| units::plural(count.into(), what));
        format!("cell {}: {} {protocol}, {threads}, {clients}", self.number, self.script)
    }
}

/// Parses `N` or `FIRST-LAST`.
pub fn numbers(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |text: &str| text.parse().ok().filter(|number: &usize| *number > 0);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err("expected a cell number, from 1, or FIRST-LAST".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(threads: &[u32], clients: &[u32]) -> Vec<(usize, u32, u32)> {
        let cells = Cell::all(&["select-only".to_owned()], threads, clients);
        cells.iter().map(|cell| (cell.number, cell.threads, cell.clients)).collect()
    }

    #[test]
    fn a_client_has_one_thread_and_is_measured_once() {
        assert_eq!(all(&[1, 2], &[1, 8]), [(1, 1, 1), (2, 1, 8), (3, 2, 8)]);
    }

    #[test]
    fn a_cell_keeps_its_number_in_every_part() {
        let cells = Cell::all(&["select-only".to_owned(), "tpcb-like".to_owned()], &[1, 2], &[1, 2]);
        assert_eq!(cells.iter().map(|cell| cell.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(cells[5].title("prepared"), "cell 6: tpcb-like prepared, 2 threads, 2 clients");
    }

    #[test]
    fn parts_are_numbers_and_ranges() {
        assert_eq!((numbers("3"), numbers("2-5")), (Ok(3..=3), Ok(2..=5)));
        assert!(["", "0", "5-2", "1-", "x"].into_iter().all(|text| numbers(text).is_err()));
    }
}
