package job_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

// TestProblems goes through everything that can be wrong in a file. Each case puts a
// text in place of another in the minimal configuration; its texts are what people
// read.
func TestProblems(t *testing.T) {
	const top, smtp, spec, msg = "smtp:\n", "  host:", "    range:", "      text:"
	tests := []struct{ name, old, new, want string }{
		// The form of the file.
		{"no yaml", top, "a: [\n" + top, "c.yaml:1:4: this is no YAML: sequence end token ']' not found (check the indentation; put a value in quotes that begins with { or *, or holds \": \")"},
		{"tab", top, "\tledger: x\n" + top, "c.yaml:1:7: this is no YAML: tab character cannot use as a map key directly (indent with blanks, not with tabs)"},
		{"not UTF-8", "subject: Hello", "subject: Sch\xf6n", "c.yaml:10:19: the file is not UTF-8: save it in that encoding, or people read signs for letters in their mail"},
		{"two documents", top, "ledger: sqlite:a\n---\n" + top, "c.yaml:3:5: expected one YAML document, found a second one, remove the line ---"},
		{"unknown key", top, "legder: sqlite:x\n" + top, "c.yaml:1:1: legder is no known key, did you mean ledger?"},
		{"unknown key, nothing near", top, "colour: red\n" + top, "c.yaml:1:1: colour is no known key, expected one of alerts, api, google, instances, jobs, ledger, ledger_file, run_memory, smtp"},
		{"twice", smtp, "  from: a@example.com\n  host:", "c.yaml:4:3: smtp: from is given twice, the first time in line 2, remove one"},
		{"no value", "host: smtp.example.com", "host:", "c.yaml:2:8: smtp.host: expected a value, found nothing, give one or leave the key out"},
		{"empty section", top, "google:\n" + top, "c.yaml:1:8: google: expected keys with values, found nothing, give some or leave the key out"},
		{"section is a text", top, "google: x\n" + top, "c.yaml:1:9: google: expected keys with values, found a text"},
		{"value is a list", "host: smtp.example.com", "host: [a]", "c.yaml:2:9: smtp.host: expected a single value, found a list"},
		{"list is a text", top, "alerts: {email: ops@example.com}\n" + top, "c.yaml:1:17: alerts.email: expected a list such as [a, b], found a text"},
		{"number for text", "subject: Hello", "subject: 5", `c.yaml:10:16: jobs.j.message.subject: expected a text, put it in quotes, found "5"`},
		{"number for secret", smtp, "  username: u\n  password: 12345\n  host:", "c.yaml:3:13: smtp.password: expected a text, put it in quotes"},
		{"text for number", spec, "    limit: many\n    range:", `c.yaml:7:12: jobs.j.limit: expected a whole number, found "many"`},
		{"quoted number", spec, "    limit: \"5\"\n    range:", `c.yaml:7:12: jobs.j.limit: expected a whole number, found "5"`},
		{"fraction for number", spec, "    limit: 1.5\n    range:", `c.yaml:7:12: jobs.j.limit: expected a whole number, found "1.5"`},
		{"text for bool", spec, "    skip_hidden: yes\n    range:", `c.yaml:7:18: jobs.j.skip_hidden: expected true or false, found "yes"`},
		{"tag", "subject: Hello", "subject: !!str Hello", "c.yaml:10:16: jobs.j.message.subject: expected a value without a tag, remove !!str"},
		{"no anchor", "subject: Hello", "subject: *x", "c.yaml:10:16: jobs.j.message.subject: the alias *x has no anchor &x"},
		{"anchor in itself", "  j:\n", "  j: &j\n    <<: *j\n", "c.yaml:6:7: jobs.j: the alias contains itself"},
		// Values.
		{"duration without unit", spec, "    delay: 48\n    range:", `c.yaml:7:12: jobs.j.delay: expected a time with its unit, write 48s, 48m, 48h or 48d, found "48"`},
		{"duration", spec, "    wait: soon\n    range:", `c.yaml:7:11: jobs.j.wait: expected a time such as 90s, 15m, 48h or 2d, found "soon"`},
		{"negative duration", spec, "    wait: -5s\n    range:", `c.yaml:7:11: jobs.j.wait: expected a time of zero or more, found "-5s"`},
		{"rate", smtp, "  rate: 30\n  host:", `c.yaml:2:9: smtp.rate: expected a number of messages per s, m, h or d, such as 30/m, found "30"`},
		{"rate unit", smtp, "  rate: 30/week\n  host:", `c.yaml:2:9: smtp.rate: expected a number of messages per s, m, h or d, such as 30/m, found "30/week"`},
		{"unset variable", "subject: Hello", "subject: ${NOT_SET}", "c.yaml:10:16: jobs.j.message.subject: the environment variable NOT_SET is not set, set it or take the value from a file"},
		{"bad variable", "subject: Hello", "subject: ${not set}", "c.yaml:10:16: jobs.j.message.subject: expected ${NAME} with the name of an environment variable, write $${ for a plain ${"},
		{"variable of another type", smtp, "  port: ${SECRET}\n  host:", `c.yaml:2:9: smtp.port: expected a whole number, found "${SECRET}"`},
		// Files.
		{"secret twice", smtp, "  username: u\n  password: a\n  password_file: b\n  host:", "c.yaml:4:18: smtp.password_file: expected either password or password_file, found both, remove one"},
		{"port in the host", "host: smtp.example.com", "host: smtp.example.com:587", `c.yaml:2:9: smtp.host: expected a name alone, found "smtp.example.com:587": write port: 587`},
		{"no such file", smtp, "  username: u\n  password_file: none\n  host:", `c.yaml:3:18: smtp.password_file: the file "none" cannot be read: no such file or directory`},
		{"file is a folder", smtp, "  ca_file: .\n  host:", `c.yaml:2:12: smtp.ca_file: the file "DIR" cannot be read: it is a folder`},
		{"credentials", top, "google: {credentials_file: none.json}\n" + top, `c.yaml:1:28: google.credentials_file: the file "DIR/none.json" cannot be read: no such file or directory`},
		{"body twice", msg, "      text_file: a.txt\n      text:", "c.yaml:11:18: jobs.j.message.text_file: expected either text or text_file, found both, remove one"},
		// Services.
		{"ledger", top, "ledger: mysql://u:secret@h/d\n" + top, "c.yaml:1:9: ledger: expected sqlite:FILE or postgres://USER:PASSWORD@HOST/DATABASE"},
		{"ledger in memory", top, "ledger: \"sqlite::memory:\"\n" + top, "c.yaml:1:9: ledger: a ledger in memory forgets what was sent, name a file"},
		{"ledger address", top, "ledger: \"postgres://u:se cret%@h/d\"\n" + top, "c.yaml:1:9: ledger: the address cannot be read, expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, where signs like @ : / ? # % and blanks in user or password are written as %40 and so on"},
		{"plain http", top, "google: {endpoint: \"http://sheets.example.com\"}\n" + top, "c.yaml:1:20: google.endpoint: expected https, found plain http to another machine: it is allowed on loopback only"},
		{"no address", top, "google: {endpoint: 127.0.0.1:9410}\n" + top, `c.yaml:1:20: google.endpoint: expected an address such as https://host/path, found "127.0.0.1:9410"`},
		{"no smtp", "smtp:\n  host: smtp.example.com\n  from: hello@example.com\n", "", "c.yaml: smtp: the section is missing, jobs and alerts by mail need a mail server"},
		{"no host", "  host: smtp.example.com\n", "", "c.yaml:1:1: smtp.host: the value is missing"},
		{"no from", "  from: hello@example.com\n", "", "c.yaml:1:1: smtp.from: the value is missing"},
		{"from", "from: hello@example.com", "from: hello", `c.yaml:3:9: smtp.from: expected a mail address such as "Acme <hello@example.com>", found "hello"`},
		{"tls", smtp, "  tls: ssl\n  host:", `c.yaml:2:8: smtp.tls: expected starttls, implicit or none, found "ssl"`},
		{"any certificate, and one to trust", smtp, "  skip_verify: true\n  ca_file: doc.go\n  host:", "c.yaml:2:16: smtp.skip_verify: no certificate is checked, so ca_file has no use: remove one, best skip_verify"},
		{"any certificate of none", smtp, "  tls: none\n  skip_verify: true\n  host:", "c.yaml:3:16: smtp.skip_verify: without TLS there is no certificate to be checked: remove it"},
		{"port", smtp, "  port: 70000\n  host:", "c.yaml:2:9: smtp.port: expected at most 65535, found 70000"},
		{"helo", smtp, "  helo: a b\n  host:", `c.yaml:2:9: smtp.helo: expected a host name, found "a b"`},
		{"connections", smtp, "  connections: 0\n  host:", "c.yaml:2:16: smtp.connections: expected at least 1, found 0"},
		{"timeout", smtp, "  timeout: 0s\n  host:", "c.yaml:2:12: smtp.timeout: expected at least 1s, found 0s"},
		{"login without tls", smtp, "  tls: none\n  username: u\n  password: p\n  host:", "c.yaml:2:8: smtp.tls: without TLS the login would cross the network in the clear: write starttls or implicit, or leave out username"},
		{"username alone", smtp, "  username: u\n  host:", "c.yaml:1:1: smtp.password: the value is missing or empty: give password, password_file or oauth, or leave out username"},
		{"password alone", smtp, "  password: u\n  host:", "c.yaml:1:1: smtp.username: the value is missing: a password or oauth needs one"},
		{"empty password", smtp, "  username: u\n  password: ${EMPTY}\n  host:", "c.yaml:3:13: smtp.password: the value is missing or empty: give password, password_file or oauth, or leave out username"},
		{"oauth and password", smtp, "  username: u\n  password: p\n  oauth: {token_url: \"https://a.example.com\", client_id: c, refresh_token: r}\n  host:", "c.yaml:4:3: smtp.oauth: expected either a password or oauth, found both, remove one"},
		{"oauth", smtp, "  username: u\n  oauth: {token_url: \"http://a.example.com\"}\n  host:", `c.yaml:3:3: smtp.oauth.client_id: the value is missing
c.yaml:3:3: smtp.oauth.refresh_token: the value is missing
c.yaml:3:22: smtp.oauth.token_url: expected https, found plain http to another machine: it is allowed on loopback only`},
		{"alert address", top, "alerts: {email: [ops]}\n" + top, `c.yaml:1:18: alerts.email[0]: expected a mail address such as "Acme <hello@example.com>", found "ops"`},
		{"webhook", top, "alerts: {webhook: {url: hooks.example.com}}\n" + top, `c.yaml:1:25: alerts.webhook.url: expected an address such as https://host/path, found "hooks.example.com"`},
		{"listen", top, "api: {listen: \"8080\"}\n" + top, `c.yaml:1:15: api.listen: expected host:port such as 127.0.0.1:8080, found "8080"`},
		{"metrics listen", top, "api: {metrics_listen: on}\n" + top, `c.yaml:1:23: api.metrics_listen: expected off, or host:port such as 127.0.0.1:9464, found "on"`},
		{"open without tokens", top, "api: {listen: \":8080\"}\n" + top, `c.yaml:1:15: api.listen: ":8080" can be reached from other machines: add api.tokens, or listen on 127.0.0.1`},
		{"token", top, "api: {tokens: [{name: a, token: \"${EMPTY}\"}, {name: a, token: x, jobs: []}, {token: x, jobs: [jj]}]}\n" + top, `c.yaml:1:33: api.tokens[0].token: the value is missing
c.yaml:1:53: api.tokens[1].name: two tokens are named "a", expected a name of its own for each
c.yaml:1:66: api.tokens[1].jobs: the list is empty: name jobs, or leave the key out for all of them
c.yaml:1:77: api.tokens[2].name: the value is missing
c.yaml:1:85: api.tokens[2].token: two tokens have the same value, expected one of its own for each
c.yaml:1:95: api.tokens[2].jobs[0]: there is no job "jj", did you mean j?`},
		{"callback host", top, "api: {callback_hosts: [\"https://a.example.com\"]}\n" + top, `c.yaml:1:24: api.callback_hosts[0]: expected a host or host:port without a scheme, found "https://a.example.com"`},
		{"tls without key", top, "api: {tls: {cert_file: none.pem}}\n" + top, `c.yaml:1:7: api.tls.key_file: the value is missing
c.yaml:1:24: api.tls.cert_file: the file "DIR/none.pem" cannot be read: no such file or directory`},
		{"tls with other files", top, "api: {tls: {cert_file: doc.go, key_file: doc.go}}\n" + top, "c.yaml:1:7: api.tls: expected a certificate and its own key, both in PEM: failed to find any PEM data in certificate input"},
		{"proxies", top, "api: {trusted_proxies: [traefik, 0.0.0.0/0, \"::/0\", 10.0.0.5, 10.0.0.0/8]}\n" + top, `c.yaml:1:25: api.trusted_proxies[0]: expected an address such as 10.0.0.5 or a range such as 10.0.0.0/24, found "traefik"
c.yaml:1:34: api.trusted_proxies[1]: "0.0.0.0/0" is everybody: name the proxy's own address or range
c.yaml:1:45: api.trusted_proxies[2]: "::/0" is everybody: name the proxy's own address or range`},
		{"callbacks without a secret", top, "api: {callback_hosts: [n8n.internal]}\n" + top, "c.yaml:1:7: api.callback_hosts: callbacks are signed, and there is no secret: add callback_secret, or a secret to alerts.webhook"},
		{"callback to anywhere", top, "api: {callback_hosts: [\"*.example.com\"]}\n" + top, `c.yaml:1:24: api.callback_hosts[0]: expected a host or host:port without a scheme, found "*.example.com"`},
		{"webhook with a password in the clear", top, "alerts: {webhook: {url: \"http://u:hunter2@hooks.example.com/x\"}}\n" + top, "c.yaml:1:25: alerts.webhook.url: expected https: the address holds a password, which would cross the network in the clear"},
		{"run memory", top, "run_memory: 1s\n" + top, "c.yaml:1:13: run_memory: expected at least 1m0s, found 1s"},
		// Jobs.
		{"job name", "  j:\n", "  \"a b\":\n", `c.yaml:5:3: jobs.a b: expected a job name of up to 64 letters a to z, digits and ._-, found "a b"`},
		{"spreadsheet", "1AbC", "my sheet", `c.yaml:6:18: jobs.j.spreadsheet: expected the id of a spreadsheet, which its address has between /d/ and /edit, found "my sheet"`},
		{"no spreadsheet", "    spreadsheet: 1AbC\n", "", "c.yaml:5:3: jobs.j.spreadsheet: the value is missing"},
		{"no range", "    range: \"A1:H\"\n", "", "c.yaml:5:3: jobs.j.range: the value is missing"},
		{"no columns", "    columns: {key: id, email: email, status: status}\n", "", `c.yaml:5:3: jobs.j.columns.key: the value is missing: name the column, or columns, that tell rows apart
c.yaml:5:3: jobs.j.columns.email: the value is missing
c.yaml:5:3: jobs.j.columns.status: the value is missing`},
		{"blank key", "key: id", "key: [id, \" \"]", "c.yaml:8:15: jobs.j.columns.key: the name of a key column is blank"},
		{"status is email", "status: status", "status: \"E Mail\", note: \"e mail\"", `c.yaml:8:62: jobs.j.columns.note: the column "e mail" is columns.status already, expected one that sheetclaim has to itself`},
		{"key twice", "key: id", "key: [id, \"ID \"]", `c.yaml:8:15: jobs.j.columns.key: the column "ID " is named twice`},
		{"delay without due", spec, "    delay: 1h\n    range:", "c.yaml:7:12: jobs.j.delay: it counts from a due column, and columns.due is missing"},
		{"timezone", spec, "    timezone: Europe/Berlln\n    range:", `c.yaml:7:15: jobs.j.timezone: expected a time zone such as Europe/Berlin or UTC, found "Europe/Berlln"`},
		{"local", spec, "    timezone: Local\n    range:", `c.yaml:7:15: jobs.j.timezone: expected a time zone such as Europe/Berlin or UTC, found "Local"`},
		{"limit", spec, "    limit: 1001\n    range:", "c.yaml:7:12: jobs.j.limit: expected at most 1000, found 1001"},
		{"wait", spec, "    wait: 4s\n    range:", "c.yaml:7:11: jobs.j.wait: expected at least 5s, found 4s: a claim of another tool shows up only after a while"},
		{"lease", spec, "    lease: 80s\n    range:", "c.yaml:7:12: jobs.j.lease: expected at least 1m30s (a minute more than twice the wait), found 1m20s: it has to outlast the wait and a slow confirm"},
		{"attempts", spec, "    max_attempts: 0\n    range:", "c.yaml:7:19: jobs.j.max_attempts: expected at least 1, found 0"},
		{"first run", spec, "    first_run_limit: -1\n    range:", "c.yaml:7:22: jobs.j.first_run_limit: expected at least 0, found -1"},
		{"on doubt", spec, "    on_doubt: go\n    range:", `c.yaml:7:15: jobs.j.on_doubt: expected stop or skip, found "go"`},
		{"catch up without schedule", spec, "    catch_up: newest\n    range:", "c.yaml:7:15: jobs.j.catch_up: newest counts the ticks that were missed, and schedule is missing\n" +
			"c.yaml:7:15: jobs.j.catch_up: newest goes by when rows came due, and columns.due is missing"},
		{"catch up", spec, "    catch_up: some\n    range:", `c.yaml:7:15: jobs.j.catch_up: expected all, newest or none, found "some"`},
		{"schedule", spec, "    timezone: UTC\n    schedule: every day\n    range:", `c.yaml:8:15: jobs.j.schedule: expected the five fields minute, hour, day, month and weekday such as "*/5 * * * *", or @hourly, @daily, "@every 10m", found "every day"`},
		{"schedule with zone", spec, "    schedule: \"TZ=UTC * * * * *\"\n    range:", `c.yaml:7:15: jobs.j.schedule: expected a schedule without a time zone: it is in the time zone of its job, use the key timezone, found "TZ=UTC * * * * *"`},
		{"schedule every", spec, "    schedule: \"@every 30s\"\n    range:", `c.yaml:7:15: jobs.j.schedule: expected at least a minute between runs, which are named after the minute, found "@every 30s"`},
		{"schedule never", spec, "    timezone: UTC\n    schedule: \"0 0 31 2 *\"\n    range:", `c.yaml:8:15: jobs.j.schedule: expected a schedule with a time that comes, found "0 0 31 2 *"`},
		{"window", spec, "    timezone: UTC\n    window: mornings\n    range:", `c.yaml:8:13: jobs.j.window: expected days and times such as "Mon-Fri 09:00-17:00", several divided by commas, found "mornings"`},
		{"window day", spec, "    timezone: UTC\n    window: Mon-Fry 09:00-17:00\n    range:", `c.yaml:8:13: jobs.j.window: expected the days Mon, Tue, Wed, Thu, Fri, Sat and Sun, found "Mon-Fry 09:00-17:00"`},
		{"window time", spec, "    timezone: UTC\n    window: 09:00-25:00\n    range:", `c.yaml:8:13: jobs.j.window: expected times of day from 00:00 to 24:00, found "09:00-25:00"`},
		{"window end", spec, "    timezone: UTC\n    window: 09:00-09:00\n    range:", `c.yaml:8:13: jobs.j.window: expected an end other than the start, write 00:00-24:00 for the whole day, found "09:00-09:00"`},
		{"where", spec, "    where: 'a =='\n    range:", "c.yaml:7:12: jobs.j.where: the condition cannot be read at character 4: it ends too early"},
		// Messages.
		{"no message", "    message:\n      subject: Hello\n      text: Hello\n", "", "c.yaml:5:3: jobs.j.message: the section is missing: a message has a subject, and text, html or markdown; a job whose rows callers claim and send themselves has claim_only: true"},
		{"message of what is only claimed", spec, "    claim_only: true\n    range:", "c.yaml:10:5: jobs.j.message: a job with claim_only: true mails nothing itself: remove the message, or claim_only"},
		{"schedule of what is only claimed", "    message:\n      subject: Hello\n      text: Hello\n", "    claim_only: true\n    schedule: '*/5 * * * *'\n", "c.yaml:10:15: jobs.j.schedule: a job with claim_only: true is started by its callers, with POST /v1/claims: remove the schedule"},
		{"no subject", "      subject: Hello\n", "", "c.yaml:9:5: jobs.j.message.subject: the value is missing"},
		{"no body", "      text: Hello\n", "", "c.yaml:9:5: jobs.j.message: the body is missing: give text, html or markdown, or the same with _file"},
		{"markdown and text", msg, "      markdown: Hello\n      text:", "c.yaml:11:17: jobs.j.message.markdown: markdown makes the text and the HTML part, remove text and html or markdown"},
		{"template", "text: Hello", "text: \"Hello {{if .a}}\"", "c.yaml:11:13: jobs.j.message.text: line 1 of the template: an {{end}} is missing"},
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(minimal, tt.old, tt.new, 1)
			_, err := job.Parse("c.yaml", []byte(text), environment("SECRET", "hunter2", "EMPTY", ""))
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "cret@") {
				t.Errorf("the error shows a secret: %v", err)
			}
			// Files are named by where they were looked for.
			got := strings.ReplaceAll(err.Error(), dir, "DIR")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrorsOfConditionsShowNoSecret(t *testing.T) {
	_, err := job.Parse("c.yaml", []byte(minimal+"    where: '${SECRET}(id)'\n"), environment("SECRET", "hunter2"))
	if err == nil || !strings.Contains(err.Error(), "there is no function ${SECRET};") {
		t.Errorf("error = %v", err)
	}
}
