package nats

import (
	"crypto/tls"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	natsgo "github.com/nats-io/nats.go"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// options is where and as whom to connect. It holds secrets and is never printed.
type options struct {
	url, user, password, token, nkey, creds string
	ca, cert, key                           string
	insecure, tlsFirst                      bool
	domain, apiPrefix, inboxPrefix          string
}

func newOptions(c connectors.Config) (options, error) {
	o := options{}
	if name := c.Options["context"]; name != "" {
		if err := o.load(name); err != nil {
			return o, err
		}
	}
	for _, f := range []struct {
		key  string
		into *string
	}{
		{"url", &o.url}, {"auth.user", &o.user}, {"auth.password", &o.password}, {"auth.token", &o.token},
		{"auth.nkey", &o.nkey}, {"auth.creds", &o.creds}, {"tls.ca", &o.ca}, {"tls.cert", &o.cert}, {"tls.key", &o.key},
	} {
		if v := c.Options[f.key]; v != "" {
			*f.into = v
		}
	}
	o.insecure = c.Options["tls.insecure"] == "true"
	o.url = or(o.url, c.Env.NATSURL)
	if o.url == "" {
		return o, sqlerr.New(sqlerr.CodeOption, 0, "table %q names no NATS server", c.Table).
			WithHint("Set \"url\" or start streamsql with --nats URL.")
	}
	return o, nil
}

// contextFile is a context of the nats command line, as far as it concerns a client.
type contextFile struct {
	URL         string `json:"url"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Token       string `json:"token"`
	Creds       string `json:"creds"`
	NKey        string `json:"nkey"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	NSC         string `json:"nsc"`
	UserJWT     string `json:"user_jwt"`
	SocksProxy  string `json:"socks_proxy"`
	Domain      string `json:"jetstream_domain"`
	APIPrefix   string `json:"jetstream_api_prefix"`
	InboxPrefix string `json:"inbox_prefix"`
	TLSFirst    bool   `json:"tls_first"`
}

// load reads a context by name or, when it looks like one, by file.
func (o *options) load(name string) error {
	file := name
	if !strings.ContainsRune(name, os.PathSeparator) && !strings.HasSuffix(name, ".json") {
		dir := os.Getenv("XDG_CONFIG_HOME")
		if dir == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return sqlerr.New(sqlerr.CodeOption, 0, "context %q: the home directory is not known", name)
			}
			dir = filepath.Join(home, ".config")
		}
		file = filepath.Join(dir, "nats", "context", name+".json")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return sqlerr.New(sqlerr.CodeOption, 0, "context %q cannot be read: %v", name, err).
			WithHint("List contexts with: nats context ls.")
	}
	var c contextFile
	if err := json.Unmarshal(text, &c); err != nil {
		return sqlerr.New(sqlerr.CodeOption, 0, "context %q is not a context of the nats command line", name)
	}
	for _, f := range []struct{ key, value string }{{"nsc", c.NSC}, {"user_jwt", c.UserJWT}, {"socks_proxy", c.SocksProxy}} {
		if f.value != "" {
			return sqlerr.NotSupported(0, "\""+f.key+"\" in a nats context")
		}
	}
	*o = options{url: c.URL, user: c.User, password: c.Password, token: c.Token, nkey: c.NKey, creds: c.Creds,
		ca: c.CA, cert: c.Cert, key: c.Key, tlsFirst: c.TLSFirst,
		domain: c.Domain, apiPrefix: c.APIPrefix, inboxPrefix: c.InboxPrefix}
	return nil
}

// connect gives the client's options and the servers' addresses without secrets.
func (o options) connect() (opts []natsgo.Option, target string, err error) {
	var shown []string
	for _, s := range strings.Split(o.url, ",") {
		s = strings.TrimSpace(s)
		if !strings.Contains(s, "://") {
			s = "nats://" + s
		}
		u, err := url.Parse(s)
		if err != nil || u.Host == "" {
			return nil, "", sqlerr.New(sqlerr.CodeOption, 0, "\"url\" is not an address").
				WithHint("An address looks like nats://host:4222.")
		}
		shown = append(shown, u.Host)
	}
	target = strings.Join(shown, ",")
	file := func(option, name string, add natsgo.Option) error {
		if _, err := os.Stat(name); err != nil {
			return sqlerr.New(sqlerr.CodeOption, 0, "%q names a file that cannot be read: %v", option, err)
		}
		opts = append(opts, add)
		return nil
	}
	if o.user != "" || o.password != "" {
		opts = append(opts, natsgo.UserInfo(o.user, o.password))
	}
	if o.token != "" {
		opts = append(opts, natsgo.Token(o.token))
	}
	if o.nkey != "" {
		opt, err := natsgo.NkeyOptionFromSeed(o.nkey)
		if err != nil {
			return nil, "", sqlerr.New(sqlerr.CodeOption, 0, "\"auth.nkey\" does not name a file with an NKey seed")
		}
		opts = append(opts, opt)
	}
	if o.creds != "" {
		if err := file("auth.creds", o.creds, natsgo.UserCredentials(o.creds)); err != nil {
			return nil, "", err
		}
	}
	if o.insecure {
		opts = append(opts, natsgo.Secure(&tls.Config{InsecureSkipVerify: true}))
	}
	if o.ca != "" {
		if err := file("tls.ca", o.ca, natsgo.RootCAs(o.ca)); err != nil {
			return nil, "", err
		}
	}
	if o.cert != "" || o.key != "" {
		if err := file("tls.cert", o.cert, natsgo.ClientCert(o.cert, o.key)); err != nil {
			return nil, "", err
		}
	}
	if o.tlsFirst {
		opts = append(opts, natsgo.TLSHandshakeFirst())
	}
	if o.inboxPrefix != "" {
		opts = append(opts, natsgo.CustomInboxPrefix(o.inboxPrefix))
	}
	return opts, target, nil
}
