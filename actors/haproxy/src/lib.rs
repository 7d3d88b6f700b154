//! haproxy
