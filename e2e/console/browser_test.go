package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds each wait for something to appear.
const patience = 30 * time.Second

// chromium finds the browser, or installs Debian's package.
var chromium = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	if path, err := lookForChromium(); err == nil {
		return path, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", errors.New("the tests of the console need Chromium: install it (Debian and Ubuntu: apt-get install chromium), or name a browser in $CHROMIUM")
	}
	for _, args := range [][]string{{"update"},
		{"install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"}} {
		cmd := exec.Command(apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("the tests of the console need Chromium, and apt-get %s fails: %w\n%s", args[0], err, out)
		}
	}
	return lookForChromium()
})

func lookForChromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// browser is a tab of a browser of its own, with what the page complained about.
type browser struct {
	context.Context

	mu         sync.Mutex
	complaints []string
}

// open starts a browser with an empty profile.
func open(t *testing.T) *browser {
	t.Helper()
	path, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless,
		chromedp.DisableGPU, chromedp.NoSandbox,
		chromedp.UserDataDir(profile(t)), chromedp.WindowSize(1360, 860), chromedp.IgnoreCertErrors,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true),
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	quiet := log.New(io.Discard, "", 0)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(quiet.Printf))
	t.Cleanup(cancel)
	b := &browser{Context: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	if err := chromedp.Run(ctx, cdplog.Enable()); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	return b
}

// profile is an empty folder for a browser, whose processes end after it.
func profile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "console")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var err error
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
		}
		t.Error(err)
	})
	return dir
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Error())
	case *cdplog.EventEntryAdded:
		// Refused requests are logged as well, and part of some tests.
		if e.Entry.Level == cdplog.LevelError && !strings.HasPrefix(e.Entry.Text, "Failed to load resource") {
			b.complaints = append(b.complaints, e.Entry.Text)
		}
	}
}

// quiet fails the test if the page threw, or broke its own policy.
func (b *browser) quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		t.Errorf("the page complains: %s", c)
	}
}

// do runs actions, each bounded by patience, and keeps a picture of the page where one fails.
func (b *browser) do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	for i, a := range actions {
		ctx, cancel := context.WithTimeout(b, patience)
		err := chromedp.Run(ctx, a)
		cancel()
		if err != nil {
			t.Fatalf("step %d of %d: %v\nthe page says:\n%s", i+1, len(actions), err, b.text())
		}
	}
}

// text is what is to be read on the page.
func (b *browser) text() (text string) {
	ctx, cancel := context.WithTimeout(b, 5*time.Second)
	defer cancel()
	_ = chromedp.Run(ctx, chromedp.Evaluate(`document.body.innerText`, &text)) // it only explains
	return text
}

// until waits until an expression is true in the page; one that throws is not yet true.
func until(format string, args ...any) chromedp.Action {
	expression := fmt.Sprintf(format, args...)
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			var is bool
			err := chromedp.Evaluate("!!("+expression+")", &is).Do(ctx)
			if is && err == nil {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s: %w", expression, errors.Join(ctx.Err(), err))
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}

// reads waits until the text of the first element of a selector contains a text.
func reads(selector, text string) chromedp.Action {
	return until(`document.querySelector(%q)?.innerText.includes(%q)`, selector, text)
}

// visit opens a page.
func visit(address, fragment string) chromedp.Action {
	return chromedp.Navigate(address + fragment)
}

// show goes to a view of the console that is open.
func show(fragment string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf("location.hash = %q", fragment), nil)
}

// write replaces the text of the editor.
func write(text string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf(`(area => { area.value = %q; area.dispatchEvent(new Event('input', {bubbles: true})); })(document.querySelector('.editor textarea'))`, text), nil)
}

// size sets the size of the page, and whether it is to be dark.
func size(width, height int64, dark bool) chromedp.Action {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	return chromedp.Tasks{
		emulation.SetDeviceMetricsOverride(width, height, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
			Value: scheme}}),
	}
}

// picture keeps a screenshot, where somebody wants them.
func (b *browser) picture(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	var png []byte
	b.do(t, chromedp.CaptureScreenshot(&png))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}

// signIn is the fragment with which a page signs in.
func signIn(token string) string { return "#token=" + url.QueryEscape(token) }
