(function_item
  name: (_) @name
  body: (block) @body) @symbol.function

(function_signature_item
  name: (_) @name) @symbol.function

(struct_item
  name: (_) @name
  body: (_)? @body) @symbol.struct

(union_item
  name: (_) @name
  body: (_) @body) @symbol.struct

(enum_item
  name: (_) @name
  body: (_) @body) @symbol.enum

(enum_variant
  name: (_) @name) @symbol.member

(field_declaration
  name: (_) @name) @symbol.member

(trait_item
  name: (_) @name
  body: (_) @body) @symbol.trait

(impl_item
  type: (_) @name
  body: (_) @body) @symbol.impl

(mod_item
  name: (_) @name
  body: (_)? @body) @symbol.module

(type_item
  name: (_) @name) @symbol.type

(const_item
  name: (_) @name) @symbol.constant

(static_item
  name: (_) @name) @symbol.constant

(macro_definition
  name: (_) @name) @symbol.macro
