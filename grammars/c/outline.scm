; What C and C++ share. The name stands somewhere inside a declarator, below pointers and parameters.

(function_definition
  declarator: (_) @declarator
  body: (_)? @body) @symbol.function

(translation_unit
  (declaration
    declarator: (_) @declarator) @symbol.variable)

; Include guards and switches are around most of a header.
(preproc_ifdef
  (declaration
    declarator: (_) @declarator) @symbol.variable)

(preproc_if
  (declaration
    declarator: (_) @declarator) @symbol.variable)

(preproc_else
  (declaration
    declarator: (_) @declarator) @symbol.variable)

(linkage_specification
  body: (declaration_list
    (declaration
      declarator: (_) @declarator) @symbol.variable))

(struct_specifier
  name: (_) @name
  body: (_) @body) @symbol.struct

(union_specifier
  name: (_) @name
  body: (_) @body) @symbol.struct

(enum_specifier
  name: (_) @name
  body: (_) @body) @symbol.enum

(enumerator
  name: (_) @name) @symbol.member

(field_declaration
  declarator: (_) @declarator) @symbol.field

(type_definition
  declarator: (_) @declarator) @symbol.type

(preproc_def
  name: (_) @name) @symbol.macro

(preproc_function_def
  name: (_) @name) @symbol.macro
