#include "ipoib/paths.h"

#include <utility>

#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {

using wire::infiniband::PathRecord;

Paths::~Paths() {
  for (const auto& [key, entry] : entries_) client_.cancel(entry.question);
}

std::expected<Path, Paths::Miss> Paths::find(const PathKey& key, std::uint16_t vlan,
                                             std::span<const std::byte> frame) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return ask(key, vlan, frame);
  Entry& entry = found->second;
  switch (entry.state) {
    case State::kAsked: return wait(entry, frame);
    case State::kKnown:
      if (clock_.now < entry.until) return entry.path;
      break;
    case State::kFailed:
      if (clock_.now < entry.until) return std::unexpected(Miss::kUnreachable);
      break;
  }
  return ask(key, vlan, frame);
}

std::expected<Path, Paths::Miss> Paths::ask(const PathKey& key, std::uint16_t vlan,
                                            std::span<const std::byte> frame) {
  if (asked_ >= kMostAsked) return std::unexpected(Miss::kNoRoom);
  if (!entries_.contains(key)) {
    make_room();
    order_.push_back(key);
  }
  Entry& entry = entries_[key];
  entry.vlan = vlan;
  const auto asked = client_.find_path({.destination = key.lid, .partition = key.partition},
                                       [this, key](const auto& answer) { take(key, answer); });
  if (!asked) {
    entry.state = State::kFailed;
    entry.until = clock_.now + kPause;
    return std::unexpected(Miss::kUnreachable);
  }
  entry.state = State::kAsked;
  entry.question = *asked;
  ++asked_;
  return wait(entry, frame);
}

std::expected<Path, Paths::Miss> Paths::wait(Entry& entry, std::span<const std::byte> frame) {
  if (entry.waiting.size() >= kMostWaiting || waiting_bytes_ + frame.size() > kMostWaitingBytes)
    return std::unexpected(Miss::kNoRoom);
  entry.waiting.emplace_back(frame.begin(), frame.end());
  waiting_bytes_ += frame.size();
  return std::unexpected(Miss::kWaits);
}

std::vector<Paths::Frame> Paths::take_waiting(Entry& entry) {
  std::vector<Frame> frames = std::exchange(entry.waiting, {});
  for (const Frame& frame : frames) waiting_bytes_ -= frame.size();
  return frames;
}

void Paths::take(const PathKey& key, const AdministrationClient::Answer<PathRecord>& answer) {
  Entry& entry = entries_.at(key);
  --asked_;
  entry.question = QuestionId::kNone;
  std::vector<Frame> frames = take_waiting(entry);
  const std::uint16_t vlan = entry.vlan;
  const auto mtu = answer ? answer->mtu & wire::infiniband::kValueBits : 0;
  // Numbers of the protocol: 256 to 4096.
  if (mtu < static_cast<int>(wire::infiniband::Mtu::k256) ||
      mtu > static_cast<int>(wire::infiniband::Mtu::k4096)) {
    entry.state = State::kFailed;
    entry.until = clock_.now + kPause;
    if (!frames.empty()) listener_.on_no_path(frames.size());
    return;
  }
  entry.state = State::kKnown;
  entry.until = clock_.now + kLife;
  entry.path = {.gid = answer->destination,
                .level = answer->level(),
                .mtu = wire::infiniband::bytes_of(static_cast<wire::infiniband::Mtu>(mtu))};
  if (!frames.empty()) listener_.on_path(vlan, std::move(frames));
}

const Path* Paths::known(const PathKey& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.state != State::kKnown) return nullptr;
  return &found->second.path;
}

void Paths::compare(const PathKey& key, const wire::infiniband::Gid& gid) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.state != State::kKnown) return;
  if (found->second.path.gid != gid) found->second.until = clock_.now;
}

void Paths::clear() {
  std::size_t dropped = 0;
  for (auto& [key, entry] : entries_) {
    client_.cancel(entry.question);
    dropped += take_waiting(entry).size();
  }
  entries_.clear();
  order_.clear();
  asked_ = 0;
  if (dropped != 0) listener_.on_no_path(dropped);
}

void Paths::make_room() {
  if (entries_.size() < kMost) return;
  // Those that are asked for, of which there are few, go to the end.
  while (entries_.at(order_.front()).state == State::kAsked) {
    order_.push_back(order_.front());
    order_.pop_front();
  }
  entries_.erase(order_.front());
  order_.pop_front();
}

}  // namespace paravane::ipoib
