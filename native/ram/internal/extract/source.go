package extract

import (
	"errors"
	"fmt"
	"io"
	"os"

	"mayfly/ram/internal/plan"
	"mayfly/ram/internal/stream"
)

// windowBytes is how much memory is compared or copied at a time; a multiple of every unit.
const windowBytes = 1 << 20

// source reads both contents of the machine's memory: the saved one and the parent's.
type source struct {
	saved  *os.File
	memory stream.Block
	bitmap []byte
	parent plan.Plan
	layers []*os.File
}

// readSaved fills the buffer with saved memory and tells whether any of it may differ from zero.
func (s *source) readSaved(buffer []byte, guest uint64) (bool, error) {
	pageBytes := s.memory.PageBytes
	first, end := guest/pageBytes, (guest+uint64(len(buffer)))/pageBytes
	clear(buffer)
	found := false
	for page := first; page < end; {
		if !s.isPresent(page) {
			page++
			continue
		}
		start := page
		for page < end && s.isPresent(page) {
			page++
		}
		found = true
		part := buffer[(start-first)*pageBytes : (page-first)*pageBytes]
		if err := readFull(s.saved, part, s.memory.PagesOffset+start*pageBytes); err != nil {
			return false, fmt.Errorf("read the saved memory: %w", err)
		}
	}
	return found, nil
}

// isPresent tells whether the file has the page; otherwise it is zero.
func (s *source) isPresent(page uint64) bool { return s.bitmap[page/8]&(1<<(page%8)) != 0 }

// readParent fills the buffer with the parent's memory. It returns the first of the parent's extents that ends after the buffer, from which
// the next call may search.
func (s *source) readParent(buffer []byte, guest uint64, extent int) (next int, found bool, err error) {
	clear(buffer)
	end := guest + uint64(len(buffer))
	for ; extent < len(s.parent.Extents); extent++ {
		current := s.parent.Extents[extent]
		from, to := max(guest, current.Guest), min(end, current.End())
		if from < to {
			found = true
			offset := current.Offset + from - current.Guest
			if err := readFull(s.layers[current.Layer], buffer[from-guest:to-guest], offset); err != nil {
				return 0, false, fmt.Errorf("read layer %d of the parent: %w", current.Layer, err)
			}
		}
		if current.End() > end {
			break
		}
	}
	return extent, found, nil
}

// readFull fills the buffer; the end of the file is an error.
func readFull(file io.ReaderAt, buffer []byte, offset uint64) error {
	count, err := file.ReadAt(buffer, int64(offset))
	if count == len(buffer) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
