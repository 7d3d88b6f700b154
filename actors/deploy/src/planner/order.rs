//! In which order operations are sent: whatever leads somewhere comes after it and goes before it, so that no request
//! meets a half-made route.

use haptic_model::Operation;

/// When an operation is sent; those of the same step keep their order.
pub(super) fn step(operation: &Operation) -> u8 {
    match operation {
        // What TLS needs, then where requests go, then what leads there.
        Operation::AddCertificate { .. }
        | Operation::SetCertificate { .. }
        | Operation::AddCaFile { .. }
        | Operation::SetCaFile { .. } => 0,
        Operation::AddCrtListLine { .. } => 1,
        Operation::AddBackend { .. } => 2,
        // New servers before others go, so that no backend is empty in between.
        Operation::AddServer { .. } => 3,
        Operation::SetServerAddress { .. }
        | Operation::SetServerWeight { .. }
        | Operation::SetServerState { .. }
        | Operation::SetServerMaxconn { .. }
        | Operation::SetServerCheck { .. }
        | Operation::SetFrontendMaxconn { .. } => 4,
        Operation::PublishBackend { .. } => 5,
        Operation::SetMapEntry { .. }
        | Operation::AddMapEntry { .. }
        | Operation::ReplaceMap { .. }
        | Operation::AddAclEntry { .. } => 6,
        // And back.
        Operation::DelMapEntry { .. } | Operation::DelAclEntry { .. } => 7,
        Operation::UnpublishBackend { .. } => 8,
        Operation::DeleteServer { .. } => 9,
        Operation::DeleteBackend { .. } => 10,
        Operation::DeleteCrtListLine { .. } => 11,
        Operation::DeleteCertificate { .. } | Operation::DeleteCaFile { .. } => 12,
    }
}
