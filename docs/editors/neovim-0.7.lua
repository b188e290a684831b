-- agent-ls in Neovim 0.7 to 0.10: the whole of it.
local ids, of_buffer = {}, {}
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
  callback = function(event)
    -- One client for each project, found by the folder that holds .git.
    local git = vim.fn.finddir('.git', vim.fn.fnamemodify(event.file, ':p:h') .. ';')
    local root = git == '' and vim.fn.getcwd() or vim.fn.fnamemodify(git, ':p:h:h')
    -- The conversation lies in no project: the client that opened it serves it.
    if event.file:find('%.agent%-ls%.md$') then root = vim.g.agent_ls_root or root end
    ids[root] = ids[root] or vim.lsp.start_client({
      name = 'agent-ls', cmd = { 'agent-ls', 'serve' }, root_dir = root,
      workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
    })
    of_buffer[event.buf] = ids[root]
    vim.lsp.buf_attach_client(event.buf, ids[root])
  end,
})

local function client()
  local found = vim.lsp.get_client_by_id(of_buffer[vim.api.nvim_get_current_buf()] or 0)
  if not found then vim.notify('agent-ls is not ready') end
  return found
end
local function run(command, argument, on_answer)
  local agent = client()
  if not agent then return end
  local asked = { command = 'agent-ls.' .. command, arguments = argument and { argument } or nil }
  agent.request('workspace/executeCommand', asked, function(err, answer)
    if err then vim.notify(err.message) elseif on_answer then on_answer(answer) end
  end, vim.api.nvim_get_current_buf()) -- not 0: what was typed just now would be sent too late
end
-- Takes the first code action at the cursor with this command, and this choice if one is named.
local function act(command, nothing, choice, more)
  local agent = client()
  if not agent then return end
  local asked = vim.lsp.util.make_range_params(0, agent.offset_encoding)
  asked.context = { diagnostics = {} }
  agent.request('textDocument/codeAction', asked, function(_, actions)
    for _, action in ipairs(actions or {}) do
      local ours = action.command or {}
      local given = (ours.arguments or {})[1]
      if ours.command == 'agent-ls.' .. command and (not choice or given.choice == choice) then
        return run(command, vim.tbl_extend('force', given, more or {}))
      end
    end
    vim.notify(nothing)
  end, vim.api.nvim_get_current_buf())
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
  a = vim.lsp.buf.code_action,
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
  s = function() run('stop') end,
  g = function() run('session.resume') end, -- go on with what was cut off
  G = function() run('session.decline') end, -- not now, and say no more of it
  T = function() run('trust') end, -- what trusting the folder switches on, and whether to
  c = function()
    local agent = client()
    vim.g.agent_ls_root = agent and agent.config.root_dir
    run('conversation', nil, function(path) vim.cmd('edit ' .. path .. ' | normal! G') end)
  end,
}
for key, action in pairs(keys) do vim.keymap.set('n', '<leader>a' .. key, action) end
vim.keymap.set('x', '<leader>ap', ask)
vim.keymap.set('n', 'gA', allow) -- the most frequent answer, with two keys

vim.api.nvim_create_autocmd('BufRead', {
  pattern = '*.agent-ls.md',
  callback = function(event)
    local function set(key, action) vim.keymap.set({ 'n', 'i' }, key, action, { buffer = event.buf }) end
    set('<C-s>', function() run('conversation.send') end)
    set('<C-y>', allow)
  end,
})
