; Classes, functions and what modules and classes are given names for.

(class_definition
  name: (identifier) @name
  body: (block) @body) @symbol.class

(function_definition
  name: (identifier) @name
  body: (block) @body) @symbol.function

(module
  (expression_statement
    (assignment
      left: (identifier) @name)) @symbol.variable)

(module
  (expression_statement
    (assignment
      right: (assignment
        left: (identifier) @name))) @symbol.variable)

(class_definition
  body: (block
    (expression_statement
      (assignment
        left: (identifier) @name)) @symbol.field))

(class_definition
  body: (block
    (expression_statement
      (assignment
        right: (assignment
          left: (identifier) @name))) @symbol.field))

(type_alias_statement
  left: (type (_) @name)) @symbol.type
