"""Runs a program on a terminal. Reads one JSON object per line: {"type": text}, {"resize": [rows, columns]}, {"signal": number} or {"hang_up": true}, which
closes the terminal like its window. Copies what is printed to stdout, and ends with the program's exit code. The last line on stderr says whether the
terminal has its old settings, unless it was closed."""
import fcntl, json, os, pty, select, struct, sys, termios

def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

pid, fd = pty.fork()
if pid == 0:
    set_size(0, 30, 100)
    os.execvp(sys.argv[1], sys.argv[1:])
before = termios.tcgetattr(fd)
waiting = b""
sources = [fd, 0]
while True:
    ready, _, _ = select.select(sources, [], [])
    if fd in ready:
        try:
            printed = os.read(fd, 65536)
        except OSError:
            break
        after = termios.tcgetattr(fd)
        os.write(1, printed)
    if 0 in ready:
        got = os.read(0, 65536)
        if not got:
            sources.remove(0)
        *lines, waiting = (waiting + got).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if "hang_up" in order:
                os.close(fd)
                _, status = os.waitpid(pid, 0)
                sys.exit(os.waitstatus_to_exitcode(status) % 256)
            if "signal" in order:
                os.kill(pid, order["signal"])
            elif "resize" in order:
                set_size(fd, *order["resize"])
            else:
                os.write(fd, order["type"].encode())
_, status = os.waitpid(pid, 0)
after = termios.tcgetattr(fd)
print("restored" if before == after else f"changed: {before} {after}", file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
