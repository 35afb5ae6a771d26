package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
)

// ProfilingOptions configures profiling.
type ProfilingOptions struct {
	// EnableProfiling (--profiling) serves profiles below /debug/pprof/ and the log verbosity at /debug/flags/v.
	// EnableContentionProfiling (--contention-profiling) also samples blocking, if profiles are served.
	EnableProfiling           bool
	EnableContentionProfiling bool
	// DebugSocketPath (--debug-socket-path) is a Unix socket that serves them without authentication; "" disables
	// it.
	DebugSocketPath string
}

// debugHandlers returns the debug handlers by path. Paths with a trailing slash are prefixes.
func debugHandlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/debug/pprof": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/debug/pprof/", http.StatusFound)
		},
		"/debug/pprof/":        pprof.Index,
		"/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol":  pprof.Symbol,
		"/debug/pprof/trace":   pprof.Trace,
		"/debug/flags":         listVerbosity,
		"/debug/flags/":        listVerbosity,
		"/debug/flags/v":       putVerbosity,
	}
}

func (s *GenericAPIServer) installProfiling() {
	if !s.config.EnableProfiling {
		return
	}
	for path, h := range debugHandlers() {
		if strings.HasSuffix(path, "/") {
			s.Handler.NonGoRestfulMux.UnlistedHandlePrefix(path, h)
		} else {
			s.Handler.NonGoRestfulMux.UnlistedHandleFunc(path, h)
		}
	}
	if s.config.EnableContentionProfiling {
		goruntime.SetBlockProfileRate(1)
	}
}

// listVerbosity lists the flags that can be set, which is one.
func listVerbosity(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(w, `<!DOCTYPE html><title>/debug/flags/</title><p>flags that PUT sets: v</p>`)
}

// maxVerbosity bounds the body of a request that sets the verbosity.
const maxVerbosity = 64

// putVerbosity sets the log verbosity to the number in the body. klog has one verbosity per process, so servers in
// the same process share it. The status codes are those of kube-apiserver.
func putVerbosity(w http.ResponseWriter, r *http.Request) {
	respond := func(code int, text any) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(code)
		fmt.Fprintln(w, text)
	}
	if r.Method != http.MethodPut {
		respond(http.StatusNotAcceptable, "unsupported http method")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxVerbosity))
	if err != nil {
		respond(http.StatusBadRequest, "the body is not a number")
		return
	}
	text := strings.TrimSpace(string(body))
	if _, err := strconv.ParseUint(text, 10, 31); err != nil {
		respond(http.StatusBadRequest, err)
		return
	}
	var level klog.Level
	if err := level.Set(text); err != nil {
		respond(http.StatusBadRequest, err)
		return
	}
	respond(http.StatusOK, "successfully set klog.logging.verbosity to "+text)
}

// logsDir is the directory that /logs serves.
const logsDir = "/var/log"

// installLogs serves the host's logs, if enabled.
func (s *GenericAPIServer) installLogs() {
	if !s.config.EnableLogs {
		return
	}
	mux := s.Handler.NonGoRestfulMux
	mux.Handle("/logs", http.RedirectHandler("/logs/", http.StatusMovedPermanently))
	mux.HandlePrefix("/logs/", http.StripPrefix("/logs/", http.FileServer(http.Dir(logsDir))))
}

// serveDebugSocket serves profiles at a Unix socket until the returned function is called. It replaces the socket
// of a previous process.
func serveDebugSocket(path string) (stop func(), err error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("--debug-socket-path: %w", err)
		}
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("--debug-socket-path: %w", err)
	}
	mux := http.NewServeMux()
	for path, h := range debugHandlers() {
		mux.HandleFunc(path, h)
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	worker.Go(func() {
		defer close(done)
		_ = srv.Serve(listener)
	})
	return func() {
		_ = srv.Close() // the listener is closed in any case
		<-done
	}, nil
}
