#include "subnet_host/net_queue_files.h"

#include <chrono>
#include <fstream>
#include <system_error>
#include <vector>

#include "model/machine.h"

namespace paravane::subnet_host {

void NetQueueFiles::show(const std::map<std::string, bool>& has_net_queue) {
  std::vector<std::filesystem::path> gone;
  std::error_code unknown;  // without the folder there is nothing to remove
  for (const auto& entry : std::filesystem::directory_iterator(folder_, unknown)) {
    const std::string name = entry.path().filename();
    if (model::is_ipoib_uplink_name(name) && !has_net_queue.contains(name))
      gone.push_back(entry.path());
  }
  for (const std::filesystem::path& path : gone) {
    std::filesystem::remove(path / "NetQueue", unknown);
    std::filesystem::remove(path, unknown);
  }
  for (const auto& [uplink, is_on] : has_net_queue) write(uplink, is_on);
}

void NetQueueFiles::write(const std::string& uplink, bool has_net_queue) {
  const std::filesystem::path file = folder_ / uplink / "NetQueue";
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  std::ofstream out(file, std::ios::trunc);
  out << (has_net_queue ? "1\n" : "0\n") << std::flush;
  if (!out)
    log_.warn(std::chrono::steady_clock::now(), "{}: cannot write {}", uplink, file.string());
}

}  // namespace paravane::subnet_host
