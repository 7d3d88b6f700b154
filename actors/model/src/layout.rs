//! Where a bundle's files lie on a HAProxy pod, and so which names haproxy.cfg uses for them.

use crate::{bundle::FileKind, crd::DataplaneSpec, fleet::TransportKind};
use haptic_text::Digest;
use std::{borrow::Cow, path::Path};

/// Directories as written in haproxy.cfg, without a slash at their end.
///
/// With the agent they are relative to haproxy.cfg (HAProxy's `default-path config`, which the agent and the
/// checker put in force), so that nothing depends on where a pod keeps its files. The Data Plane API needs
/// absolute ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Map files.
    pub maps: String,
    /// Certificates.
    pub certificates: String,
    /// Crt-lists: beside the certificates, or with the Data Plane API among other files, because its own storage of
    /// crt-lists reloads HAProxy at every change, and its version 3.0 has none.
    pub crt_lists: String,
    /// Error pages and other files.
    pub general: String,
    /// haproxy.cfg itself.
    pub config_file: String,
    /// Whether files get names that the Data Plane API's storage leaves as they are: see [`storage_name`].
    pub stored_by_api: bool,
}

impl Layout {
    /// The layout that `spec` asks for.
    ///
    /// # Errors
    /// With the agent's transport, a directory that is not below the one of `configFile`; with the Data Plane API's, one that is not
    /// absolute, or serves two kinds of files: names it.
    pub fn of(spec: &DataplaneSpec) -> Result<Self, String> {
        let absolute = Self {
            maps: trimmed(&spec.maps_dir),
            certificates: trimmed(&spec.ssl_certs_dir),
            crt_lists: trimmed(&spec.ssl_certs_dir),
            general: trimmed(&spec.general_storage_dir),
            config_file: spec.config_file.clone(),
            stored_by_api: false,
        };
        match spec.transport {
            TransportKind::DataPlaneApi => {
                absolute.is_apart()?;
                Ok(Self { crt_lists: absolute.general.clone(), stored_by_api: true, ..absolute })
            }
            TransportKind::Agent => absolute.relative(),
        }
    }

    /// The API tells kinds of files apart by their folders.
    fn is_apart(&self) -> Result<(), String> {
        let folders = [
            ("mapsDir", &self.maps),
            ("sslCertsDir", &self.certificates),
            ("generalStorageDir", &self.general),
        ];
        for (at, (field, dir)) in folders.iter().enumerate() {
            if !dir.starts_with('/') {
                return Err(format!(
                    "dataplane.{field} {dir:?} must be absolute, as in the Data Plane API's own configuration"
                ));
            }
            if let Some((other, _)) = folders.iter().take(at).find(|(_, other)| other == dir) {
                return Err(format!(
                    "dataplane.{field} and dataplane.{other} are both {dir:?}: the Data Plane API keeps them apart"
                ));
            }
        }
        Ok(())
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
            crt_lists: below("sslCertsDir", &self.crt_lists)?,
            general: below("generalStorageDir", &self.general)?,
            config_file: config.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            stored_by_api: false,
        })
    }

    /// The name of file `name` of `kind` as haproxy.cfg must write it.
    #[must_use]
    pub fn path(&self, kind: FileKind, name: &str) -> String {
        let dir = match kind {
            FileKind::Config => return self.config_file.clone(),
            FileKind::Map => &self.maps,
            FileKind::Certificate => &self.certificates,
            FileKind::CrtList => &self.crt_lists,
            FileKind::General => &self.general,
        };
        let name = if self.stored_by_api { storage_name(kind, name) } else { Cow::Borrowed(name) };
        if dir.is_empty() { name.into_owned() } else { format!("{dir}/{name}") }
    }
}

impl Default for Layout {
    /// What a configuration gets that says nothing: the agent's, `maps/`, `ssl/`, `general/`.
    fn default() -> Self {
        Self {
            maps: "maps".into(),
            certificates: "ssl".into(),
            crt_lists: "ssl".into(),
            general: "general".into(),
            config_file: "haproxy.cfg".into(),
            stored_by_api: false,
        }
    }
}

/// The name of the file in which a controller notes what a pod with the Data Plane API runs; no bundle's file has it.
pub const RECORD: &str = "haptic-record.json";

