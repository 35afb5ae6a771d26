// Package http2 serves HTTP/2 connections (RFC 9113) to an http.Handler. Frames are parsed by golang.org/x/net/http2,
// header blocks by its package hpack. The server of that library passes each frame through the goroutine of its
// connection, keeps a buffer for each response, and deprecates the write schedulers with which stalled clients are
// found.
//
// A Server has the settings; its Serve serves one connection:
//
//   - The goroutine of the connection reads frames (read.go), header blocks (headers.go) and requests (request.go).
//   - Each request has a goroutine, which runs the handler (stream.go). It writes the frames of its response
//     (response.go) into the output of the connection, and writes that to the client unless another goroutine does
//     (output.go). Streams that have to wait take turns, a frame each.
//   - A response may last longer than its handler, without a goroutine while it waits (continuation.go).
//   - Bodies of requests are buffered within the flow-control windows (body.go).
//   - A connection whose client does not read what is waiting for it is closed (stall.go).
//
// One mutex guards a connection with its streams. It is not held while a goroutine writes to the client, reads from
// it or runs a handler.
package http2
