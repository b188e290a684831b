-- A user's whole configuration for Neovim 0.11: a client for every file type, no plugin.
vim.lsp.config('agent-ls', SERVER)
vim.lsp.enable('agent-ls')
