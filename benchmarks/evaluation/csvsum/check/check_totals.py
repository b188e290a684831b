from totals import totals

assert totals('name,amount\na,1\n"b,c",2\na,3\n') == {"a": 4, "b,c": 2}
