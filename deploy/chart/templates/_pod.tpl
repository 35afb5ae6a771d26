{{- define "triplane.args" -}}
- --data-dir=/data
- --bind-address=0.0.0.0
- --secure-port=6443
- --external-hostname={{ .Values.hostname | default (printf "%s.%s.svc" .Release.Name .Release.Namespace) }}
- --controllers={{ .Values.controllers }}
{{- if eq .Values.store.type "embedded" }}
# The first server creates the cluster, the others join it. All have the same arguments, so that their number can change.
- --embedded-etcd-name=$(POD_NAME)
- --embedded-etcd-peer-listen=https://0.0.0.0:2380
- --embedded-etcd-peer-advertise=https://$(POD_NAME).{{ include "triplane.members" . }}:2380
- --embedded-etcd-initial-cluster={{ .Release.Name }}-0=https://{{ .Release.Name }}-0.{{ include "triplane.members" . }}:2380
- --join=https://{{ include "triplane.members" . }}:6443
{{- else if eq .Values.store.type "etcd" }}
- --etcd-servers={{ join "," .Values.store.etcd.servers }}
{{- if .Values.store.etcd.secret }}
- --etcd-cafile=/etc/triplane/etcd/ca.crt
- --etcd-certfile=/etc/triplane/etcd/tls.crt
- --etcd-keyfile=/etc/triplane/etcd/tls.key
{{- end }}
{{- else }}
- {{ printf "--store=%s" .Values.store.postgres.url | quote }}
{{- end }}
{{- if include "triplane.tls" . }}
- --tls-sni-cert-key=/etc/triplane/tls/tls.crt,/etc/triplane/tls/tls.key
{{- end }}
# New connections find another server before this one ends. Long-lived ones are spread again after a while.
- --shutdown-delay-duration=10s
{{- if ne .Values.store.type "embedded" }}
- --goaway-chance=0.001
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- define "triplane.pod" -}}
metadata:
  labels:
    {{- include "triplane.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  # It is an API server, and needs nothing of the one that runs it.
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 90
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: {{ .Values.topologySpread.topologyKey }}
      whenUnsatisfiable: {{ .Values.topologySpread.whenUnsatisfiable }}
      labelSelector:
        matchLabels:
          {{- include "triplane.selector" . | nindent 10 }}
  securityContext:
    {{- include "triplane.podSecurity" . | nindent 4 }}
  initContainers:
    # Copies the shared keys. Each server signs its own certificates with them.
    - name: keys
      image: {{ include "triplane.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [keys, --data-dir=/data, --from=/etc/triplane/keys]
      securityContext:
        {{- include "triplane.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: keys
          mountPath: /etc/triplane/keys
          readOnly: true
  containers:
    - name: triplane
      image: {{ include "triplane.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        {{- if and (eq .Values.store.type "postgres") .Values.store.postgres.passwordSecret }}
        - name: PGPASSWORD
          valueFrom:
            secretKeyRef:
              name: {{ .Values.store.postgres.passwordSecret }}
              key: {{ .Values.store.postgres.passwordKey }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      args:
        {{- include "triplane.args" . | nindent 8 }}
      ports:
        - name: https
          containerPort: 6443
        {{- if eq .Values.store.type "embedded" }}
        - name: peers
          containerPort: 2380
        {{- end }}
      startupProbe:
        httpGet: {scheme: HTTPS, port: https, path: /livez}
        periodSeconds: 1
        failureThreshold: 120
      livenessProbe:
        httpGet: {scheme: HTTPS, port: https, path: /livez}
        timeoutSeconds: 15
        failureThreshold: 8
      readinessProbe:
        httpGet: {scheme: HTTPS, port: https, path: /readyz}
        periodSeconds: 2
        timeoutSeconds: 15
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "triplane.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        {{- if and (eq .Values.store.type "etcd") .Values.store.etcd.secret }}
        - name: etcd
          mountPath: /etc/triplane/etcd
          readOnly: true
        {{- end }}
        {{- if include "triplane.tls" . }}
        - name: tls
          mountPath: /etc/triplane/tls
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: keys
      secret:
        secretName: {{ include "triplane.keys" . }}
        defaultMode: 0440
    {{- if ne .Values.store.type "embedded" }}
    # Certificates, signed again at each start.
    - name: data
      emptyDir:
        medium: Memory
    {{- end }}
    {{- if and (eq .Values.store.type "etcd") .Values.store.etcd.secret }}
    - name: etcd
      secret:
        secretName: {{ .Values.store.etcd.secret }}
        defaultMode: 0440
    {{- end }}
    {{- if include "triplane.tls" . }}
    - name: tls
      secret:
        secretName: {{ include "triplane.tls" . }}
        defaultMode: 0440
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
