//! What pages cost in a directory, for the planner, and how many reads to keep in flight.

use std::{path::PathBuf, time::Duration};

use pgdyno_core::{
    disk::{
        costs::DiskCosts,
        io::{IoEnd, IoPattern, IoReport},
    },
    problem::Problem,
    stop::Stop,
};

use super::{
    measure::run_all,
    planner::{PageTimes, page_patterns, planner_costs},
    request::{FILE_BYTES, IoProgress, IoRequest},
    saturate::saturate,
};

/// Shares of cached pages for which costs are reported; 0.9 is what PostgreSQL's defaults assume.
const CACHED_SHARES: [f64; 4] = [0.0, 0.5, 0.9, 0.99];
/// Most reads in flight that are tried: more than `effective_io_concurrency` helps with on one disk.
const MOST_IN_FLIGHT: u16 = 256;
/// Time before a measured interval.
const RAMP: Duration = Duration::from_millis(300);

/// A measurement of what pages cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CostsRequest {
    /// A directory in which a file is made and removed, or a block device, which is only read.
    pub path: PathBuf,
    /// Bytes of a page of the server, a multiple of 512 from 4 KiB to 1 MiB.
    pub block_bytes: u32,
    /// Size of the file in bytes, a multiple of the page.
    pub file_bytes: u64,
    /// How often everything is measured, in alternating order; an interval needs 3.
    pub blocks: u32,
    /// Length of each measured interval.
    pub duration: Duration,
    /// Determines offsets and contents.
    pub seed: u64,
}

impl CostsRequest {
    /// Pages of PostgreSQL's usual size, three times for 2 s each.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            block_bytes: 8_192,
            file_bytes: FILE_BYTES,
            blocks: 3,
            duration: Duration::from_secs(2),
            seed: 1,
        }
    }

    /// Checks the limits.
    ///
    /// # Errors
    /// A wrong request that names the value.
    pub fn check(&self) -> Result<(), Problem> {
        if self.blocks == 0 {
            return Err(Problem::wrong_request("could not measure costs: 0 blocks measure nothing"));
        }
        page_patterns(self.block_bytes, self.file_bytes)
            .into_iter()
            .try_for_each(|pattern| self.request(pattern).check())
    }

    fn request(&self, pattern: IoPattern) -> IoRequest {
        IoRequest {
            path: self.path.clone(),
            pattern,
            ramp: RAMP,
            duration: self.duration,
            may_buffer: true,
            precondition: false,
            seed: self.seed,
        }
    }

    /// Random reads past the page cache, up to the most in flight.
    fn in_flight(&self) -> IoRequest {
        self.request(IoPattern::random_read(self.block_bytes, MOST_IN_FLIGHT, self.file_bytes))
    }
}

/// Measures what pages cost, in sequence and in random order, from the disk and from the page cache; then random reads
/// with more and more in flight. What was measured before a stop or a failed operation is returned, and says so.
///
/// # Errors
/// The path cannot be measured, or nothing was measured.
pub fn costs(
    request: &CostsRequest,
    stop: &Stop,
    on_progress: &mut dyn FnMut(IoProgress),
) -> Result<DiskCosts, Problem> {
    request.check()?;
    let (mut blocks, mut ended) = (Vec::new(), IoEnd::Complete);
    for block in 0..request.blocks {
        let reports = one_block(request, block, stop, on_progress)?;
        ended =
            reports.iter().map(|of| of.ended.clone()).find(|end| *end != IoEnd::Complete).unwrap_or(ended);
        blocks.extend(PageTimes::of(&reports).filter(|_| ended == IoEnd::Complete));
        if ended != IoEnd::Complete {
            break;
        }
    }
    let saturation = match ended {
        IoEnd::Complete => Some(saturate(&request.in_flight(), stop, on_progress)?),
        IoEnd::Stopped | IoEnd::Failed { .. } => None,
    };
    let costs = CACHED_SHARES.into_iter().filter_map(|share| planner_costs(&blocks, share)).collect();
    Ok(DiskCosts {
        path: request.path.display().to_string(),
        block_bytes: request.block_bytes,
        file_bytes: request.file_bytes,
        costs,
        ended: saturation.as_ref().map_or(ended, |of| of.ended.clone()),
        saturation,
    })
}

/// The four patterns once, every second time in reverse; the reports are in the order of the patterns.
fn one_block(
    request: &CostsRequest,
    block: u32,
    stop: &Stop,
    on_progress: &mut dyn FnMut(IoProgress),
) -> Result<Vec<IoReport>, Problem> {
    let mut patterns = page_patterns(request.block_bytes, request.file_bytes);
    let reverses = !block.is_multiple_of(2);
    if reverses {
        patterns.reverse();
    }
    let first = patterns.first().cloned().map(|pattern| request.request(pattern));
    let Some(first) = first else { return Ok(Vec::new()) };
    let (mut reports, problem) = run_all(&first, &patterns, stop, on_progress);
    if reverses {
        reports.reverse();
    }
    problem.map_or(Ok(reports), Err)
}
