package files

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/fsuser"
)

// home creates a directory owned by the user.
func home(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	syscall.Umask(0o022)
	dir, err := os.MkdirTemp("", "files")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	os.Chown(dir, fsuser.UID, fsuser.GID)
	return dir
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

func mustWrite(t *testing.T, p, content string) {
	t.Helper()
	if _, err := Write(p, strings.NewReader(content), -1); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, p string) string {
	t.Helper()
	f, err := Open(p, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestResolve(t *testing.T) {
	for in, want := range map[string]string{"a": "/workspace/a", "/a/../b/": "/b", ".": "/workspace", "/": "/", "\xff": "/workspace/\xff"} {
		if got, err := Resolve(in); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "a\x00b"} {
		if _, err := Resolve(bad); code(err) != "bad_request" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestWriteCreatesParentsOwnedByTheUser(t *testing.T) {
	dir := home(t)
	p := dir + "/a/b/c.txt"
	if n, err := Write(p, strings.NewReader("hello"), 5); err != nil || n != 5 {
		t.Fatal(n, err)
	}
	for name, mode := range map[string]uint32{p: 0o100644, dir + "/a": 0o40755, dir + "/a/b": 0o40755} {
		var st syscall.Stat_t
		if err := syscall.Stat(name, &st); err != nil || st.Uid != 1000 || st.Gid != 1000 || st.Mode != mode {
			t.Errorf("%s: %d:%d %o %v", name, st.Uid, st.Gid, st.Mode, err)
		}
	}
	if got := mustRead(t, p); got != "hello" {
		t.Fatalf("got %q", got)
	}
}

func TestWriteKeepsModeAndFollowsLinks(t *testing.T) {
	dir := home(t)
	mustWrite(t, dir+"/real", "old")
	os.Chmod(dir+"/real", 0o750)
	os.Mkdir(dir+"/links", 0o755)
	os.Symlink("../real", dir+"/links/one")
	os.Symlink("one", dir+"/links/two")
	mustWrite(t, dir+"/links/two", "new")
	st, err := os.Lstat(dir + "/real")
	if err != nil || st.Mode() != 0o750 || mustRead(t, dir+"/real") != "new" {
		t.Fatal(st.Mode(), err)
	}
	if l, err := os.Readlink(dir + "/links/two"); err != nil || l != "one" {
		t.Fatal("the symlink is gone")
	}
}

func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	dir := home(t)
	mustWrite(t, dir+"/f", "old")
	if _, err := Write(dir+"/f", strings.NewReader("too long"), 3); code(err) != "too_large" {
		t.Fatal(err)
	}
	if _, err := Write(dir+"/f", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("gone"))), -1); err == nil {
		t.Fatal("no error")
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 1 || mustRead(t, dir+"/f") != "old" {
		t.Fatalf("left %v", left)
	}
}

func TestAFailedWriteLeavesNoDirectories(t *testing.T) {
	dir := home(t)
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("gone")))
	if _, err := Write(dir+"/a/b/c/file", broken, -1); err == nil {
		t.Fatal("the write succeeded")
	}
	if _, err := Write(dir+"/a/b/"+strings.Repeat("n", 300)+"/file", strings.NewReader("x"), -1); err == nil {
		t.Fatal("the write succeeded")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
	mustWrite(t, dir+"/a/kept", "x")
	if _, err := Write(dir+"/a/b/file", strings.NewReader("too long"), 3); code(err) != "too_large" {
		t.Error(err)
	}
	if mustRead(t, dir+"/a/kept") != "x" {
		t.Error("a directory that was there before is gone")
	}
}

func TestFilesInSysAreRead(t *testing.T) {
	home(t)
	const p = "/sys/kernel/mm/transparent_hugepage/enabled"
	want, err := os.ReadFile(p)
	if err != nil {
		t.Skip(err)
	}
	if got := mustRead(t, p); got != string(want) {
		t.Errorf("%q", got)
	}
}

func TestWriteErrors(t *testing.T) {
	dir := home(t)
	os.Mkdir(dir+"/dir", 0o755)
	syscall.Mkfifo(dir+"/fifo", 0o666)
	os.WriteFile(dir+"/roots", nil, 0o644)
	os.Mkdir(dir+"/rootdir", 0o755)
	os.Symlink("loop", dir+"/loop")
	mustWrite(t, dir+"/plain", "")
	for p, want := range map[string]string{
		"/dir": "is_directory", "/fifo": "not_regular", "/roots": "permission", "/rootdir/x": "permission", "/loop": "symlink_loop",
		"/plain/x": "not_directory", "/" + strings.Repeat("n", 256): "name_too_long",
	} {
		if _, err := Write(dir+p, strings.NewReader("x"), -1); code(err) != want {
			t.Errorf("%.20s: %v, want %s", p, err, want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	dir := home(t)
	syscall.Mkfifo(dir+"/fifo", 0o666)
	os.WriteFile(dir+"/secret", []byte("s"), 0o600)
	mustWrite(t, dir+"/big", "0123456789")
	for p, want := range map[string]string{
		dir: "is_directory", dir + "/fifo": "not_regular", dir + "/secret": "permission", dir + "/none": "not_found",
		"/dev/null": "not_regular", dir + "/big": "too_large", "/proc/self/exe": "symlink_loop", "/proc/self/mem": "permission",
	} {
		if _, err := Open(p, 9); code(err) != want {
			t.Errorf("%s: %v, want %s", p, err, want)
		}
	}
	if f, err := Open(dir+"/big", 10); err != nil || f.Size != 10 {
		t.Error(err)
	}
	if got := mustRead(t, "/proc/version"); !strings.HasPrefix(got, "Linux") {
		t.Errorf("a file without a size reads %q", got)
	}
}

func TestListSortsAndTruncates(t *testing.T) {
	dir := home(t)
	for i := range 300 {
		os.WriteFile(fmt.Sprintf("%s/%03d", dir, i), make([]byte, i), 0o644)
	}
	os.Mkdir(dir+"/\xff", 0o755)
	os.Symlink("x", dir+"/link")
	syscall.Mkfifo(dir+"/pipe", 0o644)
	all, truncated, err := List(dir, 1000)
	if err != nil || truncated || len(all) != 303 {
		t.Fatal(len(all), truncated, err)
	}
	if e := all[299]; string(e.Name) != "299" || e.Type != "file" || *e.Size != 299 {
		t.Errorf("%+v", e)
	}
	if all[300].Type != "symlink" || all[301].Type != "other" || all[302].Type != "dir" || all[302].Size != nil {
		t.Errorf("%+v", all[300:])
	}
	first, truncated, err := List(dir, 10)
	if err != nil || !truncated || len(first) != 10 || string(first[9].Name) != "009" {
		t.Fatal(first, truncated, err)
	}
	if _, _, err := List(dir+"/000/below", 10); code(err) != "not_found" {
		t.Fatal(err)
	}
	if _, _, err := List(dir+"/000", 10); code(err) != "not_directory" {
		t.Error(err)
	}
}

func TestRemove(t *testing.T) {
	dir := home(t)
	mustWrite(t, dir+"/outside/keep", "x")
	mustWrite(t, dir+"/tree/a/b", "x")
	os.Symlink(dir+"/outside", dir+"/tree/link")
	if err := Remove(dir+"/tree", false); code(err) != "is_directory" {
		t.Fatal(err)
	}
	if err := Remove(dir+"/tree", true); err != nil {
		t.Fatal(err)
	}
	mustRead(t, dir+"/outside/keep")
	if err := Remove(dir+"/tree", true); code(err) != "not_found" {
		t.Fatal(err)
	}
	for _, p := range []string{"/", "/workspace"} {
		if err := Remove(p, true); code(err) != "bad_request" {
			t.Error(p, err)
		}
	}
	os.Mkdir(dir+"/roots", 0o755)
	os.WriteFile(dir+"/roots/file", nil, 0o644)
	if err := Remove(dir+"/roots", true); code(err) != "permission" {
		t.Error(err)
	}
}

func TestRemoveDeepAndWide(t *testing.T) {
	dir := home(t)
	top := dir + "/deep"
	err := fsuser.Do(func() error {
		os.Mkdir(top, 0o755)
		fd, err := syscall.Open(top, syscall.O_DIRECTORY, 0)
		for i := 0; i < 2000 && err == nil; i++ {
			var next int
			if err = syscall.Mkdirat(fd, "d", 0o755); err == nil {
				next, err = syscall.Openat(fd, "d", syscall.O_DIRECTORY, 0)
			}
			syscall.Close(fd)
			fd = next
		}
		syscall.Close(fd)
		for i := range 3000 {
			os.WriteFile(filepath.Join(top, fmt.Sprint(i)), nil, 0o644)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Remove(top, true); err != nil {
		t.Fatal(err)
	}
}

func TestRequests(t *testing.T) {
	dir := home(t)
	mux := http.NewServeMux()
	Register(mux)
	do := func(method, path, query, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, path+"?path="+url.QueryEscape(dir)+query, strings.NewReader(body)))
		return w
	}
	if w := do("PUT", "/files", "/a%2Bb&max_bytes=10", "hello"); w.Code != 200 || !strings.Contains(w.Body.String(), `"bytes":5`) {
		t.Fatal(w.Code, w.Body)
	}
	w := do("GET", "/files", "/a%2Bb", "")
	if w.Code != 200 || w.Body.String() != "hello" || w.Header().Get("mayfly-size") != "5" {
		t.Fatal(w.Code, w.Body, w.Header())
	}
	if w := do("GET", "/files", "/a%2Bb&max_bytes=4", ""); w.Code != 413 {
		t.Fatal(w.Code)
	}
	if w := do("PUT", "/files", "/x&max_bytes=4", "hello"); w.Code != 413 {
		t.Fatal(w.Code)
	}
	// The service relies on the order of the fields.
	want := `{"path":"` + dir + `","entries":[{"name_base64":"YSti","type":"file","size_bytes":5}],"truncated":false}`
	if w := do("GET", "/files/list", "&max_entries=5", ""); strings.TrimSpace(w.Body.String()) != want {
		t.Fatal(w.Body, want)
	}
	if w := do("GET", "/files", "&max_bytes=x", ""); w.Code != 400 {
		t.Fatal(w.Code)
	}
	if w := do("DELETE", "/files", "/a%2Bb", ""); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	if w := do("GET", "/files", "/a%2Bb", ""); w.Code != 404 {
		t.Fatal(w.Code, w.Body)
	}
}
