//! The objects that are read beside those that hold routes: Services, and the ConfigMaps, Secrets and custom resources that somebody names.

pub(crate) mod config_maps;
pub(crate) mod named_contents;
pub(crate) mod named_objects;
pub(crate) mod paced_contents;
pub mod referenced;
pub mod services;
