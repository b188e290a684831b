-- agent-ls in Neovim 0.11 and newer: the whole of it.
vim.lsp.config('agent-ls', {
  cmd = { 'agent-ls', 'serve' },
  root_markers = { '.git' },
  -- The conversation lies in no project: the running client serves it.
  reuse_client = function(client, config)
    return client.name == config.name and (not config.root_dir or client.root_dir == config.root_dir)
  end,
  -- Neovim 0.11 itself waits for Enter after each message of a server.
  handlers = {
    ['window/showMessage'] = function(_, said) vim.notify(said.message, 5 - said.type) end,
  },
})
vim.lsp.enable('agent-ls')

local function client()
  -- The client of this buffer: with two projects open there are two.
  local found = vim.lsp.get_clients({ name = 'agent-ls', bufnr = 0 })[1]
  if not found then vim.notify('agent-ls is not ready') end
  return found
end
local function run(command, ...)
  local agent = client()
  if agent then agent:exec_cmd({ command = 'agent-ls.' .. command, arguments = { ... } }) end
end
-- Takes the first code action at the cursor with this command, and this choice if one is named.
local function act(command, nothing, choice, more)
  local agent = client()
  if not agent then return end
  local asked = vim.lsp.util.make_range_params(0, agent.offset_encoding)
  asked.context = { diagnostics = {} }
  agent:request('textDocument/codeAction', asked, function(_, actions)
    for _, action in ipairs(actions or {}) do
      local ours = action.command or {}
      local given = (ours.arguments or {})[1]
      if ours.command == 'agent-ls.' .. command and (not choice or given.choice == choice) then
        return run(command, vim.tbl_extend('force', given, more or {}))
      end
    end
    vim.notify(nothing)
  end, 0)
end
local function with_words(prompt, use)
  return function()
    vim.ui.input({ prompt = prompt }, function(words) if words then use(words) end end)
  end
end
local function here() return { uri = vim.uri_from_bufnr(0), line = vim.fn.line('.') - 1 } end
-- Asks with words about the line of the cursor, or about the selected lines.
local function ask()
  local place, other = here(), vim.fn.line('v') - 1
  if vim.fn.mode():find('[vV\22]') then
    place.line, place.lastLine = math.min(place.line, other), math.max(place.line, other)
    vim.cmd('normal! \27') -- leaves the visual mode
  end
  with_words('Agent: ', function(words) run('prompt', { text = words, anchor = place }) end)()
end
-- Shows all of what is said about this line, such as the diff of an approval; else what waits.
local function look()
  if vim.diagnostic.open_float() then return end
  for _, found in ipairs(vim.diagnostic.get(nil, { severity = vim.diagnostic.severity.INFO })) do
    if found.source == 'agent-ls' then
      return vim.diagnostic.open_float(found.bufnr, { scope = 'line', pos = found.lnum })
    end
  end
  vim.notify('Nothing is said about this line, and nothing waits')
end
local function allow() act('approval.resolve', 'Nothing waits', 'allow_once') end

local keys = {
  r = function() act('prompt', 'No instruction comment to run here') end,
  p = ask,
  t = with_words('Tell the agent: ', function(words) run('steer', words) end),
  d = look,
  y = allow,
  Y = function() act('approval.resolve', 'Nothing waits', 'allow_session') end,
  n = with_words('No, because: ', function(words)
    act('approval.resolve', 'Nothing waits', 'reject_once', { note = words })
  end),
  w = with_words('Answer: ', function(words) run('question.resolve', { text = words }) end),
  k = function() run('review.keep', 'all') end,
  u = function() run('review.undo', here()) end,
  ['.'] = function() run('review.next', here()) end,
  [','] = function() run('review.previous', here()) end,
  s = function() run('stop') end,
  g = function() run('session.resume') end, -- go on with what was cut off
  G = function() run('session.decline') end, -- not now, and say no more of it
  T = function() run('trust') end, -- what trusting the folder switches on, and whether to
  c = function() run('conversation') end,
}
for key, action in pairs(keys) do vim.keymap.set('n', '<leader>a' .. key, action) end
vim.keymap.set('x', '<leader>ap', ask)
vim.keymap.set('n', 'gA', allow) -- the most frequent answer, with two keys

vim.api.nvim_create_autocmd('BufRead', {
  pattern = '*.agent-ls.md',
  callback = function(event)
    local function set(key, action)
      -- While you insert, Neovim shows no new marks, also not in other files.
      local function leave_and_act() vim.cmd.stopinsert() action() end
      vim.keymap.set({ 'n', 'i' }, key, leave_and_act, { buffer = event.buf })
    end
    set('<C-s>', function() run('conversation.send') end)
    set('<C-y>', allow)
  end,
})

-- What it does just now, in the status line.
local status = ''
function _G.agent_ls_status() return status end
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event)
    if vim.lsp.get_client_by_id(event.data.client_id).name ~= 'agent-ls' then return end
    local value = event.data.params.value
    status = value.kind == 'end' and '' or 'agent: ' .. (value.message or value.title)
    vim.cmd.redrawstatus()
  end,
})
vim.o.statusline = '%<%f %m%r%=%{v:lua.agent_ls_status()} %l,%c'
