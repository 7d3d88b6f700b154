//! What commands ask of a cluster once: how it is reached, the configuration in it, and what its HAProxy pods run.

use crate::{
    cli::{ClusterArgs, CommandFailure, PublishedArgs},
    transports::connect,
};
use futures::future::join_all;
use haptic_config::{ConfigCandidate, ObservedConfig, SourceState, source::ConfigSource};
use haptic_deploy::{PodStates, RunningView, Transport, TransportError, discovery};
use haptic_model::{ActiveConfig, Capabilities, HaproxyPod, config::Credentials, pipeline::PodState};
use haptic_runtime::topic;
use haptic_watch::api_server;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use std::{path::Path, sync::Arc, time::Duration};

/// An API server that takes longer than this to take a connection is away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// An API server that takes longer than this to give one object and its Secret does not answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A cluster, and the namespace of the configuration in it.
#[derive(Clone)]
pub struct Cluster {
    /// Reaches its API server.
    pub client: Client,
    /// Of the configuration and the HAProxy pods.
    pub namespace: String,
}

/// One pod's answer.
pub struct PodResponse {
    /// What it can do.
    pub capabilities: Capabilities,
    pub view: RunningView,
}

impl Cluster {
    /// The cluster that `args` lead to.
    ///
    /// # Errors
    /// When no API server is known, or the kubeconfig cannot be used.
    pub async fn reach(args: &ClusterArgs) -> Result<Self, CommandFailure> {
        let config = configured(args.kubeconfig.as_deref()).await?;
        Self::of(config, args.namespace())
    }

    /// The same for somebody at a terminal, whose kubeconfig is found where kubectl finds it.
    ///
    /// # Errors
    /// When no API server is known, or the kubeconfig cannot be used.
    pub async fn at_a_terminal(args: &ClusterArgs) -> Result<Self, CommandFailure> {
        let given = args.kubeconfig.as_deref().filter(|file| !is_the_variable(file));
        let config = kubectls(given, KubeConfigOptions::default()).await?;
        Self::of(config, args.namespace())
    }

    fn of(mut config: Config, namespace: Option<String>) -> Result<Self, CommandFailure> {
        (config.connect_timeout, config.read_timeout) = (Some(CONNECT_TIMEOUT), Some(api_server::SILENCE));
        let namespace = namespace.unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).map_err(CommandFailure::because)?;
        Ok(Self { client: api_server::for_watches(client), namespace })
    }

    /// The cluster that somebody at a terminal means, found as kubectl finds it.
    ///
    /// # Errors
    /// When no API server is known, or the kubeconfig cannot be used.
    pub async fn as_kubectl_does(args: &PublishedArgs) -> Result<Self, CommandFailure> {
        let options = KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
        Self::of(kubectls(args.kubeconfig.as_deref(), options).await?, args.namespace.clone())
    }

    /// The configuration of that name as it is now.
    ///
    /// # Errors
    /// When there is none, it cannot be read, or does not fit its types.
    pub async fn configuration(&self, name: &str) -> Result<ConfigCandidate, CommandFailure> {
        let seen = self.observe(name, |seen| seen.config != ObservedConfig::Unknown).await?;
        match seen.config {
            ObservedConfig::Found(candidate) => Ok(candidate),
            ObservedConfig::Unreadable(_, problems) => Err(CommandFailure::printed(&problems)),
            _ => Err(CommandFailure::Because(format!(
                "there is no HAProxyTemplateConfig {name} in namespace {}; `kubectl get haproxytemplateconfigs -A` lists them",
                self.namespace
            ))),
        }
    }

    /// The credentials that the configuration of that name leads to.
    ///
    /// # Errors
    /// When the Secret is missing, or lacks a key.
    pub async fn credentials(&self, name: &str) -> Result<Credentials, CommandFailure> {
        let seen = self.observe(name, |seen| seen.credentials.is_some()).await?;
        match seen.credentials {
            Some(Ok(credentials)) => Ok(credentials),
            Some(Err(problem)) => Err(CommandFailure::because(problem)),
            None => Err(CommandFailure::Because("the credentials' Secret was not read".into())),
        }
    }

    async fn observe(
        &self,
        name: &str,
        enough: impl Fn(&SourceState) -> bool,
    ) -> Result<SourceState, CommandFailure> {
        let source = ConfigSource::Kubernetes {
            client: self.client.clone(),
            namespace: self.namespace.clone(),
            name: name.to_owned(),
        };
        let wanted = source.wanted();
        let (writer, mut seen) = topic(SourceState::default());
        let done = |seen: &SourceState| enough(seen) || seen.trouble.is_some();
        let observed = tokio::select! {
            () = source.observe(Arc::new(writer)) => None,
            observed = tokio::time::timeout(TIMEOUT, seen.wait_for(done)) => observed.ok(),
        };
        let Some(observed) = observed else {
            let seconds = TIMEOUT.as_secs();
            return Err(CommandFailure::Because(format!("{wanted} was not read within {seconds} s")));
        };
        match &observed.trouble {
            Some(why) => Err(CommandFailure::Because(format!("{wanted} cannot be read: {why}"))),
            None => Ok((*observed).clone()),
        }
    }

    /// The pods of `config`, sorted by name.
    ///
    /// # Errors
    /// When the API server does not give them.
    pub async fn pods(&self, config: &ActiveConfig) -> Result<Vec<HaproxyPod>, CommandFailure> {
        discovery::list(&self.client, config).await.map_err(|e| {
            CommandFailure::Because(format!(
                "the HAProxy pods in namespace {} cannot be listed: {e}",
                config.namespace
            ))
        })
    }
}

