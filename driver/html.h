#ifndef KS_DRIVER_HTML_H
#define KS_DRIVER_HTML_H

/* Writes one HTML or XML document into memory (libxml2's text writer behind an opaque type): elements nest, text and attribute
 * values are escaped, every element but the void ones gets its end tag.  Attributes come right after ks_html_open(), before any
 * content. Text is anybody's: what hides is spelled out (ks_str_add_visible), so the document is UTF-8 and legal XML. Memory exhaustion aborts, as everywhere; there are no other errors.
 *
 *     struct ks_html *h = ks_html_new("title", css);
 *     ks_html_open(h, "p");
 *     ks_html_attr(h, "class", "note");
 *     ks_html_textf(h, "%d trial%s", n, ks_plural_s(n));
 *     ks_html_close(h);
 *     ks_html_finish(h, out);
 */

#include "base/str.h"

struct ks_html;

/* The head with `title` and `css` (taken as it stands: no "</") is written and the body opened. */
struct ks_html *ks_html_new(const char *title, const char *css);
/* An XML document instead: the declaration and its root, open. */
struct ks_html *ks_html_new_xml(const char *root);
/* Closes what is open, appends the document to out and frees h. */
void ks_html_finish(struct ks_html *h, struct ks_str *out);

void ks_html_open(struct ks_html *h, const char *element);
void ks_html_close(struct ks_html *h);
void ks_html_attr(struct ks_html *h, const char *name, const char *value);
void ks_html_attrf(struct ks_html *h, const char *name, const char *fmt, ...) KS_PRINTF(3, 4);
void ks_html_text(struct ks_html *h, const char *text);
void ks_html_textn(struct ks_html *h, const char *text, size_t len);
void ks_html_textf(struct ks_html *h, const char *fmt, ...) KS_PRINTF(2, 3);

/* <element class="class">text</element>; class NULL: none. */
void ks_html_leaf(struct ks_html *h, const char *element, const char *class, const char *text);
void ks_html_leaff(struct ks_html *h, const char *element, const char *class, const char *fmt, ...) KS_PRINTF(4, 5);
/* ks_html_open() with a class. */
void ks_html_begin(struct ks_html *h, const char *element, const char *class);

#endif
