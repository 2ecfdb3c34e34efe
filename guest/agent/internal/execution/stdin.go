package execution

import (
	"context"
	"io"
	"time"

	"mayfly/agent/internal/fault"
)

// feed copies body to the command's stdin, waiting as the command reads, and closes it after if asked to.
func (e *Execution) feed(ctx context.Context, body io.Reader, closeAfter bool) error {
	if e.stdin == nil {
		return fault.New("bad_request", "execution %s was started without stdin", e.ID)
	}
	e.typing.Lock()
	defer e.typing.Unlock()
	e.stdin.SetWriteDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { e.stdin.SetWriteDeadline(time.Unix(1, 0)) })()
	if _, err := io.Copy(struct{ io.Writer }{e.stdin}, body); err != nil {
		return fault.New("refused", "stdin takes no more: %s", err)
	}
	if closeAfter {
		e.stdin.Close()
	}
	return nil
}

// closeStdin lets nobody type any more; a writer that waits fails.
func (e *Execution) closeStdin() {
	if e.stdin != nil {
		e.stdin.Close()
	}
}
