{{/*
Checks that the schema cannot express, because they concern more than one value. Each
message names the values and says how to fix them.
*/}}
{{- define "bellwether.check" -}}
{{- $v := .Values -}}
{{- $least := add $v.drainTimeoutSeconds 10 -}}
{{- if lt (int $v.terminationGracePeriodSeconds) (int $least) -}}
{{- fail (printf "terminationGracePeriodSeconds is %d: with drainTimeoutSeconds %d it must be at least %d, or workers are killed while they hand over" (int $v.terminationGracePeriodSeconds) (int $v.drainTimeoutSeconds) (int $least)) -}}
{{- end -}}
{{- if not (or $v.image.tag $v.image.digest) -}}
{{- fail "image.tag or image.digest is needed" -}}
{{- end -}}
{{- if not (or $v.nats.url $v.nats.urlSecret.name) -}}
{{- fail "nats.url or nats.urlSecret.name is needed" -}}
{{- end -}}
{{- if and $v.nats.url $v.nats.urlSecret.name -}}
{{- fail "nats.url and nats.urlSecret.name exclude each other" -}}
{{- end -}}
{{- if and $v.nats.credsSecret.name $v.nats.userSecret.name -}}
{{- fail "nats.credsSecret and nats.userSecret exclude each other" -}}
{{- end -}}
{{- if ne (empty $v.nats.tlsSecret.certKey) (empty $v.nats.tlsSecret.keyKey) -}}
{{- fail "nats.tlsSecret.certKey and nats.tlsSecret.keyKey go together" -}}
{{- end -}}
{{- if and $v.exec.programs (not (has "exec" $v.allow)) -}}
{{- fail "exec.programs needs exec in allow: without it, workers do not run the job exec" -}}
{{- end -}}
{{- $azure := $v.storage.azure -}}
{{- if eq $v.storage.type "azure" -}}
{{- if not (or $azure.account $azure.connectionSecret.name) -}}
{{- fail "storage.azure.account or storage.azure.connectionSecret.name is needed with storage.type azure" -}}
{{- end -}}
{{- if and $azure.account $azure.connectionSecret.name -}}
{{- fail "storage.azure.account and storage.azure.connectionSecret.name exclude each other" -}}
{{- end -}}
{{- if and $azure.account (not $v.workloadIdentity.clientId) -}}
{{- fail "workloadIdentity.clientId is needed with storage.azure.account: workers sign in with an identity" -}}
{{- end -}}
{{- end -}}
{{- if $v.autoscaling.enabled -}}
{{- if gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas) -}}
{{- fail (printf "autoscaling.minReplicas is %d: it must not be above maxReplicas, %d" (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- if and (eq $v.storage.type "jetstream") (not $v.autoscaling.jetstream.monitoringEndpoint) -}}
{{- fail "autoscaling.jetstream.monitoringEndpoint is needed with storage.type jetstream" -}}
{{- end -}}
{{- end -}}
{{- end -}}
