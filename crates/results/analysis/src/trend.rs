//! A common trend of all cells over the blocks, which each cell by itself is too noisy to show.

use crate::statistics::{mean, two_sided_p};

/// Significance level of a trend.
const LEVEL: f64 = 0.01;
/// Change from the first to the last block that matters, as a logarithm: beyond the usual equivalence margin.
const LEAST_LN: f64 = 0.03;

/// A common trend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Change from the first to the last block, as a share.
    pub change: f64,
    /// Number of blocks.
    pub blocks: usize,
}

/// The trend of values above 0, a list for each cell with one value per block, in their order. Lists of other lengths
/// than the first are left out. `None` if there is no significant one, or too few blocks.
///
/// With `shared`, what the machine does in a block is in all its cells: the block is the unit, a line is fitted to the
/// means over the cells, and four blocks are needed. Otherwise every value is an observation of its own, and three
/// blocks suffice.
pub fn common(cells: &[Vec<f64>], shared: bool) -> Option<Trend> {
    let blocks = cells.first()?.len();
    let whole = cells.iter().filter(|cell| cell.len() == blocks && cell.iter().all(|value| *value > 0.0));
    let logs: Vec<Vec<f64>> = whole.map(|cell| centred(cell)).collect();
    let points: Vec<(f64, f64)> = match shared {
        true => {
            let of = |block: usize| mean(&logs.iter().map(|cell| cell[block]).collect::<Vec<_>>());
            (0..blocks).filter_map(|block| Some((block as f64, of(block)?))).collect()
        }
        false => {
            logs.iter().flat_map(|cell| cell.iter().enumerate().map(|(at, log)| (at as f64, *log))).collect()
        }
    };
    let lines = if shared { 1 } else { logs.len() };
    let degrees = points.len().checked_sub(lines + 1).filter(|degrees| *degrees > 1)? as f64;
    let middle = (blocks - 1) as f64 / 2.0;
    let squares: f64 = points.iter().map(|(x, _)| (x - middle).powi(2)).sum();
    let slope = points.iter().map(|(x, y)| (x - middle) * y).sum::<f64>() / squares;
    let rest: f64 = points.iter().map(|(x, y)| (y - slope * (x - middle)).powi(2)).sum();
    let error = (rest / degrees / squares).sqrt();
    let change_ln = slope * (blocks - 1) as f64;
    let is_seen = error == 0.0 || two_sided_p(slope.abs() / error, degrees) <= LEVEL;
    (change_ln.abs() >= LEAST_LN && is_seen).then(|| Trend { change: change_ln.exp_m1(), blocks })
}

/// Logarithms about their mean.
fn centred(values: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let middle = mean(&logs).unwrap_or(0.0);
    logs.into_iter().map(|log| log - middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::Normal;

    /// Cells over blocks with a drift of so much a block, noise of the block and noise of the cell.
    fn cells(blocks: usize, drift: f64, of_block: f64, of_cell: f64, normal: &mut Normal) -> Vec<Vec<f64>> {
        let state: Vec<f64> =
            (0..blocks).map(|block| drift * block as f64 + of_block * normal.draw()).collect();
        let cell =
            |_: usize| state.iter().map(|state| 1e3 * (state + of_cell * normal.draw()).exp()).collect();
        (0..6).map(cell).collect()
    }

    #[test]
    fn a_drift_of_all_cells_is_found() {
        let mut normal = Normal::seeded(61);
        let found = common(&cells(8, -0.015, 0.005, 0.02, &mut normal), true).expect("it falls by a tenth");
        assert!((found.change + 0.1).abs() < 0.03 && found.blocks == 8, "{found:?}");
        let own = common(&cells(3, 0.05, 0.0, 0.02, &mut normal), false).expect("it rises by a tenth");
        assert!(own.change > 0.06, "{own:?}");
    }

    #[test]
    fn what_is_too_little_or_too_short_is_none() {
        let mut normal = Normal::seeded(62);
        assert_eq!(common(&cells(8, 0.002, 0.0, 0.001, &mut normal), true), None);
        assert_eq!(common(&cells(3, 0.2, 0.0, 0.001, &mut normal), true), None);
        assert_eq!((common(&[], true), common(&[vec![0.0; 8]], false)), (None, None));
    }

    /// A machine that is another one in every block raises one alarm in a hundred.
    #[test]
    fn blocks_that_scatter_are_no_trend() {
        let mut normal = Normal::seeded(63);
        for (blocks, of_block, shared) in
            [(5, 0.05, true), (16, 0.05, true), (3, 0.0, false), (8, 0.0, false)]
        {
            let mut one = || common(&cells(blocks, 0.0, of_block, 0.05, &mut normal), shared).is_some();
            let alarms = (0..1_000).filter(|_| one()).count();
            assert!(alarms <= 20, "{alarms} alarms of 1000 in {blocks} blocks");
        }
    }
}
