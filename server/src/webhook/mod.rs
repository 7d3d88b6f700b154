//! The admission webhook: the API server asks before it stores a configuration or a watched object, and bad ones are refused.
//!
//! A request comes in through [`service`], which reads nothing from whoever does not know the path ([`identity`] makes it). Its body
//! becomes a [`review::Review`], [`policy`] says what it is about. A configuration is judged by [`configuration`]; objects wait
//! at the [`desk`] and are judged together by the [`judge`], which renders beside the pipeline and disturbs none of it. Only
//! [`faults`] that the change brings are a reason to refuse. Nothing is stored, and nothing is told to anybody but the
//! API server: a dry run is a review like any other.

pub mod answer;
pub mod budget;
pub mod configuration;
pub mod desk;
pub mod failed_tests;
mod faults;
pub mod identity;
pub mod judge;
pub mod namespaces;
pub mod policy;
pub mod reduced;
pub mod review;
pub mod secrets;
pub mod service;
pub mod stand_in;
pub mod standing;
pub mod start;
pub mod tls;
pub mod workshop;
