def fizz(number: int) -> str:
    """Return Fizz for multiples of 3, Buzz of 5, FizzBuzz of both, else the number."""
    if number % 3 == 0:
        return "Fizz"
    if number % 5 == 0:
        return "Buzz"
    return str(number)
