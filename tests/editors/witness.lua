-- The user in front of Neovim: remembers what was shown, picks from menus, answers questions.
-- Neovim's own handlers stay in place and run after the note is taken; nothing here speaks LSP.
local W = { shown = {}, notices = {}, progress = {}, menus = {}, questions = {}, replies = {}, answers = {} }
_G.witness = W

local function remember(method, note)
  local stock = assert(vim.lsp.handlers[method], method)
  vim.lsp.handlers[method] = function(err, params, ...)
    if params then note(params) end
    return stock(err, params, ...)
  end
end

remember('window/showMessage', function(params)
  table.insert(W.shown, { type = params.type, message = params.message })
end)
remember('$/progress', function(params)
  table.insert(W.progress, { token = tostring(params.token), value = params.value })
end)

-- What Neovim itself says, for example "No code actions available".  It is not echoed as well:
-- a long echo waits for a key that nobody presses.
vim.notify = function(message, level)
  table.insert(W.notices, { level = level or vim.log.levels.INFO, message = message })
end

-- The answer arranged for a question whose text contains the given words: its title, or nil.
local function arranged(message)
  for _, answer in ipairs(W.answers) do
    if message:find(answer.about, 1, true) then return answer.title end
  end
end

local function ask(message, titles)
  local title = arranged(message)
  table.insert(W.questions, { message = message, titles = titles, answer = title or vim.NIL })
  for index, candidate in ipairs(titles) do
    if candidate == title then return index end
  end
end

-- A menu: the code actions at the caret, the lenses of a line, the answers to a message.
vim.ui.select = function(items, opts, on_choice)
  local titles = {}
  for _, item in ipairs(items) do
    table.insert(titles, opts.format_item and opts.format_item(item) or tostring(item))
  end
  local index
  if opts.kind == 'lsp_message' then
    index = ask((opts.prompt:gsub(': $', '')), titles)
  else
    table.insert(W.menus, titles)
    for i, title in ipairs(titles) do
      if title == W.wanted then index = i break end
    end
    W.wanted = nil
  end
  on_choice(index and items[index] or nil, index)
end

-- Neovim 0.7 asks the question of window/showMessageRequest as a numbered list.
vim.fn.inputlist = function(lines)
  local titles = {}
  for i = 3, #lines do
    table.insert(titles, (lines[i]:gsub('^%d+%. ', '')))
  end
  return ask(lines[1], titles) or 0
end

function W.client()
  local list = vim.lsp.get_clients or vim.lsp.get_active_clients
  return list({ name = 'agent-ls' })[1] or list()[1]
end

-- Whether the server has answered and the current buffer is one of its documents.
function W.is_attached()
  local client = W.client()
  return client ~= nil and client.initialized == true and vim.lsp.buf_is_attached(0, client.id)
end

-- Sends a request through the client; the reply is picked up under `id`.
function W.request(id, method, params)
  local client = assert(W.client(), 'no language server runs')
  local function on_reply(err, result)
    W.replies[id] = { error = err or vim.NIL, result = result == nil and vim.NIL or result }
  end
  if vim.fn.has('nvim-0.11') == 1 then
    client:request(method, params, on_reply, 0)
  else
    client.request(method, params, on_reply, 0)
  end
end

function W.notify(method, params)
  local client = assert(W.client(), 'no language server runs')
  if vim.fn.has('nvim-0.11') == 1 then client:notify(method, params) else client.notify(method, params) end
end

function W.take_reply(id)
  local reply = W.replies[id]
  W.replies[id] = nil
  return reply
end

-- Opens the menu of code actions at the caret, or over a range of {row, column} pairs (1- and
-- 0-based, as Neovim counts), and means to pick `wanted`.
function W.open_actions(wanted, from, to)
  W.wanted, W.menus, W.notices = wanted, {}, {}
  if not from then
    vim.lsp.buf.code_action()
  elseif vim.lsp.buf.range_code_action then
    vim.lsp.buf.range_code_action(nil, from, to)
  else
    vim.lsp.buf.code_action({ range = { start = from, ['end'] = to } })
  end
end

function W.position()
  local client = W.client()
  local params = vim.lsp.util.make_position_params(0, client and client.offset_encoding)
  return { textDocument = params.textDocument, position = params.position }
end

function W.findings(buffer)
  local found = {}
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    table.insert(found, {
      line = d.lnum, column = d.col, end_line = d.end_lnum or d.lnum, end_column = d.end_col or d.col,
      severity = d.severity, message = d.message, source = d.source or vim.NIL,
      code = d.code or (d.user_data and d.user_data.lsp and d.user_data.lsp.code) or vim.NIL,
    })
  end
  return found
end
