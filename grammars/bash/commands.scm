; What safety looks at in a shell command: every simple command wherever it stands (also inside substitutions,
; loops and functions), what it is called with, and where output is sent.

(command) @command

(redirected_statement
  redirect: (file_redirect) @redirect)

(command
  redirect: (file_redirect) @redirect)

(function_definition) @function

(test_command) @test

(declaration_command) @declaration

(unset_command) @declaration
