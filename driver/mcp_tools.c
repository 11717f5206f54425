/* The tools that MCP clients see: those of rewriter/actions.def, and two of the server's own. */

#include "driver/mcp.h"

#include "driver/try_port.h"
#include "rewriter/actions.h"

#include <string.h>

#define MAX_OPTIONS 10000

static const char own_tools[] =
    "[{\"name\": \"analyze\", \"title\": \"Analyze a unit\", \"description\": \"What holds the kernels of a unit back: "
    "hypotheses with layer, score and "
    "evidence at file:line:col, the contract, the device. With a file: turn to that unit (its text becomes the original the "
    "first time). "
    "Without: the text that is worked on.\", \"inputSchema\": {\"type\": \"object\", \"properties\": {"
    "\"file\": {\"type\": \"string\", \"description\": \"a .cu, absolute or from the server's folder\"}, "
    "\"options\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}, \"description\": \"nvcc's options, and kscc's such as "
    "--kscc-device=emulated\"}, "
    "\"entry\": {\"type\": \"string\", \"description\": \"which entry, when the file has several contracts\"}}, "
    "\"additionalProperties\": false}, "
    "\"annotations\": {\"readOnlyHint\": true, \"openWorldHint\": false}}, "
    "{\"name\": \"report\", \"title\": \"Report\", \"description\": \"Everything so far: hypotheses, questions, statements, "
    "verdicts, counts, predictions. "
    "With finish: confirm the best candidate on fresh seeds and hidden shapes, and store its certificate.\", \"inputSchema\": "
    "{\"type\": "
    "\"object\", \"properties\": {\"finish\": {\"type\": \"boolean\"}}, \"additionalProperties\": false}, \"annotations\": "
    "{\"destructiveHint\": false, "
    "\"openWorldHint\": false}}]";

/* What an evaluation answers with. */
static const char verdict_schema[] = "{\"type\": \"object\", \"properties\": {\"candidate\": {\"type\": \"integer\"}, "
                                     "\"parent\": {\"type\": \"integer\"}, \"label\": {\"type\": \"string\"}, "
                                     "\"outcome\": {\"enum\": [\"accepted\", \"correct, no gain\", \"rejected\"]}, "
                                     "\"failed_gate\": {\"type\": \"string\"}, \"reason\": {\"type\": \"string\"}, "
                                     "\"speedup\": {\"type\": \"number\"}, \"interval\": {\"type\": \"array\", \"items\": "
                                     "{\"type\": \"number\"}}, \"times\": {\"enum\": [\"modelled\", "
                                     "\"measured\"]}, \"predicted\": {\"type\": \"number\"}, \"is_best\": {\"type\": "
                                     "\"boolean\"}, \"gates\": {\"type\": \"object\"}, \"question\": {\"type\": "
                                     "\"object\", \"properties\": {\"layer\": {\"type\": \"string\"}, \"text\": {\"type\": "
                                     "\"string\"}}}}, \"required\": [\"candidate\", \"outcome\"]}";

static struct ks_json *parse(const char *text)
{
    struct ks_json *j;
    struct ks_err err;
    KS_BUG(ks_json_parse(text, strlen(text), "constant", &j, &err) != KS_OK);
    return j;
}

static bool only_looks(const char *name)
{
    static const char *const names[] = {"read", "search", "profile", "best", "history"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

struct ks_json *ks_mcp_tools(void)
{
    struct ks_json *all = parse(own_tools);
    KS_AUTO_JSON struct ks_json *table = ks_actions_table(true, false);
    for (size_t i = 0; i < ks_json_len(table); i++) {
        struct ks_json *tool = ks_json_copy(ks_json_at(table, i)), *hints = ks_json_object();
        const char *name = ks_json_get_str(tool, "name", "");
        ks_json_set_bool(hints, "readOnlyHint", only_looks(name));
        if (!only_looks(name))
            ks_json_set_bool(hints, "destructiveHint", false);
        ks_json_set_bool(hints, "openWorldHint", false);
        ks_json_set(tool, "annotations", hints);
        if (strcmp(name, "evaluate") == 0)
            ks_json_set(tool, "outputSchema", parse(verdict_schema));
        ks_json_push(all, tool);
    }
    return all;
}

bool ks_mcp_has_tool(const char *name)
{
    KS_AUTO_JSON struct ks_json *all = ks_mcp_tools();
    for (size_t i = 0; i < ks_json_len(all); i++)
        if (strcmp(ks_json_get_str(ks_json_at(all, i), "name", ""), name) == 0)
            return true;
    return false;
}

bool ks_mcp_analyze_line(const struct ks_json *arguments, struct ks_args *ret_argv, char **ret_why)
{
    const struct ks_json *file = ks_json_get(arguments, "file"), *options = ks_json_get(arguments, "options"),
                         *entry = ks_json_get(arguments, "entry");
    if ((file && !ks_json_is_string(file)) || (options && !ks_json_is_array(options)) || (entry && !ks_json_is_string(entry))) {
        *ret_why = ks_xstrdup("file and entry are texts, options is an array of texts");
        return false;
    }
    if (!file && (options || entry)) {
        *ret_why = ks_xstrdup("options and entry go with a file");
        return false;
    }
    if (!file)
        return true;
    if (ks_json_len(options) > MAX_OPTIONS) {
        *ret_why = ks_xstrdup("there are more options than a command line takes");
        return false;
    }
    if (*ks_json_str(file) == '-') {
        *ret_why = ks_xstrdup("the file's name must not begin with '-'");
        return false;
    }
    ks_args_add(ret_argv, ks_json_str(file));
    if (entry)
        ks_args_addf(ret_argv, "--entry=%s", ks_json_str(entry));
    for (size_t i = 0; i < ks_json_len(options); i++) {
        const char *word = ks_json_str(ks_json_at(options, i));
        if (!word) {
            *ret_why = ks_xstrdup("options is an array of texts");
            return false;
        }
        ks_args_add(ret_argv, word);
    }
    return true;
}

struct ks_json *ks_mcp_tool_result(const char *tool, const struct ks_json *content, bool refused)
{
    struct ks_json *result = ks_json_object(), *blocks = ks_json_array(), *text_block = ks_json_object();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    const char *report = ks_json_get_str(content, "report", NULL);
    if (refused)
        ks_str_add(&text, ks_json_get_str(content, "error", "?"));
    else if (report)
        ks_str_add(&text, report);
    else if (strcmp(tool, "evaluate") == 0 || strcmp(tool, "best") == 0 || strcmp(tool, "history") == 0)
        ks_answer_text(tool, content, false, &text);
    else
        ks_json_print(content, &text);
    ks_json_set_str(text_block, "type", "text");
    ks_json_set_str(text_block, "text", ks_str_cstr(&text));
    ks_json_push(blocks, text_block);
    ks_json_set(result, "content", blocks);
    if (refused)
        ks_json_set_bool(result, "isError", true);
    else
        ks_json_set(result, "structuredContent", ks_json_copy(content));
    return result;
}
