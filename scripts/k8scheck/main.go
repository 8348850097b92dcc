// Command k8scheck reads objects of Kubernetes from standard input, as YAML documents, and
// refuses kinds, fields and types that the API does not have, and fields that are there
// twice. It prints a line for each object.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := check(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "k8scheck:", err)
		os.Exit(1)
	}
}

func check(r io.Reader, w io.Writer) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var kind struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			return err
		}
		var object any
		switch kind.APIVersion + " " + kind.Kind {
		case "batch/v1 Job":
			object = new(batch.Job)
		case "v1 ConfigMap":
			object = new(core.ConfigMap)
		case "v1 Service":
			object = new(core.Service)
		case "v1 PersistentVolumeClaim":
			object = new(core.PersistentVolumeClaim)
		default:
			return fmt.Errorf("a kind that is not known: %s %s", kind.APIVersion, kind.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			return fmt.Errorf("%s: %w", kind.Kind, err)
		}
		fmt.Fprintln(w, kind.Kind)
	}
	return nil
}
