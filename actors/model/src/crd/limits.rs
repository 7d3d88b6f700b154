//! How much watched objects may take, and what is printed for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much watched objects may take, and what is printed for them. What is beyond a limit is not taken, and told of; everything
/// else goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitsSpec {
    /// Bytes of one object, without the fields that are not kept. A larger one is left out; an object that becomes larger stays
    /// in force as it was. Kubernetes stores no object of more than 1.5 MiB, and routes need a few KiB.
    #[schemars(range(min = 1))]
    pub object_bytes: usize,
    /// Objects of one watched resource in one namespace. Those that were created last are left out. Kubernetes itself is made
    /// for 5,000 Services in a namespace.
    #[schemars(range(min = 1))]
    pub objects_per_namespace: usize,
    /// Bytes of all objects of one watched resource, each with 1 KiB more for keeping it, and 512 bytes more for each element of a
    /// list in it: a rule, a path, a host, an endpoint. Of the namespaces that take most, those that were created last are left
    /// out. The default is an eighth of the memory that the chart gives the controller.
    #[schemars(range(min = 1))]
    pub store_bytes: usize,
    /// Bytes of all objects of all watched resources, counted in the same way. A resource that needs less than its equal share has
    /// what it needs; of those that take most, as with `storeBytes`. Not set: a quarter of the memory that the container may
    /// use. What is made of Ingresses takes as much again, and checks need the rest.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched_bytes: Option<usize>,
    /// Bytes that the block of one object may print into one file, with what is noted of each line and value: where it comes from;
    /// and of what is kept of it besides: files that it adds, what is said about it, what it reads.
    /// An object whose block takes more is held back. The default has 256 bytes for each of `routesPerObject`.
    #[schemars(range(min = 1))]
    pub block_bytes: usize,
    /// Bytes of the values that functions make for the block of one object in one file (`split`, `b64decode`, `json` and so on),
    /// whether they are still needed or not. An object whose block makes more is held back.
    #[schemars(range(min = 1))]
    pub value_bytes: usize,
    /// Routes of one object, and hosts that one object brings certificates for. Those that come last in it are left out, with a
    /// warning. The default has room for the largest HTTPRoute, of 128 matches and 16 hostnames, at four listeners.
    #[schemars(range(min = 1))]
    pub routes_per_object: usize,
    /// Bytes of one file while it is printed, with what is noted of its lines. The objects of one namespace may print half of
    /// it, and those that print more are held back. Where all objects together print
    /// too much, those of the namespaces that print most are held back, until the others fit.
    /// Agents take 64 MiB of all files together.
    #[schemars(range(min = 1))]
    pub file_bytes: usize,
    /// Lines of one map file. HAProxy keeps each of them in memory. The objects of one namespace may have half of them, and those whose
    /// lines come last are held back. Where all together have too many,
    /// those of the namespaces that have most are held back, until the others fit.
    #[schemars(range(min = 2))]
    pub map_entries: usize,
    /// Servers of haproxy.cfg: HAProxy and each check of it keep about 7 KB for one. The objects of one namespace may have three
    /// quarters of them, and those whose servers come last are held back. Where all together have too many, those of the namespaces that have
    /// most are held back, until the others fit. The default is what fits into the memory that the chart gives the controller.
    #[schemars(range(min = 2))]
    pub servers: usize,
    /// Active checks of servers: `health-check` has one for each server, `agent-check-port` another one. HAProxy keeps a connection for each, which one that
    /// nobody answers takes. The objects of one namespace may have half of them; where all together have too many, those of the namespaces that have most have
    /// fewer. The servers of a backend that comes last are not checked, which is told: they get requests as servers without
    /// `health-check` do.
    #[schemars(range(min = 2))]
    pub checks: usize,
    /// Files that templates add with `add_file`, one for each certificate. The objects of one namespace may add half of it, and half of
    /// `fileBytes` in all; those that add more are held back.
    #[schemars(range(min = 1))]
    pub files: usize,
}

impl Default for LimitsSpec {
    fn default() -> Self {
        Self {
            object_bytes: 1 << 20,
            objects_per_namespace: 20_000,
            store_bytes: 128 << 20,
            watched_bytes: None,
            block_bytes: 2 << 20,
            value_bytes: 32 << 20,
            routes_per_object: 8_192,
            file_bytes: 64 << 20,
            map_entries: 1_000_000,
            servers: 60_000,
            checks: 4_000,
            files: 40_000,
        }
    }
}
