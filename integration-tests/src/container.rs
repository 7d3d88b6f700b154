//! A container of a rendered pod, as kubelet would start it: its arguments, environment, volumes and token at their paths,
//! on a root that cannot be written to, without root's rights where this process has them to give away.
//!
//! Two things differ. The root is this machine's programs and libraries with the image's paths laid over them. And there
//! is one network: `0.0.0.0` in arguments becomes the pod's address.

use crate::{
    cluster::Cluster,
    failure::{Failure, Outcome, ensure},
    process::Process,
    program::{self, HaproxySeries},
};
use base64::Engine as _;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};
use tokio::process::Command;

const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// What lies where in the container: a path of this machine, and the path in the container.
type Mounts = Vec<(PathBuf, String)>;

/// Builds the root $1 of what is laid over it, and runs the rest of the arguments in it. Runs in a mount namespace of its own.
const START: &str = r#"
set -eu
root=$1; shift
mkdir -p "$root"
mount --bind "$root" "$root"
for entry in usr bin sbin lib lib64 etc dev proc; do
  if [ -L "/$entry" ]; then ln -sfn "$(readlink "/$entry")" "$root/$entry"
  elif [ -d "/$entry" ]; then mkdir -p "$root/$entry"; mount --rbind "/$entry" "$root/$entry"; fi
done
mount -t tmpfs tmpfs "$root/usr/local"
mkdir -p "$root/run" "$root/var"; ln -sfn /run "$root/var/run"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$(dirname "$root$2")"; [ -e "$root$2" ] || touch "$root$2"; fi
  mount --rbind "$1" "$root$2"
  shift 2
done
shift
mount -o remount,bind,ro "$root"
exec "$@"
"#;

/// A container that is to be started.
pub struct Container<'a> {
    /// Where its objects are.
    pub cluster: &'a Cluster,
    /// Of the pod.
    pub namespace: &'a str,
    /// The pod's name.
    pub name: &'a str,
    /// The pod's address.
    pub address: Ipv4Addr,
    /// `spec.template.spec` of the rendered Deployment.
    pub spec: &'a Value,
    /// For its volumes and its log.
    pub dir: &'a Path,
}

impl Container<'_> {
    /// Starts it with `more` arguments; its log is `NAME.log`.
    pub async fn start(&self, more: &[String]) -> Outcome<Process> {
        let container = &self.spec["containers"][0];
        let mounts = self.mounts(container).await?;
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", START, "start"]);
        command.arg(self.dir.join(self.name).join("root"));
        for (source, target) in &mounts {
            ensure(source.exists(), format!("{} is not there", source.display()))?;
            command.arg(source).arg(target);
        }
        command.arg("--").arg("chroot");
        if owns_users()? {
            let security = &self.spec["securityContext"];
            command.arg(format!("--userspec={}:{}", security["runAsUser"], security["runAsGroup"]));
            command.arg(format!("--groups={}", security["fsGroup"]));
        }
        command.arg(self.dir.join(self.name).join("root"));
        command.args(image::entry_point()?);
        let arguments = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        command.args(arguments.map(|argument| argument.replace("0.0.0.0", &self.address.to_string())));
        command.args(more);
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.envs(image::environment()?).envs(self.environment(container)?);
        Process::start(command, &self.dir.join(format!("{}.log", self.name)))
    }

    /// What kubelet and the pod's author say.
    fn environment(&self, container: &Value) -> Outcome<Vec<(String, String)>> {
        let mut environment = vec![
            ("KUBERNETES_SERVICE_HOST".to_owned(), self.cluster.address().to_string()),
            ("KUBERNETES_SERVICE_PORT".to_owned(), "6443".to_owned()),
        ];
        for variable in container["env"].as_array().into_iter().flatten() {
            let field = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str();
            let value = match (variable["value"].as_str(), field) {
                (Some(value), _) => value,
                (_, Some("metadata.name")) => self.name,
                (_, Some("metadata.namespace")) => self.namespace,
                _ => return Err(Failure::new(format!("nobody gives it {variable}"))),
            };
            environment.push((variable["name"].as_str().unwrap_or_default().to_owned(), value.to_owned()));
        }
        Ok(environment)
    }

    async fn mounts(&self, container: &Value) -> Outcome<Mounts> {
        let mut mounts = image::files()?;
        for mount in container["volumeMounts"].as_array().into_iter().flatten() {
            let named = |volume: &&Value| volume["name"] == mount["name"];
            let volume = self.spec["volumes"].as_array().into_iter().flatten().find(named);
            let volume = volume.ok_or_else(|| Failure::new(format!("no volume for {mount}")))?;
            let path = mount["mountPath"].as_str().unwrap_or_default().to_owned();
            mounts.push((self.volume(volume).await?, path));
        }
        if self.spec["automountServiceAccountToken"] != false {
            mounts.push((self.token().await?, TOKEN.replace("/var/run", "/run")));
        }
        Ok(mounts)
    }

    /// The folder of a volume: filled, and its group's.
    async fn volume(&self, volume: &Value) -> Outcome<PathBuf> {
        let folder = self.folder(&format!("volume-{}", volume["name"].as_str().unwrap_or_default()))?;
        if volume["emptyDir"].is_object() {
            return Ok(folder);
        }
        let secret = volume["secret"]["secretName"].as_str();
        let secret = secret.ok_or_else(|| Failure::new(format!("nobody fills volume {volume}")))?;
        let secrets: Api<Secret> = Api::namespaced(self.cluster.client.clone(), self.namespace);
        for (key, value) in secrets.get(secret).await?.data.unwrap_or_default() {
            self.write(&folder.join(key), &value.0)?;
        }
        Ok(folder)
    }

    /// The folder with a token of the pod's account, as the API server issues it.
    async fn token(&self) -> Outcome<PathBuf> {
        let account = self.spec["serviceAccountName"].as_str().unwrap_or("default");
        let path = format!("/api/v1/namespaces/{}/serviceaccounts/{account}/token", self.namespace);
        let wanted = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        let request = http::Request::post(path)
            .header("Content-Type", "application/json")
            .body(wanted.to_string().into_bytes())?;
        let issued: Value = self.cluster.client.request(request).await?;
        let folder = self.folder("token")?;
        self.write(&folder.join("token"), issued["status"]["token"].as_str().unwrap_or_default().as_bytes())?;
        self.write(&folder.join("ca.crt"), &fs::read(self.cluster.authority())?)?;
        self.write(&folder.join("namespace"), self.namespace.as_bytes())?;
        Ok(folder)
    }

    fn folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.dir.join(self.name).join(name);
        fs::create_dir_all(&folder)?;
        self.give(&folder)?;
        Ok(folder)
    }

    fn write(&self, file: &Path, content: &[u8]) -> Outcome {
        fs::write(file, content)?;
        self.give(file)
    }

    /// Makes `path` the pod's, as `fsGroup` does.
    fn give(&self, path: &Path) -> Outcome {
        let number =
            |field: &str| self.spec["securityContext"][field].as_u64().and_then(|n| u32::try_from(n).ok());
        if owns_users()? {
            std::os::unix::fs::chown(path, number("runAsUser"), number("fsGroup"))?;
        }
        Ok(())
    }
}

