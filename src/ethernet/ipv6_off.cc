#include "ethernet/ipv6_off.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace paravane::ethernet {
namespace {

constexpr const char* kSettings = "/proc/sys/net/ipv6/conf";

}  // namespace

Result<bool> turn_ipv6_off(const std::string& link) {
  const std::string path = fmt::format("{}/{}/disable_ipv6", kSettings, link);
  const auto failed = [&path] { return fail_by_system(Errc::kIo, path, errno); };
  const UniqueFd now(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!now && errno == ENOENT && ::access(kSettings, F_OK) != 0) return false;
  char is_off = 0;
  if (!now || ::read(now.get(), &is_off, 1) != 1) return failed();
  if (is_off == '1') return false;
  const UniqueFd setting(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!setting || ::write(setting.get(), "1", 1) != 1) return failed();
  return true;
}

}  // namespace paravane::ethernet
