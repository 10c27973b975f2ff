#![no_main]

#[path = "../checks/script.rs"]
mod check;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check::script(bytes);
});
