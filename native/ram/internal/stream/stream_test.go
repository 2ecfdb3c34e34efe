package stream

import (
	"bytes"
	"strings"
	"testing"

	"mayfly/ram/internal/streamtest"
)

const page = streamtest.PageBytes

var (
	memory  = streamtest.Block{Name: "ram", Content: bytes.Repeat([]byte{7}, 4*page)}
	flash   = streamtest.Block{Name: "virt.flash0", Content: make([]byte, 3*page)}
	devices = []byte("\x04devices of the machine")
)

func parseSaved(file []byte) (Saved, error) {
	return ParseSaved(bytes.NewReader(file), uint64(len(file)))
}

func parseState(file []byte) (uint64, error) {
	return ParseState(bytes.NewReader(file), uint64(len(file)))
}

func TestSavedFile(t *testing.T) {
	file := streamtest.Saved(devices, memory, flash)
	saved, err := parseSaved(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file[saved.DevicesOffset:], devices) {
		t.Errorf("devices: %q", file[saved.DevicesOffset:])
	}
	if len(saved.Blocks) != 2 || saved.Blocks[0].Name != "ram" || saved.Blocks[1].Name != "virt.flash0" {
		t.Fatalf("blocks: %+v", saved.Blocks)
	}
	first := saved.Blocks[0]
	if !bytes.Equal(file[first.PagesOffset:][:first.Length], memory.Content) || file[first.BitmapOffset] != 0b1111 {
		t.Errorf("%+v", first)
	}
}

func TestDeviceState(t *testing.T) {
	file := streamtest.State(devices, memory, flash)
	offset, err := parseState(file)
	if err != nil || !bytes.Equal(file[offset:], devices) {
		t.Fatalf("%d %v", offset, err)
	}
}

func TestEveryShorterFileIsRefused(t *testing.T) {
	saved, state := streamtest.Saved(devices, memory, flash), streamtest.State(devices, memory, flash)
	for length := range len(saved) - len(devices) {
		if _, err := parseSaved(saved[:length]); err == nil {
			t.Fatalf("%d bytes of a saved file were accepted", length)
		}
	}
	for length := range len(state) - len(devices) {
		if _, err := parseState(state[:length]); err == nil {
			t.Fatalf("%d bytes of a device state were accepted", length)
		}
	}
}

func TestFilesOfTheOtherKindAreRefused(t *testing.T) {
	if _, err := parseSaved(streamtest.State(devices, memory)); err == nil || !strings.Contains(err.Error(), "must be saved with mapped-ram") {
		t.Error(err)
	}
	if _, err := parseState(streamtest.Saved(devices, memory)); err == nil || !strings.Contains(err.Error(), "must be saved with x-ignore-shared") {
		t.Error(err)
	}
	if _, err := parseSaved([]byte("not a migration file at all")); err == nil || !strings.Contains(err.Error(), "no migration file") {
		t.Error(err)
	}
}

func TestTooManyDevicesAreRefused(t *testing.T) {
	if _, err := parseSaved(streamtest.Saved(make([]byte, maxDeviceBytes+1), memory)); err == nil {
		t.Error("accepted")
	}
}

func FuzzSaved(f *testing.F) {
	f.Add(streamtest.Saved(devices, memory, flash))
	// Files without memory are small, which lets the fuzzer reach all of the format.
	f.Add(streamtest.Saved(devices))
	f.Add(streamtest.Saved(devices, memory)[:page])
	f.Fuzz(func(t *testing.T, file []byte) {
		saved, err := parseSaved(file)
		if err != nil {
			return
		}
		size := uint64(len(file))
		for _, block := range saved.Blocks {
			if block.BitmapOffset+block.BitmapBytes > size || block.PagesOffset+block.Length > size || block.BitmapBytes*8 < block.Length/block.PageBytes {
				t.Fatalf("%+v in %d bytes", block, size)
			}
		}
		if len(saved.Blocks) > maxBlocks || saved.DevicesOffset >= size {
			t.Fatalf("%+v", saved)
		}
	})
}

func FuzzState(f *testing.F) {
	f.Add(streamtest.State(devices, memory, flash))
	f.Add(streamtest.State(devices, memory))
	f.Fuzz(func(t *testing.T, file []byte) {
		if offset, err := parseState(file); err == nil && offset >= uint64(len(file)) {
			t.Fatalf("devices at %d of %d", offset, len(file))
		}
	})
}
