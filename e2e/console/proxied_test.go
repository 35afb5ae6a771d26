package console

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"triplane.dev/console"
	"triplane.dev/generic/base/egress/egresstest"
)

// evilPod is a pod whose pages any user may open.
const evilPod = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: v1
kind: Pod
metadata: {name: evil, namespace: default}
spec: {nodeName: evil, containers: [{name: c, image: i}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: opens-pods}
rules: [{apiGroups: [""], resources: [pods/proxy], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: opens-pods}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: opens-pods}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: system:unauthenticated}]
`

// evilPage tries what a page of the console's origin could do.
const evilPage = `<body><script>
const results = {}; window.results = results;
const attempt = (name, what) => what().then(v => { results[name] = 'done: ' + v }, e => { results[name] = 'refused: ' + e });
attempt('worker', async () => (await navigator.serviceWorker.register('worker.js', {scope: '/'})).scope);
attempt('narrow worker', async () => (await navigator.serviceWorker.register('worker.js')).scope);
attempt('storage', async () => { localStorage.setItem('a', 'b'); return localStorage.getItem('a') });
attempt('cookies', async () => { document.cookie = 'a=b'; return document.cookie });
attempt('api', async () => (await fetch('/version', {credentials: 'include'})).status);
attempt('frame', async () => {
	const f = document.createElement('iframe');
	f.src = '/console/';
	await new Promise(loaded => { f.onload = loaded; document.body.append(f) });
	return f.contentDocument.querySelector('#token').value;
});
attempt('console', async () => {
	const w = window.open('/console/');
	for (let i = 0; i < 20; i++) {
		await new Promise(later => setTimeout(later, 100));
		if (w.document.querySelector('#token, .user')) return 'the page';
	}
	throw 'there is no page';
});
</script></body>`

// What a pod answers has the console's origin. Its author would have a service worker serve the console from then on,
// or read the token of its user, if the page were not sandboxed.
func TestPagesOfPodsAreSandboxed(t *testing.T) {
	t.Parallel()
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Service-Worker-Allowed", "/")
		w.Header().Set("Set-Cookie", "evil=1; Path=/")
		w.Header().Set("Content-Type", "text/html")
		text := evilPage
		if filepath.Ext(r.URL.Path) == ".js" {
			w.Header().Set("Content-Type", "text/javascript")
			text = `self.onfetch = e => e.respondWith(new Response('mine'))`
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(pod.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := egresstest.HTTPConnect(t, l)
	proxy.Route = func(string) string { return pod.Listener.Addr().String() }
	file := filepath.Join(t.TempDir(), "egress.yaml")
	text := fmt.Sprintf("apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\n"+
		"egressSelections: [{name: cluster, connection: {proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://%s'}}}}]\n", l.Addr())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--egress-selector-config-file="+file)
	s.KubectlIn(t, evilPod, "apply", "--server-side", "-f", "-")
	s.Kubectl(t, "patch", "pod", "evil", "--subresource=status", "--type=merge", "-p", `{"status":{"podIP":"192.0.2.7","podIPs":[{"ip":"192.0.2.7"}]}}`)

	b := open(t)
	b.do(t, visit(address(s)+console.Path, signIn("admin-token")), reads(".user", "boss"))
	var results map[string]string
	b.do(t, visit(address(s)+"/api/v1/namespaces/default/pods/evil:80/proxy/", ""),
		until(`Object.keys(window.results ?? {}).length === 7`), chromedp.Evaluate(`window.results`, &results))
	for name, result := range results {
		if len(result) < 7 || result[:7] != "refused" {
			t.Errorf("%s: %s", name, result)
		}
	}
	b.do(t, visit(address(s)+console.Path, signIn("admin-token")), reads(".user", "boss"),
		until(`navigator.serviceWorker.getRegistrations().then(r => { window.workers = r.length }) && true`), until(`window.workers === 0`),
		until(`document.cookie === '' && localStorage.length === 0`))
}
