// FakeDoor: the daemon's umad door, for tests of the library. A thread of its own answers as the
// daemon does, or as a test says. It can end and come back, as a daemon that is restarted.
//
// Any thread.

#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "umad/door_protocol.h"

namespace paravane::umad_library {

class FakeDoor {
 public:
  struct Mad {
    std::uint32_t line = 0;
    umad::MadPart head;
    std::vector<std::byte> bytes;
  };
  struct Port {
    std::string link_layer = "InfiniBand";
    std::uint32_t state = 4;
    std::uint32_t physical_state = 5;
    std::uint32_t capabilities = 0;
    std::uint64_t guid = 0;
  };
  struct Adapter {
    std::string name;
    std::vector<Port> ports;  // from number 1 on; of a switch from 0 on
    std::uint32_t node_type = 1;
  };
  // Instead of the right answer; with `with_descriptor` some descriptor comes along. nullopt: the
  // right one.
  struct Odd {
    std::vector<std::byte> bytes;
    int descriptors = 0;
    bool is_silent = false;
  };
  using Instead = std::function<std::optional<Odd>(const umad::Question&)>;

  // Sets PARAVANE_UMAD_DOOR.
  FakeDoor();
  ~FakeDoor();
  FakeDoor(const FakeDoor&) = delete;
  FakeDoor& operator=(const FakeDoor&) = delete;

  const std::string& path() const { return path_; }
  void stop();
  void start();

  void set_adapters(std::vector<Adapter> adapters);
  void set_ipoib_uplinks(std::uint32_t uplinks);
  void answer_instead(Instead instead);
  // Sends each MAD that has a time limit back as its answer.
  void echo(bool echoes);

  // ---- What was asked, all in order ----
  std::vector<umad::Question> questions(umad::Ask ask);
  void forget_questions();
  // Waits until so many MADs have come in all.
  std::vector<Mad> wait_for_mads(std::size_t count);
  void wait_for_questions(umad::Ask ask, std::size_t count);

  // ---- To a program; the number of its line ----
  void give(std::uint32_t line, umad::MadPart head, const std::vector<std::byte>& mad);
  // One message as it is.
  void give_raw(std::uint32_t line, const std::vector<std::byte>& message);
  void end_line(std::uint32_t line);
  std::vector<std::uint32_t> open_lines();

 private:
  struct Line {
    UniqueFd socket;
    int control = -1;
    std::map<std::uint32_t, umad::AgentWish> agents;
    std::vector<std::byte> joined;
  };
  void run();
  void serve(int fd);
  void hear_control(int fd);
  void hear_line(std::uint32_t number);
  void answer(int fd, const umad::Question& question);
  std::vector<std::byte> facts(const umad::Question& question, umad::Outcome& outcome);
  umad::Outcome act(int control, const umad::Question& question, UniqueFd& passed);
  void end_control(int fd);
  const Adapter* adapter(const umad::Name& name) const;
  void give_locked(std::uint32_t line, umad::MadPart head, const std::vector<std::byte>& mad);
  void wake();

  std::string path_;
  UniqueFd wake_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable news_;
  bool is_running_ = false;
  bool echoes_ = false;
  UniqueFd listener_;
  std::map<int, UniqueFd> controls_;
  std::map<std::uint32_t, Line> lines_;
  std::vector<Adapter> adapters_;
  std::uint32_t ipoib_uplinks_ = 1;
  Instead instead_;
  std::vector<umad::Question> questions_;
  std::vector<Mad> mads_;
};

}  // namespace paravane::umad_library
