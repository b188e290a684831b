(class_declaration
  name: (_) @name
  body: (_) @body) @symbol.class

(record_declaration
  name: (_) @name
  body: (_) @body) @symbol.class

(interface_declaration
  name: (_) @name
  body: (_) @body) @symbol.interface

(annotation_type_declaration
  name: (_) @name
  body: (_) @body) @symbol.interface

(enum_declaration
  name: (_) @name
  body: (_) @body) @symbol.enum

(enum_constant
  name: (_) @name) @symbol.member

(method_declaration
  name: (_) @name
  body: (_)? @body) @symbol.method

(constructor_declaration
  name: (_) @name
  body: (_) @body) @symbol.constructor

(compact_constructor_declaration
  name: (_) @name
  body: (_) @body) @symbol.constructor

(annotation_type_element_declaration
  name: (_) @name) @symbol.method

(field_declaration
  declarator: (variable_declarator
    name: (_) @name)) @symbol.field

(constant_declaration
  declarator: (variable_declarator
    name: (_) @name)) @symbol.constant
