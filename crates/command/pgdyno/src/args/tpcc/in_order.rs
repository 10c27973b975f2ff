//! Generates pieces in parallel, and consumes them in order.

use std::{
    panic,
    sync::mpsc::{self, Receiver, SyncSender},
    thread,
};

/// Makes the pieces 0 to `pieces` in `makers` threads, and passes them in order to `take`, on the calling thread. Each
/// thread is at most two pieces ahead, so memory does not grow with their number.
///
/// # Errors
/// The first error of `take`, which also ends the threads.
pub fn in_order<T: Send, E>(
    makers: usize,
    pieces: u64,
    make: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let makers = makers.max(1);
    let own = |maker: usize| (maker as u64..pieces).step_by(makers);
    let work = |maker: usize, sender: SyncSender<T>| {
        // Fails if `take` has failed: then the receivers are dropped.
        let _ = own(maker).try_for_each(|piece| sender.send(make(piece)).map_err(drop));
    };
    thread::scope(|scope| {
        let (threads, made): (Vec<_>, Vec<Receiver<T>>) = (0..makers)
            .map(|maker| {
                let (sender, made) = mpsc::sync_channel(1);
                let work = &work;
                (scope.spawn(move || work(maker, sender)), made)
            })
            .unzip();
        let receive = |piece: u64| made[(piece % makers as u64) as usize].recv().ok();
        let taken = (0..pieces).map_while(receive).try_for_each(&mut take);
        drop(made); // ends threads that still make pieces
        for thread in threads {
            thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        }
        taken
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_taken_once_and_in_order() {
        for makers in 1..5 {
            for pieces in [0, 1, 4, 23] {
                let mut taken = Vec::new();
                let done = in_order(
                    makers,
                    pieces,
                    |piece| piece * 3,
                    |piece| {
                        taken.push(piece);
                        Ok::<(), ()>(())
                    },
                );
                assert_eq!((done, taken), (Ok(()), (0..pieces).map(|piece| piece * 3).collect()));
            }
        }
    }

    #[test]
    fn a_taker_that_fails_ends_all() {
        let mut taken = 0;
        let failed = in_order(
            3,
            u64::MAX,
            |piece| piece,
            |piece| {
                taken += 1;
                if piece == 10 { Err("full") } else { Ok(()) }
            },
        );
        assert_eq!((failed, taken), (Err("full"), 11));
    }

    #[test]
    #[should_panic(expected = "one piece")]
    fn a_maker_that_panics_is_not_taken_for_the_end() {
        let _ = in_order(2, 9, |piece| assert!(piece != 5, "one piece"), |()| Ok::<(), ()>(()));
    }
}
