package initramfs

import (
	"slices"
	"testing"
)

func TestParseOrder(t *testing.T) {
	got := parseOrder("virtio_blk.ko\n\n ext4.ko \nvirtio_net.ko")
	if !slices.Equal(got, []string{"virtio_blk.ko", "ext4.ko", "virtio_net.ko"}) {
		t.Fatalf("%q", got)
	}
}

func TestHasParameter(t *testing.T) {
	if !hasParameter("console=ttyAMA0 mayfly.nodisk=1\n", "mayfly.nodisk=1") || hasParameter("xmayfly.nodisk=10", "mayfly.nodisk=1") {
		t.Fatal("parameters are not matched as whole words")
	}
}
