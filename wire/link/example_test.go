package link_test

import (
	"fmt"

	"fabemu/wire/link"
)

func ExamplePipe() {
	a, b := link.Pipe(16)
	if err := a.Send([]byte("a frame and its trailer")); err != nil {
		fmt.Println(err)
	}
	buf := make([]byte, 2200)
	n, err := b.Recv(buf)
	fmt.Printf("%q %v\n", buf[:n], err)
	n, err = b.Recv(buf)
	fmt.Println(n, err)
	// Output:
	// "a frame and its trailer" <nil>
	// 0 <nil>
}
