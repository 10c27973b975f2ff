//! The terminal: taken for the view, and given back as it was, however the program ends.

use std::{
    io::{self, Stdout, stdout},
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use pgdyno_host::procs;
use ratatui_core::{
    layout::Rect,
    terminal::{Terminal, TerminalOptions, Viewport},
};
use ratatui_crossterm::{
    CrosstermBackend,
    crossterm::{
        cursor::{Hide, Show},
        execute,
        terminal::{
            Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
            size,
        },
    },
};
use rustix::process::{Pid, Signal, getpgid, getpgrp, getsid, kill_current_process_group};

use crate::{draw, model::Screen};

/// Whether the terminal is the view's at present.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// The hook that gives it back before a panic is printed is set once.
static HOOK: Once = Once::new();

/// The terminal of a view. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Taken {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// The part that is drawn on: all of it, as large as it was last.
    area: Rect,
    has_colours: bool,
}

impl Taken {
    /// Takes the terminal.
    pub(crate) fn take(has_colours: bool) -> io::Result<Self> {
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back();
                before(info);
            }));
        });
        enter()?;
        let (terminal, area) = whole().inspect_err(|_| give_back())?;
        Ok(Self { terminal, area, has_colours })
    }

    /// Columns and lines.
    pub(crate) fn size(&self) -> io::Result<(usize, usize)> {
        let size = self.terminal.size()?;
        Ok((usize::from(size.width), usize::from(size.height)))
    }

    pub(crate) fn draw(&mut self, screen: &Screen) -> io::Result<()> {
        if self.size()? != (usize::from(self.area.width), usize::from(self.area.height)) {
            self.forget()?;
        }
        let has_colours = self.has_colours;
        self.terminal.draw(|frame| draw::draw(screen, has_colours, frame.buffer_mut())).map(drop)
    }

    /// Makes the next drawing draw everything.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        execute!(stdout(), Clear(ClearType::All))?;
        (self.terminal, self.area) = whole()?;
        Ok(())
    }

    /// Stops the process group, as Ctrl-Z does elsewhere, until it is continued. Returns `false` if no shell could
    /// continue it.
    pub(crate) fn suspend(&mut self) -> io::Result<bool> {
        if is_orphaned() {
            return Ok(false);
        }
        give_back();
        kill_current_process_group(Signal::STOP)?;
        self.take_again()?;
        Ok(true)
    }

    /// Takes the terminal again after the process was stopped: a shell may have changed it.
    pub(crate) fn take_again(&mut self) -> io::Result<()> {
        give_back();
        enter()?;
        self.forget()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// The whole terminal, to be drawn on. Its area is given: otherwise the library asks the terminal where the cursor is
/// when it clears, and waits for an answer that the thread which reads the keys may take.
fn whole() -> io::Result<(Terminal<CrosstermBackend<Stdout>>, Rect)> {
    let (columns, lines) = size()?;
    let area = Rect::new(0, 0, columns, lines);
    let options = TerminalOptions { viewport: Viewport::Fixed(area) };
    Ok((Terminal::with_options(CrosstermBackend::new(stdout()), options)?, area))
}

fn enter() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()
        .and_then(|()| execute!(stdout(), EnterAlternateScreen, Hide))
        .inspect_err(|_| give_back())
}

/// Gives the terminal back, if it was taken. A terminal that is gone needs nothing.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// Whether no shell of this session could continue the process group: the parent of its leader is in another session,
/// or the leader leads the session.
fn is_orphaned() -> bool {
    let leader = getpgrp();
    let parent = u32::try_from(leader.as_raw_nonzero().get()).ok().and_then(procs::parent);
    let parent = parent.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let is_shell = |parent: Pid| {
        let same_session = getsid(Some(parent)).ok().zip(getsid(None).ok()).is_some_and(|(a, b)| a == b);
        same_session && getpgid(Some(parent)).is_ok_and(|group| group != leader)
    };
    !parent.is_some_and(is_shell)
}
