// Answers of a hostile logical unit, and of a target to a login: the first byte says which parser
// takes the rest.
//
// What must hold besides the sanitizers: what is accepted is inside the bounds that its header
// promises, and text can be shown and be part of a name.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "promise.h"
#include "scsi/block_limits.h"
#include "scsi/capacity.h"
#include "scsi/device_identity.h"
#include "scsi/inquiry.h"
#include "scsi/lun_list.h"
#include "scsi/mode.h"
#include "scsi/sense.h"
#include "srp/login.h"

namespace paravane::fake {
namespace {

using Bytes = std::span<const std::byte>;

bool is_shown(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}
bool is_name(const std::string& text) {
  return is_shown(text) && text.find_first_of(" /'\"\\$") == std::string::npos;
}

void fuzz_inquiry(Bytes bytes) {
  const auto inquiry = scsi::parse_inquiry(bytes);
  if (!inquiry) return require(!inquiry.error().message.empty());
  require(bytes.size() >= 36);
  require(is_shown(inquiry->vendor) && inquiry->vendor.size() <= 8);
  require(is_shown(inquiry->product) && inquiry->product.size() <= 16);
  require(is_shown(inquiry->revision) && inquiry->revision.size() <= 4);
}

void fuzz_pages(Bytes bytes) {
  const auto pages = scsi::parse_supported_pages(bytes);
  if (pages) require(pages->size() + 4 <= bytes.size());
}

void fuzz_identification(Bytes bytes) {
  const auto identity = scsi::parse_identification(bytes);
  if (!identity) return;
  require(identity->name.size() > 4 && identity->name.size() <= 4 + 255);
  require(is_name(identity->name));
}

void fuzz_serial(Bytes bytes) {
  const auto serial = scsi::parse_serial(bytes);
  if (serial) require(!serial->empty() && is_name(scsi::identity_of_serial("v", *serial).name));
}

void fuzz_limits(Bytes bytes) {
  if (scsi::parse_block_limits(bytes)) require(bytes.size() >= 16);
  if (scsi::parse_provisioning(bytes)) require(bytes.size() >= 6);
}

void check_accepted(const scsi::Capacity& capacity) {
  require(capacity.blocks > 0 && capacity.block_bytes >= scsi::kLeastBlockBytes);
  require(capacity.bytes() / capacity.block_bytes == capacity.blocks);
  require(capacity.bytes() < std::uint64_t{1} << 63);
}

void fuzz_capacity(Bytes bytes) {
  if (const auto ten = scsi::parse_capacity10(bytes); ten && *ten) check_accepted(**ten);
  if (const auto sixteen = scsi::parse_capacity16(bytes)) check_accepted(*sixteen);
}

void fuzz_luns(Bytes bytes) {
  const auto list = scsi::parse_lun_list(bytes);
  if (!list) return;
  require(list->luns.size() <= scsi::LunList::kMost);
  require((list->luns.size() + list->others) * 8 + 8 <= bytes.size());
  const auto number = [](const scsi::Lun& lun) { return lun.number().value(); };
  require(std::ranges::adjacent_find(list->luns, std::ranges::greater_equal{}, number) ==
          list->luns.end());
}

void fuzz_mode(Bytes bytes) {
  if (scsi::parse_mode6(bytes)) require(bytes.size() >= 4);
  if (scsi::parse_mode10(bytes)) require(bytes.size() >= 8);
}

void fuzz_sense(Bytes bytes) {
  const auto sense = scsi::parse_sense(bytes);
  if (!sense) return;
  require(!sense->sentence().empty() && !scsi::to_string(sense->meaning()).empty());
  require(!sense->is_deferred || sense->meaning() != scsi::Meaning::kDone);
}

void fuzz_login(Bytes bytes) {
  const srp::LoginAsk ask{};
  if (const auto terms = srp::parse_login_response(bytes, ask)) {
    require(terms->request_limit >= 1 && terms->request_limit <= srp::kMostRequestLimit);
    require(terms->most_target_iu_bytes >= 64 &&
            terms->most_target_iu_bytes <= srp::kMostTargetIuBytes);
  }
  if (const auto reject = srp::parse_login_reject(bytes, ask)) require(!reject->sentence.empty());
}

constexpr std::array kParsers{fuzz_inquiry, fuzz_pages,    fuzz_identification, fuzz_serial,
                              fuzz_limits,  fuzz_capacity, fuzz_luns,           fuzz_mode,
                              fuzz_sense,   fuzz_login};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // With an end of its own, which the address sanitizer guards.
  const std::vector<std::uint8_t> rest(data + 1, data + size);
  using paravane::fake::kParsers;
  kParsers[data[0] % kParsers.size()](std::as_bytes(std::span(rest)));
  return 0;
}
