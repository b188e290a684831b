(function_declaration
  name: (_) @name
  body: (block)? @body) @symbol.function

; A method stands beside its type, so the receiver says whose it is.
(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: (_) @scope))
  name: (_) @name
  body: (block)? @body) @symbol.method

(type_spec
  name: (_) @name
  type: (struct_type
    (field_declaration_list) @body)) @symbol.struct

(type_spec
  name: (_) @name
  type: (interface_type) @body) @symbol.interface

(type_spec
  name: (_) @name) @symbol.type

(type_alias
  name: (_) @name) @symbol.type

(type_spec
  type: (struct_type
    (field_declaration_list
      (field_declaration
        name: (_) @name) @symbol.field)))

(method_elem
  name: (_) @name) @symbol.method

(source_file
  (const_declaration
    (const_spec
      name: (_) @name) @symbol.constant))

(source_file
  (var_declaration
    (var_spec
      name: (_) @name) @symbol.variable))

(source_file
  (var_declaration
    (var_spec_list
      (var_spec
        name: (_) @name) @symbol.variable)))
