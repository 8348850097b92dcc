//go:build !linux

package doctor

func openFiles() (now, most uint64, err error) { return 0, 0, nil }
