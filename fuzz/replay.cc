// NAME_replay: what a fuzzer does with inputs that exist, without libFuzzer: for
// builds that look for something else (the thread sanitizer, coverage).
//
// Usage: NAME_replay [--seconds N] FILE|DIRECTORY...
//
// In order of names, so that two runs do the same. After N seconds no other input is
// begun. A directory that is not there is an empty one.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): libFuzzer's names.
[[gnu::weak]] int LLVMFuzzerInitialize(int* argc, char*** argv);  // a fuzzer may have none
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// NOLINTEND(readability-identifier-naming)
}

namespace {

using Clock = std::chrono::steady_clock;

void add_files(const std::filesystem::path& named, std::vector<std::filesystem::path>& files) {
  if (!std::filesystem::is_directory(named)) {
    if (std::filesystem::exists(named)) files.push_back(named);
    return;
  }
  const std::size_t before = files.size();
  for (const auto& entry : std::filesystem::directory_iterator(named)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
}

void run_one(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  Clock::time_point end = Clock::time_point::max();
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--seconds" && i + 1 < argc) {
      end = Clock::now() + std::chrono::seconds(std::atoi(argv[++i]));
    } else {
      add_files(argv[i], files);
    }
  }
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  std::size_t done = 0;
  while (done < files.size() && Clock::now() < end) run_one(files[done++]);
  std::printf("%zu of %zu inputs\n", done, files.size());
  return files.empty() ? 2 : 0;
}
