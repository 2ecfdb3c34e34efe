package identity

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

type fake struct {
	clock    time.Time
	entropy  int
	hostname string
	became   int // how often it became another machine
}

func (f *fake) SetClock(t time.Time) error { f.clock = t; return nil }
func (f *fake) AddEntropy(b []byte) error  { f.entropy += len(b); return nil }
func (f *fake) SetHostname(n string) error { f.hostname = n; return nil }

const entropy = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func serve(t *testing.T) (*fake, string, *int64, func(path, body string) int) {
	f, root, expiry, mux := &fake{}, t.TempDir(), new(int64), http.NewServeMux()
	os.Mkdir(root+"/etc", 0o755)
	Register(mux, f, root, func() { f.became++ }, func(ms int64) { *expiry = ms })
	return f, root, expiry, func(path, body string) int {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
		if w.Code == 200 && !strings.HasPrefix(w.Body.String(), `{"unix_ns":"1`) {
			t.Errorf("answer %s", w.Body)
		}
		return w.Code
	}
}

func TestIdentity(t *testing.T) {
	f, root, expiry, post := serve(t)
	body := `{"unix_ns":"1790000000000000123","entropy":"` + entropy + `","hostname":"sbx-1","machine_id":"0123456789abcdef0123456789abcdef","expires_at_ms":5}`
	for range 2 {
		if got := post("/identity", body); got != 200 {
			t.Fatal(got)
		}
	}
	if f.clock.UnixNano() != 1790000000000000123 || f.entropy != 64 || f.hostname != "sbx-1" || *expiry != 5 {
		t.Fatalf("%+v %d", f, *expiry)
	}
	for name, want := range map[string]string{"hostname": "sbx-1\n", "machine-id": "0123456789abcdef0123456789abcdef\n"} {
		if b, err := os.ReadFile(root + "/etc/" + name); err != nil || string(b) != want {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	if b, _ := os.ReadFile(root + "/etc/hosts"); !strings.Contains(string(b), "sbx-1") {
		t.Errorf("hosts: %q", b)
	}
}

func TestInvalidIdentityChangesNothing(t *testing.T) {
	f, _, _, post := serve(t)
	const id = `"machine_id":"0123456789abcdef0123456789abcdef"`
	for _, body := range []string{
		``, `{}`, `{"unix_ns":"x","entropy":"` + entropy + `","hostname":"a",` + id + `}`,
		`{"unix_ns":"1","entropy":"AAAA","hostname":"a",` + id + `}`,
		`{"unix_ns":"1","entropy":"` + entropy + `","hostname":"a\nb",` + id + `}`,
		`{"unix_ns":"1","entropy":"` + entropy + `","hostname":"a","machine_id":"xyz"}`,
	} {
		if got := post("/identity", body); got != 400 {
			t.Errorf("%s: %d", body, got)
		}
	}
	if f.entropy != 0 || f.hostname != "" || !f.clock.IsZero() {
		t.Fatalf("%+v", f)
	}
}

func TestClockAndExpiry(t *testing.T) {
	f, _, expiry, post := serve(t)
	if got := post("/clock", `{"unix_ns":"1790000000000000000","entropy":"`+entropy+`"}`); got != 200 || f.clock.Unix() != 1790000000 {
		t.Fatal(got)
	}
	if got := post("/expiry", `{"expires_at_ms":77}`); got != 204 || *expiry != 77 {
		t.Fatal(got)
	}
	if got := post("/expiry", `{"expires_at_ms":-1}`); got != 400 {
		t.Fatal(got)
	}
}

func TestAnotherMachineIDMakesAnotherMachine(t *testing.T) {
	f, _, _, post := serve(t)
	send := func(machineID, unixNs string) int {
		return post("/identity", `{"unix_ns":"`+unixNs+`","entropy":"`+entropy+`","hostname":"sbx-1","machine_id":"`+machineID+`","expires_at_ms":0}`)
	}
	original, copy := strings.Repeat("0a", 16), strings.Repeat("0b", 16)
	for _, step := range []struct {
		machineID string
		became    int
	}{{original, 1}, {original, 1}, {copy, 2}, {copy, 2}, {original, 3}} {
		if got := send(step.machineID, "1790000000000000000"); got != 200 || f.became != step.became {
			t.Fatalf("%d, became another machine %d times instead of %d", got, f.became, step.became)
		}
	}
	if got := send(copy, "never"); got != 400 || f.became != 3 {
		t.Fatalf("a refused identity: %d, %d", got, f.became)
	}
}
