package job

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// EmulatorVariable names the environment variable that points at a Sheets emulator.
const EmulatorVariable = "SHEETS_EMULATOR_HOST"

// maxFile bounds the files that a configuration names, in bytes.
const maxFile = 4 << 20

// Load reads and checks the configuration file at path; env is os.LookupEnv outside
// of tests. What is wrong in the file comes back as Problems, all of it at once.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	data, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, env)
}

// readConfig reads the configuration file.
func readConfig(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no configuration file %s: name one with --config or SHEETCLAIM_CONFIG, or write one with `sheetclaim init`", path)
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	return data, nil
}

// Parse is Load for a file that is in memory already. Its name serves for error texts
// and as the folder that relative paths start from. The templates and conditions of
// the jobs are compiled as far as that goes without a header.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, error) {
	r := &reader{
		file: name, dir: filepath.Dir(name), env: env,
		anchors: map[string]ast.Node{}, places: places{}, raw: map[string]string{}, taken: map[string]string{},
	}
	c := &Config{file: name, places: r.places}
	c.setDefaults()
	if at, ok := notUTF8(data); ok {
		r.add(at, "", "the file is not UTF-8: save it in that encoding, or people read signs for letters in their mail")
	} else if body := r.document(bytes.TrimPrefix(data, []byte("\ufeff"))); body != nil {
		r.value("", body, reflect.ValueOf(c).Elem())
	}
	// Rules about values that could not even be read would only repeat themselves.
	if len(r.problems) == 0 {
		r.verify(c)
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return nil, r.problems
	}
	return c, nil
}

// files reads what the _file keys of a section name: password_file into password,
// html_file into html. Every such path is made absolute.
func (r *reader) files(path string, section reflect.Value, fields map[string]int) {
	for key, i := range fields {
		plain, ok := strings.CutSuffix(key, "_file")
		file := section.Field(i)
		if !ok || file.String() == "" {
			continue
		}
		at := join(path, key)
		given := file.String()
		file.SetString(r.absolute(given))
		j, ok := fields[plain]
		if !ok {
			continue
		}
		if r.has(join(path, plain)) {
			r.at(at, "expected either %s or %s, found both, remove one", plain, key)
			continue
		}
		text, err := readFile(file.String())
		if err != nil {
			r.at(at, "the file %s cannot be read: %v", r.show(at, given), err)
			continue
		}
		target := section.Field(j)
		switch _, foreign := notUTF8([]byte(text)); {
		case foreign && target.Type() != secretType:
			r.at(at, "the file %s is not UTF-8: save it in that encoding", r.show(at, given))
		case target.Type() == secretType:
			text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
		}
		if text == "" {
			r.at(at, "the file %s is empty", r.show(at, given))
		}
		target.SetString(text)
	}
}

// notUTF8 answers where a text stops being UTF-8, if it does. Editors on Windows save
// other encodings, whose letters would reach everybody's mail as something else.
func notUTF8(data []byte) (place, bool) {
	at := place{1, 1}
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return at, true
		}
		if at.column++; r == '\n' {
			at = place{at.line + 1, 1}
		}
		data = data[size:]
	}
	return place{}, false
}

// absolute resolves a path against the folder of the configuration file.
func (r *reader) absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// readFile reads a small regular file as text, without a byte order mark.
func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", cause(err)
	case info.IsDir():
		return "", errors.New("it is a folder")
	case info.Size() > maxFile:
		return "", fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", cause(err)
	}
	return strings.TrimPrefix(string(data), "\ufeff"), nil
}

// cause leaves the path out of an error of the file system, since it is named already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// readable reports a file that is only read later, by somebody else.
func (r *reader) readable(path, file string) {
	if file == "" {
		return
	}
	if _, err := readFile(file); err != nil {
		r.at(path, "the file %s cannot be read: %v", r.show(path, file), err)
	}
}
