package wire

// DataFrame is how many bytes of a body go into an HTTP/2 frame: with the frame's
// header they fill a TLS record. One byte more costs a second record, and a system
// call, for each frame; so bodies are handed over in multiples of it.
const DataFrame = 16<<10 - 9
