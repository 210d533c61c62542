// OpenPorts: all ports that a process has opened, by their descriptors; and how each comes back
// after the daemon was restarted: the same port is opened, the same agents are registered with the
// same numbers, and the new MAD line takes the place of the old one.
//
// A subnet manager says that it is one by umad_get_issm_path(), whose file it then holds open. Here
// the question is the statement. But osmtest asks as well, since it shares OpenSM's code; only a
// manager also registers an agent that receives subnet management. With both, the door is told, and
// the statement ends with the MAD line.
//
// Any thread. Locks, in this order: mutex_ (held while the door is asked), those of OpenPort;
// table_ (a look, with no other lock taken under it).

#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/instant.h"
#include "base/mutex.h"
#include "umad/door_protocol.h"
#include "umad_library/door.h"
#include "umad_library/open_port.h"

namespace paravane::umad_library {

class OpenPorts {
 public:
  // How soon the door is asked again for a port that it did not give back.
  static constexpr Duration kPause = std::chrono::milliseconds(100);

  explicit OpenPorts(Door& door) : door_(door) {}

  // The descriptor. Errors: ENODEV (no such port), EMFILE (too many), or those of Door.
  std::expected<int, int> open(const std::string& adapter, int portnum);
  // nullptr: none of ours.
  std::shared_ptr<OpenPort> find(int fd);
  // False: none of ours.
  bool close(int fd);

  // The agent's number. Errors: EINVAL (the door refuses it), ENOMEM (too many), or those of Door.
  std::expected<std::uint32_t, int> add_agent(OpenPort& port, const umad::AgentWish& wish);
  // False: there is no such agent.
  bool remove_agent(OpenPort& port, std::uint32_t number);

  void wish_manager(const std::string& adapter, int portnum);

  // Brings a port back whose line of that generation has ended. 0: it is back, maybe by another
  // thread. Errors: EBADF (it is closed), EAGAIN (too soon after the last attempt), or the cause.
  // Waits until the deadline, but not much less or more than a second.
  int restore(OpenPort& port, OpenPort::Generation generation, Instant deadline);

 private:
  struct Entry {
    std::shared_ptr<OpenPort> port;
    Door::Era era = 0;        // of its MAD line
    bool is_manager = false;  // the door was told, in this era
    Instant next_try{};
    bool is_announced = false;  // stderr has said that it is away
  };

  std::expected<umad::Outcome, int> ask(const Entry& entry, umad::Ask ask, Instant deadline,
                                        std::uint32_t agent = 0, const umad::AgentWish& wish = {})
      REQUIRES_LOCK(mutex_);
  std::expected<UniqueFd, int> ask_line(const OpenPort::Place& place, Door::Era era,
                                        Instant deadline) REQUIRES_LOCK(mutex_);
  int bring_back(Entry& entry, Instant deadline) REQUIRES_LOCK(mutex_);
  int register_again(const Entry& entry, Instant deadline) REQUIRES_LOCK(mutex_);
  void tell_if_manager(Entry& entry) REQUIRES_LOCK(mutex_);
  void announce(Entry& entry, int error) REQUIRES_LOCK(mutex_);
  Entry* entry_of(const OpenPort& port) REQUIRES_LOCK(mutex_);
  std::optional<std::uint32_t> free_line() REQUIRES_LOCK(mutex_);
  int enter(const OpenPort::Place& place, UniqueFd line, Door::Era era) REQUIRES_LOCK(mutex_);
  void forget(const OpenPort& port) REQUIRES_LOCK(mutex_);

  Door& door_;
  Mutex mutex_;
  std::array<std::optional<Entry>, umad::kMostLines> lines_ GUARDED_BY(mutex_);
  std::uint32_t next_line_ GUARDED_BY(mutex_) = 0;
  std::set<std::pair<umad::Name, std::uint32_t>> managers_ GUARDED_BY(mutex_);

  Mutex table_;
  std::map<int, std::shared_ptr<OpenPort>> by_descriptor_ GUARDED_BY(table_);
};

}  // namespace paravane::umad_library
