#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lmem_fuzz::code::fatbin(bytes));
