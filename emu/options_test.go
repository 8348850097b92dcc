package emu

import (
	"errors"
	"strings"
	"testing"
)

func TestNeedsLinux(t *testing.T) {
	if err := needsLinux("this", "linux"); err != nil {
		t.Error(err)
	}
	err := needsLinux("this", "darwin")
	var mistake *Mistake
	if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "this needs Linux; on darwin scenarios run with --clock virtual") {
		t.Errorf("%v", err)
	}
}
