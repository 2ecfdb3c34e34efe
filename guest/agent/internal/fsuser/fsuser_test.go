package fsuser

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

func needRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
}

func TestPermissionsAreTheUsers(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chmod(dir, 0o777)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "mine")
	err := Do(func() error {
		if _, err := os.ReadFile(secret); !errors.Is(err, syscall.EACCES) {
			t.Errorf("read of root's file: %v", err)
		}
		if err := os.Chown(secret, UID, GID); !errors.Is(err, syscall.EPERM) {
			t.Errorf("chown: %v", err)
		}
		return os.WriteFile(mine, nil, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(mine, &st); err != nil || st.Uid != UID || st.Gid != GID {
		t.Fatalf("owner %d:%d, %v", st.Uid, st.Gid, err)
	}
	if _, err := os.ReadFile(secret); err != nil {
		t.Fatalf("permissions not restored: %v", err)
	}
}

func TestThreadsDoNotLeakPermissions(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	os.WriteFile(secret, []byte("x"), 0o600)
	var all sync.WaitGroup
	for i := range 64 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 50 {
				if i%2 == 0 {
					Do(func() error {
						if _, err := os.ReadFile(secret); err == nil {
							t.Error("the user read root's file")
						}
						return nil
					})
				} else if _, err := os.ReadFile(secret); err != nil {
					t.Errorf("root could not read: %v", err)
				}
			}
		}()
	}
	all.Wait()
}