/// Whether other users than root exist here: not in a namespace that an ordinary user made.
fn owns_users() -> Outcome<bool> {
    let map = fs::read_to_string("/proc/self/uid_map")?;
    Ok(rustix::process::geteuid().is_root() && map.split_whitespace().nth(2) != Some("1"))
}

/// E.g. `data: base64` of a Secret's `key`, decoded.
pub fn secret_value(secret: &Value, key: &str) -> Outcome<String> {
    let encoded =
        secret["data"][key].as_str().ok_or_else(|| Failure::new(format!("the Secret has no {key}")))?;
    Ok(String::from_utf8(base64::engine::general_purpose::STANDARD.decode(encoded)?)?)
}

/// What ENV of the Dockerfile says.
pub fn image_environment() -> Outcome<BTreeMap<String, String>> {
    image::environment()
}

/// What the Dockerfile promises.
mod image {
    use super::{Failure, HaproxySeries, Mounts, Outcome, program};
    use std::{collections::BTreeMap, fs, path::Path};

    fn dockerfile() -> Outcome<String> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Dockerfile");
        Ok(fs::read_to_string(file)?.replace("\\\n", " "))
    }

    /// The last instruction of that name.
    fn instruction(name: &str) -> Outcome<String> {
        let text = dockerfile()?;
        let found = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).next_back();
        found.map(str::to_owned).ok_or_else(|| Failure::new(format!("the Dockerfile has no {name}")))
    }

    pub fn entry_point() -> Outcome<Vec<String>> {
        Ok(serde_json::from_str(&instruction("ENTRYPOINT")?)?)
    }

    pub fn environment() -> Outcome<BTreeMap<String, String>> {
        let pairs = instruction("ENV")?;
        let pairs = pairs.split_whitespace().filter_map(|pair| pair.split_once('='));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// The program under test and the HAProxys at the image's paths; and these where they expect themselves.
    pub fn files() -> Outcome<Mounts> {
        let entry = entry_point()?.concat();
        let mut files = vec![(program::haptic()?, entry)];
        let environment = environment()?;
        for (series, name) in [
            (HaproxySeries::V3_0, "HAPTIC_HAPROXY_3_0"),
            (HaproxySeries::V3_2, "HAPTIC_HAPROXY_3_2"),
            (HaproxySeries::V3_4, "HAPTIC_HAPROXY_3_4"),
        ] {
            let Some(folder) = program::haproxy(series)?.parent().map(Path::to_owned) else { continue };
            let path =
                environment.get(name).ok_or_else(|| Failure::new(format!("no {name} in the image")))?;
            let in_image = path.trim_end_matches("/haproxy").to_owned();
            files.push((folder.clone(), folder.display().to_string()));
            files.push((folder, in_image));
        }
        Ok(files)
    }
}
