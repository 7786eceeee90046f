// Package examples holds job files; the demo runs some of them.
package examples

import _ "embed"

// DemoPublish sends generated bids to the stream NEXMARK.
//
//go:embed demo/publish.sql
var DemoPublish string

// DemoWindows reads the stream and counts its bids in windows.
//
//go:embed demo/windows.sql
var DemoWindows string

// DemoPostgres writes windows by auction into PostgreSQL, ${POSTGRES_URL}.
//
//go:embed demo/postgres.sql
var DemoPostgres string
