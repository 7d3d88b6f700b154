//! What can be asked of an agent, in-process and over HTTP.

pub(crate) mod credentials;
pub(crate) mod handle;
pub(crate) mod http;
pub(crate) mod tls;
