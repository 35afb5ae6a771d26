package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/client-go/rest"

	"triplane.dev/console"
	"triplane.dev/e2e/harness"
)

// start runs a server with somebody who may only read config maps of one namespace.
func start(t *testing.T, args ...string) *harness.Server {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("jane-token,jane,1\nadmin-token,boss,2,system:masters\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, append([]string{"--token-auth-file", tokens}, args...)...)
	s.Kubectl(t, "create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps")
	s.Kubectl(t, "create", "rolebinding", "reader", "--role=reader", "--user=jane")
	return s
}

func address(s *harness.Server) string { return fmt.Sprintf("https://127.0.0.1:%d", s.Port) }

const gadgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.shop.example.com
spec:
  group: shop.example.com
  scope: Namespaced
  names:
    plural: gadgets
    kind: Gadget
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What the gadget is to be.
            properties:
              size:
                type: integer
                maximum: 10
`

const gadget = `apiVersion: shop.example.com/v1
kind: Gadget
metadata:
  name: alpha
  namespace: default
spec:
  size: %s
`

// What an administrator does in a day: signs in, looks at the chain, defines a kind, makes
// an object of it, is told what is wrong with it, and sees what others change.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t)
	b.do(t,
		visit(address(s), console.Path),
		until(`document.querySelector('#token') === document.activeElement`),
		chromedp.SendKeys("#token", "wrong\n"), reads(".signin .note", "Unauthorized"),
		chromedp.SendKeys("#token", "admin-token\n"), reads(".user", "boss"),
		reads(".node[data-server=kube-apiserver]", "Core"), reads(".node[data-server=kube-aggregator]", "claims"),
		until(`Number(document.querySelector('.node[data-server="kube-aggregator"] dd')?.innerText) >= 0`),
		reads(".figures", "Memory"))
	b.do(t,
		chromedp.SetValue("#path", "/apis/shop.example.com/v1/gadgets"), chromedp.Click(".ask button"),
		reads("#answer", "none answers"))

	b.do(t, show("#/new"), chromedp.WaitVisible(".editor textarea"), write(gadgets), chromedp.Click("#save"),
		reads(".result", "gadgets.shop.example.com applied"),
		until(`[...document.querySelectorAll('#resources a')].some(a => a.textContent === 'gadgets')`))

	b.do(t, show("#/new?gv=shop.example.com/v1&kind=Gadget&ns=default"), reads("#title", "Apply"), until(`document.querySelector('.editor textarea').value.includes('Gadget')`),
		write(fmt.Sprintf(gadget, "eleven")), chromedp.Click("#save"),
		reads(".mark[data-line=\"7\"]", "expected numeric"),
		write(fmt.Sprintf(gadget, "11")), chromedp.Click("#save"),
		reads(".mark[data-line=\"7\"]", "less than or equal to 10"),
		write(strings.Replace(fmt.Sprintf(gadget, "3"), "size", "sise", 1)), chromedp.Click("#save"),
		reads(".mark[data-line=\"7\"]", "not declared in schema"),
		write(fmt.Sprintf(gadget, "3")), chromedp.Click("#save"), reads(".result", "alpha applied"))

	b.do(t, show("#/r/shop.example.com/v1/gadgets"), reads(".rows .row", "alpha"))
	s.KubectlIn(t, strings.Replace(fmt.Sprintf(gadget, "4"), "alpha", "beta", 1), "create", "-f", "-")
	b.do(t, until(`document.querySelectorAll('.rows .row').length === 2`))

	b.do(t, show("#/o/shop.example.com/v1/gadgets/default/alpha"), until(`document.querySelector('.editor textarea')?.value.includes('size: 3')`),
		until(`!document.querySelector('.editor textarea').value.includes('managedFields')`))
	s.Kubectl(t, "patch", "gadget", "alpha", "--type=merge", "-p", `{"spec":{"size":5}}`)
	b.do(t, until(`document.querySelector('.editor textarea').value.includes('size: 5')`),
		chromedp.Evaluate(`(a => { a.value = a.value.replace('size: 5', 'size: 7'); a.dispatchEvent(new Event('input')); })(document.querySelector('.editor textarea'))`, nil),
		chromedp.Click("#review"), reads(".diff .added", "size: 7"), chromedp.Click("#save"),
		reads(".result", "Written"))
	if size := s.Kubectl(t, "get", "gadget", "alpha", "-o", "jsonpath={.spec.size}"); size != "7" {
		t.Errorf("the size is %s", size)
	}
	b.do(t, show("#/schema/shop.example.com/v1/Gadget"), reads(".schema", "What the gadget is to be."),
		show("#/access"), chromedp.WaitVisible("#verdict", chromedp.NodeReady), chromedp.Click(".view form button"),
		reads("#verdict", "yes"),
		show("#/apis"), reads(".view", "Established"))
	b.quiet(t)
}

// jane sees what she may see, and is told what she may not.
func TestConsoleOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Kubectl(t, "create", "configmap", "notes", "--from-literal=a=b")
	b := open(t)
	b.do(t, visit(address(s)+console.Path, signIn("jane-token")), reads(".user", "jane"),
		until(`location.hash === ''`),
		reads(".chain", "You may not see the chain"),
		show("#/r/core/v1/configmaps?ns=default"), until(`[...document.querySelectorAll('.rows .row')].some(r => r.innerText.includes('notes'))`),
		show("#/r/core/v1/secrets?ns=default"), reads("#state", "cannot list resource"),
		show("#/o/core/v1/configmaps/default/notes"), until(`document.querySelector('.editor textarea')?.value.includes('a: b')`),
		chromedp.Click("#save"), reads(".result", "cannot update resource"),
		show("#/audit"), reads(".view", "You may not see audit events"))
	b.quiet(t)
}

// What objects hold is text, whatever it looks like.
func TestScriptsInObjects(t *testing.T) {
	t.Parallel()
	s := start(t)
	const hostile = `<img src=x onerror="window.broken=1"><script>window.broken=1</script>`
	s.KubectlIn(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hostile","annotations":{"a":%[1]q}},"data":{"k":%[1]q}}`, hostile), "create", "-f", "-")
	s.KubectlIn(t, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"default"},"involvedObject":{"kind":"ConfigMap","name":"hostile","namespace":"default","uid":"`+
		s.Kubectl(t, "get", "configmap", "hostile", "-o",
			"jsonpath={.metadata.uid}")+fmt.Sprintf(`"},"reason":"Odd","message":%q,"type":"Normal"}`, hostile),
		"create", "-f", "-")
	b := open(t)
	b.do(t, visit(address(s)+console.Path, signIn("admin-token")), reads(".user", "boss"),
		show("#/o/core/v1/configmaps/default/hostile"), until(`document.querySelector('.editor textarea')?.value.includes('onerror')`),
		chromedp.Click(`//button[text()="Events"]`), reads("td:last-child", "onerror"),
		show("#/r/core/v1/events?ns=default"), reads(".rows .row", "onerror"),
		show("#/o/core/v1/configmaps/default/"+"%3Cimg%20src=x%20onerror=alert(1)%3E"),
		reads(".panel .note", "not found"),
		until(`window.broken === undefined && document.querySelector('main img, main script') === null`))
	b.quiet(t)
}