/// The name under which the Data Plane API's storage keeps a file called `name`: the same, if its storage would leave it as
/// it is, and otherwise a name made from it that is no other file's. So one name is in haproxy.cfg, on disk and in
/// HAProxy's memory.
///
/// Its storage makes a `_` of everything but letters, digits, `-` and `_` before the last dot, and lets maps end in `.map`.
#[must_use]
pub fn storage_name(kind: FileKind, name: &str) -> Cow<'_, str> {
    const LONGEST_STEM: usize = 180;
    // With the digest behind it, it is no longer than that.
    const KEPT: usize = 160;
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_extension = !extension.is_empty() && extension.chars().all(|c| c.is_ascii_alphanumeric());
    let is_plain = !stem.is_empty() && stem.len() <= LONGEST_STEM && stem.chars().all(is_kept);
    if is_plain && is_extension && name != RECORD && (kind != FileKind::Map || extension == "map") {
        return Cow::Borrowed(name);
    }
    let stem: String = name.chars().map(|c| if is_kept(c) { c } else { '_' }).take(KEPT).collect();
    let extension = match kind {
        FileKind::Map => "map",
        _ if is_extension => extension,
        FileKind::Certificate => "pem",
        FileKind::Config | FileKind::CrtList | FileKind::General => "txt",
    };
    Cow::Owned(format!("{stem}-{}.{extension}", Digest::of(name.as_bytes()).short()))
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
        let spec = DataplaneSpec { transport: TransportKind::DataPlaneApi, ..DataplaneSpec::default() };
        let layout = Layout::of(&spec).unwrap();
        assert_eq!(layout.path(FileKind::Certificate, "a.pem"), "/etc/haproxy/ssl/a.pem");
        for (maps, why) in [("maps", "must be absolute"), ("/etc/haproxy/general/", "keeps them apart")] {
            let spec = DataplaneSpec { maps_dir: maps.to_owned(), ..spec.clone() };
            let refused = Layout::of(&spec).unwrap_err();
            assert!(refused.contains(why) && refused.contains("mapsDir"), "{refused}");
        }
    }

    #[test]
    fn names_that_the_apis_storage_would_change_are_changed_before() {
        fn plain(kind: FileKind, name: &str) -> String {
            storage_name(kind, name).into_owned()
        }
        for name in ["host.map", "shop_tls-1.map"] {
            assert_eq!(plain(FileKind::Map, name), name);
        }
        assert_eq!(plain(FileKind::General, "503.http"), "503.http");
        let dotted = plain(FileKind::Certificate, "shop_b.example.pem");
        assert!(dotted.starts_with("shop_b_example_pem-") && dotted.ends_with(".pem"), "{dotted}");
        assert_ne!(dotted, plain(FileKind::Certificate, "shop_b_example.pem"));
        assert_ne!(plain(FileKind::Map, "a.txt"), plain(FileKind::Map, "a.lst"));
        for name in ["a.txt", "a", ".x", "a b.map", "a.tar.gz x", &"y".repeat(300)] {
            let made = plain(FileKind::Map, name);
            assert_eq!(plain(FileKind::Map, &made), made, "{name}");
            assert!(made.ends_with(".map"), "{made}");
        }
    }

    #[test]
    fn crt_lists_lie_where_the_api_stores_them_without_a_reload() {
        let spec = DataplaneSpec { transport: TransportKind::DataPlaneApi, ..DataplaneSpec::default() };
        let layout = Layout::of(&spec).unwrap();
        assert_eq!(
            layout.path(FileKind::CrtList, "certificates.txt"),
            "/etc/haproxy/general/certificates.txt"
        );
        assert_eq!(Layout::default().path(FileKind::CrtList, "certificates.txt"), "ssl/certificates.txt");
    }

    #[test]
    fn a_folder_outside_the_configurations_is_refused_by_name() {
        let spec = DataplaneSpec { maps_dir: "/var/maps".into(), ..DataplaneSpec::default() };
        let error = Layout::of(&spec).unwrap_err();
        assert!(error.contains("mapsDir") && error.contains("/var/maps"), "{error}");
    }
}
