#include "settings/name_of_host.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "model/distributed_switch.h"

namespace paravane::settings {

std::string host_name(const std::string& configured) {
  if (!configured.empty()) return configured;
  std::array<char, 256> text{};
  std::string name;
  if (::gethostname(text.data(), text.size() - 1) == 0) name = text.data();
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  if (model::check_host_name(name)) return name;
  log::warn(
      "host name \"{}\" is not a valid name for a host of switches; using localhost. Set [host] "
      "name in paravaned.toml to choose another",
      name);
  return "localhost";
}

}  // namespace paravane::settings