// A table of ten thousand objects has a screenful of rows in the document, and can be
// scrolled to its end at once.
func TestTenThousandObjects(t *testing.T) {
	t.Parallel()
	s := start(t)
	fill(t, s, 10000)
	b := open(t)
	var longest float64
	b.do(t, visit(address(s)+console.Path, signIn("admin-token")), reads(".user", "boss"),
		chromedp.Evaluate(`window.longest = 0; new PerformanceObserver(l => { for (const e of l.getEntries()) window.longest = Math.max(window.longest, e.duration); }).observe({type: 'longtask'})`, nil),
		show("#/r/core/v1/configmaps?ns=many"), reads("#state", "10000"),
		until(`document.querySelectorAll('.rows .row').length < 120`),
		chromedp.Evaluate(`document.querySelector('.grid').scrollTop = 1e9`, nil), until(`[...document.querySelectorAll('.rows .row')].some(r => r.innerText.includes('c-09999'))`),
		chromedp.SetValue("#filter", "c-04321"), chromedp.Evaluate(`document.querySelector('#filter').dispatchEvent(new Event('input'))`, nil),
		until(`document.querySelectorAll('.rows .row').length === 1`),
		chromedp.Evaluate(`window.longest`, &longest))
	t.Logf("the longest task took %v ms", longest)
	if longest > 2000 {
		t.Errorf("the page stalled for %v ms", longest)
	}
	b.quiet(t)
}

