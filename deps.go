//go:build never

package deps

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/expr-lang/expr"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/labstack/echo/v4"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/wneessen/go-mail"
	_ "github.com/yuin/goldmark"
	_ "golang.org/x/net/idna"
	_ "golang.org/x/oauth2"
	_ "golang.org/x/text/unicode/norm"
	_ "golang.org/x/time/rate"
	_ "google.golang.org/api/sheets/v4"
	_ "modernc.org/sqlite"
	_ "github.com/getkin/kin-openapi/openapi3"
	_ "github.com/robfig/cron/v3"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "pgregory.net/rapid"
)
