//! The terminals of TPC-C as a population of the engine.

use pgdyno_core::tpcc::{DISTRICTS, Transaction};
use pgdyno_engine::{Pace, Population};
use pgdyno_plan::TpccWork;

/// The terminals of a paced workload on so many warehouses.
pub fn population(work: &TpccWork, warehouses: u64) -> Option<Population> {
    let paces = || Transaction::ALL.map(pace).to_vec();
    work.paced.then(|| Population { users: warehouses * DISTRICTS, paces: paces() })
}

fn pace(transaction: Transaction) -> Pace {
    let terms = transaction.terms();
    Pace {
        keying_ns: (terms.keying_s * 1e9) as u64,
        think_ns: (terms.think_s * 1e9) as u64,
        // A Delivery is queued, so its terminal continues at once (clause 2.7.2).
        queued: transaction == Transaction::Delivery,
    }
}
