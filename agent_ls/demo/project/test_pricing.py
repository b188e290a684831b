import unittest

from pricing import Item, total_cents


class TotalTest(unittest.TestCase):
    def test_items_are_added_up(self):
        items = [Item("pen", 150, 2), Item("ink", 999)]
        self.assertEqual(total_cents(items), 1299)

    def test_nothing_costs_nothing(self):
        self.assertEqual(total_cents([]), 0)


if __name__ == "__main__":
    unittest.main()
