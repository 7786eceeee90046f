// Package postgres is the connector to PostgreSQL. As a sink it writes by key
// (upsert) or appends, early or together with the checkpoint; every transaction
// proves by the fence row that its attempt is still the newest.
package postgres

import (
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Connector announces the postgres connector.
func Connector() connectors.Connector {
	return connectors.Connector{
		Name: "postgres",
		Doc:  "PostgreSQL tables: upserts by primary key, or rows applied with the checkpoint in one transaction",
		Options: []connectors.Option{
			{Name: "url", Aliases: []string{"dsn"}, Type: connectors.OptSecret,
				Doc: "a libpq URL or keywords; PG* variables and .pgpass fill in what is missing; a pooler before the database has to be in transaction or session mode"},
			{Name: "user", Aliases: []string{"username"}, Type: connectors.OptString, Doc: "user name, when not in the url"},
			{Name: "password", Type: connectors.OptSecret, Doc: "password, when not in the url"},
			{Name: "schema", Aliases: []string{"schema-name", "schema.name"}, Type: connectors.OptString, Default: "public", Doc: "schema of the table"},
			{Name: "table", Aliases: []string{"table-name", "table.name"}, Type: connectors.OptString, Doc: "name of the table; the declared name when left out"},
			{Name: "mode", Type: connectors.OptEnum, Enum: []string{"upsert", "wal", "append", "2pc"},
				Doc: "upsert (default with a PRIMARY KEY): by key; wal: kept in the checkpoint and applied after it, whole checkpoints visible; append (default without): inserts, applied with the checkpoint; 2pc is not supported yet"},
			{Name: "batch.rows", Aliases: []string{"sink.buffer-flush.max-rows", "max_batch_rows"}, Type: connectors.OptInt, Default: "10000", Doc: "most rows in one statement"},
			{Name: "auto.create", Type: connectors.OptBool, Default: "false", Doc: "create the table when it is missing"},
			{Name: "fence.schema", Type: connectors.OptString, Default: "public", Doc: "schema of the tables streamsql_fence, streamsql_target and streamsql_letter"},
		},
		Capabilities: capabilities,
		OpenSource:   nil,
		OpenSink:     openSink,
	}
}

func capabilities(o map[string]string, hasKey bool) (connectors.Capabilities, error) {
	c := connectors.Capabilities{CanWrite: true, Commit: true, SelfDecoding: true}
	mode := o["mode"]
	if mode == "" {
		mode = "append"
		if hasKey {
			mode = "upsert"
		}
	}
	switch mode {
	case "upsert":
		if !hasKey {
			return c, sqlerr.New(sqlerr.CodeOption, 0, `mode "upsert" needs a PRIMARY KEY`).
				WithHint("Declare PRIMARY KEY (…), or use mode = 'append'.")
		}
		c.Upserts, c.Early, c.Idempotent, c.NeedsKey = true, true, true, true
	case "wal":
		c.Upserts, c.ForceCommit = hasKey, true
	case "append":
		c.ForceCommit = true
	default:
		return c, sqlerr.NotSupported(0, `mode "`+mode+`"`)
	}
	return c, nil
}

// ours gives the connection parameters that we set unless the user did. The sslmode is
// libpq's default, which the driver does not share.
func ours() [][2]string {
	p := [][2]string{{"connect_timeout", "10"}, {"fallback_application_name", "streamsql"}}
	if os.Getenv("PGSSLMODE") == "" {
		p = append(p, [2]string{"sslmode", "prefer"})
	}
	return p
}

// dsn adds our parameters and the user's name and password to the url option, which is
// a URL or keywords.
func dsn(o map[string]string) (string, error) {
	text := o["url"]
	if strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		return urlDSN(text, o["user"], o["password"])
	}
	extra := [][2]string{{"user", o["user"]}, {"password", o["password"]}}
	for _, p := range append(extra, ours()...) {
		if p[1] != "" && !strings.Contains(text, p[0]+"=") {
			text += " " + p[0] + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(p[1]) + "'"
		}
	}
	return strings.TrimSpace(text), nil
}

func urlDSN(text, user, password string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The parser's own message repeats the text, password and all.
		return "", sqlerr.New(sqlerr.CodeOption, 0, `option "url" is not a valid PostgreSQL URL`)
	}
	q := u.Query()
	for _, p := range ours() {
		if !q.Has(p[0]) {
			q.Set(p[0], p[1])
		}
	}
	u.RawQuery = q.Encode()
	if user == "" && u.User != nil {
		user = u.User.Username()
	}
	if p, ok := u.User.Password(); ok && password == "" {
		password = p
	}
	switch {
	case password != "":
		u.User = url.UserPassword(user, password)
	case user != "":
		u.User = url.User(user)
	}
	return u.String(), nil
}

func batchRows(o map[string]string) (int, error) {
	n, err := strconv.Atoi(o["batch.rows"])
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, sqlerr.New(sqlerr.CodeOption, 0, `option "batch.rows" must be a number from 1 to 1000000, not %q`, o["batch.rows"])
	}
	return n, nil
}
