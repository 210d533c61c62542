"""The draw of words for readers to judge (tools/draw_words.py)."""
import importlib.util
import pathlib
import subprocess
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "draw_words.py"


def load():
    spec = importlib.util.spec_from_file_location(TOOL.stem, TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class DrawWords(unittest.TestCase):
    def test_joins_adjacent_literals_and_skips_comments_and_includes(self):
        source = '#include "a/b c.h"\n// "not this"\nf("one "\n  "two", \'"\', R"(raw "text")");\n'
        self.assertEqual(list(load().literals(source)), [(3, "one two"), (4, 'raw "text"')])

    def test_the_same_seed_draws_the_same_sample(self):
        draws = {subprocess.run([TOOL, "--seed", "abc"], capture_output=True, text=True, check=True).stdout for _ in range(2)}
        self.assertEqual(len(draws), 1)
        self.assertTrue(draws.pop().startswith("40 strings\n"))
