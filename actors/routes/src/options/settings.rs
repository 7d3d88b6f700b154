//! The settings of options, for those that read them.

use super::class::Class;
use crate::families::FamilySettings;
use std::sync::Arc;

/// The settings of options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most networks of an option.
    pub networks: usize,
    /// Most origins.
    pub origins: usize,
    /// Most lines of headers.
    pub headers: usize,
    /// Ways of balancing.
    pub balance: Vec<String>,
    /// Options that templates of the user's own read, as text: ours by their names, annotations of others whole.
    pub own: Vec<String>,
    /// Whether HTTP is redirected to HTTPS where there is TLS.
    pub ssl_redirect: bool,
    /// Whether `appProtocol` of a Service's port counts where no annotation says what servers speak.
    pub app_protocol: bool,
    /// Whether Ingresses may have TLS passed through.
    pub passthrough: bool,
    /// Whether there are proxies whose X-Forwarded-For is believed.
    pub trusts_proxies: bool,
    /// The settings of the class.
    pub class: Class,
    /// Other controllers' annotations that are read.
    pub families: Arc<[FamilySettings]>,
}

impl Default for Settings {
    fn default() -> Self {
        let balance = ["roundrobin", "leastconn", "random", "source"].map(str::to_owned).into();
        Self {
            networks: 500,
            origins: 100,
            headers: 32,
            balance,
            own: Vec::new(),
            ssl_redirect: false,
            app_protocol: true,
            passthrough: false,
            trusts_proxies: false,
            class: Class::default(),
            families: Arc::default(),
        }
    }
}
