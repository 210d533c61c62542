"""The draw of words for readers to judge (tools/draw_words.py), and the rules for text (tools/check_words.py)."""
import importlib.util
import pathlib
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


def load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class DrawWords(unittest.TestCase):
    def test_joins_adjacent_literals_and_skips_comments_and_includes(self):
        source = '#include "a/b c.h"\n// "not this"\nf("one "\n  "two", \'"\', R"(raw "text")");\n'
        self.assertEqual(list(load("draw_words").literals(source)), [(3, "one two"), (4, 'raw "text"')])

    def test_the_same_seed_draws_the_same_sample(self):
        draws = {subprocess.run([TOOLS / "draw_words.py", "--seed", "abc"], capture_output=True, text=True, check=True).stdout for _ in range(2)}
        self.assertEqual(len(draws), 1)
        self.assertTrue(draws.pop().startswith("40 strings\n"))


class CheckWords(unittest.TestCase):
    def broken(self, text, where="src/host/host.cc:1"):
        return [line.split(": ")[1] for line in load("check_words").not_plain([(where, text)])]

    def test_refuses_what_the_page_of_words_refuses(self):
        self.assertEqual(self.broken("nobody makes switches on this host"), ["a word for people"])
        self.assertEqual(self.broken("Take impairments away"), ["a household verb"])
        self.assertEqual(self.broken("{} is no NIC"), ["no noun"])
        self.assertEqual(self.broken("Size of messages (1500)"), ["a default without the word"])

    def test_lets_plain_text_pass(self):
        for text in ("there is no port group {}", "See limits.conf(5)", "MTU in bytes (default: 1500)", "is no longer in use"):
            self.assertEqual(self.broken(text), [], text)


class CheckCauses(unittest.TestCase):
    def found(self, line):
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / "some.cc").write_text(line + "\n")
            return list(load("check_causes").decisions(pathlib.Path(root)))

    def test_refuses_a_decision_by_the_text_of_a_message(self):
        for line in ('if (problem.find("is root") != npos) {', 'answer.error().message.ends_with(kNoMember)', 'why.starts_with("closed")',
                     'if (state.problem == kFirstTry) return;', 'if (problem.contains(std::strerror(EMFILE)))'):
            self.assertEqual(len(self.found(line)), 1, line)

    def test_lets_codes_and_causes_decide(self):
        for line in ("if (error.cause == std::errc::address_in_use) {", "if (problem.empty()) return;", "if (problem == problem_) return;",
                     '// problem.find("x")'):
            self.assertEqual(self.found(line), [], line)
