{{- define "selector" -}}
app.kubernetes.io/name: government-model-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "probe" -}}
{{- if .Values.settings.GATEWAY_TLS_CLIENT_CA -}}
# A probe has no certificate to show.
tcpSocket:
  port: https
{{- else -}}
httpGet:
  path: /health
  port: https
  scheme: {{ if .Values.settings.GATEWAY_TLS_CERT }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}
{{- end }}
