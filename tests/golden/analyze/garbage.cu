// Not CUDA at all.
the quick brown fox {
    jumps over
}
