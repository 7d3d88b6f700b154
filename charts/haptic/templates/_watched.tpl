{{/* What the configuration watches, and the rights that this takes. */}}

{{/* watchedResources of libraries and configuration as JSON, the later ones over the earlier ones, as the controller does it;
     those that the webhook guards say so. */}}
{{- define "haptic.watched" -}}
{{- $watched := dict -}}
{{- range $name := include "haptic.libraries" . | fromJsonArray -}}
{{- $library := $.Files.Get (printf "libraries/%s.yaml" $name) | fromYaml -}}
{{- if not $library -}}
{{- fail (printf "configuration.libraries: there is no library %s" $name) -}}
{{- end -}}
{{- range $key, $resource := $library.spec.watchedResources -}}
{{- $_ := set $watched $key $resource -}}
{{- end -}}
{{- end -}}
{{- range $key, $resource := .Values.configuration.spec.watchedResources -}}
{{- $_ := set $watched $key (deepCopy $resource) -}}
{{- end -}}
{{- if .Values.webhook.enabled -}}
{{/* The default, which libraries may be without. */}}
{{- $usual := list "ingresses" "gateways" "listenersets" "httproutes" "grpcroutes" "tlsroutes" "tcproutes" -}}
{{- range .Values.webhook.resources -}}
{{- if hasKey $watched . -}}
{{- $_ := set (get $watched .) "enableValidationWebhook" true -}}
{{- else if not (has . $usual) -}}
{{- fail (printf "webhook.resources: nothing called %s is watched" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $watched -}}
{{- end }}

{{/* Rules for all of a list of watched resources: one for each API group and set of verbs. */}}
{{- define "haptic.rules" -}}
{{- $rules := dict -}}
{{- range . -}}
{{- $group := contains "/" .apiVersion | ternary (splitList "/" .apiVersion | first) "" -}}
{{- $verbs := eq (.store | default "full") "on-demand" | ternary "get, list, watch" "list, watch" -}}
{{- $key := printf "%s|%s" $group $verbs -}}
{{- $_ := set $rules $key (append (get $rules $key | default list) .resources) -}}
{{- end -}}
{{- range $key, $resources := $rules }}
{{- $parts := splitList "|" $key }}
- apiGroups: [{{ first $parts | quote }}]
  resources: {{ $resources | uniq | sortAlpha | toJson }}
  verbs: [{{ last $parts }}]
{{- end }}
{{- end }}

{{/* Those of them that the webhook guards, as JSON. */}}
{{- define "haptic.guarded" -}}
{{- $guarded := dict -}}
{{- if .Values.webhook.enabled -}}
{{- range $key, $resource := include "haptic.watched" . | fromJson -}}
{{- if $resource.enableValidationWebhook -}}
{{- $_ := set $guarded $key $resource -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $guarded -}}
{{- end }}
