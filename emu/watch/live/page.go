package live

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// The parts of the page. uPlot is by Leon Sorokin, under the MIT license in the same folder.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
	//go:embed page/uPlot.iife.min.js
	plotJS string
	//go:embed page/uPlot.min.css
	plotCSS string
)

// page returns the page as one text without its data, and its policy: only its own scripts may run,
// and it may connect only to its own server.
func page() (text, policy string) {
	styles, scripts := plotCSS+pageCSS, plotJS+"\n"+pageJS
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	text = strings.NewReplacer(
		"<!--styles-->", "<style>"+styles+"</style>",
		"<!--scripts-->", "<script>"+scripts+"</script>",
	).Replace(pageHTML)
	return text, fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		hash(scripts), hash(styles))
}

// data are the moments that a page has in it, and with which it begins. The scene and the moments
// are written already: json escapes the end of a script.
type data struct {
	Scene   json.RawMessage   `json:"scene"`
	Moments []json.RawMessage `json:"moments"`
	After   *int64            `json:"after,omitempty"` // the number of the last one: the page asks the server for those after it; null: it asks for nothing
	Still   bool              `json:"still,omitempty"` // the run goes on, and the page does not
}

// put puts data into a page.
func (d *data) put(text string) (string, error) {
	b, err := json.Marshal(d)
	return strings.Replace(text, "<!--data-->", `<script type="application/json" id="data">`+string(b)+`</script>`, 1), err
}

// WritePage writes the page with its moments in it: one file, which opens without a server.
func WritePage(w io.Writer, scene *Scene, moments []*Moment) error {
	d := &data{}
	var err error
	if d.Scene, err = json.Marshal(scene); err != nil {
		return err
	}
	for _, m := range moments {
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		d.Moments = append(d.Moments, b)
	}
	text, policy := page()
	if text, err = d.put(text); err != nil {
		return err
	}
	policy, _, _ = strings.Cut(policy, "; frame-ancestors") // of no effect in a file
	text = strings.Replace(text, `<meta charset="utf-8">`,
		`<meta charset="utf-8">`+"\n"+`<meta http-equiv="Content-Security-Policy" content="`+policy+`">`, 1)
	_, err = io.WriteString(w, text)
	return err
}
