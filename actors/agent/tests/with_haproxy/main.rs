//! The agent against the real HAProxys 3.0, 3.2 and 3.4: each story with each of them.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod express;
#[cfg(test)]
mod files;
#[cfg(test)]
mod http;
#[cfg(test)]
mod interrupted;
#[cfg(test)]
mod lives;
#[cfg(test)]
mod routes;
#[cfg(test)]
mod runtime;
#[cfg(test)]
mod setting;

/// Runs an async story once with each HAProxy.
macro_rules! with_each_haproxy {
    ($($story:ident)*) => {
        mod haproxy_3_0 { $(#[tokio::test(flavor = "multi_thread")] async fn $story() { super::$story("HAPTIC_HAPROXY_3_0").await; })* }
        mod haproxy_3_2 { $(#[tokio::test(flavor = "multi_thread")] async fn $story() { super::$story("HAPTIC_HAPROXY_3_2").await; })* }
        mod haproxy_3_4 { $(#[tokio::test(flavor = "multi_thread")] async fn $story() { super::$story("HAPTIC_HAPROXY_3_4").await; })* }
    };
}
use with_each_haproxy;
