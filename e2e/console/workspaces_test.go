package console

import (
	"testing"

	"github.com/chromedp/chromedp"

	"triplane.dev/console"
)

// The console lists workspaces, enters one, and leaves it; its address is that of the workspace.
func TestWorkspacesInTheConsole(t *testing.T) {
	t.Parallel()
	s := start(t, "--workspaces")
	run(t, s, "workspace", "create", "blue", "--admin", "jane")
	s.Kubectl(t, "--server", address(s)+"/workspaces/blue", "create", "configmap", "inside")
	s.Kubectl(t, "create", "configmap", "outside")
	b := open(t)
	in := func(name string) chromedp.Action {
		return until(`[...document.querySelectorAll('.rows .row')].some(r => r.innerText.includes(%q))`, name)
	}
	const maps = "#/r/core/v1/configmaps?ns=default"
	b.do(t, visit(address(s)+console.Path, signIn("admin-token")), reads(".user", "boss"),
		show("#/r/workspaces.triplane.dev/v1alpha1/workspaces"), in("blue"), show(maps), in("outside"),
		show("#/o/workspaces.triplane.dev/v1alpha1/workspaces/-/blue"), chromedp.WaitVisible("#enter"), chromedp.Click("#enter"),
		reads("#workspace", "blue"), reads(".user", "boss"), until(`location.search === '?workspace=blue'`),
		reads(".view", "Definitions"), until(`![...document.querySelectorAll('nav a')].some(a => a.textContent === 'Audit')`),
		show(maps), in("inside"), until(`!document.body.innerText.includes('outside')`),
		chromedp.Click("#leave"), until(`!document.querySelector('#workspace')`), show(maps), in("outside"),
		until(`!document.body.innerText.includes('inside')`))
	b.quiet(t)

	jane := open(t)
	jane.do(t, visit(address(s)+console.Path+"?workspace=blue", signIn("jane-token")), reads("#workspace", "blue"), reads(".user", "jane"),
		show(maps), in("inside"))
	jane.quiet(t)
}
