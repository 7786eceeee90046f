module github.com/streamsql/streamsql/tests/bench/decoders

go 1.26.0

replace github.com/streamsql/streamsql => ../../..

require (
	github.com/buger/jsonparser v1.6.1
	github.com/goccy/go-json v0.12.0
	github.com/streamsql/streamsql v0.0.0
	github.com/valyala/fastjson v1.6.10
)

require github.com/cespare/xxhash/v2 v2.3.0 // indirect
