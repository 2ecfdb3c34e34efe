package extract

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"mayfly/ram/internal/plan"
	"mayfly/ram/internal/stream"
	"mayfly/ram/internal/streamtest"
)

const (
	unit  = 4096
	pages = 600
)

var (
	flash         = streamtest.Block{Name: "virt.flash0", Content: make([]byte, 2*unit)}
	parentDevices = []byte("\x04devices of the parent")
	devices       = []byte("\x04devices of the machine")
)

// snapshot is a plan with its files: a template, or what Run wrote.
type snapshot struct {
	plan, state *os.File
	layers      []*os.File
}

func newFile(t *testing.T, content []byte) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "file")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if _, err := file.Write(content); err != nil {
		t.Fatal(err)
	}
	return file
}

func contentOf(t *testing.T, file *os.File) []byte {
	t.Helper()
	content, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// template has the memory in one layer, without holes for pages that are zero.
func template(t *testing.T, memory []byte) snapshot {
	t.Helper()
	made := snapshot{layers: []*os.File{newFile(t, memory)}, plan: newFile(t, nil)}
	made.state = newFile(t, streamtest.State(parentDevices, streamtest.Block{Name: "ram", Content: memory}, flash))
	extents := []plan.Extent{{Guest: 0, Offset: 0, Length: uint64(len(memory)) / 2}}
	if err := (plan.Plan{Layers: 1, RAMBytes: uint64(len(memory)), Extents: extents}).Write(made.plan); err != nil {
		t.Fatal(err)
	}
	clear(memory[len(memory)/2:])
	return made
}

func extractFrom(t *testing.T, parent snapshot, saved streamtest.Block, keep uint, maxExtents int) (snapshot, Result, error) {
	t.Helper()
	files := Files{
		Saved: newFile(t, streamtest.Saved(devices, flash, saved)), ParentState: parent.state, ParentPlan: parent.plan, Layers: parent.layers,
		OutLayer: newFile(t, nil), OutPlan: newFile(t, nil), OutState: newFile(t, nil),
	}
	result, err := Run(files, Settings{RAMBytes: uint64(len(saved.Content)), Keep: keep, Unit: unit, MaxExtents: maxExtents})
	layers := append(append([]*os.File{}, parent.layers[:min(int(keep), len(parent.layers))]...), files.OutLayer)
	return snapshot{plan: files.OutPlan, state: files.OutState, layers: layers}, result, err
}

// memoryOf is what a machine that is restored from the snapshot sees.
func memoryOf(t *testing.T, s snapshot) []byte {
	t.Helper()
	read, err := plan.Read(s.plan, unit)
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, read.RAMBytes)
	for _, extent := range read.Extents {
		copy(memory[extent.Guest:extent.End()], contentOf(t, s.layers[extent.Layer])[extent.Offset:extent.Offset+extent.Length])
	}
	return memory
}

func page(memory []byte, index int) []byte { return memory[index*unit : (index+1)*unit] }

// fill gives a page a content that is not zero.
func fill(page []byte, seed byte) {
	for index := range page {
		page[index] = seed + byte(index)
	}
	page[0] = seed | 1
}

func templateMemory() []byte {
	memory := make([]byte, pages*unit)
	for index := range pages / 2 {
		fill(page(memory, index), byte(index))
	}
	return memory
}

func TestAnUnchangedMachineStoresNothing(t *testing.T) {
	memory := templateMemory()
	parent := template(t, memory)
	child, result, err := extractFrom(t, parent, streamtest.Block{Name: "ram", Content: memory}, 1, plan.MaxExtents)
	if err != nil {
		t.Fatal(err)
	}
	if result != (Result{StoredBytes: 0, ChangedPages: 0, Extents: 1, KeptLayers: 1}) || len(contentOf(t, child.layers[1])) != 0 {
		t.Errorf("%+v", result)
	}
	if !bytes.Equal(memoryOf(t, child), memory) {
		t.Error("the memory differs")
	}
}

func TestOnlyChangedPagesAreStored(t *testing.T) {
	memory := templateMemory()
	parent := template(t, memory)
	fill(page(memory, 10), 99)
	fill(page(memory, 500), 98)
	clear(page(memory, 20))
	child, result, err := extractFrom(t, parent, streamtest.Block{Name: "ram", Content: memory}, 1, plan.MaxExtents)
	if err != nil {
		t.Fatal(err)
	}
	// Before page 10, page 10, up to page 20, after page 20, page 500. Page 20 became zero and is in no extent.
	if result != (Result{StoredBytes: 2 * unit, ChangedPages: 3, Extents: 5, KeptLayers: 1}) {
		t.Errorf("%+v", result)
	}
	if !bytes.Equal(memoryOf(t, child), memory) {
		t.Error("the memory differs")
	}
}

func TestTheDeviceStateHasTheMachinesDevices(t *testing.T) {
	memory := templateMemory()
	parent := template(t, memory)
	saved := streamtest.Block{Name: "ram", Content: memory}
	child, _, err := extractFrom(t, parent, saved, 1, plan.MaxExtents)
	if err != nil {
		t.Fatal(err)
	}
	want := streamtest.State(devices, saved, flash)
	if !bytes.Equal(contentOf(t, child.state), want) {
		t.Error("the state is not the parent's with other devices")
	}
	grandchild, _, err := extractFrom(t, child, saved, 2, plan.MaxExtents)
	if err != nil || !bytes.Equal(contentOf(t, grandchild.state), want) {
		t.Errorf("the state of a snapshot's snapshot: %v", err)
	}
}

