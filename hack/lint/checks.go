package main

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/kisielk/errcheck/errcheck"
	"github.com/sanposhiho/wastedassign/v2"
	"github.com/sashamelentyev/usestdlibvars/pkg/analyzer"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"github.com/ultraware/funlen"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/appends"
	"golang.org/x/tools/go/analysis/passes/asmdecl"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/composite"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/framepointer"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stdversion"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/quickfix"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// check is an analyzer under the name that //nolint comments know it by.
type check struct {
	name     string
	analyzer *analysis.Analyzer
	// prefixed says that findings begin with the analyzer's name.
	prefixed bool
}

// maxLines and maxStatements are how long a function may be.
const maxLines, maxStatements = 80, 50

// vetted are the analyzers of go vet.
var vetted = []*analysis.Analyzer{
	appends.Analyzer, asmdecl.Analyzer, assign.Analyzer, atomic.Analyzer, bools.Analyzer, buildtag.Analyzer,
	composite.Analyzer, copylock.Analyzer, defers.Analyzer, directive.Analyzer, errorsas.Analyzer, framepointer.Analyzer,
	hostport.Analyzer, httpresponse.Analyzer, ifaceassert.Analyzer, loopclosure.Analyzer, lostcancel.Analyzer,
	nilfunc.Analyzer, printf.Analyzer, shift.Analyzer, sigchanyzer.Analyzer, slog.Analyzer, stdmethods.Analyzer,
	stdversion.Analyzer, stringintconv.Analyzer, structtag.Analyzer, testinggoroutine.Analyzer, tests.Analyzer,
	timeformat.Analyzer, unmarshal.Analyzer, unreachable.Analyzer, unsafeptr.Analyzer, unusedresult.Analyzer, waitgroup.Analyzer,
}

// leftOut are the analyzers of staticcheck that are not used.
var leftOut = []string{
	"ST1000", // packageComments says the same
	"QF1008", // the name of an embedded field often says what is meant
}

func newChecks() ([]check, error) {
	if err := excludeCalls(); err != nil {
		return nil, err
	}
	checks := []check{
		{name: "errcheck", analyzer: errcheck.Analyzer},
		{name: "ineffassign", analyzer: ineffassign.Analyzer},
		{name: "bodyclose", analyzer: bodyclose.Analyzer},
		{name: "errorlint", analyzer: errorlint.NewAnalyzer(errorlint.WithComparison(true), errorlint.WithAsserts(true))},
		{name: "funlen", analyzer: funlen.NewAnalyzer(maxLines, maxStatements, true)},
		{name: "usestdlibvars", analyzer: analyzer.New()},
		{name: "wastedassign", analyzer: wastedassign.Analyzer},
		{name: "unconvert", analyzer: conversions},
		{name: "unparam", analyzer: parameters},
		{name: "unused", analyzer: unusedCode},
		{name: "misspell", analyzer: spelling},
		{name: "revive", analyzer: exported},
		{name: "revive", analyzer: packageComments},
		{name: "revive", analyzer: unusedParameters},
		{name: "gochecknoinits", analyzer: inits},
		{name: "copyloopvar", analyzer: loopCopies},
	}
	for _, a := range vetted {
		checks = append(checks, check{name: "govet", analyzer: a, prefixed: true})
	}
	for _, some := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers, quickfix.Analyzers} {
		for _, a := range some {
			if !slices.Contains(leftOut, a.Analyzer.Name) {
				checks = append(checks, check{name: "staticcheck", analyzer: a.Analyzer, prefixed: true})
			}
		}
	}
	return checks, nil
}

// unchecked are calls whose errors are of no use.
var unchecked = []string{
	// A response to a client that has gone cannot be reported to anybody.
	"io.WriteString(net/http.ResponseWriter)",
	"fmt.Fprint(net/http.ResponseWriter)",
	"fmt.Fprintf(net/http.ResponseWriter)",
	"fmt.Fprintln(net/http.ResponseWriter)",
	"(net/http.ResponseWriter).Write",
	// Hashes do not fail; a tabwriter's error is that of its Flush.
	"fmt.Fprintf(hash.Hash)",
	"fmt.Fprint(*text/tabwriter.Writer)",
	"fmt.Fprintln(*text/tabwriter.Writer)",
	// What was read to its end, or given up, has nothing left to fail.
	"(io.Closer).Close",
	"(io.ReadCloser).Close",
	"(net.Conn).Close",
	"(net.Listener).Close",
}

// excludeCalls gives errcheck the calls of unchecked, which it reads from a file.
func excludeCalls() error {
	f, err := os.CreateTemp("", "errcheck")
	if err != nil {
		return err
	}
	if _, err := f.WriteString(strings.Join(unchecked, "\n")); err != nil {
		return err
	}
	return errors.Join(f.Close(), errcheck.Analyzer.Flags.Set("exclude", f.Name()))
}

// exclusion is a kind of finding that is not shown, where all of its expressions match.
type exclusion struct {
	check              string
	file, text, source *regexp.Regexp
}

var exclusions = []exclusion{
	// An API server serves the fields and kinds that clients are advised against.
	{check: "staticcheck", text: regexp.MustCompile(`SA1019: .*k8s.io/(api|apimachinery/pkg/apis/meta/v1)`)},
	// Plugins of KMS v1 are for those who set its gate.
	{check: "staticcheck", file: regexp.MustCompile(`^generic/storage/encryption/`),
		text: regexp.MustCompile(`SA1019: .*(k8s.io/kms/apis/v1beta1|kms/apis/v1beta1/api.proto)`)},
	// The benchmark opens connections of HTTP/2 itself; net/http's client shares them among requests.
	{check: "staticcheck", file: regexp.MustCompile(`^e2e/bench/`),
		text: regexp.MustCompile(`SA1019: .*golang.org/x/net/http2`)},
	// A table of cases, or a story, is as long as what it tests.
	{check: "funlen", file: regexp.MustCompile(`_test\.go$`)},
	// Closing and cleaning up in a test fails the test by what it leaves behind.
	{check: "errcheck", file: regexp.MustCompile(`_test\.go$`),
		source: regexp.MustCompile(`\.(Close|Remove|RemoveAll|Stop|Kill|Signal|Write|WriteString)\(|Fprint`)},
}

func excluded(f finding) bool {
	return slices.ContainsFunc(exclusions, func(e exclusion) bool {
		return e.check == f.check && (e.file == nil || e.file.MatchString(f.file)) &&
			(e.text == nil || e.text.MatchString(f.text)) && (e.source == nil || e.source.MatchString(sourceLine(f)))
	})
}

func sourceLine(f finding) string {
	content, err := os.ReadFile(f.at.Filename)
	if err != nil {
		return ""
	}
	lines := strings.Split(string(content), "\n")
	if f.at.Line < 1 || f.at.Line > len(lines) {
		return ""
	}
	return lines[f.at.Line-1]
}
