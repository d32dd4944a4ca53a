{{- define "bellwether.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "bellwether.fullname" -}}
{{- $name := include "bellwether.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "bellwether.selector" -}}
app.kubernetes.io/name: {{ include "bellwether.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "bellwether.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "bellwether.selector" . }}
app.kubernetes.io/component: worker
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "bellwether.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "bellwether.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "bellwether.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The Prometheus selector of this fleet's series. */}}
{{- define "bellwether.series" -}}
namespace={{ .Release.Namespace | quote }},job={{ include "bellwether.fullname" . | quote }}
{{- end -}}

{{- define "bellwether.azureURL" -}}
{{- $suffixes := dict "AzurePublicCloud" "core.windows.net" "AzureUSGovernmentCloud" "core.usgovcloudapi.net" "AzureChinaCloud" "core.chinacloudapi.cn" -}}
{{- with .Values.storage.azure -}}
https://{{ .account }}.blob.{{ get $suffixes .cloud }}
{{- end -}}
{{- end -}}
