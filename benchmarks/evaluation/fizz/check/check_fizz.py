from fizz import fizz

assert [fizz(n) for n in (1, 3, 5, 15)] == ["1", "Fizz", "Buzz", "FizzBuzz"]
