// QtestMachine: a q35 machine under `-accel qtest`: no CPU runs, the test does
// what a CPU would, by text commands over a socket.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qtest/qemu_process.h"

namespace paravane {

class QtestMachine {
 public:
  struct Options {
    std::filesystem::path device_socket = {};
    std::string address = "10.0";  // slot (hexadecimal) and function of the device
    // What stands behind guest RAM, as the VM's memory backend m0; empty: nothing
    // that could be shared.
    std::string memory = "memory-backend-memfd,share=on";
    std::vector<std::string> more = {};  // arguments for QEMU, before the device
  };
  static constexpr std::uint64_t kRamBytes = std::uint64_t{256} << 20;

  QtestMachine(const std::filesystem::path& directory, const Options& options,
               QemuProcess::Pump pump);

  QemuProcess& process() { return process_; }
  // False when QEMU ended instead of coming up; the log says why.
  bool is_up() const { return is_up_; }

  // ---- What a CPU does ----
  void out(unsigned bytes, std::uint16_t port, std::uint32_t value);
  std::uint32_t in(unsigned bytes, std::uint16_t port);
  void write(unsigned bytes, std::uint64_t address, std::uint64_t value);
  std::uint64_t read(unsigned bytes, std::uint64_t address);

  // ---- What an operator does ----
  // A QMP command without arguments; waits for its answer. False: it failed.
  bool qmp(const std::string& command);
  // Until this event has been seen, be it in the past; false when it does not
  // come.
  bool wait_for_event(const std::string& name);

 private:
  std::string command(const std::string& line);

  QemuProcess process_;
  bool is_up_ = false;
  std::vector<std::string> events_;  // lines of QMP that were no answers
};

}  // namespace paravane
