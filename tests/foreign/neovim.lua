-- A user of codecompanion.nvim: sends a prompt to dogu, answers what it asks by the keys that the chat names, and
-- prints the chat. The environment says where things are; DOGU_NVIM_STEPS are the labels to be chosen, by commas, and
-- the user stops the answer as soon as a process has DOGU_NVIM_STOPS_AT in its command line.
local env = vim.env
vim.defer_fn(function()
  vim.cmd("cquit")
end, 180000)
for folder in vim.gsplit(env.DOGU_NVIM_PLUGINS, ":") do
  vim.opt.runtimepath:append(folder)
end
vim.o.swapfile = false
vim.treesitter.language.register("markdown", "codecompanion")
local steps = vim.split(env.DOGU_NVIM_STEPS or "", ",", { trimempty = true })

require("codecompanion").setup({
  adapters = {
    acp = {
      dogu = function()
        return require("codecompanion.adapters").extend("gemini_cli", {
          name = "dogu",
          formatted_name = "dogu",
          commands = { default = vim.json.decode(env.DOGU_NVIM_COMMAND) },
          -- An answer may take 20 s by default, which a busy machine needs to start a program.
          defaults = { auth_method = "gemini-api-key", timeout = 120000 },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "dogu" } },
})

local function on(event, act)
  vim.api.nvim_create_autocmd("User", { pattern = "CodeCompanion" .. event, callback = vim.schedule_wrap(act) })
end

local chat
local function finish()
  io.stdout:write(table.concat(vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, false), "\n"), "\n")
  io.stdout:flush()
  vim.cmd("qall!")
end

on("ToolApprovalRequested", function()
  local label = table.remove(steps, 1)
  for _, mapped in ipairs(vim.api.nvim_buf_get_keymap(chat.bufnr, "n")) do
    if mapped.desc == label then
      return mapped.callback()
    end
  end
  io.stdout:write("no key for " .. tostring(label) .. "\n")
  finish()
end)
on("ChatDone", finish)

require("codecompanion").chat({ fargs = { "adapter=dogu" } })
vim.defer_fn(function()
  chat = require("codecompanion").last_chat()
  chat:add_buf_message({ role = "user", content = "go on then" })
  chat:submit()
end, 100)

local function runs(word)
  for name in vim.fs.dir("/proc") do
    local file = name:match("^%d+$") and io.open("/proc/" .. name .. "/cmdline", "rb")
    local words = file and file:read("*a")
    if file then
      file:close()
    end
    if words and words:find(word, 1, true) then
      return true
    end
  end
end

if env.DOGU_NVIM_STOPS_AT then
  local timer = vim.uv.new_timer()
  timer:start(100, 100, vim.schedule_wrap(function()
    if not timer:is_closing() and runs(env.DOGU_NVIM_STOPS_AT) then
      timer:close()
      chat:stop()
      vim.defer_fn(finish, 1000)
    end
  end))
end
