{{/* What objects are called, and their labels. Each takes the root context unless it says otherwise. */}}

{{- define "haptic.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 48 | trimSuffix "-" }}
{{- end }}

{{- define "haptic.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 48 | trimSuffix "-" }}
{{- else if contains (include "haptic.name" .) .Release.Name -}}
{{ .Release.Name | trunc 48 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name (include "haptic.name" .) | trunc 48 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{/* Of objects without a namespace: releases of one name in two namespaces do not meet. */}}
{{- define "haptic.clusterwide" -}}
{{ include "haptic.fullname" . }}.{{ .Release.Namespace }}
{{- end }}

{{- define "haptic.configuration" -}}
{{ .Values.configuration.name | default (include "haptic.fullname" .) }}
{{- end }}

{{- define "haptic.credentials" -}}
{{ .Values.credentials.existingSecret | default (printf "%s-credentials" (include "haptic.fullname" .)) }}
{{- end }}

{{- define "haptic.ingressclass" -}}
{{ .Values.ingressClass.name | default (include "haptic.fullname" .) }}
{{- end }}

{{- define "haptic.ingressclass.controller" -}}
{{ .Values.ingressClass.controller | default (printf "haproxy-haptic.org/%s" (include "haptic.ingressclass" .)) }}
{{- end }}

{{/* Service, Secret and certificate of the webhook. */}}
{{- define "haptic.webhook" -}}
{{ include "haptic.fullname" . }}-webhook
{{- end }}

{{/* The Secret with the webhook's certificate, if it is not the leader's own. */}}
{{- define "haptic.webhook.certificate" -}}
{{- with .Values.webhook.certificate -}}
{{- if .existingSecret -}}
{{ .existingSecret }}
{{- else if .certManager.enabled -}}
{{ include "haptic.webhook" $ }}-tls
{{- end -}}
{{- end -}}
{{- end }}

{{/* The libraries of the configuration, as a JSON list. */}}
{{- define "haptic.libraries" -}}
{{- $libraries := .Values.configuration.libraries -}}
{{- if and .Values.gateway.enabled (not (has "gateway" $libraries)) -}}
{{- $libraries = append $libraries "gateway" -}}
{{- end -}}
{{- toJson $libraries -}}
{{- end }}

{{/* Whether there are addresses for the status of Ingresses; empty if not. */}}
{{- define "haptic.addresses" -}}
{{- if and .Values.ingressStatus.enabled (or .Values.haproxy.service.enabled .Values.ingressStatus.addresses) -}}
true
{{- end -}}
{{- end }}

{{- define "haptic.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "haptic.labels" -}}
{{ include "haptic.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What all objects of this release have, and no other release. */}}
{{- define "haptic.selector" -}}
app.kubernetes.io/name: {{ include "haptic.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "haptic.selector.controller" -}}
{{ include "haptic.selector" . }}
app.kubernetes.io/component: controller
{{- end }}

{{- define "haptic.selector.haproxy" -}}
{{ include "haptic.selector" . }}
app.kubernetes.io/component: haproxy
{{- end }}
