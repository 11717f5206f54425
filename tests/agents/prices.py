#!/usr/bin/env python3
"""The table of prices, made of the one that LiteLLM comes with.

usage: prices.py TABLE VERSION DATE >rewriter/http/prices.json

TABLE is LiteLLM's model_prices_and_context_window_backup.json (tests/agents/servers.sh --install brings it), VERSION and DATE say which
and from when.  OpenAI's and Anthropic's models that take text and call tools; a dated name that costs what the name without its date
costs is left out."""
import json, re, sys

table = json.load(open(sys.argv[1]))
rows = {}
for name, m in sorted(table.items()):
    fits = m.get("litellm_provider") in ("openai", "anthropic") and m.get("mode") in ("chat", "responses") and m.get("supports_function_calling")
    if not fits or not m.get("input_cost_per_token") or not m.get("output_cost_per_token") or re.search(r"[:/]|audio|search|realtime", name):
        continue
    price = [m["input_cost_per_token"], m.get("cache_read_input_token_cost") or m["input_cost_per_token"], m["output_cost_per_token"]]
    rows[name] = [round(p * 1e6, 6) for p in price]
plain = lambda name: re.sub(r"-(\d{8}|\d{4}-\d\d-\d\d)$", "", name)
rows = {n: p for n, p in rows.items() if plain(n) == n or rows.get(plain(n)) != p}
about = ("US dollars for a million tokens. A model's name counts as it is, with a date behind it, or behind a provider's name (\"openai/\"); \"prefix\" in the place of \"model\" "
         "would count for every longer name. Prices change, and what a provider asks for writing to its cache is not in it: --kscc-prices=FILE takes another file of this form.")
print('{\n  "about": %s,\n  "date": %s,\n  "source": %s,\n  "models": [' % tuple(map(json.dumps, (about, sys.argv[3], "LiteLLM %s, model_prices_and_context_window_backup.json, by tests/agents/prices.py" % sys.argv[2]))))
print(",\n".join('    {"model": %s, "in": %g, "cached": %g, "out": %g}' % (json.dumps(n), *p) for n, p in rows.items()) + "\n  ]\n}")
