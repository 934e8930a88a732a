#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| silica_fuzz::council::cosign::check(data));
