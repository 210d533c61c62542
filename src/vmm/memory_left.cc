#include "vmm/memory_left.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace paravane::vmm {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

std::string read_text(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The number after a word that begins a line: "MemAvailable:  12 kB", "inactive_file 12".
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    const std::size_t digits = text.find_first_not_of(" \t", at + word.size());
    if (digits == std::string_view::npos) return std::nullopt;
    std::uint64_t number = 0;
    const char* begin = text.data() + digits;
    if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc{}) break;
    return number;
  }
  return std::nullopt;
}

// "0::/user.slice/session-1.scope", as /proc/self/cgroup has it.
std::string own_cgroup(const std::string& root) {
  const std::string text = read_text(root + "proc/self/cgroup");
  constexpr std::string_view kTwo = "0::";
  const std::size_t at = text.find(kTwo);
  if (at == std::string::npos) return "/";
  const std::size_t begin = at + kTwo.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

// Without the page cache, which gives way.
std::optional<std::uint64_t> left_in(const std::string& folder) {
  const auto most = number_after(read_text(folder + "/memory.max"), "");
  const auto used = number_after(read_text(folder + "/memory.current"), "");
  if (!most || !used) return std::nullopt;  // "max": no limit
  const auto cache = number_after(read_text(folder + "/memory.stat"), "inactive_file ").value_or(0);
  const std::uint64_t held = *used - std::min(*used, cache);
  return *most - std::min(*most, held);
}

}  // namespace

MemoryLeft memory_left(const std::string& cgroup, const std::string& root) {
  const auto available = number_after(read_text(root + "proc/meminfo"), "MemAvailable:");
  if (!available) return {};
  MemoryLeft least{.mib = *available / 1024, .of = "the host"};
  // The topmost has a limit as well where it is that of a container.
  std::string group = cgroup.empty() ? own_cgroup(root) : cgroup;
  while (group.starts_with('/')) {
    const auto left = left_in(fmt::format("{}sys/fs/cgroup{}", root, group));
    if (left && *left / kMib < least.mib) least = {.mib = *left / kMib, .of = "cgroup " + group};
    if (group.size() == 1) break;
    group.resize(std::max<std::size_t>(group.rfind('/'), 1));
  }
  least.mib = std::max<std::uint64_t>(least.mib, 1);
  return least;
}

std::uint64_t huge_pages_free(const std::string& root) {
  return number_after(read_text(root + "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"),
                      "")
      .value_or(0);
}

bool may_lock_memory() {
  rlimit memory{};
  ::getrlimit(RLIMIT_MEMLOCK, &memory);
  if (memory.rlim_cur == RLIM_INFINITY) return true;
  const rlimit before = memory;
  memory = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (::setrlimit(RLIMIT_MEMLOCK, &memory) != 0) return false;
  ::setrlimit(RLIMIT_MEMLOCK, &before);
  return true;
}

}  // namespace paravane::vmm
