#!/usr/bin/env bash
# The http agent against llama-cpp-python's server on loopback, with a model that is made here (tiny_gguf.py).
# usage: llama.sh --install FOLDER      builds it from source in a virtual environment there (20 minutes of processor time)
#        llama.sh KSCC FOLDER [OUT]     OUT: docs/results/agents_llama.txt as a rule
#
# Replies in text, whole and streamed.  Not calls: this server offers tools only where a request names a tool_choice, and refuses to stream
# what it chooses by itself ("Automatic streaming tool choice is not supported").
# Status: 0 all held, 1 not, 77 there is no such environment.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = --install ]; then
  python3 -m venv "$2" && CMAKE_ARGS="-DLLAVA_BUILD=OFF -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF" "$2/bin/pip" install 'llama-cpp-python[server]' gguf
  exit
fi
. "$here/real_server.sh" llama python "$@"
said='Nothing is left: one read and one write for each element.'
"$folder/bin/python" "$here/tiny_gguf.py" tiny.gguf "$said" || exit 1
port=$(free_port)
serve "$folder/bin/python" -m llama_cpp.server --model tiny.gguf --n_ctx 65536 --n_threads 1 --chat_format chatml --host 127.0.0.1 --port "$port"
export KSCC_ENDPOINT=http://127.0.0.1:$port KSCC_AGENT=http KSCC_MODEL=tiny KSCC_RETRIES=1 no_proxy=127.0.0.1
bad=0
: >table
for stream in off on; do
  held=held
  agent --kscc-dir=$stream --kscc-stream=$stream --kscc-ask=off -c unit.cu -o unit.o
  [ "$status" = 0 ] && [ -s unit.o ] && grep -qF 'search ended (exhausted) after 0 trials' err || held=NOT
  grep -qF "$said" $stream/objects/*/trace.jsonl || held='NOT: the words are not in the trace'
  [ "$(grep -c 'POST /v1/chat/completions HTTP/1.1" 200' server.log)" -ge 1 ] || held='NOT: requests'
  printf '%-10s %-10s %-4s %-4s %s\n' tiny openai $stream "$held" 'search ended (exhausted) after 0 trials' | tee -a table
  [ "$held" = held ] || { bad=1; tail -15 err; tail -5 server.log; }
done
{
  echo "# $(date -u +%F), commit $(git -C "$SRC" rev-parse --short HEAD 2>/dev/null), llama-cpp-python $("$folder/bin/python" -c 'import importlib.metadata as m; print(m.version("llama-cpp-python"))') built from source: tests/agents/llama.sh"
  echo "# model, API, streamed, whether it held, and the line of kscc's that was asked for; the model's words must be in the trace.  No calls: this"
  echo "# server offers tools only with a tool_choice, and does not stream calls that it chooses by itself"
  cat table
} >"$out"
exit $bad
