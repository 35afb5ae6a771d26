package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/tools/remotecommand"
	spdytransport "k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"triplane.dev/generic/api/rest"
	"triplane.dev/internal/worker"
)

// Streams are those of a command in a container.
type Streams struct{ Stdin, Stdout, Stderr, TTY bool }

const (
	// idleStream ends a connection on which nothing happens.
	idleStream = 4 * time.Hour
	// pingStream keeps a connection to a kubelet alive.
	pingStream = 5 * time.Second
)

// Exec connects a client to a command in a container, one that runs or a new one.
// SPDY and the WebSocket protocols that kubelets speak are passed on as they are.
// v5.channel.k8s.io, in which a client can close its input, is translated to SPDY
// (KEP 4006); kubelets that speak it themselves are reached with Upgrade.
func (c *Client) Exec(location *url.URL, streams Streams, r rest.Responder) http.Handler {
	passed := c.Upgrade(location, r)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !wsstream.IsWebSocketRequestWithStreamCloseProtocol(req) {
			passed.ServeHTTP(w, req)
			return
		}
		s, err := openWebSocket(w, req, streams)
		if err != nil {
			klog.V(3).InfoS("A WebSocket did not open", "err", err)
			return // the handshake has answered
		}
		defer func() { _ = s.conn.Close() }() // all streams have ended
		s.finish(c.run(req.Context(), location, s))
	})
}

// webSocket is a client's connection with a channel for each stream.
type webSocket struct {
	conn                    *wsstream.Conn
	streams                 Streams
	stdin, resize           io.Reader
	stdout, stderr, failure io.WriteCloser
}

// openWebSocket does the handshake. The channels are stdin, stdout, stderr, errors
// and sizes of the terminal, in this order.
func openWebSocket(w http.ResponseWriter, req *http.Request, streams Streams) (*webSocket, error) {
	kinds := []wsstream.ChannelType{wsstream.IgnoreChannel, wsstream.IgnoreChannel, wsstream.IgnoreChannel,
		wsstream.WriteChannel, wsstream.ReadChannel}
	if streams.Stdin {
		kinds[constants.StreamStdIn] = wsstream.ReadChannel
	}
	if streams.Stdout {
		kinds[constants.StreamStdOut] = wsstream.WriteChannel
	}
	if streams.Stderr {
		kinds[constants.StreamStdErr] = wsstream.WriteChannel
	}
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		constants.StreamProtocolV5Name: {Binary: true, Channels: kinds},
	})
	conn.SetIdleTimeout(idleStream)
	_, channels, err := conn.Open(w, req)
	if err != nil {
		return nil, err
	}
	return &webSocket{
		conn: conn, streams: streams,
		stdin: channels[constants.StreamStdIn], resize: channels[constants.StreamResize],
		stdout: channels[constants.StreamStdOut], stderr: channels[constants.StreamStdErr],
		failure: channels[constants.StreamErr],
	}, nil
}

// run connects the streams to the kubelet over SPDY until the command or the
// client ends.
func (c *Client) run(ctx context.Context, location *url.URL, s *webSocket) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connect, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{UpgradeTransport: c.Transport(),
		PingPeriod: pingStream})
	if err != nil {
		return err
	}
	executor, err := remotecommand.NewSPDYExecutorRejectRedirects(connect, spdytransport.NewUpgraderForStreaming(connect),
		http.MethodPost, location)
	if err != nil {
		return err
	}
	options := remotecommand.StreamOptions{Tty: s.streams.TTY}
	if s.streams.Stdin {
		options.Stdin = s.stdin
	}
	if s.streams.Stdout {
		options.Stdout = s.stdout
	}
	if s.streams.Stderr {
		options.Stderr = s.stderr
	}
	sizes := make(sizeQueue)
	worker.Go(func() {
		defer cancel() // the client is gone
		sizes.read(ctx, s.resize)
	})
	if s.streams.TTY {
		options.TerminalSizeQueue = sizes
	}
	return executor.StreamWithContext(ctx, options)
}

// finish sends how the command ended.
func (s *webSocket) finish(err error) {
	b, marshalErr := json.Marshal(endStatus(err))
	if marshalErr == nil {
		_, _ = s.failure.Write(b)
	}
}

func endStatus(err error) *metav1.Status {
	if err == nil {
		return &metav1.Status{Status: metav1.StatusSuccess}
	}
	var code exec.CodeExitError
	if !errors.As(err, &code) {
		status := apierrors.NewInternalError(err).Status()
		return &status
	}
	return &metav1.Status{
		Status:  metav1.StatusFailure,
		Reason:  constants.NonZeroExitCodeReason,
		Message: fmt.Sprintf("command terminated with non-zero exit code: %v", err),
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: constants.ExitCodeCauseType,
			Message: strconv.Itoa(code.Code)}}},
	}
}

// sizeQueue hands over the sizes of a client's terminal; it is closed when the
// client is gone.
type sizeQueue chan remotecommand.TerminalSize

// Next implements remotecommand.TerminalSizeQueue.
func (q sizeQueue) Next() *remotecommand.TerminalSize {
	size, ok := <-q
	if !ok {
		return nil
	}
	return &size
}

func (q sizeQueue) read(ctx context.Context, from io.Reader) {
	defer close(q)
	sizes := json.NewDecoder(from)
	for {
		var size remotecommand.TerminalSize
		if err := sizes.Decode(&size); err != nil {
			return
		}
		select {
		case q <- size:
		case <-ctx.Done():
			return
		}
	}
}
