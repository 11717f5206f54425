# A recording for the checks of tests/gpu/record.sh: lines in the order of the calls.
import ctypes, glob, json, struct, sys
files = glob.glob(sys.argv[1] + "/process-*.jsonl")
assert len(files) == 1, "%d processes in the recording" % len(files)
lines = [json.loads(l) for l in open(files[0]) if l.endswith("\n")]
by_call = lambda ev: sorted((l for l in lines if l["ev"] == ev), key=lambda l: l["n"])
launches, copies = by_call("launch"), by_call("copy")
zstd = ctypes.CDLL("libzstd.so.1") # the recorder's own
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
def unpack(h):
    packed = open(sys.argv[1] + "/contents/" + h + ".zst", "rb").read()
    plain = ctypes.create_string_buffer(1 << 23)
    n = zstd.ZSTD_decompress(plain, len(plain), packed, len(packed))
    assert not zstd.ZSTD_isError(ctypes.c_size_t(n)), "contents %s cannot be unpacked" % h
    return plain.raw[:n]
def floats(h):
    data = unpack(h)
    return struct.unpack("<%df" % (len(data) // 4), data)
