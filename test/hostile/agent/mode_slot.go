package main

import "bytes"

// markReversed is the mark that precedes the mode in memory, reversed so that the program itself does not contain it. A test finds the mark in
// the memory of a template and writes a mode after it, so that every restored machine is hostile from its first attach.
const markReversed = ":edom-eht-si-ereh-demra-elitsoh-ylfyam"

const modeBytes = 64

// modeSlot is one page, so that it is contiguous in the memory of the machine.
type modeSlot struct{ page []byte }

func newModeSlot() *modeSlot {
	s := &modeSlot{page: make([]byte, 4096)}
	for i := range len(markReversed) {
		s.page[i] = markReversed[len(markReversed)-1-i]
	}
	return s
}

// mode is the text after the mark; "" if nothing was written there.
func (s *modeSlot) mode() string {
	field := s.page[len(markReversed) : len(markReversed)+modeBytes]
	return string(bytes.TrimRight(field, "\x00"))
}
