;;; agent-ls-lsp-mode.el --- agent-ls with lsp-mode, beside other servers  -*- lexical-binding: t -*-
(require 'lsp-mode)
(add-to-list 'lsp-language-id-configuration '(agent-ls-conversation-mode . "markdown"))
(lsp-register-client
 (make-lsp-client :new-connection (lsp-stdio-connection '("agent-ls" "serve"))
                  :major-modes '(python-mode agent-ls-conversation-mode)
                  :server-id 'agent-ls
                  :add-on? t
                  ;; The conversation lies in no project: the running server serves it.
                  :library-folders-fn
                  (lambda (_)
                    (list (expand-file-name "agent-ls" (or (getenv "XDG_STATE_HOME")
                                                           "~/.local/state"))))))
(add-hook 'python-mode-hook #'lsp)
(setq lsp-auto-guess-root t)
(defun agent-ls-join (_project)
  (unless (bound-and-true-p lsp-mode) (lsp))
  (view-mode -1))
