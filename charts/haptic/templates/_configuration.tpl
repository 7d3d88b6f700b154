{{/* The HAProxyTemplateConfig that fits the release: its pods, Lease, webhook and ports. */}}
{{- define "haptic.configuration.manifest" -}}
{{- $ports := .Values.haproxy.ports }}
{{/* Containers, Service, probes and policies follow haproxy.ports: with another port HAProxy would listen where nobody comes. */}}
{{- range $setting, $port := dict "httpPort" "http" "httpsPort" "https" "healthPort" "metrics" }}
{{- $given := get $.Values.configuration.extraContext $setting }}
{{- if and $given (ne (int $given) (int (get $ports $port))) }}
{{- fail (printf "configuration.extraContext.%s is not haproxy.ports.%s: set haproxy.ports.%s alone" $setting $port $port) }}
{{- end }}
{{- end }}
{{- $given := (.Values.configuration.spec.dataplane | default dict).port }}
{{- if and $given (ne (int $given) (int .Values.haproxy.agentPort)) }}
{{- fail "configuration.spec.dataplane.port is not haproxy.agentPort: set haproxy.agentPort alone" }}
{{- end }}
{{- $leader := dict "leaseName" (include "haptic.fullname" .) }}
{{- $controller := dict "leaderElection" (merge $leader .Values.controller.leaderElection) }}
{{- $addresses := dict "addresses" .Values.ingressStatus.addresses }}
{{- if .Values.haproxy.service.enabled }}
{{- $_ := set $addresses "service" (dict "name" (include "haptic.fullname" .)) }}
{{- end }}
{{- if include "haptic.addresses" . }}
{{- $_ := set $controller "ingressStatus" $addresses }}
{{- end }}
{{- with .Values.gateway }}
{{- if .enabled }}
{{- $_ := set $controller "gateway" (pick . "serviceMode" "serviceType" "allowedAddresses" "annotationPrefixes") }}
{{- end }}
{{- end }}
{{- if .Values.webhook.enabled }}
{{- $webhook := dict
  "configurationName" (include "haptic.clusterwide" .)
  "serviceName" (include "haptic.webhook" .)
  "secretName" (include "haptic.webhook" .)
  "failurePolicy" .Values.webhook.failurePolicy
}}
{{- with include "haptic.webhook.certificate" . }}
{{- $_ := set $webhook "certificate" (dict "secretName" .) }}
{{- end }}
{{- $_ := set $controller "webhook" $webhook }}
{{- end }}
{{- $service := .Values.haproxy.service }}
{{- $public := $service.ports.https }}
{{- if not $service.enabled }}
{{- $public = .Values.haproxy.hostPorts.https | default $public }}
{{- else if eq $service.type "NodePort" }}
{{- $public = $service.nodePorts.https | default $public }}
{{- end }}
{{- $context := dict
  "httpPort" ($ports.http | int)
  "httpsPort" ($ports.https | int)
  "healthPort" ($ports.metrics | int)
  "httpsPublicPort" ($public | int)
  "ingressClass" (dict "controller" (include "haptic.ingressclass.controller" .))
}}
{{- if eq .Values.listenAddress "::" }}
{{- $_ := set $context "bindAddresses" (list "*" "::") }}
{{- $_ := set $context "healthAddress" "[::]" }}
{{- end }}
{{- if .Values.gateway.enabled }}
{{- $gateway := dict "controller" .Values.gateway.controller }}
{{- if ne .Values.gateway.serviceMode "perGateway" }}
{{- $_ := set $gateway "portMode" "same" }}
{{- end }}
{{- $_ := set $context "gateway" $gateway }}
{{- end }}
{{- if ne .Values.haproxy.transport "agent" }}
{{- $_ := set $context "hopSocket" "/etc/haproxy/run/haptic-hop.sock" }}
{{- $_ := set $context "countersSocket" "/etc/haproxy/run/haptic-counters.sock" }}
{{- $_ := set $context "tlsSocket" "/etc/haproxy/run/haptic-tls.sock" }}
{{- end }}
{{- $spec := dict
  "libraries" (include "haptic.libraries" . | fromJsonArray)
  "credentialsSecretRef" (dict "name" (include "haptic.credentials" .))
  "podSelector" (dict "matchLabels" (include "haptic.selector.haproxy" . | fromYaml))
  "controller" $controller
  "dataplane" (dict "port" (.Values.haproxy.agentPort | int) "transport" .Values.haproxy.transport)
  "watchedResources" (include "haptic.guarded" . | fromJson)
  "templatingSettings" (dict "extraContext" (mustMergeOverwrite $context (deepCopy .Values.configuration.extraContext)))
}}
apiVersion: haproxy-haptic.org/v1alpha1
kind: HAProxyTemplateConfig
metadata:
  name: {{ include "haptic.configuration" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "haptic.labels" . | nindent 4 }}
spec:
  {{- mustMergeOverwrite $spec (deepCopy .Values.configuration.spec) | toYaml | nindent 2 }}
{{- end }}
