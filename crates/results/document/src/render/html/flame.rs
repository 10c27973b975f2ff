//! A flame graph as SVG. Colours are the same on light and dark pages, because their text is dark.

use maud::{Markup, PreEscaped, html};
use pgdyno_core::units;

use crate::flame::{Flame, Frame, WIDTH};

/// Height of a frame in pixels.
const HEIGHT: f64 = 15.0;
/// Width of a character, and the narrowest frame with a name in it.
const CHARACTER: f64 = 6.1;
const NAMED: f64 = 26.0;
/// Colours that frames alternate between.
const COLOURS: u32 = 3;
const STYLE: &str = ".flame rect{fill:#f5b971;stroke:#fff;stroke-width:.4}.flame .f1 rect{fill:#f2a65a}\
                     .flame .f2 rect{fill:#f7c98b}.flame .fk rect{fill:#8fb8de}\
                     .flame text{fill:#111;font:10px monospace;text-anchor:start}";

pub(super) fn flame(flame: &Flame) -> Markup {
    let height = HEIGHT * flame.levels as f64;
    let label = "Flame graph: the width of a function is its share of the samples, what it called is above it; \
                 functions of the kernel are blue";
    html! {
        figure.wide {
            figcaption { span { (label) } }
            div.canvas {
                svg.flame role="img" aria-label=(label) viewBox={ "0 0 " (WIDTH) " " (height) } {
                    style { (PreEscaped(STYLE)) }
                    @for frame in &flame.frames { (one(frame, flame)) }
                }
            }
        }
    }
}

fn one(frame: &Frame, flame: &Flame) -> Markup {
    let each = WIDTH / flame.samples.max(1) as f64;
    let (x, width) = (frame.begin as f64 * each, frame.samples as f64 * each);
    let y = HEIGHT * (flame.levels - frame.level - 1) as f64;
    let share = frame.samples as f64 / flame.samples.max(1) as f64;
    let room = ((width - 4.0) / CHARACTER).max(0.0) as usize;
    let name: String = frame.name.chars().take(room).collect();
    html! {
        g class=[class(frame)] {
            title {
                (frame.name) ": " (units::part(share)) ", " (units::plural(frame.samples, "sample"))
            }
            rect x=(round(x)) y=(y) width=(round(width)) height=(HEIGHT) {}
            @if width >= NAMED { text x=(round(x + 2.0)) y=(y + 11.0) { (name) } }
        }
    }
}

fn class(frame: &Frame) -> Option<&'static str> {
    if frame.is_kernel {
        return Some("fk");
    }
    match frame.name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
        % COLOURS
    {
        0 => None,
        1 => Some("f1"),
        _ => Some("f2"),
    }
}

/// Rounds a pixel to a hundredth.
fn round(pixel: f64) -> f64 {
    (pixel * 100.0).round() / 100.0
}
