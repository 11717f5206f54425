#!/usr/bin/env python3
"""Writes the smallest model that llama.cpp's servers load: one layer without effect over bytes, which says TEXT and ends.

usage: tiny_gguf.py FILE TEXT

Each piece of TEXT is a token of its own, whose vector is one direction; the output leads from each to the next, and from whatever a prompt
ends with to the first."""
import sys

import gguf
import numpy

path, text = sys.argv[1:3]
pieces = [text[i:i + 4] for i in range(0, len(text), 4)]
tokens = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % i for i in range(256)] + [p.replace(" ", "\u2581").encode() for p in pieces]
kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(pieces)
n = len(tokens)
width = (len(pieces) + 2 + 31) // 32 * 32  # one direction for each piece, one for all else
w = gguf.GGUFWriter(path, "llama")
w.add_context_length(65536)
w.add_embedding_length(width)
w.add_block_count(1)
w.add_feed_forward_length(32)
w.add_head_count(1)
w.add_head_count_kv(1)
w.add_layer_norm_rms_eps(1e-5)
w.add_rope_dimension_count(width)
w.add_tokenizer_model("llama")
w.add_token_list(tokens)
w.add_token_scores([-1000.0] * n)
w.add_token_types(kinds)
w.add_bos_token_id(1)
w.add_eos_token_id(2)
w.add_unk_token_id(0)
embedding = numpy.zeros((n, width), numpy.float32)
output = numpy.zeros((n, width), numpy.float32)
embedding[:259, 0] = 1
for i in range(len(pieces)):
    embedding[259 + i, i + 1] = 1
    output[259 + i, i] = 10
output[2, len(pieces)] = 10
zeros = lambda *shape: numpy.zeros(shape, numpy.float32)
w.add_tensor("token_embd.weight", embedding)
w.add_tensor("output.weight", output)
w.add_tensor("output_norm.weight", numpy.ones(width, numpy.float32))
w.add_tensor("blk.0.attn_norm.weight", numpy.ones(width, numpy.float32))
w.add_tensor("blk.0.ffn_norm.weight", numpy.ones(width, numpy.float32))
for name, shape in (("attn_q", (width, width)), ("attn_k", (width, width)), ("attn_v", (width, width)), ("attn_output", (width, width)),
                    ("ffn_gate", (32, width)), ("ffn_up", (32, width)), ("ffn_down", (width, 32))):
    w.add_tensor("blk.0.%s.weight" % name, zeros(*shape))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
