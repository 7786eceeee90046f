package parser

import (
	"os"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// CheckEnvironment refuses the environment variables that reach into TiDB's parser:
// its failpoint library reads them when the program starts, before main, so that
// GO_FAILPOINTS_HTTP has opened a port and GO_FAILPOINTS may have changed what the
// library does. The program calls this first and stops on an error.
func CheckEnvironment() error {
	for _, name := range []string{"GO_FAILPOINTS", "GO_FAILPOINTS_HTTP"} {
		if os.Getenv(name) != "" {
			return sqlerr.New(sqlerr.CodeInvalidParameter, 0, "the environment variable %s is set", name).
				WithHint("Unset it: it switches on test hooks in a library that streamsql uses.")
		}
	}
	return nil
}
