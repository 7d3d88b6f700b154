//! Random bytes for `haproxy_parser` of [`haptic_fuzz`], which says what is promised.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haptic_fuzz::haproxy_parser(data));
