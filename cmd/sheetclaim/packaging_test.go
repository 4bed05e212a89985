package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

// root is the repository, from this folder.
const root = "../.."

func readRoot(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantCommand fails unless the program understands a command line.
func wantCommand(t *testing.T, args ...string) {
	t.Helper()
	p := newProgram(nil)
	var c cli
	parser, err := p.parser(context.Background(), &c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Errorf("%q is no command line of sheetclaim: %v", args, err)
	}
}

// needTool skips without a program on a laptop, and fails in CI.
func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing: .ci/run installs it", name)
	}
	t.Skipf("%s is not installed", name)
}

// There is no Docker engine here. What can be held without one: all that is copied
// exists and is not kept out of the build, and the command lines are ours.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(readRoot(t, "Dockerfile"), "\\\n", " ")
	ignored := strings.Fields(readRoot(t, ".dockerignore"))
	var copied int
	for _, m := range regexp.MustCompile(`(?m)^COPY (.*) \S+$`).FindAllStringSubmatch(text, -1) {
		for source := range strings.FieldsSeq(m[1]) {
			if strings.HasPrefix(m[1], "--from") {
				continue
			}
			copied++
			if _, err := os.Stat(filepath.Join(root, source)); err != nil {
				t.Errorf("COPY %s: %v", source, err)
			}
			if name := strings.TrimPrefix(source, "./"); !slices.Contains(ignored, "!"+name) {
				t.Errorf(".dockerignore keeps %s out of the build", name)
			}
		}
	}
	if copied < 5 {
		t.Errorf("%d sources are copied", copied)
	}
	list := func(instruction string) (words []string) {
		m := regexp.MustCompile(`(?m)^` + instruction + ` (\[.*\])$`).FindStringSubmatch(text)
		if m == nil || json.Unmarshal([]byte(m[1]), &words) != nil {
			t.Fatalf("there is no %s with a list", instruction)
		}
		return words
	}
	program := list("ENTRYPOINT")
	wantCommand(t, list("CMD")...)
	health := list("HEALTHCHECK .* CMD")
	if health[0] != program[0] {
		t.Errorf("the health check runs %s, and the image %s", health[0], program[0])
	}
	wantCommand(t, health[1:]...)
	for _, want := range []string{"USER 65532:65532", "VOLUME /data", "COPY --from=build /out/sheetclaim " + program[0] + "\n", "CGO_ENABLED=0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readRoot(t, "go.mod"))[1]
	if !strings.Contains(text, "golang:"+goVersion+" ") {
		t.Errorf("the Dockerfile does not build with Go %s, which go.mod asks for", goVersion)
	}
}

