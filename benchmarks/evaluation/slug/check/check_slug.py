from slug import slug

assert [slug("Hello,  World!"), slug(" a_b ")] == ["hello-world", "a-b"]
