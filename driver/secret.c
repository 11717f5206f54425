#include "driver/secret.h"

#include "base/file.h"
#include "base/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_KEY_BYTES 4096

static char *kept; /* the key, once found */

/* A key is one word, or it would end the header that it travels in. */
static enum ks_code check(const char *key, const char *where, struct ks_err *err)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)key[i] <= ' ' || key[i] == 0x7f)
            n = 0;
    if (n == 0)
        return ks_fail(err, KS_ERR_SYNTAX, "the key in %s is not one word", where);
    return KS_OK;
}

static enum ks_code read_file(const char *path, struct ks_err *err)
{
    char text[MAX_KEY_BYTES + 1];
    struct stat st;
    KS_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return ks_fail_errno(err, KS_ERR_NOT_FOUND, "cannot read the key file '%s'", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
        return ks_fail(err, KS_ERR_DENIED, "the key file '%s' must be a file of yours that nobody else can read (chmod 600)",
                       path);
    ssize_t n = read(fd, text, sizeof text - 1);
    if (n < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot read the key file '%s'", path);
    text[n] = '\0';
    while (n > 0 && strchr("\r\n \t", text[n - 1]))
        text[--n] = '\0';
    enum ks_code code = check(text, "the key file", err);
    if (code == KS_OK)
        kept = ks_xstrdup(text);
    explicit_bzero(text, sizeof text);
    return code;
}

/* Takes a variable out of the environment, of the memory behind it too. */
static void wipe(const char *name)
{
    char *value = getenv(name);
    if (!value)
        return;
    explicit_bzero(value, strlen(value));
    unsetenv(name);
}

enum ks_code ks_secret_key(const char *key_file, const char *provider_variable, const char **ret, struct ks_err *err)
{
    static const char *const variables[] = {"KSCC_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"};
    const char *found = getenv("KSCC_API_KEY"), *name = "KSCC_API_KEY";
    enum ks_code code = KS_OK;
    if ((!found || !*found) && provider_variable) {
        name = provider_variable;
        found = getenv(name);
    }
    if (!kept && key_file)
        code = read_file(key_file, err);
    else if (!kept && found && *found && (code = check(found, name, err)) == KS_OK)
        kept = ks_xstrdup(found);
    if (kept)
        ks_redact_add(kept);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value)
            ks_redact_add(value); /* before it is gone */
        wipe(variables[i]);
    }
    *ret = kept;
    return code;
}