// A release archive holds what its documentation links to.
func TestArchiveHoldsWhatIsLinked(t *testing.T) {
	t.Parallel()
	var held []string
	for _, m := range regexp.MustCompile(`(?m)^(?:cp|git archive HEAD) (.+?)(?: "\$shared/"$| \| tar )`).FindAllStringSubmatch(readRoot(t, "scripts/dist"), -1) {
		held = append(held, strings.Fields(m[1])...)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)[)#]`)
	links := 0
	for _, path := range held {
		err := filepath.WalkDir(filepath.Join(root, path), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(file) != ".md" {
				return err
			}
			text := readRoot(t, strings.TrimPrefix(file, root))
			for _, m := range link.FindAllStringSubmatch(text, -1) {
				links++
				target, err := filepath.Rel(root, filepath.Join(filepath.Dir(file), m[1]))
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(held, func(h string) bool { return target == h || strings.HasPrefix(target, h+"/") }) {
					t.Errorf("%s links to %s, which the archive does not hold", file, target)
				}
				if _, err := os.Stat(filepath.Join(root, target)); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if links < 10 {
		t.Errorf("%d links were looked at", links)
	}
}

// The compose file publishes nothing of sheetclaim, hands over each secret that its
// configuration names as a file, and the configuration is in order.
func TestCompose(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct {
			Ports    []string
			Secrets  []string
			Volumes  []string
			ReadOnly bool              `yaml:"read_only"`
			Env      map[string]string `yaml:"environment"`
			CapDrop  []string          `yaml:"cap_drop"`
		}
		Secrets map[string]struct{ File string }
	}
	if err := yaml.Unmarshal([]byte(readRoot(t, "examples/compose/compose.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	s := compose.Services["sheetclaim"]
	if len(s.Ports) > 0 || !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || !slices.ContainsFunc(s.Volumes, func(v string) bool { return strings.HasSuffix(v, ":/data") }) {
		t.Errorf("sheetclaim is not kept in: %+v", s)
	}
	// AP06: n8n's guard against inner addresses would refuse the call.
	if got := compose.Services["n8n"].Env["N8N_SSRF_ALLOWED_HOSTNAMES"]; got != "sheetclaim" {
		t.Errorf("N8N_SSRF_ALLOWED_HOSTNAMES is %q", got)
	}

	dir := t.TempDir()
	text := readRoot(t, "examples/compose/sheetclaim.yaml")
	const mounted = "/run/secrets/"
	for _, name := range s.Secrets {
		if compose.Secrets[name].File == "" || !strings.Contains(text, mounted+name) {
			t.Errorf("the secret %s has no file, or is not used", name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(name, 3)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := job.Parse(filepath.Join(dir, "sheetclaim.yaml"), []byte(strings.ReplaceAll(text, mounted, dir+"/")), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Ledger.Reveal() != "sqlite:/data/sheetclaim.db" || len(cfg.Warnings()) > 0 {
		t.Errorf("the ledger is not on the volume, or there are warnings: %q", cfg.Warnings())
	}
}

// systemd finds nothing wrong with the units, and thinks well of how they are shut in.
func TestSystemdUnits(t *testing.T) {
	t.Parallel()
	const installed = "/usr/local/bin/sheetclaim"
	units, err := filepath.Glob(filepath.Join(root, "examples/systemd/*"))
	if err != nil || len(units) == 0 {
		t.Fatalf("%v, %q", err, units)
	}
	dir, program := t.TempDir(), ourselves(t)
	var copies, services []string
	for _, unit := range units {
		text := readRoot(t, strings.TrimPrefix(unit, root))
		for _, m := range regexp.MustCompile(`(?m)^Exec\w+=(.*)$`).FindAllStringSubmatch(text, -1) {
			words := strings.Fields(m[1])
			if words[0] != installed {
				t.Errorf("%s starts %s", unit, words[0])
			}
			wantCommand(t, words[1:]...)
		}
		c := filepath.Join(dir, filepath.Base(unit))
		if err := os.WriteFile(c, []byte(strings.ReplaceAll(text, installed, program)), 0o600); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, c)
		if strings.HasSuffix(c, ".service") {
			services = append(services, c)
		}
	}
	needTool(t, "systemd-analyze")
	if out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, copies...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	for _, s := range services { // 20: an exposure of 2.0 out of 10
		if out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", s).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// ourselves is the path of this test's binary under the name sheetclaim.
func ourselves(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sheetclaim") // TestMain put it there
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A person who types --help finds every command and flag explained, and so does the
// manual page.
func TestEverythingHasHelp(t *testing.T) {
	t.Parallel()
	p := newProgram(nil)
	var c cli
	parser, err := p.parser(context.Background(), &c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if code := p.Run(context.Background(), []string{"man"}); code != exitOK {
		t.Fatalf("exit %d: %s", code, p.err.String())
	}
	manual := p.out.String()
	explained := func(what, help string) {
		t.Helper()
		if help == "" || !strings.ContainsAny(help[len(help)-1:], ".?)") {
			t.Errorf("%s has no whole sentence for help: %q", what, help)
		}
	}
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		for _, f := range n.Flags {
			explained(n.FullPath()+" --"+f.Name, f.Help)
			if !f.Hidden && !strings.Contains(manual, `\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)) {
				t.Errorf("the manual page lacks --%s", f.Name)
			}
		}
		for _, a := range n.Positional {
			explained(n.FullPath()+" "+a.Name, a.Help)
		}
		for _, child := range n.Children {
			if !child.Hidden {
				explained(child.FullPath(), child.Help)
				walk(child)
			}
		}
	}
	walk(parser.Model.Node)
	needTool(t, "groff")
	groff := exec.Command("groff", "-man", "-ww", "-z", "-Tutf8")
	groff.Stdin = strings.NewReader(manual)
	if out, err := groff.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
