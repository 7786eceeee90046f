// Package decoders measures streamsql's JSON decoder beside the fastest libraries: the
// same payloads into the same typed columns, in one run. It is a module of its own so
// that the libraries are no dependencies of streamsql.
//
//	GOMAXPROCS=1 taskset -c 1 go test -bench . -benchtime 1s
package decoders
