#include "umad_library/fake_door.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>

namespace paravane::umad_library {
namespace {

using umad::Ask;
using umad::Outcome;

std::string fresh_path() {
  static std::atomic<int> number = 0;
  return std::filesystem::temp_directory_path() /
         ("umad-" + std::to_string(::getpid()) + "-" + std::to_string(++number) + ".sock");
}

template <typename T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

umad::Name wire_name(const std::string& name) {
  umad::Name wire{};
  std::ranges::copy(name, wire.begin());
  return wire;
}

void send_with(int fd, std::span<const std::byte> bytes, const std::vector<int>& passed) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  iovec part{.iov_base = copy.data(), .iov_len = copy.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(16 * sizeof(int))> control{};
  if (!passed.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(passed.size() * sizeof(int));
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(passed.size() * sizeof(int));
    std::memcpy(CMSG_DATA(head), passed.data(), passed.size() * sizeof(int));
  }
  static_cast<void>(::sendmsg(fd, &message, MSG_NOSIGNAL));
}

}  // namespace

FakeDoor::FakeDoor() : path_(fresh_path()), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ::setenv("PARAVANE_UMAD_DOOR", path_.c_str(), 1);
  adapters_ = {{.name = "paravane0", .ports = {{.guid = 0x1001}}}};
  start();
}

FakeDoor::~FakeDoor() {
  stop();
}

void FakeDoor::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));
}

void FakeDoor::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_running_ = false;
  }
  wake();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  ::unlink(path_.c_str());
  listener_.reset();
  lines_.clear();
  controls_.clear();
}

void FakeDoor::start() {
  const std::lock_guard lock(mutex_);
  listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::ranges::copy(path_, address.sun_path);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), 16) != 0) {
    std::abort();
  }
  is_running_ = true;
  thread_ = std::thread([this] { run(); });
}

void FakeDoor::set_adapters(std::vector<Adapter> adapters) {
  const std::lock_guard lock(mutex_);
  adapters_ = std::move(adapters);
}

void FakeDoor::set_ipoib_uplinks(std::uint32_t uplinks) {
  const std::lock_guard lock(mutex_);
  ipoib_uplinks_ = uplinks;
}

void FakeDoor::answer_instead(Instead instead) {
  const std::lock_guard lock(mutex_);
  instead_ = std::move(instead);
}

void FakeDoor::echo(bool echoes) {
  const std::lock_guard lock(mutex_);
  echoes_ = echoes;
}

std::vector<umad::Question> FakeDoor::questions(Ask ask) {
  const std::lock_guard lock(mutex_);
  std::vector<umad::Question> found;
  std::ranges::copy_if(questions_, std::back_inserter(found), [&](const umad::Question& question) {
    return question.ask.get() == static_cast<std::uint32_t>(ask);
  });
  return found;
}

void FakeDoor::forget_questions() {
  const std::lock_guard lock(mutex_);
  questions_.clear();
}

void FakeDoor::wait_for_questions(Ask ask, std::size_t count) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, std::chrono::seconds(20), [&] {
    return std::ranges::count(questions_, static_cast<std::uint32_t>(ask),
                              [](const auto& question) { return question.ask.get(); }) >=
           static_cast<std::ptrdiff_t>(count);
  });
}

std::vector<FakeDoor::Mad> FakeDoor::wait_for_mads(std::size_t count) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, std::chrono::seconds(20), [&] { return mads_.size() >= count; });
  return mads_;
}

std::vector<std::uint32_t> FakeDoor::open_lines() {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> numbers;
  numbers.reserve(lines_.size());
  for (const auto& [number, line] : lines_) numbers.push_back(number);
  return numbers;
}

void FakeDoor::give(std::uint32_t line, umad::MadPart head, const std::vector<std::byte>& mad) {
  const std::lock_guard lock(mutex_);
  give_locked(line, head, mad);
}

void FakeDoor::give_locked(std::uint32_t line, umad::MadPart head,
                           const std::vector<std::byte>& mad) {
  head.total = Le32(static_cast<std::uint32_t>(mad.size()));
  for (std::size_t offset = 0; offset < mad.size(); offset += umad::kMostPart) {
    head.offset = Le32(static_cast<std::uint32_t>(offset));
    std::vector<std::byte> message = bytes_of(head);
    const auto part =
        std::span(mad).subspan(offset, std::min(umad::kMostPart, mad.size() - offset));
    message.insert(message.end(), part.begin(), part.end());
    send_with(lines_[line].socket.get(), message, {});
  }
}

