; What JavaScript and TypeScript share.

(class_declaration
  name: (_) @name
  body: (class_body) @body) @symbol.class

(function_declaration
  name: (_) @name
  body: (statement_block) @body) @symbol.function

(generator_function_declaration
  name: (_) @name
  body: (statement_block) @body) @symbol.function

(method_definition
  name: (_) @name
  body: (statement_block) @body) @symbol.method

; A function or class that is known by the variable that holds it.
(variable_declarator
  name: (identifier) @name
  value: (arrow_function
    body: (_) @body)) @symbol.function

(variable_declarator
  name: (identifier) @name
  value: (function_expression
    body: (_) @body)) @symbol.function

(variable_declarator
  name: (identifier) @name
  value: (generator_function
    body: (_) @body)) @symbol.function

(variable_declarator
  name: (identifier) @name
  value: (class
    body: (class_body) @body)) @symbol.class

(variable_declarator
  value: (object
    (pair
      key: (property_identifier) @name
      value: [
        (arrow_function
          body: (_) @body)
        (function_expression
          body: (_) @body)
      ]) @symbol.method))

(program
  (lexical_declaration
    (variable_declarator
      name: (identifier) @name) @symbol.variable))

(program
  (variable_declaration
    (variable_declarator
      name: (identifier) @name) @symbol.variable))

(program
  (export_statement
    declaration: (lexical_declaration
      (variable_declarator
        name: (identifier) @name) @symbol.variable)))

(program
  (export_statement
    "default" @name
    value: [
      (arrow_function
        body: (_) @body)
      (function_expression
        body: (_) @body)
      (class
        body: (_) @body)
      (object) @body
    ]) @symbol.default)

; module.exports.name = …, Name.prototype.method = …
(program
  (expression_statement
    (assignment_expression
      left: (member_expression
        property: (property_identifier) @name)
      right: [
        (arrow_function
          body: (_) @body)
        (function_expression
          body: (_) @body)
        (class
          body: (class_body) @body)
      ])) @symbol.function)
