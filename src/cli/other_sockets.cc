#include "cli/other_sockets.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/unique_fd.h"

namespace paravane::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLevels = 3;  // /run/paravane-demo/cluster/h1/api.sock

bool answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return fd && ::connect(fd.get(), generic, sizeof address) == 0;
}

void look_below(const fs::path& folder, std::vector<std::string>& found) {
  std::error_code error;
  const auto skip = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator at(folder, skip, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at.depth() >= kMostLevels) at.disable_recursion_pending();
    if (at->path().filename() == "api.sock" && answers(at->path())) found.push_back(at->path());
  }
}

}  // namespace

std::vector<std::string> answering_sockets(const std::string& run) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(run, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    if (at->path().filename().string().starts_with("paravane")) look_below(at->path(), found);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace paravane::cli
