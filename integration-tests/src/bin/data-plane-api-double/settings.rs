//! The settings of the real program that tests write, from the file after `-f`.

use serde_json::Value;
use std::{path::PathBuf, time::Duration};

pub struct Settings {
    pub host: String,
    pub port: u16,
    /// `v3.4.0`, or what `DOUBLE_VERSION` says.
    pub version: String,
    pub user: (String, String),
    pub config_file: PathBuf,
    pub maps: PathBuf,
    pub certificates: PathBuf,
    pub general: PathBuf,
    pub transactions: PathBuf,
    pub haproxy: PathBuf,
    pub master: PathBuf,
    pub reload_delay: Duration,
    /// Certificate and key, when it speaks TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
}

impl Settings {
    /// From the arguments `-f FILE`.
    pub fn from_arguments() -> Result<Self, String> {
        let file = std::env::args().skip_while(|argument| argument != "-f").nth(1).ok_or("give -f FILE")?;
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        let all: Value = serde_saphyr::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
        let text = |pointer: &str| {
            let value = all.pointer(pointer);
            value.and_then(Value::as_str).map(str::to_owned).ok_or(format!("{file}: no {pointer}"))
        };
        let path = |pointer: &str| text(pointer).map(PathBuf::from);
        let number = |pointer: &str| all.pointer(pointer).and_then(Value::as_u64);
        let speaks_tls = all.pointer("/dataplaneapi/scheme/0").and_then(Value::as_str) == Some("https");
        let port = if speaks_tls { "/dataplaneapi/tls/tls_port" } else { "/dataplaneapi/port" };
        let tls = |what: &str| path(&format!("/dataplaneapi/tls/tls_{what}"));
        // It may reload more often than every second, which is the least of the real one.
        let hurried =
            std::env::var("DOUBLE_RELOAD_DELAY_MILLIS").ok().and_then(|millis| millis.parse::<u64>().ok());
        let delay = Duration::from_secs(number("/haproxy/reload/reload_delay").unwrap_or(5));
        Ok(Self {
            host: text("/dataplaneapi/host")?,
            port: number(port).and_then(|port| u16::try_from(port).ok()).unwrap_or(5555),
            version: std::env::var("DOUBLE_VERSION").unwrap_or_else(|_| "v3.4.0".to_owned()),
            user: (text("/dataplaneapi/user/0/name")?, text("/dataplaneapi/user/0/password")?),
            config_file: path("/haproxy/config_file")?,
            maps: path("/dataplaneapi/resources/maps_dir")?,
            certificates: path("/dataplaneapi/resources/ssl_certs_dir")?,
            general: path("/dataplaneapi/resources/general_storage_dir")?,
            transactions: path("/dataplaneapi/transaction/transaction_dir")?,
            haproxy: path("/haproxy/haproxy_bin")?,
            master: path("/haproxy/master_runtime")?,
            reload_delay: hurried.map_or(delay, Duration::from_millis),
            tls: if speaks_tls { Some((tls("certificate")?, tls("key")?)) } else { None },
        })
    }

    /// Whether it is of 3.`minor` or later.
    pub fn is_at_least(&self, minor: u16) -> bool {
        self.minor() >= minor
    }

    /// The version's second number.
    pub fn minor(&self) -> u16 {
        let number = self.version.trim_start_matches("v3.").split('.').next();
        number.and_then(|number| number.parse().ok()).unwrap_or_default()
    }
}
