(function_definition
  name: (_) @name
  body: (_) @body) @symbol.function

(program
  (variable_assignment
    name: (variable_name) @name) @symbol.variable)

(program
  (declaration_command
    (variable_assignment
      name: (variable_name) @name)) @symbol.variable)
