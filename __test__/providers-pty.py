"""Runs a program in a pseudo-terminal. Lines of JSON come in on standard input: {"input": base64} is typed,
{"rows": n, "columns": n} resizes. What the program writes goes to standard output."""
import base64, fcntl, json, os, pty, select, struct, sys, termios


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


rows, columns = int(sys.argv[1]), int(sys.argv[2])
pid, fd = pty.fork()
if pid == 0:
    resize(0, rows, columns)
    os.execvp(sys.argv[3], sys.argv[3:])
pending = b""
sources = [0, fd]
while True:
    ready, _, _ = select.select(sources, [], [])
    if fd in ready:
        try:
            data = os.read(fd, 65536)
        except OSError:  # the program has closed the terminal
            data = b""
        if not data:
            break
        os.write(1, data)
    if 0 in ready:
        data = os.read(0, 65536)
        if not data:
            # The driver is gone: hang up, so that the program sees its terminal vanish.
            break
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "input" in message:
                os.write(fd, base64.b64decode(message["input"]))
            else:
                resize(fd, message["rows"], message["columns"])
os.close(fd)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
