#!/usr/bin/env bash
# The http agent against a real server of other people's on loopback: LiteLLM's proxy.
# usage: servers.sh --install FOLDER       makes a virtual environment there with what is needed (about 1 GB)
#        servers.sh KSCC FOLDER [OUT]      the conformance with what is there; OUT: docs/results/agents_servers.txt as a rule
#
# Of the proxy's own mock come tool calls (whole replies of the OpenAI family; its mock streams and speaks Anthropic's API with text
# alone) and its errors; with tests/agents/endpoint.py behind it a conversation of many turns goes through what it makes of both
# APIs, whole and streamed: it reads each request by its own rules, and writes each answer and each event of a stream itself.
# Status: 0 all held, 1 not, 77 there is no such environment.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = --install ]; then
  python3 -m venv "$2" && "$2/bin/pip" install --no-compile 'litellm[proxy]'
  exit
fi
. "$here/real_server.sh" servers litellm "$@"
endpoint plays_scale_shift # for the port; each conversation below has an endpoint of its own at it
upstream=$(cat port); endpoint_end
python3 "$here/servers.py" unit.cu "$upstream" >config.yaml
mine=$(free_port)
serve env LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/bin/litellm" --config config.yaml --host 127.0.0.1 --port "$mine"
export KSCC_ENDPOINT=http://127.0.0.1:$mine KSCC_AGENT=http KSCC_API_KEY=sk-servers-test-0123456789abcdef KSCC_RETRIES=1
bad=0
: >table
# one MODEL API STREAM WORDS [OPTIONS]: a build whose stderr must have the words
one() {
  local model=$1 api=$2 stream=$3 words=$4 name="$1.$2.$3" held=held; shift 4
  mkdir "$name"; cp unit.cu "$name/"
  if [ "$model" = play ]; then
    (cd "$name" && rm -f ../port requests.log && ENDPOINT_PORT=$upstream exec python3 "$here/endpoint.py" "$here/plays_scale_shift.py" port requests.log <../hold >../endpoint.out 2>&1) & local at=$!
    for i in $(seq 100); do [ -s "$name/port" ] && break; sleep 0.1; done
  fi
  local start=$SECONDS
  (cd "$name" && KSCC_MODEL=$model agent --kscc-api=$api --kscc-stream=$stream --kscc-ask=off "$@" -c unit.cu -o unit.o; echo "$status" >status)
  [ "$(cat "$name/status")" = 0 ] && [ -s "$name/unit.o" ] || held=NOT
  grep -qF -- "$words" "$name/err" || held=NOT
  grep -rlq sk-servers-test "$name" && held="NOT: the key was written down"
  [ "$model" != play ] || { ! grep -q '"problem": "' "$name/requests.log" && [ "$(wc -l <"$name/requests.log")" = 6 ]; } || held="NOT: requests"
  [ "$model" != play ] || { kill "$at"; wait "$at"; } 2>/dev/null
  printf '%-10s %-10s %-4s %-4s %s\n' "$model" "$api" "$stream" "$held" "$words" | tee -a table
  [ "$held" = held ] || { bad=1; tail -15 "$name/err"; grep -o '"problem": "[^"]*"' "$name/requests.log" 2>/dev/null; tail -5 server.log; }
}
mkfifo hold; exec 8<>hold
one mock openai off 'trial 1 (fuse): accepted' --kscc-budget=trials:1
for api in openai anthropic; do
  for stream in off on; do one play $api $stream 'trial 3 compiles to the same code as trial 2'; done
done
one mock-text openai on 'search ended (exhausted) after 0 trials'
one mock-text anthropic on 'search ended (exhausted) after 0 trials'
one mock-429 openai on 'status 429: litellm.RateLimitError'
one mock-429 anthropic off 'status 429: litellm.RateLimitError'
one mock-500 openai on 'status 500: litellm.InternalServerError'
one mock-long openai on 'status 400: litellm.ContextWindowExceededError'
{
  echo "# $(date -u +%F), commit $(git -C "$SRC" rev-parse --short HEAD 2>/dev/null), LiteLLM $("$folder/bin/python" -c 'import importlib.metadata as m; print(m.version("litellm"))'): tests/agents/servers.sh"
  echo "# model, API, streamed, whether it held, and the line of kscc's that was asked for; play: six requests, each well formed as the endpoint behind the proxy saw it"
  cat table
} >"$out"
exit $bad
