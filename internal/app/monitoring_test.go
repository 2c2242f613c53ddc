package app_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/consign-dev/consign/internal/testkit"
)

// query is a PromQL expression of the dashboard or of an alert, and the labels that its legend or its sentences name.
type query struct {
	where, expr string
	shown       []string
}

var shownLabel = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}`)

func labelsIn(text string) (names []string) {
	for _, m := range shownLabel.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

func dashboardQueries(t *testing.T) (all []query) {
	t.Helper()
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ RefID, Expr, LegendFormat string }
			GridPos struct{ H, W, X, Y int }
		}
	}
	if err := json.Unmarshal([]byte(readText(t, "deploy/grafana/consign.json")), &board); err != nil {
		t.Fatal(err)
	}
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || (len(p.Targets) == 0) != (p.Type == "row") {
			t.Errorf("panel %d %q: its id is taken, or it has no title or no query", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" || at[0] > 23 {
					t.Fatalf("panels %q and %q overlap at %v", p.Title, taken[at], at)
				}
				taken[at] = p.Title
			}
		}
		for _, target := range p.Targets {
			all = append(all, query{p.Title, target.Expr, labelsIn(target.LegendFormat)})
		}
	}
	return all
}

func alertQueries(t *testing.T) (all []query) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(readText(t, "deploy/prometheus/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if names[r.Alert] || !strings.HasPrefix(r.Alert, "Consign") || r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
				!slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
				t.Errorf("alert %s: its name is taken, or summary, description or severity is missing", r.Alert)
			}
			names[r.Alert] = true
			all = append(all, query{r.Alert, r.Expr, labelsIn(r.Annotations["summary"])})
		}
	}
	return all
}

var (
	promStrings  = regexp.MustCompile(`"[^"]*"`)
	promSelector = regexp.MustCompile(`([a-zA-Z_:]\w*)\{([^}]*)\}`)
	promMatcher  = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	promGroup    = regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`)
	promRange    = regexp.MustCompile(`\[\d+[smhd]\]`)
	promName     = regexp.MustCompile(`\b[a-zA-Z_:]\w*\b`)
)

var promFunctions = set("sum", "min", "max", "count", "rate", "increase", "histogram_quantile", "by", "on", "or", "time", "1e9")

// promNames returns the names in an expression that are no functions, labels or texts: its metrics, and what is misspelt.
func promNames(expr string) (names []string) {
	expr = promSelector.ReplaceAllString(promStrings.ReplaceAllString(expr, `""`), "$1")
	expr = promRange.ReplaceAllString(promGroup.ReplaceAllString(expr, ""), "")
	for _, n := range promName.FindAllString(expr, -1) {
		if !promFunctions[n] {
			names = append(names, n)
		}
	}
	return names
}

// documented returns the labels of each metric in docs/use/metrics.md.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	metrics := map[string][]string{"up": nil}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (counter|gauge|histogram|summary) \\| ([^|]*) \\|").FindAllStringSubmatch(
		readText(t, "docs/use/metrics.md"), -1) {
		labels := regexp.MustCompile(`\w+`).FindAllString(m[3], -1)
		metrics[m[1]] = labels
		if m[2] == "histogram" {
			metrics[m[1]+"_bucket"] = append(slices.Clone(labels), "le")
		}
	}
	return metrics
}

// TestMonitoring: each query of the Grafana dashboard and of the alert rules names metrics and labels that docs/use/metrics.md has and that
// a server serves, with values that occur. The dashboard draws all metrics of Consign.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited(), testkit.Env("CONSIGN_TSA_URL", "http://127.0.0.1:1"))
	ann := mailboxOwner(s)
	ann.Get(s.Transfer + "/public/mailbox/dr-ann").Want(http.StatusOK)
	for range 4 { // the fourth finds the bucket full
		s.Stranger().Post(s.Identity+"/auth/login", map[string]any{"email": "nobody@example.com", "type": "bcrypt", "key": "wrong wrong"})
	}
	served := scrape(t, s)
	series := func(metric, part string) bool {
		for name := range served {
			if before, _, _ := strings.Cut(name, "{"); before == metric && strings.Contains(name, part) {
				return true
			}
		}
		return false
	}
	known, drawn := documented(t), map[string]bool{}
	board := dashboardQueries(t)
	for _, q := range slices.Concat(board, alertQueries(t)) {
		labels := []string{"instance", "job"}
		names := promNames(q.expr)
		for _, n := range names {
			if _, ok := known[n]; !ok {
				t.Errorf("%s: %s is not in docs/use/metrics.md", q.where, n)
			} else if n != "up" && !series(n, "") {
				t.Errorf("%s: /metrics does not have %s", q.where, n)
			}
			labels = append(labels, known[n]...)
		}
		if len(names) == 0 {
			t.Errorf("%s: %q asks for no metric", q.where, q.expr)
		}
		for _, m := range promSelector.FindAllStringSubmatch(q.expr, -1) {
			for _, l := range promMatcher.FindAllStringSubmatch(m[2], -1) {
				switch {
				case l[1] == "job" || l[1] == "instance":
				case !slices.Contains(known[m[1]], l[1]):
					t.Errorf("%s: %s has no label %s", q.where, m[1], l[1])
				case l[1] != "status" && !series(m[1], l[1]+`="`+l[3]+`"`):
					t.Errorf("%s: %s of %s is never %q", q.where, l[1], m[1], l[3])
				}
			}
		}
		grouped := q.shown
		for _, m := range promGroup.FindAllStringSubmatch(q.expr, -1) {
			grouped = append(grouped, strings.Fields(strings.ReplaceAll(m[1], ",", " "))...)
		}
		for _, l := range grouped {
			if !slices.Contains(labels, l) {
				t.Errorf("%s: no metric of %q has a label %s", q.where, q.expr, l)
			}
		}
	}
	for _, q := range board {
		for _, n := range promNames(q.expr) {
			drawn[strings.TrimSuffix(n, "_bucket")] = true
		}
	}
	for n := range known {
		if n = strings.TrimSuffix(n, "_bucket"); strings.HasPrefix(n, "consign_") && !drawn[n] {
			t.Errorf("the dashboard does not draw %s", n)
		}
	}
}

// TestAlertsAreDocumented: the conditions of docs/use/metrics.md and the alert rules are about the same metrics.
func TestAlertsAreDocumented(t *testing.T) {
	t.Parallel()
	_, after, _ := strings.Cut(readText(t, "docs/use/metrics.md"), "## When to alert")
	section, _, _ := strings.Cut(after, "\n## ")
	metric := regexp.MustCompile(`consign_\w+`)
	inDocs, inRules := map[string]bool{"consign_http_requests_total": true}, map[string]bool{} // that row is in words
	for line := range strings.Lines(section) {
		for _, n := range metric.FindAllString(strings.SplitN(line+"||", "|", 3)[1], -1) {
			inDocs[n] = true
		}
	}
	for _, q := range alertQueries(t) {
		for _, n := range metric.FindAllString(q.expr, -1) {
			inRules[n] = true
		}
	}
	for n := range inDocs {
		if !inRules[n] {
			t.Errorf("no alert rule asks for %s", n)
		}
	}
	for n := range inRules {
		if !inDocs[n] {
			t.Errorf("docs/use/metrics.md does not say when to alert by %s", n)
		}
	}
}