// fill makes config maps in a namespace, as few requests as there are at a time.
func fill(t *testing.T, s *harness.Server, n int) {
	t.Helper()
	s.Kubectl(t, "create", "namespace", "many")
	client, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	numbers, errs := make(chan int), make(chan error, 16)
	for range cap(errs) {
		go func() {
			var failed error
			for i := range numbers {
				resp, err := client.Post(address(s)+"/api/v1/namespaces/many/configmaps", "application/json",
					strings.NewReader(fmt.Sprintf(`{"metadata":{"name":"c-%05d"}}`, i)))
				if err != nil {
					failed = err
					continue
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusCreated {
					failed = fmt.Errorf("config map %d: %s", i, resp.Status)
				}
			}
			errs <- failed
		}()
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

// The audit tail shows what others do, with the server that answered.
func TestAuditTail(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--audit-policy-file", policy)
	b := open(t)
	b.do(t, visit(address(s)+console.Path, signIn("admin-token")), reads(".user", "boss"), show("#/audit"),
		chromedp.WaitVisible("table.audit"))
	s.Kubectl(t, "get", "configmaps", "--namespace", "looked-for")
	b.do(t, until(`[...document.querySelectorAll('table.audit tr')].some(r => r.innerText.includes('/namespaces/looked-for/configmaps') && r.innerText.includes('kube-apiserver'))`))
	b.quiet(t)
}

// Swagger UI shows a group version and sends a request with the token.
func TestSwaggerUI(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t)
	b.do(t, visit(address(s)+console.SwaggerPath, signIn("admin-token")),
		until(`document.querySelectorAll('#group option').length > 20`),
		until(`document.querySelectorAll('.opblock-tag-section').length > 0`),
		chromedp.SetValue("#group", "version"), chromedp.Evaluate(`document.querySelector('#group').dispatchEvent(new Event('change'))`, nil),
		until(`document.querySelectorAll('.opblock-tag').length === 1`), chromedp.Click(".opblock-summary-control"),
		chromedp.Click(".try-out__btn"), chromedp.Click(".execute"), reads(".live-responses-table", "gitVersion"))
	b.quiet(t)
}

// A link of "triplane console" signs in as the administrator, without a question.
func TestTokenOfTheCommand(t *testing.T) {
	t.Parallel()
	s := start(t)
	out := run(t, s, "console", "--no-browser")
	link := strings.TrimSpace(strings.Split(out, "\n")[0])
	if !strings.HasPrefix(link, address(s)+console.Path+"#token=triplane-console.") {
		t.Fatalf("the command prints %q", out)
	}
	b := open(t)
	b.do(t, chromedp.Navigate(link), reads(".user", "triplane-admin"), until(`location.hash === ''`))
	token := strings.SplitN(link, "#token=", 2)[1]

	for _, c := range []struct {
		what, token string
		code        int
	}{
		{"a token of a page", token, http.StatusForbidden},
		{"somebody without the right", "jane-token", http.StatusForbidden},
		{"a token that nobody issued", "triplane-console.ABC", http.StatusUnauthorized},
	} {
		if code := ask(t, s, http.MethodPost, console.TokenPath,
			map[string]string{"Authorization": "Bearer " + c.token}).code; code != c.code {
			t.Errorf("%s gets a token: %d", c.what, code)
		}
	}
	var issued console.Token
	resp := ask(t, s, http.MethodPost, console.TokenPath, map[string]string{"Authorization": "Bearer admin-token"})
	if err := json.Unmarshal(resp.body, &issued); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(issued.ExpirationTimestamp); left > console.TokenLifetime ||
		left < console.TokenLifetime-time.Minute {
		t.Errorf("the token ends in %v", left)
	}
}
