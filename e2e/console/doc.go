// Package console tests what shows the server to people: /debug/chain, the console in
// a real browser, Swagger UI, and the commands console and status.
//
// The browser is Chromium, which the tests drive with chromedp. It is looked for in
// the PATH as chromium, chromium-browser, google-chrome or chrome-headless-shell, and
// $CHROMIUM names another one. Root on a system with apt gets Debian's package
// installed; where there is no browser and no way to get one the tests fail and say
// so.
//
// Screenshots are written to the directory $SCREENSHOTS, if it is set. Those of the
// README are made with
//
//	SCREENSHOTS=$PWD/console/screenshots go test ./e2e/console -run Screenshots
package console
