-- A user's whole configuration for Neovim 0.7 to 0.10: a client for every file, no plugin.
local server = SERVER
local id
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
  callback = function(event)
    if not id or not vim.lsp.get_client_by_id(id) then id = vim.lsp.start_client(server) end
    vim.lsp.buf_attach_client(event.buf, id)
  end,
})
