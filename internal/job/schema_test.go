package job_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

type schema struct {
	Ref        string             `json:"$ref"`
	Properties map[string]*schema `json:"properties"`
	Additional json.RawMessage    `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	Default    any                `json:"default"`
	Text       string             `json:"description"`
}

// TestSchemaHasEveryKey holds the schema for editors to the Go types: the same keys,
// the same defaults, a description for each.
func TestSchemaHasEveryKey(t *testing.T) {
	data, err := os.ReadFile("../../api/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	c := mustParse(t, minimal)
	c.Ledger = "sqlite:sheetclaim.db"
	compareSchema(t, "", reflect.ValueOf(*c), &root)
}

func compareSchema(t *testing.T, path string, v reflect.Value, s *schema) {
	t.Helper()
	if string(s.Additional) != "false" {
		t.Errorf("%s: additionalProperties must be false", path)
	}
	known := map[string]bool{}
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		if key == "" {
			continue
		}
		known[key] = true
		at := path + "." + key
		p, ok := s.Properties[key]
		if !ok {
			t.Errorf("%s is missing in the schema", at)
			continue
		}
		if p.Text == "" {
			t.Errorf("%s has no description", at)
		}
		compareDefault(t, at, v.Field(i), p)
		descend(t, at, v.Field(i), p)
	}
	for key := range s.Properties {
		if !known[key] {
			t.Errorf("%s.%s is in the schema only", path, key)
		}
	}
}

// descend goes on with the struct behind a field, if there is one.
func descend(t *testing.T, at string, field reflect.Value, p *schema) {
	t.Helper()
	typ := field.Type()
	switch k := typ.Kind(); {
	case k == reflect.Map:
		p.Items = new(schema)
		if err := json.Unmarshal(p.Additional, p.Items); err != nil {
			t.Fatal(err)
		}
		compareSchema(t, at, field.MapIndex(reflect.ValueOf("j")).Elem(), p.Items)
	case k == reflect.Pointer:
		if field.IsNil() {
			field = reflect.New(typ.Elem())
		}
		compareSchema(t, at, field.Elem(), p)
	case k == reflect.Slice:
		if typ.Elem().Kind() == reflect.Struct {
			compareSchema(t, at, reflect.New(typ.Elem()).Elem(), p.Items)
		}
	case k == reflect.Struct:
		if p.Properties != nil {
			compareSchema(t, at, field, p)
		}
	}
}

func compareDefault(t *testing.T, at string, field reflect.Value, p *schema) {
	t.Helper()
	if p.Default == nil {
		return
	}
	var same bool
	switch x := field.Interface().(type) {
	case time.Duration:
		d, err := job.ParseDuration(p.Default.(string))
		same = err == nil && d == x
	case int:
		same = p.Default == float64(x)
	case bool:
		same = p.Default == x
	default:
		same = p.Default == field.String()
	}
	if !same {
		t.Errorf("%s: the schema's default is %v, the code's %v", at, p.Default, field)
	}
}

// TestEverySecretHasAFile holds the rule that a secret need not stand in the file.
func TestEverySecretHasAFile(t *testing.T) {
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		var keys, secrets []string
		for f := range typ.Fields() {
			key := f.Tag.Get("yaml")
			keys = append(keys, key)
			if f.Type == reflect.TypeFor[job.Secret]() {
				secrets = append(secrets, key)
			}
			if key != "" {
				walk(f.Type)
			}
		}
		for _, s := range secrets {
			if !slices.Contains(keys, s+"_file") {
				t.Errorf("%s.%s has no %s_file", typ, s, s)
			}
		}
	}
	walk(reflect.TypeFor[job.Config]())
}
