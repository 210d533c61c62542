#include "verbs/request_state.h"

#include <limits>
#include <span>
#include <vector>

#include "base/wire_int.h"

namespace paravane::verbs {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

// Of both kinds of requests.
constexpr Tag kWrId{1};
constexpr Tag kFault{2};
constexpr Tag kSges{3};
// Of a send.
constexpr Tag kOpcode{4};
constexpr Tag kSignaled{5};
constexpr Tag kSolicited{6};
constexpr Tag kFence{7};
constexpr Tag kImmediate{8};
constexpr Tag kRemoteAddress{9};
constexpr Tag kRemoteKey{10};
constexpr Tag kCompareAdd{11};
constexpr Tag kSwap{12};
constexpr Tag kRemoteQpn{13};
constexpr Tag kRemoteQkey{14};
constexpr Tag kAddressVector{15};
constexpr Tag kRegistration{16};
constexpr Tag kSerial{17};
// Of a registration.
constexpr Tag kKey{1};
constexpr Tag kAccess{2};
constexpr Tag kStart{3};
constexpr Tag kLength{4};
constexpr Tag kPages{5};
constexpr Tag kDirectory{6};
// Of an address vector.
constexpr Tag kDestination{1};
constexpr Tag kFlowLabel{2};
constexpr Tag kSourceIndex{3};
constexpr Tag kHopLimit{4};
constexpr Tag kTrafficClass{5};
constexpr Tag kServiceLevel{6};
constexpr Tag kDestinationMac{7};
// Of a GID.
constexpr Tag kGid{1};
constexpr Tag kGidType{2};
// Of attributes.
constexpr Tag kPathMtu{1};
constexpr Tag kQkey{2};
constexpr Tag kReceivePsn{3};
constexpr Tag kSendPsn{4};
constexpr Tag kDestQpn{5};
constexpr Tag kQpAccess{6};
constexpr Tag kMaxReads{7};
constexpr Tag kMaxDestReads{8};
constexpr Tag kMinRnrTimer{9};
constexpr Tag kTimeout{10};
constexpr Tag kRetryCount{11};
constexpr Tag kRnrRetry{12};
constexpr Tag kPeer{13};

constexpr std::uint32_t k20Bits = 0xFFFFF;
constexpr std::uint32_t k24Bits = 0xFFFFFF;
constexpr std::uint32_t kLargestPathMtu = 5;  // enum ib_mtu

struct SavedSge {
  Le64 addr;
  Le32 length;
  Le32 lkey;
};

template <typename T>
T small(Reader& in, Tag tag, std::uint64_t most = std::numeric_limits<T>::max()) {
  return static_cast<T>(in.number(tag, most));
}

void save_sges(const SgeList& sges, Writer& out) {
  std::vector<SavedSge> saved;
  for (const Sge& sge : sges.all()) {
    saved.push_back({.addr = Le64(sge.addr), .length = Le32(sge.length), .lkey = Le32(sge.lkey)});
  }
  out.list(kSges, saved);
}

void load_sges(Reader& in, SgeList& sges) {
  sges.count = 0;
  for (const SavedSge& sge : in.list<SavedSge>(kSges, kMaxSges)) {
    sges.entries.at(sges.count++) = {
        .addr = sge.addr.get(), .length = sge.length.get(), .lkey = sge.lkey.get()};
  }
}

void save(const FastRegistration& registration, Writer& out) {
  const Writer::Group group(out, kRegistration);
  out.number(kKey, registration.key);
  out.number(kAccess, registration.access);
  out.number(kStart, registration.start);
  out.number(kLength, registration.length);
  out.number(kPages, registration.pages);
  out.number(kDirectory, registration.directory);
}

// It is judged when its turn has come.
FastRegistration load_registration(Reader& outer) {
  Reader in = outer.group(kRegistration);
  FastRegistration registration;
  registration.key = small<std::uint32_t>(in, kKey);
  registration.access = small<std::uint32_t>(in, kAccess, kAccessKnown);
  registration.start = in.number(kStart);
  registration.length = small<std::uint32_t>(in, kLength);
  registration.pages = small<std::uint32_t>(in, kPages);
  registration.directory = in.number(kDirectory);
  in.end();
  return registration;
}

WcStatus load_fault(Reader& in) {
  return in.choice(kFault, WcStatus::kGeneral);
}

}  // namespace

void save(const SendRequest& request, Writer& out) {
  out.number(kWrId, request.wr_id);
  out.choice(kFault, request.fault);
  save_sges(request.sges, out);
  out.choice(kOpcode, request.opcode);
  out.flag(kSignaled, request.signaled);
  out.flag(kSolicited, request.solicited);
  out.flag(kFence, request.fence);
  out.bytes(kImmediate, request.imm);
  out.number(kRemoteAddress, request.remote_addr);
  out.number(kRemoteKey, request.rkey);
  out.number(kCompareAdd, request.compare_add);
  out.number(kSwap, request.swap);
  out.number(kRemoteQpn, request.remote_qpn);
  out.number(kRemoteQkey, request.remote_qkey);
  {
    const Writer::Group group(out, kAddressVector);
    save(request.av, out);
  }
  save(request.registration, out);
  out.number(kSerial, request.serial);
}

