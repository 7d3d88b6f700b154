//! A folder in which `haptic` is called as a user would, and what it did.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// Would make a command behave otherwise on one machine than on another.
const FROM_OUTSIDE: [&str; 9] = [
    "KUBECONFIG",
    "POD_NAMESPACE",
    "CONTROLLER_NAMESPACE",
    "HAPTIC_CONFIG_NAME",
    "CONFIG_NAME",
    "LOG_LEVEL",
    "RUST_LOG",
    "HAPTIC_USERNAME",
    "HAPTIC_PASSWORD",
];

/// An empty folder, removed in the end.
pub struct Place(TempDir);

/// What a command did.
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and the folder it is in.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn haptic(&self, arguments: &[&str]) -> Done {
        self.haptic_with(arguments, |_| {})
    }

    /// The same, started otherwise.
    pub fn haptic_with(&self, arguments: &[&str], change: impl Fn(&mut Command)) -> Done {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haptic"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        for variable in FROM_OUTSIDE {
            command.env_remove(variable);
        }
        // kubectl's configuration is below it.
        command.env("HAPTIC_HAPROXY_3_4", haproxy()).env("HOME", self.path());
        change(&mut command);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Done { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Done {
    /// Ended with this code and printed, as a result or a complaint, these words.
    pub fn must(&self, code: i32, words: &[&str]) {
        let told = format!("{}{}", self.out, self.err);
        assert_eq!(self.code, Some(code), "{told}");
        for word in words {
            assert!(told.contains(word), "{word:?} is not in\n{told}");
        }
    }

    /// Ended with this code and complained with these words.
    pub fn must_complain(&self, what: &str, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{what}: {}\n{}", self.out, self.err);
        for word in words {
            assert!(self.err.contains(word), "{what}: {word:?} is not in:\n{}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{what}: {}", self.err);
    }
}

/// HAProxy 3.4.
pub fn haproxy() -> OsString {
    std::env::var_os("HAPTIC_HAPROXY_3_4")
        .expect("HAPTIC_HAPROXY_3_4 is not set: run this test through `make test`")
}
