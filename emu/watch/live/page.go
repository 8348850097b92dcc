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

// page returns the page as one text, and its policy: only its own scripts may run, and it may
// connect only to its own server. A page with data shows the data; a page without asks the
// server.
func page(data string) (text, policy string) {
	styles, scripts := plotCSS+pageCSS, plotJS+"\n"+pageJS
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	if data != "" {
		data = `<script type="application/json" id="data">` + data + `</script>`
	}
	text = strings.NewReplacer(
		"<!--styles-->", "<style>"+styles+"</style>",
		"<!--data-->", data,
		"<!--scripts-->", "<script>"+scripts+"</script>",
	).Replace(pageHTML)
	return text, fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		hash(scripts), hash(styles))
}

// WritePage writes the page with its moments in it: one file, which opens without a server.
func WritePage(w io.Writer, scene *Scene, moments []*Moment) error {
	data, err := json.Marshal(struct { // json escapes the end of a script
		Scene   *Scene    `json:"scene"`
		Moments []*Moment `json:"moments"`
	}{scene, moments})
	if err != nil {
		return err
	}
	text, policy := page(string(data))
	policy, _, _ = strings.Cut(policy, "; frame-ancestors") // of no effect in a file
	text = strings.Replace(text, `<meta charset="utf-8">`,
		`<meta charset="utf-8">`+"\n"+`<meta http-equiv="Content-Security-Policy" content="`+policy+`">`, 1)
	_, err = io.WriteString(w, text)
	return err
}
