package live

import (
	"os"
	"path/filepath"
	"testing"

	"fabemu/emu"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/scenario"
)

// resultsOf runs a scenario on the virtual clock, and returns its results as they are read back.
func resultsOf(t testing.TB, name string) *report.Dir {
	t.Helper()
	s, err := emu.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return resultsOfScenario(t, s)
}

func resultsOfScenario(t testing.TB, s *scenario.Scenario) *report.Dir {
	t.Helper()
	dir := t.TempDir()
	result, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	if err := result.Write(dir, summary.Pictures); err != nil {
		t.Fatal(err)
	}
	d, err := report.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestModelPictureInDocs: the picture in docs is the page of the run that it names. Look at one
// that has changed before you commit it.
func TestModelPictureInDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	c, moments, err := Results(resultsOf(t, "hpl2002/fig2"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WritePage(file, c, moments); err != nil {
		t.Fatal(err)
	}
	file.Close()
	b := open(t, "file://"+path, 1400, 1000, false)
	b.dejaVu()
	b.scrub(len(moments) / 2)
	b.until("fabemu.settled")
	if words := value[string](b, "document.querySelector('#cause').innerText"); words != "B's port to BC is the root; 11 flows wait; victim: victim." {
		t.Errorf("it says %q", words)
	}
	png := b.shot()
	const kept = "../../../docs/guide/live.png"
	if *update {
		if err := os.WriteFile(kept, png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(shrunk(decode(t, want)), shrunk(decode(t, png))); d > differing {
		t.Errorf("%.1f %% of docs/guide/live.png differs, more than %.0f %%", 100*d, 100*differing)
	}
	b.fine()
}
