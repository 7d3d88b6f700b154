{{/* What pods of controller and HAProxy have in common. */}}

{{/* A dict of: root, of (the values of one of the two), selector (its labels). */}}
{{- define "haptic.pod.placement" -}}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .of.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .of.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.topologyKeys }}
topologySpreadConstraints:
  {{- range . }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $.selector | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* A dict of: root, of, selector. */}}
{{- define "haptic.pod.metadata" -}}
labels:
  {{- .selector | nindent 2 }}
  {{- with .root.Values.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .of.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .of.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Of each container; root context. */}}
{{- define "haptic.container" -}}
image: {{ include "haptic.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{ include "haptic.container.confined" . }}
{{- end }}

{{- define "haptic.container.confined" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* How many seconds HAProxy has to finish its connections; the values of haproxy. Meanwhile nobody listens on ports of the
node: what is under way there ends within a second, and the next pod comes. */}}
{{- define "haptic.drain" -}}
{{- $left := sub (int .terminationGracePeriodSeconds) (int .preStopSeconds | add 8) -}}
{{- if le $left 0 -}}
{{- fail "haproxy.terminationGracePeriodSeconds must be more than 8 s longer than haproxy.preStopSeconds" -}}
{{- end -}}
{{ if or .hostPorts.http .hostPorts.https }}1{{ else }}{{ $left }}{{ end }}
{{- end }}

{{/* Ports of the node are what Pod Security's baseline forbids: no such pod would come, and those of before would go. */}}
{{- define "haptic.hostPorts.checked" -}}
{{- $ports := .Values.haproxy.hostPorts -}}
{{- if or $ports.http $ports.https -}}
{{- $labels := ((lookup "v1" "Namespace" "" .Release.Namespace).metadata | default dict).labels | default dict -}}
{{- $enforced := index $labels "pod-security.kubernetes.io/enforce" | default "privileged" -}}
{{- if ne $enforced "privileged" -}}
{{- fail (printf "haproxy.hostPorts: namespace %s enforces Pod Security %q, which forbids ports of the node. Set both to 0, or: kubectl label namespace %s pod-security.kubernetes.io/enforce=privileged --overwrite" .Release.Namespace $enforced .Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* How many HAProxy pods a Deployment has. Of one that is autoscaled: as many as there are. Without a number where one was
before, the API server would end all but one, until the autoscaler looks. */}}
{{- define "haptic.haproxy.replicas" -}}
{{- if .Values.haproxy.autoscaling.enabled -}}
{{- $name := printf "%s-haproxy" (include "haptic.fullname" .) -}}
{{- $running := (lookup "apps/v1" "Deployment" .Release.Namespace $name).spec | default dict -}}
{{ $running.replicas | default "" }}
{{- else -}}
{{ .Values.haproxy.replicas }}
{{- end -}}
{{- end }}

{{/* The ports of TCP services, each by itself, as JSON. */}}
{{- define "haptic.tcp.ports" -}}
{{- $all := list }}
{{- range .Values.configuration.extraContext.tcpPorts }}
{{- $ports := . }}
{{- if kindIs "map" . }}
{{- $ports = .ports }}
{{- end }}
{{- $ends := splitList "-" (toString $ports) }}
{{- range untilStep (first $ends | int) (add1 (last $ends | int) | int) 1 }}
{{- $all = append $all . }}
{{- end }}
{{- end }}
{{- $all | uniq | toJson }}
{{- end }}
