#include "ethernet/ipv6_off.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace paravane::ethernet {
namespace {

constexpr const char* kSettings = "/proc/sys/net/ipv6/conf";

std::string ipv6_setting(const std::string& link) {
  return fmt::format("{}/{}/disable_ipv6", kSettings, link);
}

}  // namespace

Result<bool> is_ipv6_on(const std::string& link) {
  const std::string path = ipv6_setting(link);
  const UniqueFd now(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!now && errno == ENOENT && ::access(kSettings, F_OK) != 0) return false;
  char is_off = 0;
  if (!now || ::read(now.get(), &is_off, 1) != 1) return fail_by_system(Errc::kIo, path, errno);
  return is_off != '1';
}

Result<bool> turn_ipv6_off(const std::string& link) {
  Result<bool> was_on = is_ipv6_on(link);
  if (!was_on || !*was_on) return was_on;
  const std::string path = ipv6_setting(link);
  const UniqueFd setting(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (setting && ::write(setting.get(), "1", 1) == 1) return true;
  return fail_by_system(Errc::kIo, path, errno);
}

}  // namespace paravane::ethernet
