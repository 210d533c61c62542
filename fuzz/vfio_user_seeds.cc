// Writes seeds for vfio_user_fuzz into a directory: what well-behaved VMMs do,
// for the fuzzer to spoil. Usage: vfio_user_seeds DIRECTORY

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "vfio_user_script.h"

namespace paravane {
namespace {

using namespace vfio_user;  // every message of the protocol is used here

constexpr std::uint64_t kPage = 4096;

template <typename T>
void write_region(ScriptWriter& script, std::uint32_t region, std::uint64_t offset, T value,
                  std::uint8_t flags = 0) {
  struct {
    RegionAccess access;
    T value;
  } const payload{.access = {Le64(offset), Le32(region), Le32(sizeof value)}, .value = value};
  script.message_of(Command::kRegionWrite, payload, flags);
}

void read_region(ScriptWriter& script, std::uint32_t region, std::uint64_t offset,
                 std::uint32_t count) {
  script.message_of(Command::kRegionRead, RegionAccess{Le64(offset), Le32(region), Le32(count)});
}

void map(ScriptWriter& script, std::uint64_t iova, std::uint64_t size, std::uint8_t fds) {
  script.message_of(Command::kDmaMap, DmaMap{Le32(32), Le32(3), Le64(0), Le64(iova), Le64(size)}, 0,
                    fds, FdKind::kMemory);
}

void unmap(ScriptWriter& script, std::uint64_t iova, std::uint64_t size, std::uint32_t flags = 0) {
  script.message_of(Command::kDmaUnmap, DmaUnmap{Le32(24), Le32(flags), Le64(iova), Le64(size)});
}

void set_irqs(ScriptWriter& script, std::uint32_t flags, std::uint32_t index, std::uint32_t start,
              std::uint32_t count, std::uint8_t fds) {
  script.message_of(Command::kSetIrqs,
                    SetIrqs{Le32(20), Le32(flags), Le32(index), Le32(start), Le32(count)}, 0, fds);
}

std::vector<std::byte> introduction() {
  ScriptWriter script(/*negotiated=*/false);
  const std::string text = std::string(4, '\0') +
                           R"({"capabilities":{"max_msg_fds":1,"max_data_xfer_size":4096}})" + '\0';
  script.message(Command::kVersion, std::as_bytes(std::span(text)));
  script.message(Command::kReset, {});
  return script.bytes();
}

std::vector<std::byte> discovery() {
  ScriptWriter script;
  script.message_of(Command::kGetInfo, DeviceInfo{Le32(16), {}, {}, {}});
  for (std::uint32_t index = 0; index < kRegions; ++index) {
    script.message_of(Command::kGetRegionInfo, RegionInfo{Le32(32), {}, Le32(index), {}, {}, {}});
  }
  script.message_of(Command::kGetRegionInfo, RegionInfo{Le32(64), {}, Le32(2), {}, {}, {}});
  script.message_of(Command::kGetRegionIoFds, RegionIoFds{Le32(16), {}, Le32(2), {}});
  script.message_of(Command::kGetIrqInfo, IrqInfo{Le32(16), {}, Le32(2), {}});
  script.message_of(Command::kDeviceFeature, Le64(8));
  return script.bytes();
}

std::vector<std::byte> registers() {
  ScriptWriter script;
  read_region(script, kConfigRegion, 0, 256);
  for (std::uint64_t bar = 0x10; bar < 0x28; bar += 4) {
    write_region(script, kConfigRegion, bar, Le32(0xFFFFFFFF));
  }
  write_region(script, kConfigRegion, 4, Le16(6));
  write_region(script, kConfigRegion, 0x50, std::uint8_t{1});
  write_region(script, 1, 8, Le32(1));
  write_region(script, 1, 8, Le64(1), Header::kNoReply);
  read_region(script, 1, 8, 8);
  read_region(script, 0, 40, 64);
  read_region(script, 2, 0x10000, 1);
  script.message_of(Command::kRegionWriteMulti, Le64(0), Header::kNoReply);
  return script.bytes();
}

std::vector<std::byte> memory() {
  ScriptWriter script;
  map(script, 0, 16 * kPage, 1);
  map(script, 0xFFFC0000, 0x40000, 0);
  write_region(script, kConfigRegion, 4, Le16(6));
  unmap(script, 4 * kPage, kPage);
  unmap(script, 0, 16 * kPage);
  unmap(script, 0xFEF00000, 0xFFFFFFFF01100000);
  map(script, 0, 4 * kPage, 1);
  unmap(script, 0, 0, DmaUnmap::kAll);
  return script.bytes();
}

std::vector<std::byte> interrupts() {
  ScriptWriter script;
  write_region(script, kConfigRegion, 4, Le16(6));
  set_irqs(script, 0x24, 2, 0, 1, 0);
  set_irqs(script, 0x24, 2, 0, 3, 3);
  script.act(VmmAct::kSignal, 1);
  script.act(VmmAct::kHandOver);
  set_irqs(script, 0x24, 2, 1, 1, 1);
  set_irqs(script, 0x21, 2, 0, 3, 0);
  set_irqs(script, 0x24, 3, 0, 1, 1);
  set_irqs(script, 0x21, 2, 0, 0, 0);
  return script.bytes();
}

std::vector<std::byte> answers_put_off() {
  ScriptWriter script;
  map(script, 0, 4 * kPage, 1);
  script.act(VmmAct::kDefer, 7);
  write_region(script, 1, 8, Le32(1));
  unmap(script, 0, kPage);
  script.act(VmmAct::kHandOver);
  script.act(VmmAct::kAnswer);
  script.act(VmmAct::kTurn);
  script.act(VmmAct::kAnswer);
  script.message(Command::kReset, {});
  script.act(VmmAct::kReconnect, 1);
  script.message(Command::kReset, {}, Header::kNoReply);
  script.act(VmmAct::kDisconnect);
  return script.bytes();
}

std::vector<std::byte> comings_and_goings() {
  ScriptWriter script;
  const Header half{.id = Le16(1), .command = Le16(13), .size = Le32(20), .flags = {}, .error = {}};
  script.act(VmmAct::kSecondComes);
  script.raw(std::as_bytes(std::span(&half, 1)));
  script.act(VmmAct::kTurn);
  script.act(VmmAct::kHandOver);
  script.act(VmmAct::kReconnect, 0);
  script.act(VmmAct::kPassTime, 0xFF);
  script.act(VmmAct::kTurn);
  return script.bytes();
}

bool write_seed(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return file.good();
}

int write_all(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  const bool ok = write_seed(directory / "introduction", introduction()) &&
                  write_seed(directory / "discovery", discovery()) &&
                  write_seed(directory / "registers", registers()) &&
                  write_seed(directory / "memory", memory()) &&
                  write_seed(directory / "interrupts", interrupts()) &&
                  write_seed(directory / "answers_put_off", answers_put_off()) &&
                  write_seed(directory / "comings_and_goings", comings_and_goings());
  if (!ok) std::fprintf(stderr, "cannot write to %s\n", directory.c_str());
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace paravane

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: vfio_user_seeds DIRECTORY\n");
    return 2;
  }
  return paravane::write_all(argv[1]);
}
