package job

import (
	"bytes"
	"maps"
	"path/filepath"
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// Ledger answers which ledger the configuration at path names, and looks at nothing
// else in it: who only uses keys needs no mail server's password, and no waiting.
func Ledger(path string, env func(string) (string, bool)) (Secret, error) {
	data, err := readConfig(path)
	if err != nil {
		return "", err
	}
	r := &reader{
		file: path, dir: filepath.Dir(path), env: env,
		anchors: map[string]ast.Node{}, places: places{}, raw: map[string]string{}, taken: map[string]string{},
	}
	c := &Config{file: path}
	c.setDefaults()
	if body := r.document(bytes.TrimPrefix(data, []byte("\ufeff"))); body != nil {
		v := reflect.ValueOf(c).Elem()
		fields := fieldsOf(v.Type())
		maps.DeleteFunc(fields, func(key string, _ int) bool { return key != "ledger" && key != "ledger_file" })
		for _, e := range r.entries("", body) {
			if i, ok := fields[e.key]; ok {
				r.enter("", e)
				r.value(e.key, e.value, v.Field(i))
			}
		}
		r.files("", v, fields)
	}
	if len(r.problems) == 0 {
		r.ledger(c)
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return "", r.problems
	}
	return c.Ledger, nil
}
