// Package streamtest writes migration files as QEMU 10.0 does, for tests.
package streamtest

import "encoding/binary"

// PageBytes is the guest's page size in all files.
const PageBytes = 4096

// Block is a RAM block.
type Block struct {
	Name    string
	Content []byte
	// Present tells which pages have a set bit; nil for all. The others have their content in the file nevertheless, as stale bytes.
	Present []bool
}

var big = binary.BigEndian

// Saved is a file with mapped RAM.
func Saved(devices []byte, blocks ...Block) []byte {
	file := start("mapped-ram")
	file = big.AppendUint64(file, total(blocks)|0x04)
	for _, block := range blocks {
		file = name(file, block.Name)
		file = big.AppendUint64(file, uint64(len(block.Content)))
		bitmap := bitmapOf(block)
		bitmapOffset := len(file) + 28
		pagesOffset := (bitmapOffset + len(bitmap) + PageBytes - 1) / PageBytes * PageBytes
		file = big.AppendUint32(file, 1)
		file = big.AppendUint64(file, PageBytes)
		file = big.AppendUint64(file, uint64(bitmapOffset))
		file = big.AppendUint64(file, uint64(pagesOffset))
		file = append(file, bitmap...)
		file = append(file, make([]byte, pagesOffset-len(file))...)
		file = append(file, block.Content...)
	}
	return finish(file, devices, nil)
}

// State is a device state without the content of the first block, which is the machine's RAM. The pages of the others follow.
func State(devices []byte, blocks ...Block) []byte {
	file := start("x-ignore-shared")
	file = big.AppendUint64(file, total(blocks)|0x04)
	for _, block := range blocks {
		file = name(file, block.Name)
		file = big.AppendUint64(file, uint64(len(block.Content)))
		file = big.AppendUint64(file, 0x4000_0000)
	}
	var pages []byte
	for _, block := range blocks[1:] {
		pages = big.AppendUint64(pages, 0x08)
		pages = name(pages, block.Name)
		pages = append(pages, block.Content[:PageBytes]...)
		for offset := PageBytes; offset < len(block.Content); offset += PageBytes {
			pages = big.AppendUint64(pages, uint64(offset)|0x22)
			pages = append(pages, 0)
		}
	}
	return finish(file, devices, pages)
}

func start(capability string) []byte {
	file := append([]byte("QEVM"), 0, 0, 0, 3, 7)
	file = big.AppendUint32(file, 9)
	file = append(file, "virt-10.0"...)
	file = name(append(file, 5), "configuration/target-page-bits")
	file = big.AppendUint32(file, 1)
	file = big.AppendUint32(file, 12)
	file = name(append(file, 5), "configuration/capabilities")
	file = big.AppendUint32(file, 1)
	file = big.AppendUint32(file, 1)
	file = name(file, capability)
	file = append(file, 1, 0, 0, 0, 2)
	file = name(file, "ram")
	file = big.AppendUint32(file, 0)
	return big.AppendUint32(file, 4)
}

// finish ends the start of the RAM section, adds a part with the pages and the end, and the devices.
func finish(file, devices, pages []byte) []byte {
	end := append(big.AppendUint64(nil, 0x10), 0x7e, 0, 0, 0, 2)
	file = append(file, end...)
	file = append(file, 2, 0, 0, 0, 2)
	file = append(append(file, pages...), end...)
	file = append(file, 8, 0, 11, 0, 0)
	file = append(file, 3, 0, 0, 0, 2)
	return append(append(file, end...), devices...)
}

func name(file []byte, text string) []byte { return append(append(file, byte(len(text))), text...) }

func total(blocks []Block) (sum uint64) {
	for _, block := range blocks {
		sum += uint64(len(block.Content))
	}
	return sum
}

func bitmapOf(block Block) []byte {
	pages := len(block.Content) / PageBytes
	bitmap := make([]byte, (pages+63)/64*8)
	for page := range pages {
		if block.Present == nil || block.Present[page] {
			bitmap[page/8] |= 1 << (page % 8)
		}
	}
	return bitmap
}
