//go:build !streamsqltest

package nats

// spoil is for tests.
func spoil([]byte) {}
