#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| silica_fuzz::council::batch::check(data));
