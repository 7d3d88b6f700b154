{{/* HAProxy with its Data Plane API in place of `haptic agent`: files, containers, volumes. Each takes the root context.
     https://github.com/haproxytech/dataplaneapi */}}

{{/* What HAProxy begins with: alive, and not Ready before the controller has brought something. */}}
{{- define "haptic.dataplaneapi.bootstrap" -}}
global
    log stdout format raw local0

defaults bootstrap
    mode http
    timeout connect 5s
    timeout client 5s
    timeout server 5s

frontend waiting from bootstrap
    bind {{ eq .Values.listenAddress "::" | ternary "[::]" "" }}:{{ .Values.haproxy.ports.metrics }}
    http-request return status 503
{{ end }}

{{/* Its user, which is a Secret's, is appended. The commands are mandatory and unused: reloads go through master_runtime. */}}
{{- define "haptic.dataplaneapi.settings" -}}
config_version: 2
name: sidecar
haproxy:
  config_file: /etc/haproxy/haproxy.cfg
  haproxy_bin: {{ .Values.haproxy.dataplaneapi.haproxy }}
  master_worker_mode: true
  master_runtime: /etc/haproxy/run/master.sock
  delayed_start_max: 30s
  reload:
    reload_strategy: custom
    reload_delay: 1
    reload_cmd: /bin/true
    restart_cmd: /bin/true
    reload_retention: 1
log_targets:
  - log_to: stdout
    log_level: info
    log_types: [app]
dataplaneapi:
  host: {{ .Values.listenAddress | quote }}
  port: {{ .Values.haproxy.agentPort }}
  scheme: [http]
  read_timeout: 60s
  write_timeout: 300s
  disable_inotify: true
  transaction:
    transaction_dir: /etc/haproxy/dp/tx
    max_open_transactions: 20
    backups_number: 0
    backups_dir: /etc/haproxy/dp/backups
  resources:
    maps_dir: /etc/haproxy/maps
    ssl_certs_dir: /etc/haproxy/ssl
    general_storage_dir: /etc/haproxy/general
    spoe_dir: /etc/haproxy/spoe
    spoe_transaction_dir: /etc/haproxy/dp/spoetx
    dataplane_storage_dir: /etc/haproxy/dp/storage
    update_map_files: false
{{ end }}

{{/* A restarted container goes on with what it had: only what is not there is made. */}}
{{- define "haptic.dataplaneapi.prepare" -}}
set -eu
umask 077
cd /etc/haproxy
mkdir -p run maps ssl general spoe dp/tx dp/backups dp/spoetx dp/storage
[ -s haproxy.cfg ] || cp /start/haproxy.cfg haproxy.cfg
quoted() { printf "'%s'" "$(printf %s "$1" | sed "s/'/''/g")"; }
cp /start/dataplaneapi.yaml dp/dataplaneapi.yaml
printf '  user:\n    - name: %s\n      password: %s\n      insecure: true\n' \
  "$(quoted "$HAPTIC_USERNAME")" "$(quoted "$HAPTIC_PASSWORD")" >>dp/dataplaneapi.yaml
{{ end }}

{{- define "haptic.dataplaneapi.container" -}}
image: {{ .Values.haproxy.dataplaneapi.image }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{ include "haptic.container.confined" . }}
{{- end }}

{{- define "haptic.dataplaneapi.initContainers" -}}
- name: prepare
  {{- include "haptic.dataplaneapi.container" . | nindent 2 }}
  command: [sh, /start/prepare.sh]
  env:
    {{- range $name, $key := dict "HAPTIC_USERNAME" "dataplane_username" "HAPTIC_PASSWORD" "dataplane_password" }}
    - name: {{ $name }}
      valueFrom: {secretKeyRef: {name: {{ include "haptic.credentials" $ }}, key: {{ $key }}}}
    {{- end }}
  volumeMounts:
    - {name: run, mountPath: /etc/haproxy}
    - {name: start, mountPath: /start, readOnly: true}
{{- end }}

{{- define "haptic.dataplaneapi.sidecar" -}}
- name: dataplaneapi
  {{- include "haptic.dataplaneapi.container" . | nindent 2 }}
  command: [{{ .Values.haproxy.dataplaneapi.program }}]
  args: [-f, /etc/haproxy/dp/dataplaneapi.yaml]
  ports:
    - {name: agent, containerPort: {{ .Values.haproxy.agentPort }}}
  # All its paths ask for the password.
  readinessProbe:
    tcpSocket: {port: agent}
  livenessProbe:
    tcpSocket: {port: agent}
    initialDelaySeconds: 30
  {{- with .Values.haproxy.dataplaneapi.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - {name: run, mountPath: /etc/haproxy}
{{- end }}