void load(Reader& in, SendRequest& request) {
  request.wr_id = in.number(kWrId);
  request.fault = load_fault(in);
  load_sges(in, request.sges);
  request.opcode = in.choice(kOpcode, WrOpcode::kFastRegister);
  request.signaled = in.flag(kSignaled);
  request.solicited = in.flag(kSolicited);
  request.fence = in.flag(kFence);
  in.bytes_into(kImmediate, request.imm);
  request.remote_addr = in.number(kRemoteAddress);
  request.rkey = small<std::uint32_t>(in, kRemoteKey);
  request.compare_add = in.number(kCompareAdd);
  request.swap = in.number(kSwap);
  request.remote_qpn = small<std::uint32_t>(in, kRemoteQpn, k24Bits);
  request.remote_qkey = small<std::uint32_t>(in, kRemoteQkey);
  Reader av = in.group(kAddressVector);
  request.av = load_address_vector(av);
  request.registration = load_registration(in);
  request.serial = in.number(kSerial);
  in.end();
}

void save(const ReceiveRequest& request, Writer& out) {
  out.number(kWrId, request.wr_id);
  out.choice(kFault, request.fault);
  save_sges(request.sges, out);
}

void load(Reader& in, ReceiveRequest& request) {
  request.wr_id = in.number(kWrId);
  request.fault = load_fault(in);
  load_sges(in, request.sges);
  in.end();
}

void save(const AddressVector& av, Writer& out) {
  out.bytes(kDestination, std::as_bytes(std::span(av.dgid.raw)));
  out.number(kFlowLabel, av.flow_label);
  out.number(kSourceIndex, av.sgid_index);
  out.number(kHopLimit, av.hop_limit);
  out.number(kTrafficClass, av.traffic_class);
  out.number(kServiceLevel, av.service_level);
  out.bytes(kDestinationMac, std::as_bytes(std::span(av.dmac)));
}

AddressVector load_address_vector(Reader& in) {
  AddressVector av;
  in.bytes_into(kDestination, std::as_writable_bytes(std::span(av.dgid.raw)));
  av.flow_label = small<std::uint32_t>(in, kFlowLabel, k20Bits);
  av.sgid_index = small<std::uint8_t>(in, kSourceIndex);
  av.hop_limit = small<std::uint8_t>(in, kHopLimit);
  av.traffic_class = small<std::uint8_t>(in, kTrafficClass);
  av.service_level = small<std::uint8_t>(in, kServiceLevel);
  in.bytes_into(kDestinationMac, std::as_writable_bytes(std::span(av.dmac)));
  in.end();
  return av;
}

void save(const BoundGid& gid, Writer& out) {
  out.bytes(kGid, std::as_bytes(std::span(gid.gid.raw)));
  out.choice(kGidType, gid.type);
}

BoundGid load_bound_gid(Reader& in) {
  BoundGid gid;
  in.bytes_into(kGid, std::as_writable_bytes(std::span(gid.gid.raw)));
  gid.type = in.choice(kGidType, GidType::kRoceV2);
  in.expect(gid.type != GidType{0}, "no type of GID");
  in.end();
  return gid;
}

// Without the state, which stands beside them, and what has one value only.
void save(const QpAttributes& attributes, Writer& out) {
  out.number(kPathMtu, attributes.path_mtu);
  out.number(kQkey, attributes.qkey);
  out.number(kReceivePsn, attributes.receive_psn);
  out.number(kSendPsn, attributes.send_psn);
  out.number(kDestQpn, attributes.dest_qpn);
  out.number(kQpAccess, attributes.access);
  out.number(kMaxReads, attributes.max_reads);
  out.number(kMaxDestReads, attributes.max_dest_reads);
  out.number(kMinRnrTimer, attributes.min_rnr_timer);
  out.number(kTimeout, attributes.timeout);
  out.number(kRetryCount, attributes.retry_count);
  out.number(kRnrRetry, attributes.rnr_retry);
  const Writer::Group group(out, kPeer);
  save(attributes.av, out);
}

QpAttributes load_attributes(Reader& in) {
  QpAttributes attributes;
  attributes.path_mtu = small<std::uint32_t>(in, kPathMtu, kLargestPathMtu);
  attributes.qkey = small<std::uint32_t>(in, kQkey);
  attributes.receive_psn = small<std::uint32_t>(in, kReceivePsn, k24Bits);
  attributes.send_psn = small<std::uint32_t>(in, kSendPsn, k24Bits);
  attributes.dest_qpn = small<std::uint32_t>(in, kDestQpn, k24Bits);
  attributes.access = small<std::uint32_t>(in, kQpAccess, kAccessKnown);
  attributes.max_reads = small<std::uint8_t>(in, kMaxReads);
  attributes.max_dest_reads = small<std::uint8_t>(in, kMaxDestReads);
  attributes.min_rnr_timer = small<std::uint8_t>(in, kMinRnrTimer, 31);
  attributes.timeout = small<std::uint8_t>(in, kTimeout, 31);
  attributes.retry_count = small<std::uint8_t>(in, kRetryCount, 7);
  attributes.rnr_retry = small<std::uint8_t>(in, kRnrRetry, 7);
  Reader peer = in.group(kPeer);
  attributes.av = load_address_vector(peer);
  in.end();
  return attributes;
}

}  // namespace paravane::verbs
