#include "umad_library/open_ports.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "umad_library/adapter_answers.h"
#include "umad_library/notice.h"

namespace paravane::umad_library {
namespace {

using umad::Ask;
using umad::Outcome;
using umad::Question;

constexpr auto kLeastPatience = std::chrono::milliseconds(200);
constexpr auto kMostPatience = std::chrono::seconds(2);

// EPIPE: the door knows the line no more, as after a restart.
int error_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone: return 0;
    case Outcome::kVersion: return EPROTONOSUPPORT;
    case Outcome::kNoAdapter: return ENODEV;
    case Outcome::kTaken: return EBUSY;
    case Outcome::kBadWish: return EINVAL;
    case Outcome::kNoRoom: return ENOMEM;
    case Outcome::kBadLine: return EPIPE;
  }
  return EPROTO;
}

int error_of(const std::expected<Outcome, int>& outcome) {
  return outcome ? error_of(*outcome) : outcome.error();
}

bool receives_subnet_management(const umad::AgentWish& wish) {
  const bool is_class = wish.management_class == 0x01 || wish.management_class == 0x81;
  return is_class && std::ranges::any_of(wish.methods, [](Le32 word) { return word.get() != 0; });
}

std::string cause_of(int error) {
  switch (error) {
    case EPIPE: return "it has ended";
    case EBUSY: return "another program has registered for its MADs";
    default: return std::strerror(error);
  }
}

Instant patience_from_now() {
  return std::chrono::steady_clock::now() + Door::kPatience;
}

}  // namespace

// ---- The table ----

std::shared_ptr<OpenPort> OpenPorts::find(int fd) {
  const MutexLock lock(table_);
  const auto found = by_descriptor_.find(fd);
  return found != by_descriptor_.end() ? found->second : nullptr;
}

OpenPorts::Entry* OpenPorts::entry_of(const OpenPort& port) {
  std::optional<Entry>& entry = lines_[port.place().line];
  return entry && entry->port.get() == &port ? &*entry : nullptr;
}

// The next in a circle: the door may not have seen yet that the last one has ended.
std::optional<std::uint32_t> OpenPorts::free_line() {
  for (std::uint32_t tried = 0; tried < lines_.size(); ++tried) {
    const std::uint32_t line = next_line_;
    next_line_ = (next_line_ + 1) % umad::kMostLines;
    if (!lines_[line]) return line;
  }
  return std::nullopt;
}

void OpenPorts::forget(const OpenPort& port) {
  const int fd = port.fd();
  const std::uint32_t line = port.place().line;
  {
    const MutexLock lock(table_);
    const auto found = by_descriptor_.find(fd);
    if (found != by_descriptor_.end() && found->second.get() == &port) by_descriptor_.erase(found);
  }
  lines_[line].reset();
}

int OpenPorts::enter(const OpenPort::Place& place, UniqueFd line, Door::Era era) {
  auto port = std::make_shared<OpenPort>(place, std::move(line));
  const int fd = port->fd();
  // One with this descriptor was closed by close().
  if (const auto old = find(fd)) forget(*old);
  lines_[place.line] = Entry{.port = port, .era = era};
  const MutexLock lock(table_);
  by_descriptor_[fd] = std::move(port);
  return fd;
}

// ---- Opened and closed ----

std::expected<UniqueFd, int> OpenPorts::ask_line(const OpenPort::Place& place, Door::Era era,
                                                 Instant deadline) {
  Question question;
  question.ask = Le32(static_cast<std::uint32_t>(Ask::kOpen));
  question.adapter = place.adapter;
  question.port = Le32(place.port);
  question.line = Le32(place.line);
  UniqueFd line;
  const auto outcome = door_.ask_in(era, question, deadline, {}, &line);
  if (outcome == Outcome::kBadLine) return std::unexpected(EBUSY);
  if (const int error = error_of(outcome); error != 0) return std::unexpected(error);
  return line;
}

std::expected<int, int> OpenPorts::open(const std::string& adapter, int portnum) {
  const auto name = to_door_name(adapter);
  if (!name || portnum < 0) return std::unexpected(ENODEV);
  const MutexLock lock(mutex_);
  const Instant deadline = patience_from_now();
  OpenPort::Place place{.adapter = *name, .port = static_cast<std::uint32_t>(portnum)};
  int error = 0;
  // A control line from before a restart, and line numbers that the door still has in use.
  for (std::uint32_t tried = 0; tried < umad::kMostLines; ++tried) {
    const auto line = free_line();
    if (!line) return std::unexpected(EMFILE);
    place.line = *line;
    const auto era = door_.era();
    if (!era) return std::unexpected(era.error());
    auto socket = ask_line(place, *era, deadline);
    if (socket) return enter(place, *std::move(socket), *era);
    if (socket.error() != EBUSY && (socket.error() != EPIPE || error == EPIPE)) {
      return std::unexpected(socket.error());
    }
    error = socket.error();
  }
  return std::unexpected(error);
}

bool OpenPorts::close(int fd) {
  const auto port = find(fd);
  if (!port) return false;
  const MutexLock lock(mutex_);
  if (const Entry* entry = entry_of(*port)) {
    static_cast<void>(ask(*entry, Ask::kClose, patience_from_now()));
    forget(*port);
  }
  port->close();
  return true;
}

// ---- Agents ----

