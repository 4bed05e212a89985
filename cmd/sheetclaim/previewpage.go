package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

//go:embed preview.html
var previewHTML string

// previewPage shows messages as they will look. Cells are hostile: everything is
// escaped, and a message's HTML stands in a frame that may do nothing.
var previewPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("preview").Funcs(template.FuncMap{
		"fields": messageFields,
		"would":  func(r claim.PreviewRow) bool { return r.Outcome == claim.Would },
	}).Parse(previewHTML))
})

// writePage writes a preview into a file that only its owner can read.
func writePage(v claim.Preview) (path string, err error) {
	f, err := os.CreateTemp("", "sheetclaim-preview-*.html") // made with 0600
	if err != nil {
		return "", fmt.Errorf("the page could not be written: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := previewPage().Execute(f, v); err != nil {
		return "", fmt.Errorf("the page could not be written: %w", err)
	}
	return f.Name(), nil
}

// browse opens a file in the person's browser, which outlives this program.
func browse(ctx context.Context, path string) error {
	name, args := "xdg-open", []string{path}
	switch runtime.GOOS {
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", path}
	case "darwin":
		name = "open"
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no display") // xdg-open would start a browser in the terminal
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, args...) //nolint:gosec // fixed programs and our own file
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
