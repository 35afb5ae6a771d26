package wire

// DataFrame is the payload size of an HTTP/2 frame that fills a TLS record with its header. One more byte would
// cost a second record, and a system call, per frame. Bodies are therefore written in multiples of it.
const DataFrame = 16<<10 - 9
