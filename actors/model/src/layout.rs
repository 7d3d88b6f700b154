//! Where a bundle's files lie on a HAProxy pod, and so which names haproxy.cfg uses for them.

use crate::{bundle::FileKind, crd::DataplaneSpec, fleet::Transport};
use std::path::Path;

/// Directories as written in haproxy.cfg, without a slash at their end.
///
/// With the agent they are relative to haproxy.cfg (HAProxy's `default-path config`, which the agent and the
/// checker put in force), so that nothing depends on where a pod keeps its files. The Data Plane API needs
/// absolute ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Map files.
    pub maps: String,
    /// Certificates and crt-lists.
    pub certificates: String,
    /// Error pages and other files.
    pub general: String,
    /// haproxy.cfg itself.
    pub config_file: String,
}

impl Layout {
    /// The layout that `spec` asks for.
    ///
    /// # Errors
    /// With the agent's transport, a directory that is not below the one of `configFile`: names it.
    pub fn of(spec: &DataplaneSpec) -> Result<Self, String> {
        let absolute = Self {
            maps: trimmed(&spec.maps_dir),
            certificates: trimmed(&spec.ssl_certs_dir),
            general: trimmed(&spec.general_storage_dir),
            config_file: spec.config_file.clone(),
        };
        match spec.transport {
            Transport::DataPlaneApi => Ok(absolute),
            Transport::Agent => absolute.relative(),
        }
    }

    fn relative(&self) -> Result<Self, String> {
        let config = Path::new(&self.config_file);
        let root = config.parent().unwrap_or(Path::new("/"));
        let below = |field: &str, dir: &str| {
            Path::new(dir).strip_prefix(root).map(|p| p.display().to_string()).map_err(|_| {
                format!("dataplane.{field} {dir:?} must be a folder below {:?}, where configFile is", root)
            })
        };
        Ok(Self {
            maps: below("mapsDir", &self.maps)?,
            certificates: below("sslCertsDir", &self.certificates)?,
            general: below("generalStorageDir", &self.general)?,
            config_file: config.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        })
    }

    /// The name of file `name` of `kind` as haproxy.cfg must write it.
    #[must_use]
    pub fn path(&self, kind: FileKind, name: &str) -> String {
        let dir = match kind {
            FileKind::Config => return self.config_file.clone(),
            FileKind::Map => &self.maps,
            FileKind::Certificate | FileKind::CrtList => &self.certificates,
            FileKind::General => &self.general,
        };
        if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
    }
}

impl Default for Layout {
    /// What a configuration gets that says nothing: the agent's, `maps/`, `ssl/`, `general/`.
    fn default() -> Self {
        Self {
            maps: "maps".into(),
            certificates: "ssl".into(),
            general: "general".into(),
            config_file: "haproxy.cfg".into(),
        }
    }
}

fn trimmed(dir: &str) -> String {
    dir.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_names_are_relative_to_the_configuration() {
        assert_eq!(Layout::of(&DataplaneSpec::default()), Ok(Layout::default()));
        assert_eq!(Layout::default().path(FileKind::Map, "host.map"), "maps/host.map");
    }

    #[test]
    fn the_data_plane_api_gets_absolute_names() {
        let spec = DataplaneSpec { transport: Transport::DataPlaneApi, ..DataplaneSpec::default() };
        let layout = Layout::of(&spec).unwrap();
        assert_eq!(layout.path(FileKind::Certificate, "a.pem"), "/etc/haproxy/ssl/a.pem");
    }

    #[test]
    fn a_folder_outside_the_configurations_is_refused_by_name() {
        let spec = DataplaneSpec { maps_dir: "/var/maps".into(), ..DataplaneSpec::default() };
        let error = Layout::of(&spec).unwrap_err();
        assert!(error.contains("mapsDir") && error.contains("/var/maps"), "{error}");
    }
}
