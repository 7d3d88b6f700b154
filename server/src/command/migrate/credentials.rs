//! Names and passwords that a user gives for hosts. Each is sent for its host alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// By host, name and password.
#[derive(Default)]
pub struct HostCredentials(BTreeMap<String, (String, String)>);

impl HostCredentials {
    /// Those in a file with lines of `HOST NAME:PASSWORD`; lines that begin with # are remarks.
    ///
    /// # Errors
    /// A sentence, with the number of a line that is none.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let one = |(at, line): (usize, &str)| {
            let parts = line.split_once(char::is_whitespace);
            let parts = parts.and_then(|(host, pair)| Some((host, pair.trim().split_once(':')?)));
            let (host, (name, password)) = parts.ok_or_else(|| {
                format!("{}, line {}: it must be HOST NAME:PASSWORD", file.display(), at + 1)
            })?;
            Ok((host.to_ascii_lowercase(), (name.to_owned(), password.to_owned())))
        };
        lines.map(one).collect::<Result<_, String>>().map(Self)
    }

    /// The hosts that there are some for.
    pub fn hosts(&self) -> BTreeSet<String> {
        self.0.keys().cloned().collect()
    }

    /// Name and password for the host.
    pub fn of(&self, host: &str) -> Option<(&str, &str)> {
        self.0.get(host).map(|(name, password)| (name.as_str(), password.as_str()))
    }
}
