package console

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/client-go/rest"

	"triplane.dev/console"
	"triplane.dev/e2e/harness"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: checkout
  namespace: default
  labels:
    app.kubernetes.io/name: checkout
spec:
  replicas: 3
  selector:
    matchLabels:
      app: checkout
  template:
    metadata:
      labels:
        app: checkout
    spec:
      containers:
      - name: server
        image: registry.example.com/checkout:1.8.2
        ports:
        - containerPort: 8080
        resources:
          requests:
            cpu: 100m
            memory: 64Mi
`

// The pages hold together in the sizes and colours that people have: nothing is wider than
// a narrow screen but what scrolls by itself. The pictures are kept where $SCREENSHOTS says.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.KubectlIn(t, gadgets+"---\n"+overlapping, "apply", "-f", "-")
	s.KubectlIn(t, deployment, "apply", "-f", "-")
	fill(t, s, 60)
	b := open(t)
	b.do(t, size(1360, 860, false), visit(address(s)+console.Path, ""), chromedp.WaitVisible("#token"))
	b.picture(t, "signin")
	b.do(t, visit(address(s)+console.Path, signIn("admin-token")), reads(".user", "boss"), reads(".figures", "Memory"),
		chromedp.SetValue("#path", "/apis/shop.example.com/v1/gadgets"), chromedp.Click(".ask button"),
		reads("#answer", "apiextensions-apiserver answers"))
	traffic(t, s)
	b.do(t, until(`(document.querySelector('.node[data-server="kube-apiserver"] polyline').getAttribute('points') ?? '').split(' ').length > 2`))
	b.picture(t, "chain")
	b.do(t, show("#/r/core/v1/configmaps?ns=many"), reads("#state", "60"))
	b.picture(t, "table")
	b.do(t, show("#/o/apps/v1/deployments/default/checkout"), until(`document.querySelector('.editor textarea')?.value.includes('checkout')`),
		chromedp.Evaluate(`(a => { a.value = a.value.replace('containerPort: 8080', 'containerPort: 80800').replace('replicas: 3', 'replicas: -1'); a.dispatchEvent(new Event('input')); })(document.querySelector('.editor textarea'))`, nil),
		chromedp.Click("#review"), until(`document.querySelectorAll('.mark[data-line]').length === 2`),
		chromedp.Evaluate(`document.querySelector('main').scrollTop = 0`, nil))
	b.do(t, size(1360, 860, true))
	b.picture(t, "edit-dark")
	b.do(t, show("#/apis"), reads(".view", "Established"))
	b.picture(t, "apis-dark")
	b.do(t, show("#/schema/apps/v1/Deployment"), reads(".schema", "Deployment"), chromedp.Click(`//summary[b="spec"]`))
	b.picture(t, "schema-dark")
	b.do(t, size(390, 800, false))
	for _, fragment := range []string{"#/", "#/r/core/v1/configmaps?ns=many",
		"#/o/apps/v1/deployments/default/checkout", "#/access", "#/apis", "#/new"} {
		b.do(t, show(fragment), until(`document.querySelector('main .view')?.childElementCount > 0`), until(`document.documentElement.scrollWidth <= 390 && document.querySelector('main').scrollWidth <= document.querySelector('main').clientWidth`))
		b.picture(t, "narrow"+fmt.Sprint(len(fragment)))
	}
	b.do(t, show("#/access"), reads(".view", "Your rules"), size(1360, 860, false))
	b.picture(t, "access")
	b.do(t, visit(address(s)+console.SwaggerPath, signIn("admin-token")), until(`document.querySelectorAll('.opblock-tag-section').length > 0`))
	b.picture(t, "swagger")
	b.quiet(t)
}

// traffic gives the chain something to show, where somebody wants pictures.
func traffic(t *testing.T, s *harness.Server) {
	t.Helper()
	if os.Getenv("SCREENSHOTS") == "" {
		return
	}
	client, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/api/v1/namespaces/many/configmaps?limit=20", "/api/v1/namespaces/default/pods",
		"/apis/shop.example.com/v1/gadgets", "/version", "/apis/hidden.example.com/v1/things", "/nothing/here"}
	weights := []int{9, 12, 7, 3, 1, 1}
	for round, end := 0, time.Now().Add(40*time.Second); time.Now().Before(end); round++ {
		for i, path := range paths {
			for range max(0, weights[i]+round%7-3) {
				resp, err := client.Get(address(s) + path)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
		}
	}
}
