#ifndef KS_BASE_JSON_H
#define KS_BASE_JSON_H

/* JSON values (cJSON behind an opaque type).  Free only a root; adding hands the item over; getters borrow.  Names are case
 * sensitive.  Numbers are doubles: counts are exact below 10^15; 64-bit values and hashes travel as strings. */

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

struct ks_json;
#define KS_AUTO_JSON __attribute__((cleanup(ks_json_free_p)))

struct ks_json *ks_json_object(void);
struct ks_json *ks_json_array(void);
struct ks_json *ks_json_string(const char *s);
struct ks_json *ks_json_number(double v);
struct ks_json *ks_json_bool(bool v);
struct ks_json *ks_json_null(void);
struct ks_json *ks_json_copy(const struct ks_json *j);
void ks_json_free(struct ks_json *j);
void ks_json_free_p(struct ks_json **j);

/* name: exact path of the text, for messages.  Errors: KS_ERR_SYNTAX with loc, KS_ERR_LIMIT. */
KS_NODISCARD enum ks_code ks_json_parse(const char *text, size_t len, const char *name, struct ks_json **ret_json,
                                        struct ks_err *err);
KS_NODISCARD enum ks_code ks_json_read_file(const char *path, struct ks_json **ret_json, struct ks_err *err);
void ks_json_print(const struct ks_json *j, struct ks_str *out);        /* one line */
void ks_json_print_pretty(const struct ks_json *j, struct ks_str *out); /* indented, ends with newline */

/* Object building; `item` is handed over. */
void ks_json_set(struct ks_json *obj, const char *name, struct ks_json *item);
void ks_json_set_str(struct ks_json *obj, const char *name, const char *v); /* NULL: null */
void ks_json_set_num(struct ks_json *obj, const char *name, double v);
void ks_json_set_i64(struct ks_json *obj, const char *name, int64_t v);
void ks_json_set_bool(struct ks_json *obj, const char *name, bool v);
void ks_json_push(struct ks_json *array, struct ks_json *item);

/* Reading.  NULL json or missing name give NULL / the fallback. */
struct ks_json *ks_json_get(const struct ks_json *obj, const char *name);
const char *ks_json_get_str(const struct ks_json *obj, const char *name, const char *fallback);
double ks_json_get_num(const struct ks_json *obj, const char *name, double fallback);
int64_t ks_json_get_i64(const struct ks_json *obj, const char *name, int64_t fallback);
bool ks_json_get_bool(const struct ks_json *obj, const char *name, bool fallback);
/* Texts and names: JSON is UTF-8, what is put into it need not be. */
void ks_json_make_utf8(struct ks_json *j);
size_t ks_json_len(const struct ks_json *array_or_object);
struct ks_json *ks_json_at(const struct ks_json *array_or_object, size_t i);
const char *ks_json_key(const struct ks_json *member); /* name of a member, NULL in arrays */
const char *ks_json_str(const struct ks_json *j);      /* NULL unless a string */
double ks_json_num(const struct ks_json *j, double fallback);
bool ks_json_is_object(const struct ks_json *j);
bool ks_json_is_array(const struct ks_json *j);
bool ks_json_is_string(const struct ks_json *j);
bool ks_json_is_number(const struct ks_json *j);
bool ks_json_is_bool(const struct ks_json *j);
bool ks_json_is_null(const struct ks_json *j); /* JSON's null; false for a NULL pointer */

#endif
