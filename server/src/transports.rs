//! Which transport leads to a pod.

use haptic_data_plane_api::DataPlaneApi;
use haptic_deploy::{AgentTransport, Transport, TransportError};
use haptic_model::{ActiveConfig, HaproxyPod, TransportKind as Kind};
use std::rc::Rc;

/// The transport that `config` asks for.
///
/// # Errors
/// [`TransportError::Setup`] with what to change in the configuration.
pub fn connect(pod: &HaproxyPod, config: &ActiveConfig) -> Result<Rc<dyn Transport>, TransportError> {
    Ok(match config.spec.dataplane.transport {
        Kind::Agent => Rc::new(AgentTransport::new(pod, config)?),
        Kind::DataPlaneApi => Rc::new(DataPlaneApi::new(pod, config)?),
    })
}
