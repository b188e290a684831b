(field_definition
  property: (_) @name) @symbol.field
