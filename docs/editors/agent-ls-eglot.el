;;; agent-ls-eglot.el --- agent-ls with eglot, one server for a buffer  -*- lexical-binding: t -*-
(require 'eglot)
(add-to-list 'eglot-server-programs
             '((python-mode agent-ls-conversation-mode) . ("agent-ls" "serve")))
(add-hook 'python-mode-hook #'eglot-ensure)
;; Eglot before 1.16, as in Emacs 28, asks before each edit of a server, and this stops it.
(setq eglot-confirm-server-initiated-edits nil)
;; Newer ones: the same.
(setq eglot-confirm-server-edits nil)

;; The conversation lies in no project: the server of the project that opened it serves it.
(defvar-local agent-ls-project nil)
(add-hook 'project-find-functions (lambda (_) agent-ls-project))
(defun agent-ls-join (project)
  (setq agent-ls-project project)
  (unless (eglot-managed-p) (eglot--maybe-activate-editing-mode)))
