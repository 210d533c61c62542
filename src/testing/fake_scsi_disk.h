// FakeScsiDisk: a logical unit in memory, for tests, benchmarks and fuzzers: executes commands as
// they lie in a CDB. What it answers is made by the tables of the standards, and as LIO does where
// these leave a choice; it is no proof that a real target is understood.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scsi/lun.h"
#include "scsi/request.h"
#include "wire/scsi/sense.h"

namespace paravane::fake {

struct SenseCode {
  wire::scsi::SenseKey key = wire::scsi::SenseKey::kNone;
  std::uint8_t asc = 0;
  std::uint8_t ascq = 0;
};
// 18 bytes of fixed format, or 8 of descriptor format.
std::vector<std::byte> fixed_sense(const SenseCode& code, bool is_deferred = false);
std::vector<std::byte> descriptor_sense(const SenseCode& code, bool is_deferred = false);

struct DiskAnswer {
  wire::scsi::Status status = wire::scsi::Status::kGood;
  std::vector<std::byte> sense{};
  std::vector<std::byte> data{};  // to the initiator
  std::size_t taken = 0;          // bytes that the initiator's data had to have
};

class FakeScsiDisk {
 public:
  struct Config {
    std::uint32_t block_bytes = 512;
    std::uint64_t blocks = 128;
    bool is_thin = true;
    bool is_write_protected = false;
    bool has_write_cache = true;
    std::string vendor = "LIO-ORG";
    std::string product = "disk0";
    std::string serial = "0c1f3a5e-1234";
    std::uint32_t most_transfer_blocks = 64;
    std::uint32_t most_unmap_ranges = 4;
  };
  FakeScsiDisk() : FakeScsiDisk(Config{}) {}
  explicit FakeScsiDisk(const Config& config);

  // `out`: the initiator's data.
  DiskAnswer execute(const scsi::Cdb& cdb, std::span<const std::byte> out);

  // The next commands are answered so, and not carried out.
  void fail_next(const SenseCode& code) { failures_.push_back(code); }
  // To whatever READ CAPACITY and INQUIRY say from now on.
  Config& config() { return config_; }
  std::span<std::byte> bytes() { return bytes_; }
  // How many bytes of `out` the command needs, at most.
  std::size_t wants(const scsi::Cdb& cdb) const;
  std::map<std::uint8_t, unsigned> executed{};  // by operation

 private:
  DiskAnswer inquiry(const scsi::Cdb& cdb) const;
  std::optional<std::vector<std::byte>> vital_page(std::uint8_t page) const;
  DiskAnswer capacity10() const;
  DiskAnswer capacity16(const scsi::Cdb& cdb) const;
  DiskAnswer mode_sense(const scsi::Cdb& cdb, bool is_long) const;
  DiskAnswer blocks(const scsi::Cdb& cdb, std::span<const std::byte> out);
  DiskAnswer unmap(const scsi::Cdb& cdb, std::span<const std::byte> out);

  Config config_;
  std::vector<std::byte> bytes_;
  std::deque<SenseCode> failures_;
};

}  // namespace paravane::fake
