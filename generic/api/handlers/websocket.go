package handlers

import (
	"context"
	"io"
	"net/http"
	"time"

	"golang.org/x/net/websocket"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/storage/wire"
	"triplane.dev/internal/worker"
)

// serveWebSocket sends each event as a message: text for JSON, else binary. Any
// subprotocol that the client offers is as good as another, and none is chosen.
func serveWebSocket(w http.ResponseWriter, req *http.Request, out *sender) {
	w.Header().Set("Content-Type", negotiation.StreamName(out.enc.MediaType()))
	out.enc.Messages = true
	server := websocket.Server{
		// Authentication has let the client in; browsers' origins are the
		// business of CORS.
		Handshake: func(*websocket.Config, *http.Request) error { return nil },
		Handler:   func(ws *websocket.Conn) { serveMessages(ws, out) },
	}
	server.ServeHTTP(w, req)
}

// serveMessages serves a watch until its context ends, or the client goes. What the client says
// means nothing.
func serveMessages(ws *websocket.Conn, out *sender) {
	// A client that reads no more must not hold the watch beyond its time: nothing else closes
	// the connection, which has been taken over.
	context.AfterFunc(out.ctx, func() { _ = ws.SetWriteDeadline(time.Now().Add(stuckWatch)) })
	gone := make(chan struct{})
	worker.Go(func() {
		defer close(gone)
		defer out.cancel()
		_, _ = io.Copy(io.Discard, ws)
	})
	out.send = func(message []byte) error {
		if out.enc.MediaType() == wire.JSON {
			return websocket.Message.Send(ws, string(message))
		}
		return websocket.Message.Send(ws, message)
	}
	out.pump()
	out.cancel()
	_ = ws.Close()
	<-gone
}
