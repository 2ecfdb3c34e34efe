package main

import "bytes"

// armedMark stands in memory, back to front in the program, in front of the mode: a test finds it in a saved machine's memory
// and writes a mode behind it, so that every copy is hostile from its first attach.
const armedMark = ":edom-eht-si-ereh-demra-elitsoh-ylfyam"

const modeBytes = 64

// armed is one page, so that it lies in one piece in the machine's memory.
type armed struct{ page []byte }

func arm() *armed {
	a := &armed{page: make([]byte, 4096)}
	for i := range len(armedMark) {
		a.page[i] = armedMark[len(armedMark)-1-i]
	}
	return a
}

// mode is what was written behind the mark; "" when nothing was.
func (a *armed) mode() string {
	field := a.page[len(armedMark) : len(armedMark)+modeBytes]
	return string(bytes.TrimRight(field, "\x00"))
}
