// A saved attachment that an enemy has changed: the engine before, which a guest has taken over.
// The first byte says in the middle of what it was saved; then come changes of its records and its
// descriptors.
//
// Besides crashes it looks for broken promises: what is refused leaves nothing open, what is
// adopted is saved and adopted again as the same bytes, and whatever the new server does, the
// server that has the VMM goes on.

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attachment_script.h"
#include "fuzz_bytes.h"
#include "promise.h"
#include "state/tag.h"
#include "testing/vfio_server_rig.h"

namespace paravane::fake {
namespace {

using vfio_user::Command;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMostRecords = 4096;

// Pipes are the sanitizers', and /dev/null is what a first signal opens.
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

// A server with a VMM. It stays as it is; only its state is given away.
class Scene {
 public:
  explicit Scene(AttachmentScene scene) : client_(rig_.connect()) {
    switch (scene) {
      case AttachmentScene::kRest: attach(); break;
      case AttachmentScene::kMessage: {
        attach();
        const int fd = event_.get();
        client_.send_bytes(Bytes(5), {&fd, 1});
        rig_.step();
        client_.send_bytes(Bytes(5), {&fd, 1});
        break;
      }
      case AttachmentScene::kOwed:
        attach();
        rig_.device().defer({.writes = true});
        for (int i = 0; i < 3; ++i) client_.send(Command::kRegionWrite, access(1, 4, 4));
        break;
      case AttachmentScene::kSending:
        attach();
        for (int i = 0; i < 12; ++i) client_.send(Command::kRegionRead, access(2, 60000, 0));
        break;
      case AttachmentScene::kNoVersion: client_.send_bytes(Bytes(20)); break;
      case AttachmentScene::kNoClient:
      case AttachmentScene::kCount: client_.hang_up(); break;
    }
    for (int turn = 0; turn < 20; ++turn) rig_.step();
    rig_.device().clear_log();
  }

  VfioServerRig& rig() { return rig_; }
  RawVfioClient& client() { return client_; }
  bool is_untouched() { return rig_.device().log().empty() && rig_.has_server(); }

 private:
  void attach() {
    require(client_.negotiate().has_value());
    client_.dma_map(memory_.get(), 0, 0, 4 * kPage);
    client_.dma_map(memory_.get(), 8 * kPage, 0x100000, 4 * kPage);
    client_.dma_map(other_memory_.get(), 0, 0x80000, 4 * kPage, 1);
    client_.dma_map(-1, 0, 0x200000, kPage);
    client_.dma_unmap(kPage, kPage);
    const std::array<int, 2> events{event_.get(), event_.get()};
    client_.set_irqs(0x24, {.start = 0, .count = 2}, events);
    rig_.interrupts().signal(2);
    client_.set_bus_master(true);
  }
  static Bytes access(std::uint32_t region, std::uint32_t count, std::size_t data) {
    const vfio_user::RegionAccess access{
        .offset = {}, .region = Le32(region), .count = Le32(count)};
    return RawVfioClient::join({RawVfioClient::bytes_of(access), Bytes(data)});
  }

  const UniqueFd memory_ = memory_file(16 * kPage);
  const UniqueFd other_memory_ = memory_file(4 * kPage);
  const UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  VfioServerRig rig_;
  RawVfioClient client_;
};

// A record, with those in it if it is a group.
struct Record {
  Le16 tag;
  Bytes value;
  std::vector<Record> inside;
  bool is_group = false;