void FakeDoor::give_raw(std::uint32_t line, const std::vector<std::byte>& message) {
  const std::lock_guard lock(mutex_);
  send_with(lines_[line].socket.get(), message, {});
}

void FakeDoor::end_line(std::uint32_t line) {
  const std::lock_guard lock(mutex_);
  lines_.erase(line);
  wake();
}

void FakeDoor::run() {
  for (;;) {
    std::vector<pollfd> watched;
    {
      const std::lock_guard lock(mutex_);
      if (!is_running_) return;
      watched.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
      watched.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
      for (const auto& [fd, socket] : controls_) {
        watched.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      }
      for (const auto& [number, line] : lines_) {
        watched.push_back({.fd = line.socket.get(), .events = POLLIN, .revents = 0});
      }
    }
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    const std::lock_guard lock(mutex_);
    if (!is_running_) return;
    for (const pollfd& ready : watched) {
      if (ready.revents != 0) serve(ready.fd);
    }
    news_.notify_all();
  }
}

void FakeDoor::serve(int fd) {
  if (fd == wake_.get()) {
    std::uint64_t count = 0;
    static_cast<void>(!::read(fd, &count, sizeof count));
  } else if (fd == listener_.get()) {
    UniqueFd client(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
    const int number = client.get();
    if (client) controls_[number] = std::move(client);
  } else if (controls_.contains(fd)) {
    hear_control(fd);
  } else {
    const auto line = std::ranges::find_if(
        lines_, [&](const auto& entry) { return entry.second.socket.get() == fd; });
    if (line != lines_.end()) hear_line(line->first);
  }
}

void FakeDoor::end_control(int fd) {
  std::erase_if(lines_, [&](const auto& entry) { return entry.second.control == fd; });
  controls_.erase(fd);
}

void FakeDoor::hear_control(int fd) {
  umad::Question question;
  if (::recv(fd, &question, sizeof question, MSG_DONTWAIT) != sizeof question) {
    return end_control(fd);
  }
  questions_.push_back(question);
  answer(fd, question);
}

const FakeDoor::Adapter* FakeDoor::adapter(const umad::Name& name) const {
  const auto found = std::ranges::find_if(
      adapters_, [&](const Adapter& adapter) { return wire_name(adapter.name) == name; });
  return found != adapters_.end() ? &*found : nullptr;
}

std::vector<std::byte> FakeDoor::facts(const umad::Question& question, Outcome& outcome) {
  const auto ask = static_cast<Ask>(question.ask.get());
  if (ask == Ask::kIpoib) {
    umad::IpoibFacts facts;
    facts.uplinks = Le32(ipoib_uplinks_);
    return bytes_of(facts);
  }
  if (ask == Ask::kAdapters) {
    umad::AdapterNames names;
    names.count = Le32(static_cast<std::uint32_t>(adapters_.size()));
    for (std::size_t i = 0; i < adapters_.size(); ++i)
      names.names[i] = wire_name(adapters_[i].name);
    return bytes_of(names);
  }
  const Adapter* found = adapter(question.adapter);
  const std::uint32_t first = found != nullptr && found->node_type == 2 ? 0 : 1;
  const std::uint32_t at = question.port.get() - first;
  if (found == nullptr || (ask == Ask::kPort && at >= found->ports.size())) {
    outcome = Outcome::kNoAdapter;
    return {};
  }
  if (ask == Ask::kAdapter) {
    umad::AdapterFacts facts;
    facts.name = question.adapter;
    facts.node_type = Le32(found->node_type);
    facts.ports = Le32(static_cast<std::uint32_t>(found->ports.size()));
    std::ranges::copy(std::string_view("1.2.3"), facts.firmware.begin());
    facts.type.fill('t');  // without an end
    std::ranges::copy(std::string_view("0"), facts.hardware.begin());
    facts.node_guid = Be64(0x0102030405060708);
    facts.system_guid = Be64(0x1102030405060708);
    return bytes_of(facts);
  }
  const Port& port = found->ports[at];
  umad::PortFacts facts;
  facts.adapter = question.adapter;
  facts.port = question.port;
  facts.base_lid = Le32(7);
  facts.lmc = Le32(1);
  facts.master_lid = Le32(3);
  facts.master_level = Le32(2);
  facts.state = Le32(port.state);
  facts.physical_state = Le32(port.physical_state);
  facts.rate = Le32(100);
  facts.capabilities = Be32(port.capabilities);
  facts.gid_prefix = Be64(0xFE80000000000000);
  facts.port_guid = Be64(port.guid);
  std::ranges::copy(port.link_layer, facts.link_layer.begin());
  facts.partitions = Le32(2);
  facts.keys[0] = Le16(0xFFFF);
  facts.keys[1] = Le16(0x8001);
  return bytes_of(facts);
}

Outcome FakeDoor::act(int control, const umad::Question& question, UniqueFd& passed) {
  const auto ask = static_cast<Ask>(question.ask.get());
  const std::uint32_t number = question.line.get();
  if (ask == Ask::kOpen) {
    if (lines_.contains(number)) return Outcome::kBadLine;
    const Adapter* found = adapter(question.adapter);
    if (found == nullptr || question.port.get() == 0 || question.port.get() > found->ports.size()) {
      return Outcome::kNoAdapter;
    }
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return Outcome::kNoRoom;
    }
    passed.reset(ends[1]);
    Line line;
    line.socket.reset(ends[0]);
    line.control = control;
    lines_[number] = std::move(line);
    return Outcome::kDone;
  }
  if (!lines_.contains(number)) return Outcome::kBadLine;
  Line& line = lines_[number];
  const std::uint32_t agent = question.agent.get();
  switch (ask) {
    case Ask::kRegister:
      if (question.wish.management_class == 0) return Outcome::kBadWish;
      return line.agents.emplace(agent, question.wish).second ? Outcome::kDone : Outcome::kBadWish;
    case Ask::kUnregister: return line.agents.erase(agent) > 0 ? Outcome::kDone : Outcome::kBadWish;
    case Ask::kClose: lines_.erase(number); return Outcome::kDone;
    case Ask::kManager: return Outcome::kDone;
    case Ask::kAdapters:
    case Ask::kAdapter:
    case Ask::kPort:
    case Ask::kIpoib:
    case Ask::kOpen: break;
  }
  return Outcome::kBadLine;
}

