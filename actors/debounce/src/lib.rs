//! debounce
