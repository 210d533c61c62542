// DaemonProcess: a paravaned of our own, with its state in a temporary folder,
// gone with its owner.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "api/api_client.h"
#include "testing/vfio_server_rig.h"

namespace paravane::bench {

class DaemonProcess {
 public:
  // Starts the program and waits until it answers. Ends ours when it does not.
  explicit DaemonProcess(const std::filesystem::path& program);
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // Adds a VM; where its VMM connects, and the MAC it got.
  model::VmStatus add_vm(const std::string& name);

  // Replaces its engine by another one of the same program; the event that the other tells of it.
  // Takes 10 s where the last upgrade was so long ago or less.
  model::Event upgrade();

  // What its engine has in memory, in bytes: of its own, and of guests' files.
  struct Memory {
    std::uint64_t own = 0;
    std::uint64_t shared = 0;
  };
  Memory memory() const;

  // Context switches of all its threads since it started.
  std::uint64_t context_switches() const;

 private:
  void await_answer();

  TempDir folder_;
  api::ApiClient api_;
  pid_t pid_ = -1;
  pid_t engine_ = -1;  // the process that serves guests
};

}  // namespace paravane::bench