void FakeDoor::answer(int fd, const umad::Question& question) {
  if (instead_) {
    if (const auto odd = instead_(question)) {
      const std::vector<int> passed(static_cast<std::size_t>(odd->descriptors), wake_.get());
      if (!odd->is_silent) send_with(fd, odd->bytes, passed);
      return;
    }
  }
  umad::Answer head;
  Outcome outcome = Outcome::kDone;
  UniqueFd passed;
  std::vector<std::byte> more;
  const auto ask = static_cast<Ask>(question.ask.get());
  if (ask <= Ask::kPort || ask == Ask::kIpoib) {
    more = facts(question, outcome);
  } else {
    outcome = act(fd, question, passed);
  }
  head.outcome = Le32(static_cast<std::uint32_t>(outcome));
  std::vector<std::byte> message = bytes_of(head);
  message.insert(message.end(), more.begin(), more.end());
  send_with(fd, message, passed ? std::vector{passed.get()} : std::vector<int>{});
}

void FakeDoor::hear_line(std::uint32_t number) {
  Line& line = lines_[number];
  std::vector<std::byte> message(sizeof(umad::MadPart) + umad::kMostPart);
  const ssize_t count = ::recv(line.socket.get(), message.data(), message.size(), MSG_DONTWAIT);
  umad::MadPart head;
  if (count < static_cast<ssize_t>(sizeof head)) {
    lines_.erase(number);
    return;
  }
  std::memcpy(&head, message.data(), sizeof head);
  line.joined.insert(line.joined.end(), message.begin() + sizeof head, message.begin() + count);
  if (line.joined.size() < head.total.get()) return;
  Mad mad{.line = number, .head = head, .bytes = std::move(line.joined)};
  line.joined.clear();
  if (echoes_ && head.timeout_ms.get() != 0) {
    std::vector<std::byte> response = mad.bytes;
    response[3] |= std::byte{0x80};
    head.timeout_ms = Le32(0);
    give_locked(number, head, response);
  }
  mads_.push_back(std::move(mad));
}

}  // namespace paravane::umad_library
