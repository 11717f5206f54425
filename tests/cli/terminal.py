"""A terminal of given size around a program, for tests and for the pictures of docs/img.

    terminal.py COLUMNS ROWS OUT.json [--resize AFTER=TEXT COLUMNSxROWS] [--key TEXT=KEY] -- PROGRAM ARGUMENTS

Runs the program with the terminal as all three streams, keeps the screen as a terminal would show it (the sequences that kscc writes:
colours, cursor up, erase below; anything else is an error), and writes a list of the different screens, each a list of rows of
[text, style] pieces, and the program's status.  --key: when a screen first shows TEXT, KEY is typed (^C for the interrupt key).
--resize: when a screen first shows TEXT, the terminal gets another size."""
import fcntl, json, os, pty, re, select, struct, sys, termios, time, unicodedata

class Screen:
    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[]]
        self.x = self.y = 0
        self.style = ""
        self.rest = ""
        self.folds = True

    def row(self):
        while len(self.cells) <= self.y: self.cells.append([])
        return self.cells[self.y]

    def resize(self, columns, rows):
        """As terminals that fold: a row longer than the new width goes on in the next; the cursor stays with its character."""
        if columns < self.columns:
            folded, where = [], None
            for y, row in enumerate(self.cells):
                pieces = [row[i : i + columns] for i in range(0, max(len(row), 1), columns)]
                if y == self.y: where = (len(folded) + self.x // columns, self.x % columns)
                folded += pieces
            self.cells, (self.y, self.x) = folded, where
        self.columns, self.rows = columns, rows

    def write(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                m = re.match(r"\x1b\[(\??[0-9;]*)([A-Za-z])", text[at:])
                if not m:
                    if len(text) - at > 20: raise ValueError(f"what is {text[at:at+20]!r}?")
                    self.rest = text[at:]
                    return
                n, what = m[1], m[2]
                if what == "A": self.y = max(0, len(self.cells) - self.rows, self.y - int(n or 1))
                elif what == "J" and n in ("", "0"):
                    del self.row()[self.x :]
                    del self.cells[self.y + 1 :]
                elif m[0] in ("\x1b[?7l", "\x1b[?7h"): self.folds = what == "h"
                elif what == "m": self.style = "" if n in ("", "0") else n
                else: raise ValueError(f"what is {m[0]!r}?")
                at += m.end()
                continue
            at += 1
            if c == "\r": self.x = 0
            elif c == "\n": self.y += 1; self.row()
            elif c == "\b": self.x = max(0, self.x - 1)
            elif c == "\t": self.x = min(self.columns - 1, (self.x // 8 + 1) * 8)
            elif c == "\a": pass
            elif c < " ": raise ValueError(f"control character {c!r}")
            else:
                wide = 2 if unicodedata.east_asian_width(c) in "WF" else 1
                if self.x + wide > self.columns and not self.folds: continue
                if self.x + wide > self.columns: self.x = 0; self.y += 1
                row = self.row()
                while len(row) < self.x + wide: row.append((" ", ""))
                row[self.x] = (c, self.style)
                if wide == 2: row[self.x + 1] = ("", self.style)
                self.x += wide

    def text(self): return "\n".join("".join(c for c, _ in row).rstrip() for row in self.cells)

    def pieces(self):
        out = []
        for row in self.cells[-self.rows :]:
            line = []
            for c, style in row:
                if line and line[-1][1] == style: line[-1][0] += c
                else: line.append([c, style])
            out.append(line)
        return out

def run(columns, rows, argv, keys=(), resizes=(), timeout_s=300):
    """Returns (screens, status): screens are (seconds, text, pieces), one whenever the text differs."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(argv[0], argv)
    def size(c, r): fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", r, c, 0, 0))
    size(columns, rows)
    screen, screens, start = Screen(columns, rows), [], time.monotonic()
    keys, resizes = list(keys), list(resizes)
    while True:
        ready, _, _ = select.select([fd], [], [], 1)
        if time.monotonic() - start > timeout_s: os.kill(pid, 9)
        if ready:
            try: data = os.read(fd, 65536)
            except OSError: break
            if not data: break
            screen.write(data.decode("utf-8", "replace"))
        text = screen.text()
        if not screens or screens[-1][1] != text:
            screens.append((time.monotonic() - start, text, screen.pieces()))
        for k in list(keys):
            if k[0] in text: os.write(fd, k[1]); keys.remove(k)
        for r in list(resizes):
            if r[0] in text: screen.resize(*r[1]); size(*r[1]); resizes.remove(r)
    status = os.waitpid(pid, 0)[1]
    return screens, os.waitstatus_to_exitcode(status)

def main():
    words = sys.argv[1:]
    cut = words.index("--")
    columns, rows, out = int(words[0]), int(words[1]), words[2]
    keys, resizes = [], []
    options = words[3:cut]
    while options:
        name, value = options[0], options[1]
        if name == "--key":
            text, key = value.rsplit("=", 1)
            keys.append((text, b"\x03" if key == "^C" else key.encode())); options = options[2:]
        else:
            c, r = options[2].split("x"); resizes.append((value, (int(c), int(r)))); options = options[3:]
    screens, status = run(columns, rows, words[cut + 1 :], keys, resizes)
    json.dump({"status": status, "columns": columns, "rows": rows,
               "screens": [{"s": round(s, 2), "text": t, "pieces": p} for s, t, p in screens]}, open(out, "w"))

if __name__ == "__main__": main()
