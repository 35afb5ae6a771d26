#!/usr/bin/env bash
# Replays recorded exchanges with kube-apiserver against a fresh server, with the
# flags that the reference had. As there was no kube-controller-manager beside it,
# the server runs no controllers. PARITY names the folder of the recordings and
# their runner; the arguments are the runner's (-only core/configmap -v). The recordings
# are those of the release that is served, or with EMULATE=1.36 those of v1.36, beside a
# server that emulates it. STORE is the URL of an empty store, of etcd or PostgreSQL, in place of the embedded etcd;
# "go run ./e2e/postgres/beside e2e/parity.sh …" plays them on a PostgreSQL. WORKSPACE=name plays them in a workspace,
# whose issuer of tokens takes the place of the recorded one.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
parity=$(cd "${PARITY:-$root/../shared/parity}" && pwd)
if [ -n "${EMULATE:-}" ]; then
	emulated=(--emulated-version="$EMULATE") release=()
else
	emulated=() release=(-release 1.37)
fi
inside=()
if [ -n "${WORKSPACE:-}" ]; then
	inside=(--workspaces)
fi
store=()
if [ -n "${STORE:-}" ]; then
	store=(--store="$STORE")
fi
work=$(mktemp -d)
server=
cleanup() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	rm -rf "$work"
}
trap cleanup EXIT

# With other flags than those of the Makefile all libraries would be compiled again.
GOFLAGS=$(make -s -C "$root" goflags)
export GOFLAGS CGO_ENABLED="${CGO_ENABLED:-0}"
go build -C "$root" -o "$work/triplane" ./cmd/triplane
go build -C "$parity" -o "$work/parity" .
# The reference signed with RSA; a generated key is of an elliptic curve.
openssl genrsa -out "$work/sa.key" 2048 2>/dev/null
"$work/triplane" --controllers=none --data-dir "$work/data" --bind-address 127.0.0.1 --secure-port 0 \
	--token-auth-file="$parity/tokens.csv" --authorization-mode=Node,RBAC --anonymous-auth=true \
	--service-cluster-ip-range=10.0.0.0/16 --allow-privileged=true \
	--service-account-issuer=https://kubernetes.default.svc \
	--service-account-key-file="$work/sa.key" --service-account-signing-key-file="$work/sa.key" \
	--requestheader-allowed-names=aggregator \
	--requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
	--requestheader-extra-headers-prefix=X-Remote-Extra- --enable-bootstrap-token-auth \
	"${store[@]}" "${emulated[@]}" "${inside[@]}" >"$work/log" 2>&1 &
server=$!
for _ in $(seq 300); do
	url=$(sed -n 's/^ *server: //p' "$work/data/admin.kubeconfig" 2>/dev/null || true)
	if [ -n "$url" ] && curl -sfk -o /dev/null "$url/readyz"; then
		break
	fi
	if ! kill -0 "$server" 2>/dev/null; then
		break
	fi
	sleep 0.1
done
if [ -z "${url:-}" ] || ! curl -sfk -o /dev/null "$url/readyz"; then
	echo "the server is not ready:" >&2
	tail -50 "$work/log" >&2
	exit 1
fi
if [ -n "${WORKSPACE:-}" ]; then
	"$work/triplane" workspace create "$WORKSPACE" --kubeconfig "$work/data/admin.kubeconfig" >/dev/null
	url="$url/workspaces/$WORKSPACE"
	cp -r "$parity" "$work/recorded"
	parity="$work/recorded"
	find "$parity" -name '*.yaml' -o -name '*.json' | xargs sed -Ei \
		"s#https://kubernetes\.default\.svc([^./:a-z]|\$)#https://kubernetes.default.svc/workspaces/$WORKSPACE\1#g"
	# The recorded users may enter: the role is one that all users have.
	curl -sfk -o /dev/null -H 'Authorization: Bearer admin-token' -H 'Content-Type: application/json' \
		"$url/apis/rbac.authorization.k8s.io/v1/namespaces/kube-public/rolebindings" -d '{
			"metadata": {"name": "enter"},
			"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:basic-user"},
			"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"},
				{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:unauthenticated"}]}'
fi
play() { (cd "$parity" && "$work/parity" -server "$url" "${release[@]}" "$@") | tee "$work/played"; }
status=0
play "$@" || status=$?
# Managed fields are ordered by the second in which they were written, and those of the
# reference were all written in one. A scenario that happens to begin late in a second
# differs in that, so few that differ are played once more.
lost=$(sed -n 's/^must pass, but differs: //p' "$work/played")
if [ -n "$lost" ] && [ "$(wc -l <<<"$lost")" -le 2 ]; then
	echo "once more: $lost"
	status=0
	play "$@" -only "$(paste -sd, <<<"$lost")" || status=$?
fi
if grep -n 'panic' "$work/log"; then
	echo "the server logged a panic" >&2
	status=1
fi
exit $status