/// What each of `pods` runs, asked all at once. Call it on an actix system.
pub async fn what_runs(
    pods: &[HaproxyPod],
    config: &ActiveConfig,
) -> Vec<(HaproxyPod, Result<PodResponse, String>)> {
    let ask = |pod: &HaproxyPod| {
        let pod = pod.clone();
        async move {
            let answer = match connect(&pod, config) {
                Ok(transport) => what_one_runs(&*transport, config).await,
                Err(why) => Err(why.to_string()),
            };
            (pod, answer)
        }
    };
    join_all(pods.iter().map(ask)).await
}

async fn what_one_runs(transport: &dyn Transport, config: &ActiveConfig) -> Result<PodResponse, String> {
    let said = |error: TransportError| error.to_string();
    let status = transport.status().await.map_err(said)?;
    let view = match status.running {
        None => RunningView::bootstrap(),
        Some(_) => match transport.running_bundle().await.map_err(said)? {
            Some(bundle) => RunningView::read_back(bundle, &config.layout)?,
            None => RunningView::bootstrap(),
        },
    };
    Ok(PodResponse { capabilities: status.capabilities(), view })
}

/// What is known of the pods that answered, as the controller would have it.
#[must_use]
pub fn states(pods: &[(HaproxyPod, Result<PodResponse, String>)]) -> PodStates {
    let state = |answer: &Result<PodResponse, String>| PodState {
        capabilities: answer.as_ref().ok().map(|running| running.capabilities),
        ..PodState::default()
    };
    pods.iter().map(|(pod, answer)| (pod.clone(), state(answer))).collect()
}

/// The API server as kubectl finds it: by the file, `$KUBECONFIG`, `~/.kube/config` or the pod's service account.
async fn kubectls(kubeconfig: Option<&Path>, options: KubeConfigOptions) -> Result<Config, CommandFailure> {
    let read = match kubeconfig {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    match read {
        Ok(read) => Config::from_custom_kubeconfig(read, &options)
            .await
            .map_err(|e| CommandFailure::Because(format!("the kubeconfig cannot be used: {e}"))),
        Err(why) => Config::incluster().map_err(|_| {
            CommandFailure::Because(format!(
                "no API server is known: {why}. Give --kubeconfig FILE or set KUBECONFIG"
            ))
        }),
    }
}

/// Whether `file` is what `$KUBECONFIG` says, which may name several files.
fn is_the_variable(file: &Path) -> bool {
    std::env::var_os("KUBECONFIG").is_some_and(|variable| variable == file.as_os_str())
}

async fn configured(kubeconfig: Option<&Path>) -> Result<Config, CommandFailure> {
    Ok(match kubeconfig {
        Some(file) => {
            let unusable = |e: kube::config::KubeconfigError| {
                CommandFailure::Because(format!("kubeconfig {} cannot be used: {e}", file.display()))
            };
            let read = match is_the_variable(file) {
                true => Kubeconfig::read(),
                false => Kubeconfig::read_from(file),
            };
            let read = read.map_err(unusable)?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.map_err(unusable)?
        }
        None => Config::incluster().map_err(|e| {
            CommandFailure::Because(format!(
                "no API server is known: this is no pod with a service account ({e}). Give --kubeconfig FILE or set KUBECONFIG"
            ))
        })?,
    })
}
