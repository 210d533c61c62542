// Where the fake guests race with themselves: its processors write over the requests
// and completions that another one is just writing or reading in the regular way. The
// device's own accesses are not among these.

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the
// sanitizer's name.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:paravane::fake::FakeQp::write_send\n"
         "race:paravane::fake::write_receive\n"
         "race:paravane::fake::FakeCq::drop_completions_of\n";
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
