;;; agent-ls.el --- The whole agent in Emacs 28 and newer  -*- lexical-binding: t -*-
;; Load it after one of agent-ls-eglot.el and agent-ls-lsp-mode.el, which start the server.

;; Nothing here waits for an answer: Emacs stays free, and lsp-mode 8 loses what comes right after
;; an answer that it waits for.

(defun agent-ls-plists (answer)
  "Return ANSWER of lsp-mode with property lists for objects, as eglot has them."
  (let ((json (json-serialize (vector (if (consp answer) (vconcat answer) answer))
                              :null-object nil :false-object :json-false)))
    (aref (json-parse-string json :object-type 'plist :null-object nil :false-object :json-false)
          0)))

(defun agent-ls-request (method params &optional then)
  "Ask the server of this buffer, and call THEN with its answer in this buffer."
  (let* ((here (current-buffer))
         (done (lambda (answer)
                 (run-at-time 0 nil (lambda ()
                                      (with-current-buffer here
                                        (when then (funcall then answer))))))))
    (if (bound-and-true-p lsp-mode)
        (lsp-request-async method params
                           (lambda (answer) (funcall done (agent-ls-plists answer)))
                           :mode 'detached)
      (eglot--signal-textDocument/didChange)
      (jsonrpc-async-request (eglot--current-server-or-lose) (intern (concat ":" method)) params
                             :success-fn done
                             :error-fn (lambda (err) (message "%s" (plist-get err :message)))))))

(defun agent-ls-uri ()
  (if (bound-and-true-p lsp-mode)
      (lsp--buffer-uri)
    (plist-get (eglot--TextDocumentIdentifier) :uri)))

(defun agent-ls-place ()
  "Return this line, or the lines of the active region."
  (let ((line (lambda (at) (1- (line-number-at-pos at t)))))
    (if (use-region-p)
        (list :uri (agent-ls-uri)
              :line (funcall line (region-beginning))
              :lastLine (funcall line (max (region-beginning) (1- (region-end)))))
      (list :uri (agent-ls-uri) :line (funcall line nil)))))

(defun agent-ls-run (command &optional argument then)
  (agent-ls-request "workspace/executeCommand"
                    (list :command (concat "agent-ls." command)
                          :arguments (if argument (vector argument) []))
                    then))

(defun agent-ls-argument (action)
  (let ((given (plist-get (plist-get action :command) :arguments)))
    (and (> (length given) 0) (elt given 0))))

(defun agent-ls-act (command &optional choice note)
  "Take the first code action here with this COMMAND, and this CHOICE if one is named."
  (let ((here (list :line (1- (line-number-at-pos nil t)) :character 0))
        (is-it (lambda (one)
                 (and (equal (plist-get (plist-get one :command) :command)
                             (concat "agent-ls." command))
                      (or (not choice)
                          (equal choice (plist-get (agent-ls-argument one) :choice)))))))
    (agent-ls-request "textDocument/codeAction"
                      (list :textDocument (list :uri (agent-ls-uri))
                            :range (list :start here :end here)
                            :context (list :diagnostics []))
                      (lambda (actions)
                        (let ((action (seq-find is-it actions)))
                          (if (not action)
                              (message "Nothing here for agent-ls.%s" command)
                            (agent-ls-run command (append (agent-ls-argument action)
                                                          (and note (list :note note))))))))))

(define-derived-mode agent-ls-conversation-mode text-mode "Agent"
  "The conversation with the agent.")
(add-to-list 'auto-mode-alist '("\\.agent-ls\\.md\\'" . agent-ls-conversation-mode))
;; In this window, also where the server is the first to open it (Emacs 30).
(add-to-list 'display-buffer-alist
             '("\\.agent-ls\\.md\\'" (display-buffer-reuse-window display-buffer-same-window)))

(defmacro agent-ls-key (key arguments &rest body)
  "Bind `C-c a' KEY; ARGUMENTS is nil or the words of an `interactive' that asks for words."
  `(global-set-key (kbd ,(concat "C-c a " key))
                   (lambda (&optional words) (interactive ,@(and arguments (list arguments)))
                     (ignore words) ,@body)))
(agent-ls-key "r" nil (agent-ls-act "prompt")) ; run the instruction comment
(agent-ls-key "p" "sAgent: " ; about this line, or about the lines of the region
  (agent-ls-run "prompt" (list :text words :anchor (agent-ls-place))))
(agent-ls-key "t" "sTell the agent: " (agent-ls-run "steer" words))
(agent-ls-key "d" nil ; all of what is said about this line, such as the diff of an approval
  (let ((said (flymake-diagnostics (line-beginning-position) (line-end-position))))
    (if (not said)
        (message "Nothing is said about this line")
      (with-help-window "*agent-ls*"
        (dolist (one said) (princ (flymake-diagnostic-text one)) (terpri))))))
(agent-ls-key "y" nil (agent-ls-act "approval.resolve" "allow_once"))
(agent-ls-key "Y" nil (agent-ls-act "approval.resolve" "allow_session"))
(agent-ls-key "n" "sNo, because: " (agent-ls-act "approval.resolve" "reject_once" words))
(agent-ls-key "w" "sAnswer: " (agent-ls-run "question.resolve" (list :text words)))
(agent-ls-key "k" nil (agent-ls-run "review.keep" "all"))
(agent-ls-key "u" nil (agent-ls-run "review.undo" (list :uri (agent-ls-uri)
                                                        :line (1- (line-number-at-pos nil t)))))
(agent-ls-key "s" nil (agent-ls-run "stop"))
(agent-ls-key "g" nil (agent-ls-run "session.resume")) ; go on with what was cut off
(agent-ls-key "G" nil (agent-ls-run "session.decline")) ; not now, and say no more of it
(agent-ls-key "T" nil (agent-ls-run "trust")) ; what trusting the folder switches on
(agent-ls-key "c" nil
  (let ((project (project-current)))
    (agent-ls-run "conversation" nil (lambda (path)
                                       (find-file path)
                                       (agent-ls-join project)
                                       (goto-char (point-max))))))
(define-key agent-ls-conversation-mode-map (kbd "C-c C-c")
  (lambda () (interactive) (agent-ls-run "conversation.send")))
