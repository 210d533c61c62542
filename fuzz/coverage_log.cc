// Notes which branches of the program any input has reached, and writes their
// addresses to the file that PARAVANE_FUZZ_COVERAGE names when the program ends.
// fuzz/run turns them into source lines all at once: libFuzzer's own report looks
// each of them up by itself, which takes longer than the fuzzing.
//
// Linked with --wrap=LLVMFuzzerTestOneInput, so that it sees the counters after
// each input, before libFuzzer clears them.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

extern "C" {
// The names are the linker's and the compiler's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern const std::uint8_t __executable_start[];
extern const std::uint8_t __start___sancov_cntrs[];
extern const std::uint8_t __stop___sancov_cntrs[];
struct SancovEntry {
  std::uintptr_t pc;
  std::uintptr_t flags;
};
extern const SancovEntry __start___sancov_pcs[];

int __real_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace {

class CoverageLog {
 public:
  CoverageLog()
      : path_(std::getenv("PARAVANE_FUZZ_COVERAGE")),
        counters_(__start___sancov_cntrs, __stop___sancov_cntrs),
        reached_(counters_.size()) {}
  CoverageLog(const CoverageLog&) = delete;
  CoverageLog& operator=(const CoverageLog&) = delete;

  ~CoverageLog() {
    if (path_ == nullptr) return;
    std::FILE* file = std::fopen(path_, "w");
    if (file == nullptr) return;
    const auto base = reinterpret_cast<std::uintptr_t>(__executable_start);
    for (std::size_t i = 0; i < reached_.size(); ++i) {
      if (reached_[i] == 0) continue;
      std::fprintf(file, "0x%zx\n", __start___sancov_pcs[i].pc - base);
    }
    std::fclose(file);
  }

  void note() {
    if (path_ == nullptr) return;
    for (std::size_t i = 0; i < counters_.size(); ++i) reached_[i] |= counters_[i];
  }

 private:
  const char* path_;
  std::span<const std::uint8_t> counters_;
  std::vector<std::uint8_t> reached_;
};

}  // namespace

int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static CoverageLog log;
  const int result = __real_LLVMFuzzerTestOneInput(data, size);
  log.note();
  return result;
}
