// EtcdProcess: an etcd of a test's own, on loopback, gone with the test.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "inventory/curl_handle.h"
#include "testing/temp_dir.h"

namespace paravane {

class EtcdProcess {
 public:
  // Answers when it is made; the test ends if it does not.
  EtcdProcess();
  ~EtcdProcess();
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;

  // As a power cut; start() brings it back with what it had.
  void kill();
  void start();

  // Its data as they are now, and later again as they were then: what restoring a backup does.
  // It is another process afterwards.
  void keep_copy(const std::string& name);
  void put_back(const std::string& name);
  void lose_data();

  // As if its quota were used up, or not any more: it takes no more keys.
  void set_full(bool full) const;

  std::string url() const;
  // A socket that is connected to it and does not block; none if it does not listen.
  UniqueFd connect() const;
  inventory::EtcdAccess access(std::string user = {}, std::string password = {}) const;

 private:
  TempDir dir_{"/dev/shm"};  // etcd waits for the disk at each write, and a busy disk is no test
  std::uint16_t port_ = 0;   // of clients
  std::uint16_t peer_port_ = 0;
  std::uint16_t health_port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace paravane
