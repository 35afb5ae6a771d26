package handlers

import (
	"context"
	"net/http"

	"golang.org/x/net/websocket"

	"triplane/generic/endpoints/negotiation"
	"triplane/generic/registry/rest"
	"triplane/generic/wire"
	"triplane/internal/worker"
)

// serveWebSocket sends each event as a message: text for JSON, else binary. Any
// subprotocol that the client offers is as good as another, and none is chosen.
func serveWebSocket(ctx context.Context, w http.ResponseWriter, req *http.Request, stream rest.EventStream, enc *eventEncoder) {
	w.Header().Set("Content-Type", negotiation.StreamName(enc.out.MediaType))
	server := websocket.Server{
		// Authentication has let the client in; browsers' origins are the
		// business of CORS.
		Handshake: func(*websocket.Config, *http.Request) error { return nil },
		Handler: func(ws *websocket.Conn) {
			ctx, cancel := context.WithCancel(ctx)
			done := make(chan struct{})
			worker.Go(func() {
				defer close(done)
				defer cancel()
				discard(ws)
			})
			serveMessages(ctx, ws, stream, enc)
			_ = ws.Close()
			<-done
		},
	}
	server.ServeHTTP(w, req)
}

// discard reads until the client goes: what it says means nothing.
func discard(ws *websocket.Conn) {
	var data []byte
	for websocket.Message.Receive(ws, &data) == nil {
		data = nil
	}
}

func serveMessages(ctx context.Context, ws *websocket.Conn, stream rest.EventStream, enc *eventEncoder) {
	enc.unframed = true
	send := func(b []byte) error {
		if enc.out.MediaType == wire.JSON {
			return websocket.Message.Send(ws, string(b))
		}
		return websocket.Message.Send(ws, b)
	}
	for {
		events, err := stream.Next(ctx)
		for i := range events {
			b, encErr := enc.append(nil, events[i].Type, events[i].Object)
			if encErr != nil {
				return
			}
			if send(b) != nil {
				return
			}
		}
		if err != nil {
			if !silent(ctx, err) {
				_ = send(enc.appendError(nil, err))
			}
			return
		}
	}
}
