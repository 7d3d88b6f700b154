//! Frontends: `set maxconn frontend`.

use super::{
    argument::name,
    exchange::{Preparation, PreparedOperation},
};

pub(super) fn set_maxconn<'o>(frontend: &str, maxconn: u32) -> Preparation<'o> {
    if maxconn == 0 {
        return Err("a frontend's maxconn is at least 1".to_owned());
    }
    Ok(PreparedOperation::one(format!("set maxconn frontend {} {maxconn}", name(frontend)?)))
}
