//! Random bytes for `crt_list_lexer` of [`haptic_fuzz`], which says what is promised.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haptic_fuzz::crt_list_lexer(data));
