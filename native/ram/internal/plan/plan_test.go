package plan

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

const unit = 4096

func written(t testing.TB, p Plan) []byte {
	path := filepath.Join(t.TempDir(), "plan")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := p.Write(file); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

var valid = Plan{Layers: 2, RAMBytes: 16 * unit, Extents: []Extent{
	{Layer: 0, Guest: 0, Offset: 0, Length: unit},
	{Layer: 1, Guest: 3 * unit, Offset: 7 * unit, Length: 2 * unit},
}}

func TestFormat(t *testing.T) {
	content := written(t, valid)
	if len(content) != 24+2*32 || string(content[:8]) != "MFRAM001" || content[8] != 2 || content[12] != 2 || content[24+32] != 1 {
		t.Fatalf("%x", content)
	}
	read, err := Read(bytes.NewReader(content), unit)
	if err != nil || !reflect.DeepEqual(read, valid) {
		t.Fatalf("%+v %v", read, err)
	}
	for length := range len(content) {
		if _, err := Read(bytes.NewReader(content[:length]), unit); err == nil {
			t.Fatalf("%d bytes were accepted", length)
		}
	}
}

func TestInvalidPlansAreRefused(t *testing.T) {
	for name, extents := range map[string][]Extent{
		"unknown layer":    {{Layer: 2, Length: unit}},
		"not a whole page": {{Length: 100}},
		"empty":            {{Guest: unit}},
		"outside the RAM":  {{Guest: 15 * unit, Length: 2 * unit}},
		"overflow":         {{Guest: 1<<64 - unit, Length: 2 * unit}},
		"overlap":          {{Length: 2 * unit}, {Guest: unit, Length: unit}},
		"not sorted":       {{Guest: 2 * unit, Length: unit}, {Length: unit}},
		"huge offset":      {{Offset: 1 << 60, Length: unit}},
	} {
		if _, err := Read(bytes.NewReader(written(t, Plan{Layers: 2, RAMBytes: 16 * unit, Extents: extents})), unit); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Read(bytes.NewReader(written(t, Plan{Layers: 1, RAMBytes: unit, Extents: make([]Extent, MaxExtents+1)})), unit); err == nil {
		t.Error("too many extents were accepted")
	}
}

// sparse makes a file with one page of data at each of the given pages.
func sparse(t *testing.T, pages uint64, data ...uint64) *os.File {
	file, err := os.Create(filepath.Join(t.TempDir(), "ram"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if err := file.Truncate(int64(pages * unit)); err != nil {
		t.Fatal(err)
	}
	for _, page := range data {
		if _, err := file.WriteAt(bytes.Repeat([]byte{1}, unit), int64(page*unit)); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func TestPlanOfATemplateLeavesLargeHolesOut(t *testing.T) {
	made, err := OfSparseFile(sparse(t, 4096, 0, 3, 1024, 4095), 4096*unit, unit)
	if err != nil {
		t.Fatal(err)
	}
	want := []Extent{
		{Guest: 0, Offset: 0, Length: 4 * unit},
		{Guest: 1024 * unit, Offset: 1024 * unit, Length: unit},
		{Guest: 4095 * unit, Offset: 4095 * unit, Length: unit},
	}
	if made.Layers != 1 || !reflect.DeepEqual(made.Extents, want) {
		t.Fatalf("%+v", made)
	}
	if err := made.Check(unit); err != nil {
		t.Error(err)
	}
}

func TestPlanOfATemplateHasLimitedExtents(t *testing.T) {
	var data []uint64
	for page := uint64(0); len(data) <= MaxExtents; page += 32 {
		data = append(data, page)
	}
	pages := uint64(len(data)) * 32
	made, err := OfSparseFile(sparse(t, pages, data...), pages*unit, unit)
	if err != nil || len(made.Extents) == 0 || made.Check(unit) != nil {
		t.Fatalf("%d extents, %v", len(made.Extents), err)
	}
}

func TestPlanOfAnEmptyTemplate(t *testing.T) {
	made, err := OfSparseFile(sparse(t, 16), 16*unit, unit)
	if err != nil || len(made.Extents) != 0 {
		t.Fatalf("%+v %v", made, err)
	}
	if _, err := OfSparseFile(sparse(t, 16), 32*unit, unit); err == nil {
		t.Error("a RAM file of another size was accepted")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, valid))
	f.Add(written(f, Plan{Layers: 1, RAMBytes: unit}))
	f.Fuzz(func(t *testing.T, content []byte) {
		read, err := Read(bytes.NewReader(content), unit)
		if err != nil {
			return
		}
		end := uint64(0)
		for _, extent := range read.Extents {
			if extent.Guest < end || extent.End() <= extent.Guest || extent.End() > read.RAMBytes || extent.Layer >= read.Layers {
				t.Fatalf("%+v", read)
			}
			end = extent.End()
		}
	})
}
