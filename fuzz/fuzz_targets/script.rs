#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    pgdyno_script::fuzz::script(bytes);
});
