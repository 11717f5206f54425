#ifndef KS_HARNESS_EMULATED_PTX_LEXER_H
#define KS_HARNESS_EMULATED_PTX_LEXER_H

/* Tokens of PTX.  Two reading modes: ks_ptx_lex() for operands and directives, ks_ptx_lex_opcode() for an instruction name with
 * all its modifiers ("cp.async.bulk.shared::cluster.global").  Comments and `#` lines are skipped.  Text is borrowed. */

#include "base/err.h"

#include <stdbool.h>

enum ptx_token_kind {
    PTX_TOK_END,
    PTX_TOK_IDENT,     /* foo, %r1, $L__BB0_1 */
    PTX_TOK_DIRECTIVE, /* .reg: text without the dot */
    PTX_TOK_INT,
    PTX_TOK_F32,
    PTX_TOK_F64,
    PTX_TOK_STRING,
    PTX_TOK_PUNCT, /* one character, in `punct` */
    PTX_TOK_BAD
};

struct ptx_token {
    enum ptx_token_kind kind;
    const char *text;
    size_t len;
    uint64_t bits; /* INT: value; F32, F64: bit pattern */
    char punct;
    uint32_t line;
};

struct ptx_lexer {
    const char *text, *end, *p;
    uint32_t line;
    struct ptx_token tok; /* current token */
};

void ks_ptx_lexer_init(struct ptx_lexer *lx, const char *text, size_t len); /* reads the first token */
void ks_ptx_lex(struct ptx_lexer *lx);                                      /* to the next token */
/* The current token is the identifier that starts an instruction: extends it over its modifiers. */
void ks_ptx_lex_opcode(struct ptx_lexer *lx);
bool ks_ptx_peek_is(const struct ptx_lexer *lx, char c); /* next character that is not blank, after the current token */

#endif
