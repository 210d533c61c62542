// HostileDriver: posting, polling, and what else one can do to rings.

#include <cstring>

#include "hostile_driver.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kOpcodes = 17;  // all that the interface names, and one more

bool carries_address(const QpSpec& spec) {
  return spec.type != kTypeRc;
}

bool is_atomic(std::uint32_t opcode) {
  return opcode == PVRDMA_WR_ATOMIC_CMP_AND_SWP || opcode == PVRDMA_WR_ATOMIC_FETCH_AND_ADD;
}

}  // namespace

// Mostly one of the queue pair's own domain.
FakeMr& HostileDriver::some_region(std::uint32_t place, FuzzBytes& input) {
  const std::uint32_t pick = input.u8();
  if (pick >= 0xC0) return *regions_[pick % kRegions];
  return *regions_[(pick & 1) == 0 ? place % kContexts : place];
}

void HostileDriver::send(std::uint32_t place, const Target& target, FuzzBytes& input) {
  FakeQp& qp = *qps_[place];
  const std::uint32_t opcode = input.below(kOpcodes);
  const std::uint32_t flags = input.u8() ^ kSendSignaled;  // a zero is a request like most
  FakeMr& first = some_region(place, input);
  FakeMr& second = some_region(place, input);
  std::uint32_t bytes = is_atomic(opcode) ? 8 : input.u16() % 9100u;
  if (first.length() > 9100 && !is_atomic(opcode)) bytes *= 200;  // up to 1.8 MB
  const pvrdma_sge sges[] = {first.sge(0, bytes), second.sge(16, bytes / 4), first.sge(4096, 1)};
  const pvrdma_av av = guest().address_vector(*qp.spec().pd, target.gid);
  const std::uint32_t pick = input.u8();
  const std::uint32_t count = pick % 8 > 4 ? pick % 8 - 4 : 1;
  const RegisterWr registration{.start = regions_[4]->va(),
                                .directory = regions_[4]->pages().directory,
                                .pages = 3,
                                .length = 9000,
                                .access = kAllAccess,
                                .key = regions_[4]->rkey};
  std::uint32_t slot = 0;
  for (std::uint32_t left = pick < 0xC0 ? 1 : 8; left > 0; --left) {
    if (qp.send_ring().has_space(slot) != DriverRing::Look::kYes) break;
    qp.queue_send({.wr_id = slot,
                   .opcode = opcode,
                   .flags = flags,
                   .imm = 7,
                   .remote_addr = target.address,
                   .rkey = opcode == PVRDMA_WR_LOCAL_INV ? regions_[4]->rkey : target.rkey,
                   .compare_add = slot,
                   .swap = 5,
                   .registration = opcode == PVRDMA_WR_FAST_REG_MR ? &registration : nullptr,
                   .remote_qpn = target.qp_number,
                   .remote_qkey = kQkey,
                   .av = carries_address(qp.spec()) ? &av : nullptr,
                   .sges = std::span(sges).first(count)});
  }
  bend(reinterpret_cast<std::byte*>(&qp.send_slot(slot)), qp.spec().send_stride(), input);
  if ((input.u8() & 3) != 3) qp.ring(kRingSend);
}

void HostileDriver::receive(FuzzBytes& input) {
  const std::uint32_t place = input.below(kQps);
  FakeQp& qp = *qps_[place];
  FakeMr& region = some_region(place, input);
  std::uint32_t bytes = 8000 - input.u16() % 8000u;
  if (region.length() > 9100) bytes *= 250;
  const pvrdma_sge sges[] = {region.sge(0, bytes), region.sge(8000, 1000)};
  const std::uint32_t pick = input.u8();
  const ReceiveWr request{.wr_id = 9, .sges = std::span(sges).first((pick + 1) % 3)};
  FakeSrq* srq = nullptr;
  for (const auto& each : srqs_) {
    if (qp.spec().srq == each.get()) srq = each.get();
  }
  std::uint32_t slot = 0;
  DriverRing& ring = srq != nullptr ? srq->receive_ring() : qp.receive_ring();
  for (std::uint32_t left = pick < 0xC0 ? 1 : 8; left > 0; --left) {
    if (ring.has_space(slot) != DriverRing::Look::kYes) break;
    srq != nullptr ? srq->queue_receive(request) : qp.queue_receive(request);
  }
  auto& header = srq != nullptr ? srq->receive_slot(slot) : qp.receive_slot(slot);
  bend(reinterpret_cast<std::byte*>(&header), qp.spec().receive_stride(), input);
  if ((input.u8() & 3) == 3) return;
  srq != nullptr ? srq->ring() : qp.ring(kRingReceive);
}

