//! How volumes share the usable space.

use pgdyno_core::problem::Problem;

use crate::{
    request::{Amount, Volume},
    units::size_text,
};

/// The units of each volume, of `total` units of `unit_bytes` each.
pub fn shares(volumes: &[Volume], total: u64, unit_bytes: u64) -> Result<Vec<u64>, Problem> {
    let fixed = |amount: Amount| match amount {
        Amount::Bytes(bytes) => bytes.div_ceil(unit_bytes),
        Amount::Percent(percent) => total * u64::from(percent) / 100,
        Amount::Rest => 0,
    };
    let taken: u64 = volumes.iter().map(|volume| fixed(volume.amount)).sum();
    let rest = total.checked_sub(taken).ok_or_else(|| too_much(taken, total, unit_bytes))?;
    let units = volumes.iter().map(|volume| match volume.amount {
        Amount::Rest => rest,
        amount => fixed(amount),
    });
    let units: Vec<u64> = units.collect();
    match volumes.iter().zip(&units).find(|(_, units)| **units == 0) {
        Some((volume, _)) => Err(Problem::wrong_request(format!(
            "nothing is left for the {} volume: the smallest piece is {}",
            volume.kind.name(),
            size_text(unit_bytes)
        ))),
        None => Ok(units),
    }
}

fn too_much(taken: u64, total: u64, unit_bytes: u64) -> Problem {
    let size = |units: u64| size_text(units.saturating_mul(unit_bytes));
    Problem::wrong_request(format!("the volumes need {}, and {} is usable", size(taken), size(total)))
        .detail(format!("sizes are multiples of {}", size_text(unit_bytes)))
        .hint("make one smaller, or let one take the rest")
}

/// How the size of a volume was requested, in words.
pub fn words(amount: Amount) -> String {
    match amount {
        Amount::Bytes(bytes) => format!("{} requested, rounded up", size_text(bytes)),
        Amount::Percent(percent) => format!("{percent} % of the usable space, rounded down"),
        Amount::Rest => "what the other volumes leave".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::VolumeKind;

    fn volumes(amounts: &[Amount]) -> Vec<Volume> {
        let volume = |&amount| Volume { kind: VolumeKind::Data, amount, mount: None };
        amounts.iter().map(volume).collect()
    }

    #[test]
    fn volumes_share_what_is_there() {
        let cases: [(&[Amount], &[u64]); 4] = [
            (&[Amount::Rest], &[1000]),
            (&[Amount::Bytes(41), Amount::Rest], &[5, 995]),
            (&[Amount::Percent(70), Amount::Percent(30)], &[700, 300]),
            (&[Amount::Bytes(100), Amount::Percent(50), Amount::Rest], &[10, 500, 490]),
        ];
        for (amounts, units) in cases {
            assert_eq!(shares(&volumes(amounts), 1000, 10).as_deref(), Ok(units));
        }
    }

    #[test]
    fn too_much_and_nothing_are_refused() {
        for amounts in
            [&[Amount::Bytes(10_001)][..], &[Amount::Percent(100), Amount::Rest], &[Amount::Bytes(0)]]
        {
            assert!(shares(&volumes(amounts), 1000, 10).is_err(), "{amounts:?}");
        }
    }
}
