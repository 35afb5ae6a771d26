package handlers

import (
	"context"
	"io"
	"net/http"
	"time"

	"golang.org/x/net/websocket"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
	"triplane.dev/internal/worker"
)

// serveWebSocket sends each event as a message: text for JSON, else binary. Any
// subprotocol that the client offers is as good as another, and none is chosen.
func serveWebSocket(ctx context.Context, w http.ResponseWriter, req *http.Request, stream rest.EventStream,
	enc *responsewriters.EventEncoder) {
	w.Header().Set("Content-Type", negotiation.StreamName(enc.MediaType()))
	enc.Messages = true
	server := websocket.Server{
		// Authentication has let the client in; browsers' origins are the
		// business of CORS.
		Handshake: func(*websocket.Config, *http.Request) error { return nil },
		Handler:   func(ws *websocket.Conn) { serveMessages(ctx, ws, stream, enc) },
	}
	server.ServeHTTP(w, req)
}

// serveMessages serves a watch until its context ends, or the client goes. What the client says
// means nothing.
func serveMessages(ctx context.Context, ws *websocket.Conn, stream rest.EventStream,
	enc *responsewriters.EventEncoder) {
	ctx, cancel := context.WithCancel(ctx)
	// A client that reads no more must not hold the watch beyond its time: nothing else closes
	// the connection, which has been taken over.
	context.AfterFunc(ctx, func() { _ = ws.SetWriteDeadline(time.Now().Add(stuckWatch)) })
	gone := make(chan struct{})
	worker.Go(func() {
		defer close(gone)
		defer cancel()
		_, _ = io.Copy(io.Discard, ws)
	})
	pump(ctx, stream, enc, func(message []byte) error {
		if enc.MediaType() == wire.JSON {
			return websocket.Message.Send(ws, string(message))
		}
		return websocket.Message.Send(ws, message)
	})
	cancel()
	_ = ws.Close()
	<-gone
}
