// QemuProcess: one QEMU as a child of the test, and its two control sockets. It
// is killed with its owner.
//
// QEMU talks to a server that lives on this thread, so every wait here lets the
// server work: `pump` runs one turn of its loop.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace paravane {

// A connected stream that speaks lines.
class LineSocket {
 public:
  using Pump = std::function<void()>;
  LineSocket(UniqueFd socket, Pump pump);

  void write(const std::string& text);
  // The next line without its end; nullopt when the other side has gone or says
  // nothing for 20 s.
  std::optional<std::string> read_line();

 private:
  UniqueFd socket_;
  Pump pump_;
  std::string received_;
};

class QemuProcess {
 public:
  using Pump = std::function<void()>;

  // `directory` takes the control sockets and the log.
  QemuProcess(const std::filesystem::path& directory, const std::vector<std::string>& arguments,
              Pump pump);
  ~QemuProcess();
  QemuProcess(const QemuProcess&) = delete;
  QemuProcess& operator=(const QemuProcess&) = delete;

  // False when QEMU ended instead of coming up.
  bool is_up() const { return qtest_.has_value() && qmp_.has_value(); }
  pid_t pid() const { return pid_; }
  LineSocket& qtest() { return *qtest_; }
  LineSocket& qmp() { return *qmp_; }

  // Its exit status once it has ended; nullopt after 20 s.
  std::optional<int> wait();
  // What it wrote to its standard output and error.
  std::string log() const;

 private:
  std::optional<UniqueFd> accept_while_running(int listener);
  bool has_ended();

  std::filesystem::path log_path_;
  Pump pump_;
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::optional<LineSocket> qtest_;
  std::optional<LineSocket> qmp_;
};

}  // namespace paravane