// On the kernel's queue pair: registration of pages, a use of them, invalidation.
void HostileDriver::register_fast(FuzzBytes& input) {
  FakeQp& qp = *qps_[4];
  FakeMr& fast = *regions_[4];
  FakeMr& pages = *regions_[input.below(kRegions)];
  const RegisterWr registration{.start = fast.va(),
                                .directory = pages.pages().directory,
                                .pages = (3 + input.below(5)) % 5,
                                .length = 9000 - input.u16() % 9000u,
                                .access = kAllAccess,
                                .key = fast.rkey + input.u8() / 128u};
  const pvrdma_sge sge = fast.sge(0, 512);
  qp.queue_send({.opcode = PVRDMA_WR_FAST_REG_MR, .registration = &registration, .sges = {}});
  qp.queue_send({.opcode = PVRDMA_WR_SEND, .sges = {&sge, 1}});
  if ((input.u8() & 1) == 0) {
    qp.queue_send({.opcode = PVRDMA_WR_LOCAL_INV, .rkey = registration.key, .sges = {}});
  }
  qp.ring(kRingSend);
}

void HostileDriver::ring(FuzzBytes& input) {
  static constexpr std::uint32_t kOffsets[] = {kDoorbellQp, kDoorbellCq, kDoorbellSrq};
  FakeContext& context = *contexts_[input.below(kContexts)];
  const std::uint32_t kind = input.below(4);
  const std::uint32_t place = input.u8();
  const std::uint32_t handles[] = {qps_[place % kQps]->handle, cqs_[place % kCqs]->handle,
                                   srqs_[place % kSrqs]->handle};
  const std::uint32_t offset = kind == 3 ? input.u16() % 1024u * 4 : kOffsets[kind];
  const std::uint32_t word =
      kind == 3 ? hostile_number(input) : handles[kind] | std::uint32_t{input.u8()} << 24;
  context.uar.ring(offset, word);
}

void HostileDriver::set_index(FuzzBytes& input) {
  FakeQp& qp = *qps_[input.below(kQps)];
  DriverRing rings[] = {qp.send_ring(),
                        qp.receive_ring(),
                        qp.spec().send_cq->ring(),
                        qp.spec().receive_cq->ring(),
                        srqs_[0]->receive_ring(),
                        srqs_[1]->receive_ring(),
                        guest().notification_ring(),
                        guest().async_ring()};
  DriverRing& ring = rings[input.below(8)];
  const std::uint32_t value = hostile_number(input);
  (input.u8() & 1) != 0 ? ring.set_tail(value) : ring.set_head(value);
}

PageSet& HostileDriver::some_pages(FuzzBytes& input) {
  return *sets_[input.below(static_cast<std::uint32_t>(sets_.size()))];
}

void HostileDriver::scribble(FuzzBytes& input) {
  PageSet& set = some_pages(input);
  const std::uint32_t pick = input.u8();
  std::uint64_t page = set.pages[pick % set.pages.size()];
  if (pick >= 0xC0) page = set.directory;
  if (pick >= 0xE0) page = set.tables.front();
  if (pick >= 0xF8) page = guest().shared_address();
  const std::uint64_t value = bent_value(input);
  copy_unwatched(guest().ram().at(page + input.u16() % (kPage / 8) * 8), &value,
                 (input.u8() & 1) != 0 ? 4 : 8);
}

void HostileDriver::alias(FuzzBytes& input) {
  const PageSet& from = some_pages(input);
  const PageSet& to = some_pages(input);
  const std::uint32_t pick = input.u8();
  const std::uint64_t page = pick >= 0xE0 ? spare() : from.pages[pick % from.pages.size()];
  copy_unwatched(guest().ram().at(to.tables.front() + 8 * (input.u8() % to.pages.size())), &page,
                 sizeof page);
}

void HostileDriver::consume(FuzzBytes& input) {
  FakeCq& cq = *cqs_[input.below(kCqs)];
  std::uint32_t slot = 0;
  for (std::uint32_t left = input.below(70); left > 0; --left) {
    if (cq.ring().has_data(slot) != DriverRing::Look::kYes) break;
    cq.ring().consume();
  }
  const std::uint32_t how = input.below(4);
  if (how < 2) cq.arm(how == 1);
  if (how == 2) cq.context().uar.ring(kDoorbellCq, cq.handle | kRingPoll);
}

}  // namespace paravane::fake
