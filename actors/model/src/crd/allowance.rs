//! What haproxy.cfg may hold though it reaches beyond HAProxy's own files and processes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that a configuration must name under `allow.features` before its templates may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Allowance {
    /// `lua-load`, `lua-load-per-thread`, `lua-prepend-path`: programs that run within HAProxy, and whenever it is checked.
    Lua,
    /// `external-check`: commands that HAProxy starts for health checks.
    ExternalChecks,
    /// `insecure-fork-wanted` and `insecure-setuid-wanted`, which take back what protects the pod from HAProxy.
    Insecure,
    /// Maps, patterns, error pages and bodies outside of what this configuration renders: by an absolute path, one with
    /// `..`, or below another `default-path`.
    OutsideFiles,
    /// Host names that HAProxy must resolve before it starts, such as in `log` and `peer`. Those of servers need not be.
    HostNames,
}

/// All of them.
pub const ALLOWANCES: [Allowance; 5] = [
    Allowance::Lua,
    Allowance::ExternalChecks,
    Allowance::Insecure,
    Allowance::OutsideFiles,
    Allowance::HostNames,
];
