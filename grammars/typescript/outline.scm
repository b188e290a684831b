; What TypeScript has beyond JavaScript.

(abstract_class_declaration
  name: (_) @name
  body: (class_body) @body) @symbol.class

(interface_declaration
  name: (_) @name
  body: (interface_body) @body) @symbol.interface

(type_alias_declaration
  name: (_) @name) @symbol.type

(enum_declaration
  name: (_) @name
  body: (enum_body) @body) @symbol.enum

(enum_assignment
  name: (_) @name) @symbol.member

(enum_body
  name: (_) @name @symbol.member)

(internal_module
  name: (_) @name
  body: (statement_block) @body) @symbol.namespace

(module
  name: (_) @name
  body: (statement_block) @body) @symbol.namespace

; Overloads, and what is declared without a body.
(function_signature
  name: (_) @name) @symbol.function

(method_signature
  name: (_) @name) @symbol.method

(abstract_method_signature
  name: (_) @name) @symbol.method

(interface_body
  (property_signature
    name: (_) @name) @symbol.field)

(public_field_definition
  name: (_) @name) @symbol.field