func TestPagesWithoutABitAreZero(t *testing.T) {
	memory := templateMemory()
	parent := template(t, memory)
	present := make([]bool, pages)
	for index := range present {
		present[index] = index != 7
	}
	child, _, err := extractFrom(t, parent, streamtest.Block{Name: "ram", Content: memory, Present: present}, 1, plan.MaxExtents)
	if err != nil {
		t.Fatal(err)
	}
	clear(page(memory, 7))
	if !bytes.Equal(memoryOf(t, child), memory) {
		t.Error("stale bytes of the saved file came back")
	}
}

func TestAnyHistoryIsRestoredExactly(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 14))
		memory := templateMemory()
		current := template(t, memory)
		for generation := range 5 {
			for range random.IntN(300) {
				if changed := page(memory, random.IntN(pages)); random.IntN(3) == 0 {
					clear(changed)
				} else {
					fill(changed, byte(random.IntN(256)))
				}
			}
			limit := []int{plan.MaxExtents, 40, 7, 1}[random.IntN(4)]
			keep := uint(random.IntN(len(current.layers) + 1))
			child, result, err := extractFrom(t, current, streamtest.Block{Name: "ram", Content: memory}, keep, limit)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(memoryOf(t, child), memory) {
				t.Fatalf("seed %d, generation %d: the memory differs", seed, generation)
			}
			if result.Extents > limit || len(child.layers) != int(keep)+1 {
				t.Fatalf("seed %d, generation %d: %+v, limit %d", seed, generation, result, limit)
			}
			current = child
		}
	}
}

func TestFlatteningNeedsOnlyTheTemplate(t *testing.T) {
	memory := templateMemory()
	current := template(t, memory)
	for generation := range 3 {
		fill(page(memory, 400+generation), byte(generation))
		child, _, err := extractFrom(t, current, streamtest.Block{Name: "ram", Content: memory}, uint(len(current.layers)), plan.MaxExtents)
		if err != nil {
			t.Fatal(err)
		}
		current = child
	}
	flat, result, err := extractFrom(t, current, streamtest.Block{Name: "ram", Content: memory}, 1, plan.MaxExtents)
	if err != nil || len(flat.layers) != 2 || result.StoredBytes != 3*unit || result.ChangedPages != 0 {
		t.Fatalf("%d layers, %+v, %v", len(flat.layers), result, err)
	}
	if !bytes.Equal(memoryOf(t, flat), memory) {
		t.Error("the memory differs")
	}
}

func TestInputsThatDoNotFitAreRefused(t *testing.T) {
	memory := templateMemory()
	parent := template(t, memory)
	saved := streamtest.Block{Name: "ram", Content: memory}
	expect := func(part string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("expected %q, got %v", part, err)
		}
	}
	_, _, err := extractFrom(t, parent, saved, 2, plan.MaxExtents)
	expect("2 layers cannot be kept of 1", err)
	_, _, err = extractFrom(t, parent, streamtest.Block{Name: "ram", Content: memory[:unit]}, 1, plan.MaxExtents)
	expect("the parent's plan is for", err)
	short := snapshot{plan: parent.plan, state: parent.state, layers: []*os.File{newFile(t, memory[:unit])}}
	_, _, err = extractFrom(t, short, saved, 1, plan.MaxExtents)
	expect("read layer 0 of the parent", err)
	short.layers = append(short.layers, newFile(t, nil))
	_, _, err = extractFrom(t, short, saved, 1, plan.MaxExtents)
	expect("the parent's plan is for", err)
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	files := Files{
		Saved: newFile(t, streamtest.Saved(devices, saved)), ParentState: parent.state, ParentPlan: parent.plan, Layers: parent.layers,
		OutLayer: newFile(t, nil), OutPlan: full, OutState: newFile(t, nil),
	}
	_, err = Run(files, Settings{RAMBytes: pages * unit, Keep: 1, Unit: unit, MaxExtents: plan.MaxExtents})
	expect("no space left", err)
}

func TestTheStateHasOnlyWhatWasInTheSavedFileWhenItWasParsed(t *testing.T) {
	parent := template(t, templateMemory())
	content := streamtest.Saved(devices, flash, streamtest.Block{Name: "ram", Content: templateMemory()})
	saved, err := stream.ParseSaved(bytes.NewReader(content), uint64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	files := Files{Saved: newFile(t, append(content, make([]byte, 1000)...)), ParentState: parent.state, OutState: newFile(t, nil)}
	if err := writeState(files, 10, saved); err != nil {
		t.Fatal(err)
	}
	if want := append(contentOf(t, parent.state)[:10:10], devices...); !bytes.Equal(contentOf(t, files.OutState), want) {
		t.Errorf("the state is %q: expected %q", contentOf(t, files.OutState), want)
	}
	if err := files.Saved.Truncate(int64(len(content)) - 1); err != nil {
		t.Fatal(err)
	}
	if err := writeState(files, 10, saved); err == nil || !strings.Contains(err.Error(), "became shorter") {
		t.Errorf("a file that became shorter: %v", err)
	}
}
