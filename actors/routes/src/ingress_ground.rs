//! What Ingresses are read with.

use crate::{families::Neighbours, referenced::ReferencedObjects, services::Services};

/// What is known besides an Ingress and the classes.
#[derive(Clone, Copy, Debug)]
pub struct IngressGround<'g> {
    /// Services, which have options, too.
    pub services: &'g Services,
    /// What Ingresses of a namespace say of each other's hosts.
    pub neighbours: &'g Neighbours,
    /// What annotations name.
    pub referenced: &'g ReferencedObjects,
}
