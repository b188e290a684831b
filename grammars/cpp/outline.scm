; What C++ has beyond C.

(class_specifier
  name: (_) @name
  body: (_) @body) @symbol.class

(namespace_definition
  name: (_) @name
  body: (_) @body) @symbol.namespace

(alias_declaration
  name: (_) @name) @symbol.type

(concept_definition
  name: (_) @name) @symbol.type

(namespace_definition
  body: (declaration_list
    (declaration
      declarator: (_) @declarator) @symbol.variable))

; Constructors and destructors are declared without a type.
(field_declaration_list
  (declaration
    declarator: (_) @declarator) @symbol.method)

(template_declaration
  (declaration
    declarator: (_) @declarator) @symbol.variable)
