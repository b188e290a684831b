(pair
  key: (string
    (string_content) @name)
  value: (object) @body) @symbol.key

(pair
  key: (string
    (string_content) @name)) @symbol.key
