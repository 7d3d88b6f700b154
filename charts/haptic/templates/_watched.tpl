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
{{- range $family, $settings := .Values.configuration.extraContext.annotationFamilies -}}
{{- range $setting, $ending := dict "configMap" "configmap" "tcpServices" "tcpservices" "udpServices" "udpservices" -}}
{{- $parts := splitList "/" (get ($settings | default dict) $setting | default "" | toString) -}}
{{- if eq (len $parts) 2 -}}
{{- $_ := set $watched (print (replace "-" "" $family) $ending) (dict "apiVersion" "v1" "resources" "configmaps" "namespaces" (list (first $parts)) "fieldSelector" (print "metadata.name=" (last $parts))) -}}
{{- end -}}
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

{{/* Rules for all of a list of watched resources: one for each API group and set of verbs, and for each object that is watched by its name. */}}
{{- define "haptic.rules" -}}
{{- $rules := dict -}}
{{- range . -}}
{{- $group := contains "/" .apiVersion | ternary (splitList "/" .apiVersion | first) "" -}}
{{- $verbs := has (.store | default "full") (list "on-demand" "named") | ternary "get, list, watch" "list, watch" -}}
{{- $one := regexFind "^metadata\\.name=[^,]+$" (.fieldSelector | default "") | trimPrefix "metadata.name=" -}}
{{- $key := printf "%s|%s|%s" $group $verbs $one -}}
{{- $_ := set $rules $key (append (get $rules $key | default list) .resources) -}}
{{- end -}}
{{- range $key, $resources := $rules }}
{{- $parts := splitList "|" $key }}
- apiGroups: [{{ first $parts | quote }}]
  resources: {{ $resources | uniq | sortAlpha | toJson }}
  {{- with last $parts }}
  resourceNames: [{{ . | quote }}]
  {{- end }}
  verbs: [{{ index $parts 1 }}]
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
