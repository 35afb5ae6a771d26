{{- define "triplane.selector" -}}
app.kubernetes.io/name: triplane
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "triplane.labels" -}}
{{ include "triplane.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "triplane.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "triplane.keys" -}}
{{ .Values.keys.secret | default (printf "%s-keys" .Release.Name) }}
{{- end }}

{{- define "triplane.tls" -}}
{{- if .Values.tls.issuer }}{{ .Release.Name }}-tls{{ else }}{{ .Values.tls.secret }}{{ end }}
{{- end }}

{{- /* The name by which the servers of a StatefulSet find each other before they are ready. */}}
{{- define "triplane.members" -}}
{{ .Release.Name }}-members.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "triplane.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "triplane.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* What the schema cannot express. */}}
{{- define "triplane.check" -}}
{{- $store := .Values.store }}
{{- if and (eq $store.type "embedded") (not (has (int .Values.replicas) (list 1 3 5))) }}
{{- fail (printf "replicas is %v: with store.type embedded, a majority of the servers must run, so use 1, 3 or 5" .Values.replicas) }}
{{- end }}
{{- if and (eq $store.type "etcd") (not $store.etcd.servers) }}
{{- fail "store.type etcd needs store.etcd.servers, such as --set 'store.etcd.servers={https://etcd-0.etcd:2379}'" }}
{{- end }}
{{- range $store.etcd.servers }}
{{- if and (hasPrefix "https:" .) (not $store.etcd.secret) }}
{{- fail (printf "store.etcd.servers has %s: set store.etcd.secret to a Secret with ca.crt, tls.crt and tls.key, or use http://" .) }}
{{- end }}
{{- end }}
{{- if and (eq $store.type "postgres") (not $store.postgres.url) }}
{{- fail "store.type postgres needs store.postgres.url, such as postgres://triplane@db.example.com/triplane" }}
{{- end }}
{{- if contains ":" (urlParse $store.postgres.url).userinfo }}
{{- fail "store.postgres.url contains a password, which the command line would show: move it to a Secret and set store.postgres.passwordSecret" }}
{{- end }}
{{- if and .Values.tls.issuer .Values.tls.secret }}
{{- fail "tls.issuer and tls.secret exclude each other: remove one of them" }}
{{- end }}
{{- if and .Values.tls.issuer (not .Values.tls.hosts) }}
{{- fail "tls.issuer needs tls.hosts, the names in the certificate, such as --set 'tls.hosts={api.example.com}'" }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.tokenSecret) }}
{{- fail "serviceMonitor.enabled needs serviceMonitor.tokenSecret: /metrics is only for users with a role, see deploy/monitoring/rbac.yaml" }}
{{- end }}
{{- if gt (len .Release.Name) 40 }}
{{- fail "the name of the release must have at most 40 characters, because names of Services derive from it" }}
{{- end }}
{{- end }}