std::expected<Outcome, int> OpenPorts::ask(const Entry& entry, Ask ask, Instant deadline,
                                           std::uint32_t agent, const umad::AgentWish& wish) {
  Question question;
  question.ask = Le32(static_cast<std::uint32_t>(ask));
  question.line = Le32(entry.port->place().line);
  question.agent = Le32(agent);
  question.wish = wish;
  return door_.ask_in(entry.era, question, deadline);
}

std::expected<std::uint32_t, int> OpenPorts::add_agent(OpenPort& port,
                                                       const umad::AgentWish& wish) {
  const MutexLock lock(mutex_);
  Entry* entry = entry_of(port);
  if (entry == nullptr) return std::unexpected(EBADF);
  const Instant deadline = patience_from_now();
  const OpenPort::Agents agents = port.agents();
  const auto free = std::ranges::find(agents, false, &std::optional<umad::AgentWish>::has_value);
  if (free == agents.end()) return std::unexpected(ENOMEM);
  const auto number = static_cast<std::uint32_t>(free - agents.begin());

  int error = error_of(ask(*entry, Ask::kRegister, deadline, number, wish));
  if (error == EPIPE) {
    error = bring_back(*entry, deadline);
    if (error == 0) error = error_of(ask(*entry, Ask::kRegister, deadline, number, wish));
  }
  if (error != 0) return std::unexpected(error == EBUSY ? EINVAL : error);  // as the kernel
  port.set_agent(number, wish);
  tell_if_manager(*entry);
  return number;
}

bool OpenPorts::remove_agent(OpenPort& port, std::uint32_t number) {
  const MutexLock lock(mutex_);
  Entry* entry = entry_of(port);
  if (entry == nullptr || number >= umad::kMostAgents || !port.agents()[number]) return false;
  port.set_agent(number, std::nullopt);
  // If the line has ended, so has the agent.
  static_cast<void>(ask(*entry, Ask::kUnregister, patience_from_now(), number));
  return true;
}

void OpenPorts::wish_manager(const std::string& adapter, int portnum) {
  const auto name = to_door_name(adapter);
  if (!name) return;
  const MutexLock lock(mutex_);
  managers_.emplace(*name, static_cast<std::uint32_t>(portnum));
  for (std::optional<Entry>& entry : lines_) {
    if (entry) tell_if_manager(*entry);
  }
}

void OpenPorts::tell_if_manager(Entry& entry) {
  const OpenPort::Place& place = entry.port->place();
  if (entry.is_manager || !managers_.contains({place.adapter, place.port})) return;
  const bool receives = std::ranges::any_of(entry.port->agents(), [](const auto& wish) {
    return wish && receives_subnet_management(*wish);
  });
  if (!receives) return;
  const int error = error_of(ask(entry, Ask::kManager, patience_from_now()));
  entry.is_manager = error == 0;
  if (error == 0 || error == EPIPE) return;  // EPIPE: it is said when the port is back
  warn("tell_manager", std::string("cannot show the subnet manager of ") + place.adapter.data() +
                           " port " + std::to_string(place.port) + " to the fabric: " +
                           std::strerror(error) + ". Look into the log of paravaned");
}

// ---- Back after the daemon's end ----

int OpenPorts::register_again(const Entry& entry, Instant deadline) {
  const OpenPort::Agents agents = entry.port->agents();
  for (std::uint32_t number = 0; number < agents.size(); ++number) {
    if (!agents[number]) continue;
    const int error = error_of(ask(entry, Ask::kRegister, deadline, number, *agents[number]));
    if (error != 0) return error;
  }
  return 0;
}

int OpenPorts::bring_back(Entry& entry, Instant deadline) {
  int error = 0;
  // The first attempt may only find that the control line has ended too.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto era = door_.era();
    if (!era) return era.error();
    // The line alone has ended, or the door has it half registered.
    if (*era == entry.era) static_cast<void>(ask(entry, Ask::kClose, deadline));
    auto socket = ask_line(entry.port->place(), *era, deadline);
    error = socket ? 0 : socket.error();
    if (error == EPIPE) continue;
    if (error != 0) return error;
    entry.era = *era;
    entry.is_manager = false;
    error = register_again(entry, deadline);
    if (error == EPIPE) continue;
    if (error != 0) return error;
    tell_if_manager(entry);
    return entry.port->renew(*std::move(socket)) ? 0 : EBADF;
  }
  return error;
}

void OpenPorts::announce(Entry& entry, int error) {
  const bool is_away = error != 0;
  if (entry.is_announced == is_away) return;
  entry.is_announced = is_away;
  const OpenPort::Place& place = entry.port->place();
  const std::string port =
      std::string(place.adapter.data()) + " port " + std::to_string(place.port);
  warn("restore_port", is_away ? "lost the connection to paravaned for " + port + ": " +
                                     cause_of(error) +
                                     ". Start paravaned: the connection comes back with it"
                               : "connected to paravaned for " + port + " again");
}

int OpenPorts::restore(OpenPort& port, OpenPort::Generation generation, Instant deadline) {
  const MutexLock lock(mutex_);
  Entry* entry = entry_of(port);
  if (entry == nullptr) return EBADF;
  if (port.generation() != generation) return 0;
  const Instant now = std::chrono::steady_clock::now();
  if (now < entry->next_try) return EAGAIN;
  const int error =
      bring_back(*entry, std::clamp<Instant>(deadline, now + kLeastPatience, now + kMostPatience));
  if (error == EBADF) {
    const auto kept = entry->port;
    forget(port);
    return error;
  }
  announce(*entry, error);
  entry->next_try = std::chrono::steady_clock::now() + kPause;
  return error;
}

}  // namespace paravane::umad_library
