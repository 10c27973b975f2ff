//! Whose turn it is, and from when to when it counts.

/// One of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arm {
    /// pgdyno's driver.
    Pgdyno,
    /// pgbench.
    Pgbench,
}

/// How a run is cut into slots.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Number of slots.
    pub slots: u32,
    /// Length of a slot in seconds.
    pub slot_s: u32,
}

/// A slot, in whole seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Whose it is.
    pub arm: Arm,
    /// When that program is woken.
    pub wake_s: u64,
    /// From when on it counts.
    pub from_s: u64,
    /// When it ends.
    pub to_s: u64,
}

impl Plan {
    /// The slots of a run from this second on, in the order ABBA ABBA …: each pair of neighbours has both programs, and
    /// neither is always the first.
    pub fn turns(self, start_s: u64) -> impl Iterator<Item = Turn> {
        (0..self.slots).map(move |at| {
            let arm = if matches!(at % 4, 0 | 3) { Arm::Pgdyno } else { Arm::Pgbench };
            let wake_s = start_s + u64::from(at * self.slot_s);
            Turn { arm, wake_s, from_s: wake_s + 1, to_s: wake_s + u64::from(self.slot_s) }
        })
    }

    /// Length of all slots in seconds.
    pub fn seconds(self) -> u32 {
        self.slots * self.slot_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_a_pair_in_alternating_order() {
        let turns: Vec<Turn> = Plan { slots: 8, slot_s: 3 }.turns(100).collect();
        let order: String =
            turns.iter().map(|turn| if turn.arm == Arm::Pgdyno { 'A' } else { 'B' }).collect();
        assert_eq!(order, "ABBAABBA");
        assert_eq!(turns[1], Turn { arm: Arm::Pgbench, wake_s: 103, from_s: 104, to_s: 106 });
        assert!(turns.windows(2).all(|two| two[0].to_s == two[1].wake_s));
    }
}
