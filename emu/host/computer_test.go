package host

import (
	"errors"
	"strings"
	"testing"

	"fabemu/emu/base/errs"
)

func TestNeedsLinux(t *testing.T) {
	if err := needsLinux("this", "linux"); err != nil {
		t.Error(err)
	}
	err := needsLinux("this", "darwin")
	var wrong *errs.Mistake
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "this needs Linux; on darwin scenarios run with --clock virtual") {
		t.Errorf("%v", err)
	}
}
