// Package extract makes the files of a snapshot: it compares the memory that QEMU saved with the parent's.
package extract

import (
	"errors"
	"fmt"
	"io"
	"os"

	"mayfly/ram/internal/plan"
	"mayfly/ram/internal/stream"
)

// Files are what a snapshot is made from, and the three files it is written to, which are empty before.
type Files struct {
	Saved       *os.File
	ParentState *os.File
	ParentPlan  *os.File
	// Layers are the layers of the parent, from layer 0 upward.
	Layers   []*os.File
	OutLayer *os.File
	OutPlan  *os.File
	OutState *os.File
}

// Settings are the numbers that belong to the files.
type Settings struct {
	RAMBytes uint64
	// Keep is how many of the parent's layers the new plan may use. Pages of higher ones are stored again. The new layer gets this number.
	Keep uint
	// Unit is the granularity in bytes.
	Unit       uint64
	MaxExtents int
}

// Result describes what was written.
type Result struct {
	// StoredBytes is the space that the new layer takes.
	StoredBytes uint64 `json:"stored_bytes"`
	// ChangedPages is the number of units whose content differs from the parent's.
	ChangedPages uint64 `json:"changed_pages"`
	Extents      int    `json:"extents"`
	// KeptLayers is the number of the parent's layers that the plan may use, and the new layer's number.
	KeptLayers uint `json:"kept_layers"`
}

// Run writes layer, plan and device state of a snapshot.
func Run(files Files, settings Settings) (Result, error) {
	source, saved, err := openSource(files, settings)
	if err != nil {
		return Result{}, err
	}
	stateOffset, err := parseState(files.ParentState)
	if err != nil {
		return Result{}, err
	}
	compared, err := compare(source, settings)
	if err != nil {
		return Result{}, err
	}
	composed, storedBytes, err := writeLayer(files.OutLayer, source, compared.join(settings.MaxExtents), settings)
	if err != nil {
		return Result{}, fmt.Errorf("write the layer: %w", err)
	}
	if err := composed.Write(files.OutPlan); err != nil {
		return Result{}, fmt.Errorf("write the plan: %w", err)
	}
	if err := writeState(files, stateOffset, saved); err != nil {
		return Result{}, fmt.Errorf("write the device state: %w", err)
	}
	return Result{
		StoredBytes: storedBytes, ChangedPages: compared.changed, Extents: len(composed.Extents), KeptLayers: settings.Keep,
	}, nil
}

// openSource finds the machine's memory in the saved file and checks the parent's plan.
func openSource(files Files, settings Settings) (*source, stream.Saved, error) {
	if err := plan.CheckRAMBytes(settings.RAMBytes, settings.Unit); err != nil {
		return nil, stream.Saved{}, err
	}
	parent, err := plan.Read(files.ParentPlan, settings.Unit)
	if err != nil {
		return nil, stream.Saved{}, fmt.Errorf("the parent: %w", err)
	}
	if parent.RAMBytes != settings.RAMBytes || int(parent.Layers) != len(files.Layers) {
		return nil, stream.Saved{}, fmt.Errorf(
			"the parent's plan is for %d bytes of RAM and %d layers: %d bytes and %d layers are given",
			parent.RAMBytes, parent.Layers, settings.RAMBytes, len(files.Layers))
	}
	if settings.Keep > uint(parent.Layers) || settings.Keep >= plan.MaxLayers {
		return nil, stream.Saved{}, fmt.Errorf("%d layers cannot be kept of %d", settings.Keep, parent.Layers)
	}
	size, err := sizeOf(files.Saved)
	if err != nil {
		return nil, stream.Saved{}, err
	}
	saved, err := stream.ParseSaved(files.Saved, size)
	if err != nil {
		return nil, stream.Saved{}, err
	}
	memory, err := mainBlock(saved, settings)
	if err != nil {
		return nil, stream.Saved{}, err
	}
	bitmap := make([]byte, memory.BitmapBytes)
	if _, err := files.Saved.ReadAt(bitmap, int64(memory.BitmapOffset)); err != nil {
		return nil, stream.Saved{}, fmt.Errorf("read the bitmap: %w", err)
	}
	return &source{saved: files.Saved, memory: memory, bitmap: bitmap, parent: parent, layers: files.Layers}, saved, nil
}

// mainBlock is the block with the machine's RAM, the only one of its size.
func mainBlock(saved stream.Saved, settings Settings) (stream.Block, error) {
	var found *stream.Block
	for index, block := range saved.Blocks {
		if block.Length != settings.RAMBytes {
			continue
		}
		if found != nil {
			return stream.Block{}, fmt.Errorf("the saved file has two RAM blocks of %d bytes", settings.RAMBytes)
		}
		found = &saved.Blocks[index]
	}
	if found == nil {
		return stream.Block{}, fmt.Errorf("the saved file has no RAM block of %d bytes", settings.RAMBytes)
	}
	if settings.Unit%found.PageBytes != 0 {
		return stream.Block{}, fmt.Errorf("the guest's pages of %d bytes are larger than the unit of %d", found.PageBytes, settings.Unit)
	}
	return *found, nil
}

func parseState(file *os.File) (uint64, error) {
	size, err := sizeOf(file)
	if err != nil {
		return 0, err
	}
	return stream.ParseState(file, size)
}

func sizeOf(file *os.File) (uint64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return uint64(info.Size()), nil
}

// writeState writes the parent's state up to its devices, then the devices of the saved file. The small RAM blocks are the parent's: they
// have firmware that guests do not change. A compromised QEMU may change the size of the saved file at any time.
func writeState(files Files, stateOffset uint64, saved stream.Saved) error {
	out := io.NewOffsetWriter(files.OutState, 0)
	if _, err := io.Copy(out, io.NewSectionReader(files.ParentState, 0, int64(stateOffset))); err != nil {
		return err
	}
	devices := io.NewSectionReader(files.Saved, int64(saved.DevicesOffset), int64(saved.DevicesBytes))
	if _, err := io.CopyN(out, devices, int64(saved.DevicesBytes)); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("the saved file became shorter")
		}
		return err
	}
	return nil
}
