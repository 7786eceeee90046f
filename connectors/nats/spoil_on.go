//go:build streamsqltest

package nats

// spoil makes bytes that nobody may hold any more unlike any message, so that who holds
// them is found out.
func spoil(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
