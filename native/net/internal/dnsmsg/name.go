package dnsmsg

import (
	"errors"
	"fmt"
	"strings"
)

const (
	maxLabelBytes = 63
	maxNameBytes  = 255
	// maxPointers limits the compression pointers followed in one name.
	maxPointers = 32
)

var errName = errors.New("malformed name")

// readName reads the name at an offset. It returns the name in lower case without the trailing dot, and the offset after it.
// Bytes that are not valid in a host name are escaped, so a dot inside a label never looks like a separator.
func readName(message []byte, offset int, allowPointers bool) (string, int, error) {
	var name strings.Builder
	end := -1
	used := 1
	for pointers := 0; ; {
		if offset >= len(message) {
			return "", 0, errName
		}
		length := int(message[offset])
		switch {
		case length == 0:
			if end < 0 {
				end = offset + 1
			}
			return name.String(), end, nil
		case length <= maxLabelBytes:
			used += length + 1
			if offset+1+length > len(message) || used > maxNameBytes {
				return "", 0, errName
			}
			if name.Len() > 0 {
				name.WriteByte('.')
			}
			writeLabel(&name, message[offset+1:offset+1+length])
			offset += 1 + length
		case length >= 0xC0 && allowPointers:
			pointers++
			if offset+1 >= len(message) || pointers > maxPointers {
				return "", 0, errName
			}
			if end < 0 {
				end = offset + 2
			}
			offset = (length&0x3F)<<8 | int(message[offset+1])
		default:
			return "", 0, errName
		}
	}
}

func writeLabel(name *strings.Builder, label []byte) {
	for _, b := range label {
		switch {
		case b >= 'A' && b <= 'Z':
			name.WriteByte(b + 'a' - 'A')
		case b >= 'a' && b <= 'z', b >= '0' && b <= '9', b == '-', b == '_':
			name.WriteByte(b)
		default:
			fmt.Fprintf(name, "\\%03d", b)
		}
	}
}
