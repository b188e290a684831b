from roman import roman

assert [roman(n) for n in (4, 9, 40, 1994)] == ["IV", "IX", "XL", "MCMXCIV"]
