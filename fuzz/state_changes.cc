#include "state_changes.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>

#include "promise.h"
#include "state/tag.h"

namespace paravane::fake {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMostRecords = 4096;
constexpr std::uint16_t kHighestTag = 32;
constexpr std::uint64_t kPage = 4096;

// What is no sequence of records is no group.
std::optional<std::vector<StateRecord>> parse(std::span<const std::byte> bytes) {
  std::vector<StateRecord> records;
  while (!bytes.empty()) {
    state::RecordHeader header;
    if (bytes.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.bytes.get() > bytes.size() - sizeof header ||
        state::place_of(state::Tag{header.tag.get()}) > kHighestTag) {
      return std::nullopt;
    }
    const auto value = bytes.subspan(sizeof header, header.bytes.get());
    StateRecord record;
    record.tag = header.tag;
    record.value.assign(value.begin(), value.end());
    if (auto inside = parse(value)) {
      record.inside = std::move(*inside);
      record.is_group = true;
    }
    records.push_back(std::move(record));
    bytes = bytes.subspan(sizeof header + value.size());
  }
  return records;
}

Bytes written(const std::vector<StateRecord>& records) {
  Bytes bytes;
  for (const StateRecord& record : records) {
    const Bytes value = record.bytes();
    const state::RecordHeader header{.tag = record.tag,
                                     .bytes = Le32(static_cast<std::uint32_t>(value.size()))};
    const auto raw = std::as_bytes(std::span(&header, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  return bytes;
}

void set(StateRecord& record, Bytes value) {
  record.inside.clear();
  record.is_group = false;
  record.value = std::move(value);
}

}  // namespace

std::size_t open_descriptors() {
  std::error_code gone;
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::count_if(begin(all), end(all), [&](const auto& entry) {
    const std::string name = std::filesystem::read_symlink(entry.path(), gone).string();
    return !name.empty() && !name.starts_with("pipe:") && !name.starts_with("/proc/") &&
           name != "/dev/null";
  }));
}

UniqueFd memory_file(std::uint64_t bytes) {
  UniqueFd file(memfd_create("ram", MFD_CLOEXEC));
  require(ftruncate(file.get(), static_cast<off_t>(bytes)) == 0);
  return file;
}

UniqueFd read_only(const UniqueFd& file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

Bytes StateRecord::bytes() const {
  return is_group ? written(inside) : value;
}

struct StateChanges::Place {
  std::vector<StateRecord>* list = nullptr;
  std::size_t index = 0;
  StateRecord& record() const { return (*list)[index]; }
  std::vector<StateRecord>::iterator at() const {
    return list->begin() + static_cast<std::ptrdiff_t>(index);
  }
};

StateChanges::StateChanges(FuzzBytes& script, Bytes& bytes, std::vector<UniqueFd>& descriptors,
                           int client)
    : script_(script),
      state_(bytes),
      descriptors_(descriptors),
      client_(client),
      records_(*parse(bytes)) {}

void StateChanges::make() {
  for (int acts = 0; acts < 20 && !script_.at_end(); ++acts) act();
  state_ = written(records_);
  for (const auto& [place, value] : bytes_) {
    if (!state_.empty()) state_[place % state_.size()] = value;
  }
  if (cut_) state_.resize(std::min<std::size_t>(*cut_, state_.size()));
}

void StateChanges::collect(std::vector<StateRecord>& list, std::vector<Place>& all) {
  for (std::size_t i = 0; i < list.size() && all.size() < kMostRecords; ++i) {
    all.push_back({.list = &list, .index = i});
    collect(list[i].inside, all);
  }
}

std::optional<StateChanges::Place> StateChanges::pick() {
  std::vector<Place> all;
  collect(records_, all);
  if (all.empty()) return std::nullopt;
  return all[script_.u16() % all.size()];
}

void StateChanges::act() {
  const StateAct act{
      static_cast<std::uint8_t>(script_.below(std::to_underlying(StateAct::kCount)))};
  switch (act) {
    case StateAct::kByte: {
      const std::uint16_t place = script_.u16();
      bytes_.emplace_back(place, static_cast<std::byte>(script_.u8()));
      return;
    }
    case StateAct::kNumber: return set_number();
    case StateAct::kDrop: {
      if (const auto place = pick()) place->list->erase(place->at());
      return;
    }
    case StateAct::kTwice: {
      const auto place = pick();
      if (place && place->list->size() < 64) {
        const StateRecord copy = place->record();
        place->list->insert(place->at(), copy);
      }
      return;
    }
    case StateAct::kLonger: return resize();
    case StateAct::kSwap: return swap();
    case StateAct::kNoFd:
    case StateAct::kOtherFd:
    case StateAct::kSwapFds: return act_on_descriptors(act);
    case StateAct::kCut: cut_ = script_.u16(); return;
    case StateAct::kInside: return change_inside();
    case StateAct::kCount: return;
  }
}

void StateChanges::act_on_descriptors(StateAct act) {
  UniqueFd* const fd = pick_fd();
  if (fd == nullptr) return;
  if (act == StateAct::kNoFd) return fd->reset();
  if (act == StateAct::kOtherFd) {
    *fd = another_fd();
  } else {
    std::swap(*fd, *pick_fd());
  }
}

void StateChanges::set_number() {
  const auto place = pick();
  if (!place) return;
  const Le64 whole(hostile_long_number(script_));
  const auto bytes = std::as_bytes(std::span(&whole, 1));
  Bytes value(bytes.begin(), bytes.end());
  while (!value.empty() && value.back() == std::byte{0}) value.pop_back();
  set(place->record(), std::move(value));
}

void StateChanges::resize() {
  const auto place = pick();
  if (!place) return;
  const std::uint8_t bytes = script_.u8();
  Bytes value = place->record().bytes();
  const std::size_t less = std::min<std::size_t>(value.size(), 256U - bytes);
  value.resize(bytes < 128 ? value.size() + bytes : value.size() - less);
  set(place->record(), std::move(value));
}

// One may be inside the other: then the one inside has gone.
void StateChanges::swap() {
  const auto one = pick();
  const auto other = pick();
  if (!one || !other) return;
  Bytes mine = one->record().bytes();
  Bytes theirs = other->record().bytes();
  if (mine.size() > theirs.size()) {
    set(other->record(), std::move(mine));
  } else {
    set(one->record(), std::move(theirs));
  }
}

// A field of a list, or of a struct.
void StateChanges::change_inside() {
  const auto place = pick();
  if (!place || place->record().is_group || place->record().value.empty()) return;
  Bytes& value = place->record().value;
  const std::size_t at = script_.u16() % value.size();
  const std::size_t width = std::size_t{1} << script_.below(4);
  const Le64 number(hostile_long_number(script_));
  std::memcpy(value.data() + at, &number, std::min(width, value.size() - at));
}

UniqueFd* StateChanges::pick_fd() {
  return descriptors_.empty() ? nullptr : &descriptors_[script_.u8() % descriptors_.size()];
}

UniqueFd StateChanges::another_fd() {
  switch (static_cast<StateFd>(script_.below(std::to_underlying(StateFd::kCount)))) {
    case StateFd::kEventfd: return UniqueFd(eventfd(0, EFD_CLOEXEC));
    case StateFd::kMemory: return memory_file(2 * kPage + script_.u16());
    case StateFd::kReadOnlyMemory: return read_only(memory_file(16 * kPage));
    case StateFd::kEmptyMemory: return memory_file(0);
    case StateFd::kSocket: return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    case StateFd::kClient:
      return client_ >= 0 ? UniqueFd(::fcntl(client_, F_DUPFD_CLOEXEC, 0)) : UniqueFd();
    case StateFd::kNothing:
    case StateFd::kCount: break;
  }
  return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
}

}  // namespace paravane::fake
