//go:build !streamsqltest

package vec

func poison(*Vector) {}
