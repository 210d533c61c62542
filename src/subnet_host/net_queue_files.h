// NetQueueFiles: the files that tell of an IPoIB uplink whether it has NetQueue, as ESX has them
// below /proc (guide, 4.4.2.3): "1" or "0" in net/ipoib/vmnic32/NetQueue, below the folder of the
// umad door.
//
// A file that cannot be written is logged; nothing depends on it. Control thread only.

#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/limited_log.h"

namespace paravane::subnet_host {

class NetQueueFiles {
 public:
  // `folder`: in which "net" is made.
  explicit NetQueueFiles(const std::filesystem::path& folder) : folder_(folder / "net" / "ipoib") {}
  NetQueueFiles(const NetQueueFiles&) = delete;
  NetQueueFiles& operator=(const NetQueueFiles&) = delete;

  // There are these uplinks and no others.
  void show(const std::map<std::string, bool>& has_net_queue);

 private:
  void write(const std::string& uplink, bool has_net_queue);

  const std::filesystem::path folder_;
  LimitedLog log_;
};

}  // namespace paravane::subnet_host
