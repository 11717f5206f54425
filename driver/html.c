#include "driver/html.h"

#include "base/mem.h"

#include <libxml/xmlwriter.h>
#include <string.h>

struct ks_html {
    xmlBufferPtr buffer;
    xmlTextWriterPtr writer;
    int depth;
};

/* The writer fails only when memory runs out. */
static void must(int result)
{
    if (result < 0)
        abort();
}

static const xmlChar *xml(const char *s)
{
    return (const xmlChar *)s;
}

static struct ks_html *writer_new(void)
{
    struct ks_html *h = ks_xcalloc(1, sizeof(*h));
    h->buffer = xmlBufferCreate();
    h->writer = h->buffer ? xmlNewTextWriterMemory(h->buffer, 0) : NULL;
    if (!h->writer)
        abort();
    return h;
}

struct ks_html *ks_html_new_xml(const char *root)
{
    struct ks_html *h = writer_new();
    must(xmlTextWriterSetIndent(h->writer, 1));
    must(xmlTextWriterStartDocument(h->writer, NULL, "UTF-8", NULL));
    ks_html_open(h, root);
    return h;
}

struct ks_html *ks_html_new(const char *title, const char *css)
{
    struct ks_html *h = writer_new();
    must(xmlTextWriterWriteRaw(h->writer, xml("<!DOCTYPE html>\n")));
    ks_html_open(h, "html");
    ks_html_attr(h, "lang", "en");
    ks_html_open(h, "head");
    ks_html_open(h, "meta");
    ks_html_attr(h, "charset", "utf-8");
    must(xmlTextWriterEndElement(h->writer)); /* a void element */
    h->depth--;
    ks_html_open(h, "meta");
    ks_html_attr(h, "name", "viewport");
    ks_html_attr(h, "content", "width=device-width, initial-scale=1");
    must(xmlTextWriterEndElement(h->writer));
    h->depth--;
    ks_html_leaf(h, "title", NULL, title);
    ks_html_open(h, "style");
    must(xmlTextWriterWriteRaw(h->writer, xml(css)));
    ks_html_close(h);
    ks_html_close(h);
    ks_html_open(h, "body");
    return h;
}

void ks_html_finish(struct ks_html *h, struct ks_str *out)
{
    while (h->depth > 0)
        ks_html_close(h);
    must(xmlTextWriterFlush(h->writer));
    ks_str_addn(out, xmlBufferContent(h->buffer), (size_t)xmlBufferLength(h->buffer));
    ks_str_addc(out, '\n');
    xmlFreeTextWriter(h->writer);
    xmlBufferFree(h->buffer);
    free(h);
}

void ks_html_open(struct ks_html *h, const char *element)
{
    must(xmlTextWriterStartElement(h->writer, xml(element)));
    h->depth++;
}

void ks_html_close(struct ks_html *h)
{
    must(xmlTextWriterFullEndElement(h->writer));
    h->depth--;
}

void ks_html_attr(struct ks_html *h, const char *name, const char *value)
{
    KS_AUTO_STR struct ks_str visible = KS_STR_INIT;
    ks_str_add_visible(&visible, value, strlen(value));
    must(xmlTextWriterWriteAttribute(h->writer, xml(name), xml(ks_str_cstr(&visible))));
}

void ks_html_text(struct ks_html *h, const char *text)
{
    KS_AUTO_STR struct ks_str visible = KS_STR_INIT;
    ks_str_add_visible(&visible, text, strlen(text));
    must(xmlTextWriterWriteString(h->writer, xml(ks_str_cstr(&visible))));
}

void ks_html_textn(struct ks_html *h, const char *text, size_t len)
{
    KS_AUTO_STR struct ks_str part = KS_STR_INIT;
    ks_str_addn(&part, text, len);
    ks_html_text(h, ks_str_cstr(&part));
}

#define FORMAT(s, fmt)                                                                                                           \
    va_list ap;                                                                                                                  \
    va_start(ap, fmt);                                                                                                           \
    ks_str_vaddf(&(s), fmt, ap);                                                                                                 \
    va_end(ap)

void ks_html_attrf(struct ks_html *h, const char *name, const char *fmt, ...)
{
    KS_AUTO_STR struct ks_str value = KS_STR_INIT;
    FORMAT(value, fmt);
    ks_html_attr(h, name, ks_str_cstr(&value));
}

void ks_html_textf(struct ks_html *h, const char *fmt, ...)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    FORMAT(text, fmt);
    ks_html_text(h, ks_str_cstr(&text));
}

void ks_html_begin(struct ks_html *h, const char *element, const char *class)
{
    ks_html_open(h, element);
    if (class)
        ks_html_attr(h, "class", class);
}

void ks_html_leaf(struct ks_html *h, const char *element, const char *class, const char *text)
{
    ks_html_begin(h, element, class);
    ks_html_text(h, text);
    ks_html_close(h);
}

void ks_html_leaff(struct ks_html *h, const char *element, const char *class, const char *fmt, ...)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    FORMAT(text, fmt);
    ks_html_leaf(h, element, class, ks_str_cstr(&text));
}
