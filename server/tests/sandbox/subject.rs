//! A bundle, and checkers in and out of the sandbox.

use haptic_model::{Bundle, BundleFile, FileKey, FileKind, HaproxyVersion};
use haptic_text::Text;
use haptic_validate::{Binaries, CheckLimits, CheckVerdict, Checker, Sandbox};
use std::path::PathBuf;

pub const VERSIONS: [HaproxyVersion; 3] =
    [HaproxyVersion::new(3, 0), HaproxyVersion::new(3, 2), HaproxyVersion::new(3, 4)];

/// What nobody may come to see.
pub const SECRET: &str = "planted-token-9c1f";

/// What every bundle begins with.
pub const DEFAULTS: &str = "
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
";

pub fn haptic() -> PathBuf {
    env!("CARGO_BIN_EXE_haptic").into()
}

pub fn checker(limits: CheckLimits, sandbox: Sandbox) -> Checker {
    let binaries = ["3_0", "3_2", "3_4"].map(|version| {
        let variable = format!("HAPTIC_HAPROXY_{version}");
        std::env::var_os(&variable)
            .unwrap_or_else(|| panic!("{variable} is not set: run this test through `make test`"))
    });
    Checker::new(Binaries::probe(binaries).unwrap(), limits, sandbox)
}

pub fn confined() -> Checker {
    checker(CheckLimits::default(), Sandbox::by(haptic(), Vec::new()))
}

pub fn free() -> Checker {
    checker(CheckLimits::default(), Sandbox::none())
}

/// A frontend with these lines, with global ones before it and one more file.
pub fn bundle(global: &str, frontend: &str, (name, text): (&str, &str)) -> Bundle {
    let config = format!("global\n{global}\n{DEFAULTS}frontend web\n    bind 127.0.0.1:8080\n{frontend}\n");
    let file = BundleFile::new(FileKey::new(FileKind::General, name), name, Text::plain(text));
    Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&config)), [file])
}

pub fn said(verdict: &CheckVerdict) -> String {
    verdict.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
