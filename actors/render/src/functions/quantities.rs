//! Times, sizes and networks as people write them, as HAProxy's rules compute with them. A text that is none gives nothing, so
//! that a template can say whose value it is.

use super::{
    call::Call,
    function::{Function, Group, Kind::*, arg, function},
};
use crate::value::Value;
use haptic_routes::options::{
    network::{Network, networks},
    quantity::{byte_count, milliseconds},
};

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "milliseconds",
        Group::Haproxy,
        &[arg("time", Text)],
        "A time as HAProxy writes it, with its unit (us, ms, s, m, h or d), in milliseconds; missing if it is none.",
        (r#"{{milliseconds "30s"}} {{default (milliseconds "30") "none"}}"#, "30000 none"),
        |call| Ok(milliseconds(&call.text(0)).map_or(Value::Missing, |n| Value::Number(n.into()))),
    ),
    function(
        "byte_count",
        Group::Haproxy,
        &[arg("size", Text)],
        "A size (k, m or g, each 1024 times the one before; bytes without a unit) in bytes; missing if it is none.",
        (r#"{{byte_count "10m"}} {{default (byte_count "much") "none"}}"#, "10485760 none"),
        |call| Ok(byte_count(&call.text(0)).map_or(Value::Missing, |n| Value::Number(n.into()))),
    ),
    function(
        "networks_problem",
        Group::Haproxy,
        &[arg("networks", Text), arg("most", Integer)],
        "What a list of networks, separated by commas, must be instead: of the first wrong one, or when there are too many; missing if nothing is wrong.",
        (
            r#"{{networks_problem "::1,x" 9}} {{default (networks_problem "::1" 9) "none"}}"#,
            r#"networks such as 10.0.0.0/8 or fd00::/8, separated by commas: "x" is none none"#,
        ),
        networks_problem,
    ),
    function(
        "network_prefixes",
        Group::Haproxy,
        &[arg("network", Text)],
        "An IP address or network as a list of what the addresses in it begin with: 4 or 6, then hexadecimal digits. With them a map finds by map_beg which network an address is in. Missing if it is none.",
        (
            r#"{{join (network_prefixes "10.0.0.0/7") " "}} {{join (network_prefixes "fd00::/8") " "}}"#,
            "40A 40B 6FD",
        ),
        |call| {
            let list =
                |network: Network| Value::list(network.prefixes().into_iter().map(Value::from).collect());
            Ok(Network::of(&call.text(0)).map_or(Value::Missing, list))
        },
    ),
];

fn networks_problem(call: &Call<'_>) -> Result<Value, String> {
    let most = usize::try_from(call.integer(1, 0)).unwrap_or(0);
    Ok(networks(&call.text(0), most).err().map_or(Value::Missing, Value::from))
}