  Bytes bytes() const;
};

std::optional<std::vector<Record>> parse(std::span<const std::byte> bytes) {
  std::vector<Record> records;
  while (!bytes.empty()) {
    state::RecordHeader header;
    if (bytes.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.bytes.get() > bytes.size() - sizeof header || header.tag.get() > 32) {
      return std::nullopt;
    }
    const auto value = bytes.subspan(sizeof header, header.bytes.get());
    Record record;
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

Bytes written(const std::vector<Record>& records) {
  Bytes bytes;
  for (const Record& record : records) {
    const Bytes value = record.bytes();
    const state::RecordHeader header{.tag = record.tag,
                                     .bytes = Le32(static_cast<std::uint32_t>(value.size()))};
    const auto raw = std::as_bytes(std::span(&header, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  return bytes;
}

Bytes Record::bytes() const {
  return is_group ? written(inside) : value;
}

class Changes {
 public:
  Changes(FuzzBytes& script, VfioServerRig::State& state, RawVfioClient& client)
      : script_(script), state_(state), client_(client), records_(*parse(state.bytes)) {}

  void make() {
    for (int acts = 0; acts < 20 && !script_.at_end(); ++acts) act();
    state_.bytes = written(records_);
    for (const auto& [place, value] : bytes_) {
      if (!state_.bytes.empty()) state_.bytes[place % state_.bytes.size()] = value;
    }
    if (cut_) state_.bytes.resize(std::min<std::size_t>(*cut_, state_.bytes.size()));
  }

 private:
  struct Place {
    std::vector<Record>* list = nullptr;
    std::size_t index = 0;
    Record& record() const { return (*list)[index]; }
    std::vector<Record>::iterator at() const {
      return list->begin() + static_cast<std::ptrdiff_t>(index);
    }
  };

  static void collect(std::vector<Record>& list, std::vector<Place>& all) {
    for (std::size_t i = 0; i < list.size() && all.size() < kMostRecords; ++i) {
      all.push_back({.list = &list, .index = i});
      collect(list[i].inside, all);
    }
  }
  std::optional<Place> pick() {
    std::vector<Place> all;
    collect(records_, all);
    if (all.empty()) return std::nullopt;
    return all[script_.u8() % all.size()];
  }

  void act() {
    const AttachmentAct act{
        static_cast<std::uint8_t>(script_.below(std::to_underlying(AttachmentAct::kCount)))};
    switch (act) {
      case AttachmentAct::kByte: {
        const std::uint16_t place = script_.u16();
        bytes_.emplace_back(place, static_cast<std::byte>(script_.u8()));
        return;
      }
      case AttachmentAct::kNumber: return set_number();
      case AttachmentAct::kDrop: {
        if (const auto place = pick()) place->list->erase(place->at());
        return;
      }
      case AttachmentAct::kTwice: {
        const auto place = pick();
        if (place && place->list->size() < 64) {
          const Record copy = place->record();
          place->list->insert(place->at(), copy);
        }
        return;
      }
      case AttachmentAct::kLonger: return resize();
      case AttachmentAct::kSwap: return swap();
      case AttachmentAct::kNoFd:
        if (UniqueFd* fd = pick_fd()) fd->reset();
        return;
      case AttachmentAct::kOtherFd:
        if (UniqueFd* fd = pick_fd()) *fd = another_fd();
        return;
      case AttachmentAct::kSwapFds:
        if (UniqueFd* fd = pick_fd()) std::swap(*fd, *pick_fd());
        return;
      case AttachmentAct::kCut: cut_ = script_.u16(); return;
      case AttachmentAct::kCount: return;
    }
  }

  void set_number() {
    const auto place = pick();
    if (!place) return;
    const std::uint64_t number = (script_.u8() & 1) != 0 ? script_.u64() : hostile_number(script_);
    const Le64 whole(number);
    const auto bytes = std::as_bytes(std::span(&whole, 1));
    Bytes value(bytes.begin(), bytes.end());
    while (!value.empty() && value.back() == std::byte{0}) value.pop_back();
    set(place->record(), std::move(value));
  }
  void resize() {
    const auto place = pick();
    if (!place) return;
    const std::uint8_t bytes = script_.u8();
    Bytes value = place->record().bytes();
    const std::size_t less = std::min<std::size_t>(value.size(), 256U - bytes);
    value.resize(bytes < 128 ? value.size() + bytes : value.size() - less);
    set(place->record(), std::move(value));
  }
  // One may be inside the other: then the one inside has gone.
  void swap() {
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
  static void set(Record& record, Bytes value) {
    record.inside.clear();
    record.is_group = false;
    record.value = std::move(value);
  }
  UniqueFd* pick_fd() {
    std::vector<UniqueFd>& all = state_.descriptors;
    return all.empty() ? nullptr : &all[script_.u8() % all.size()];
  }
  UniqueFd another_fd() {
    switch (static_cast<AttachmentFd>(script_.below(std::to_underlying(AttachmentFd::kCount)))) {
      case AttachmentFd::kEventfd: return UniqueFd(eventfd(0, EFD_CLOEXEC));
      case AttachmentFd::kMemory: return memory_file(2 * kPage + script_.u16());
      case AttachmentFd::kReadOnlyMemory: return read_only(memory_file(16 * kPage));
      case AttachmentFd::kEmptyMemory: return memory_file(0);
      case AttachmentFd::kSocket: return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      case AttachmentFd::kClient:
        return client_.connected() ? UniqueFd(::fcntl(client_.socket(), F_DUPFD_CLOEXEC, 0))
                                   : UniqueFd();
      case AttachmentFd::kNothing:
      case AttachmentFd::kCount: break;
    }
    return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  }

  FuzzBytes& script_;
  VfioServerRig::State& state_;
  RawVfioClient& client_;
  std::vector<Record> records_;
  std::vector<std::pair<std::uint16_t, std::byte>> bytes_;
  std::optional<std::uint16_t> cut_;
};

// A server that has adopted a state works, as if nothing were.
void play(VfioServerRig& heir) {
  // Plain writes: the end of an EventSignal takes milliseconds.
  heir.interrupts().signal_through(nullptr);
  for (int turn = 0; turn < 4; ++turn) heir.step();
  for (std::uint16_t vector = 0; vector < FakePciDevice::kVectors; ++vector) {
    heir.interrupts().signal(vector);
  }
  for (std::uint64_t token = 0; token < 16; ++token) {
    heir.server().answer(vfio_user::ReplyToken{token});
  }
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x80000}, kPage}) {
    static_cast<void>(heir.memory().read<std::uint64_t>(GuestAddr{address}));
    static_cast<void>(heir.memory().write(GuestAddr{address}, std::uint64_t{1}));
  }
  for (int turn = 0; turn < 4; ++turn) heir.step();
  heir.pass(std::chrono::seconds(20));
  for (int turn = 0; turn < 4; ++turn) heir.step();
}

void run(Scene& scene, FuzzBytes script) {
  const std::size_t at_rest = open_descriptors();
  VfioServerRig::State state = scene.rig().save();
  Changes(script, state, scene.client()).make();
  {
    const auto heir = VfioServerRig::make_heir(scene.rig());
    if (heir->load(std::move(state))) {
      VfioServerRig::State again = heir->save();
      const Bytes bytes = again.bytes;
      {
        const auto next = VfioServerRig::make_heir(scene.rig());
        require(next->load(std::move(again)).has_value());
        require(next->save().bytes == bytes);
        next->server().abandon();
      }
      play(*heir);
    }
    if (heir->has_server()) heir->server().abandon();
  }
  require(scene.is_untouched());
  require(std::filesystem::exists(scene.rig().socket_path()));
  require(open_descriptors() == at_rest);
  // What a lying server has sent.
  std::array<std::byte, 65536> ignored;
  while (scene.client().connected() &&
         ::recv(scene.client().socket(), ignored.data(), ignored.size(), MSG_DONTWAIT) > 0) {
  }
}

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using paravane::fake::AttachmentScene;
  using paravane::fake::Scene;
  static const bool wants_log = std::getenv("ATTACHMENT_FUZZ_LOG") != nullptr;
  spdlog::set_level(wants_log ? spdlog::level::debug : spdlog::level::off);
  static constexpr std::size_t kScenes = std::to_underlying(AttachmentScene::kCount);
  static std::array<std::unique_ptr<Scene>, kScenes> scenes;
  paravane::fake::FuzzBytes script(data, size);
  const std::size_t which = script.below(kScenes);
  if (!scenes[which]) {
    scenes[which] = std::make_unique<Scene>(static_cast<AttachmentScene>(which));
  }
  paravane::fake::run(*scenes[which], script);
  return 0;
}
