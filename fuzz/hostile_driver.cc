#include "hostile_driver.h"

#include <cstring>

namespace paravane::fake {
namespace {

constexpr std::uint32_t kCqEntries = 64;
constexpr std::uint64_t kRegionPages = 3;
constexpr std::uint64_t kRegionBytes = 9000;
constexpr std::uint32_t kDmaRegion = 0;
constexpr std::uint32_t kFastRegion = 4;
constexpr std::uint32_t kLongRegion = 3;     // messages that take many turns
constexpr std::uint32_t kLongestRegion = 7;  // whose registration takes some, too
constexpr std::uint32_t kHeaderBytes = 16;

constexpr int kPatience = 20;  // turns

bool has_response(std::uint32_t opcode) {
  static constexpr std::uint32_t kAnswered =
      1u << QueryPort::kOpcode | 1u << QueryPkey::kOpcode | 1u << CreatePd::kOpcode |
      1u << CreateMr::kOpcode | 1u << CreateCq::kOpcode | 1u << CreateQp::kOpcode |
      1u << ModifyQp::kOpcode | 1u << QueryQp::kOpcode | 1u << CreateUc::kOpcode |
      1u << CreateSrq::kOpcode | 1u << QuerySrq::kOpcode;
  return opcode < 32 && (kAnswered >> opcode & 1) != 0;
}

std::uint32_t places(Kind kind) {
  switch (kind) {
    case Kind::kContext:
    case Kind::kPd: return HostileDriver::kContexts;
    case Kind::kCq: return HostileDriver::kCqs;
    case Kind::kSrq: return HostileDriver::kSrqs;
    case Kind::kMr: return HostileDriver::kRegions;
    case Kind::kQp: return HostileDriver::kQps;
    case Kind::kCount: break;
  }
  return 1;
}

// Names the same pages again and again, as many as `tables` page tables hold, and
// less than one at the end: memory that costs nothing. The bytes there seem to be.
std::uint64_t lengthen(GuestRam& ram, PageSet& set, std::uint64_t tables) {
  constexpr std::uint64_t kPerTable = 512;
  for (std::uint64_t i = 0; i < kPerTable; ++i) {
    ram.as<std::uint64_t>(set.tables.front() + 8 * i) = set.pages[i % set.pages.size()];
  }
  for (std::uint64_t i = 0; i < tables; ++i) {
    ram.as<std::uint64_t>(set.directory + 8 * i) = set.tables.front();
  }
  return (tables * kPerTable - 1) * kPage;
}

}  // namespace

HostileDriver::HostileDriver(DeviceRig& rig, unsigned vm)
    : rig_(rig), vm_(vm), shared_(guest().shared()), no_surprise_([](const char*) {}) {
  for (std::uint32_t i = 0; i < kContexts; ++i) {
    contexts_.emplace_back(new FakeContext{.handle = 0, .uar = UarPage(machine(), i)});
    pds_[i].context = contexts_[i].get();
  }
  make_queues();
  map_spare();
  alive(Kind::kContext, 0) = true;  // the kernel needs none
}

void HostileDriver::make_queues() {
  GuestRam& ram = guest().ram();
  for (std::uint32_t i = 0; i < kCqs; ++i) {
    cqs_.push_back(std::make_unique<FakeCq>(ram, *contexts_[i % kContexts],
                                            ram.allocate_set(2, Layout::kScattered), kCqEntries,
                                            no_table_, no_surprise_));
    sets_.push_back(&cqs_.back()->pages());
  }
  for (std::uint32_t i = 0; i < kSrqs; ++i) {
    const SrqSpec spec{.pd = &pds_[2 + i], .max_wr = 16, .max_sge = 2, .limit = 2 * i};
    srqs_.push_back(
        std::make_unique<FakeSrq>(ram, spec, ram.allocate_set(spec.pages(), Layout::kScattered)));
    sets_.push_back(&srqs_.back()->pages());
  }
  for (std::uint32_t i = 0; i < kRegions; ++i) {
    std::uint64_t bytes = kRegionBytes;
    PageSet pages = ram.allocate_set(kRegionPages, Layout::kContiguous);
    if (i == kLongRegion) bytes = lengthen(ram, pages, 1);
    if (i == kLongestRegion) bytes = lengthen(ram, pages, 16);
    // The kernel names its memory by its address, a process by its own.
    const std::uint64_t va =
        i == kDmaRegion ? pages.pages.front() : 0x7F00'0000'0000u + i * 0x10'0000u + 100u * (i % 3);
    regions_.push_back(std::make_unique<FakeMr>(ram, std::move(pages), va, bytes));
    sets_.push_back(&regions_.back()->pages());
  }
  for (std::uint32_t i = 0; i < kQps; ++i) {
    const QpSpec spec = qp_spec(i);
    PageSet pages =
        ram.allocate_set(1 + spec.send_pages() + spec.receive_pages(), Layout::kScattered);
    qps_.push_back(std::make_unique<FakeQp>(ram, spec, std::move(pages)));
    sets_.push_back(&qps_.back()->pages());
  }
}

QpSpec HostileDriver::qp_spec(std::uint32_t place) {
  QpSpec spec{.pd = &pds_[place % kContexts],
              .send_cq = cqs_[place].get(),
              .receive_cq = cqs_[(place + kContexts) % kCqs].get(),
              .max_send_sge = 3,
              .max_recv_sge = 2,
              .signal_all = place == 3};
  if (place == 0) spec.type = kTypeGsi;
  if (place == 5) spec.type = kTypeUd;
  if (place == 6 || place == 7) spec.srq = srqs_[place - 6].get();
  return spec;
}

// ---- Commands, as they should be, and bent ----

std::uint64_t HostileDriver::bent_value(FuzzBytes& input) {
  switch (input.below(4)) {
    case 0: return hostile_number(input);
    case 1: return last_handle_;
    case 2: return address(input);
    default:
      return handle_of(static_cast<Kind>(input.below(static_cast<std::uint32_t>(Kind::kCount))),
                       input.u8());
  }
}

// Of eight requests five stay as they are.
void HostileDriver::bend(std::byte* at, std::uint32_t bytes, FuzzBytes& input) {
  const std::uint32_t pick = input.below(8);
  for (std::uint32_t words = pick > 4 ? pick - 4 : 0; words > 0; --words) {
    const std::uint32_t place = input.below(bytes / 4) * 4;
    const std::uint64_t value = bent_value(input);
    copy_unwatched(at + place, &value, value > UINT32_MAX && place + 8 <= bytes ? 8 : 4);
  }
}

HostileDriver::Slot HostileDriver::bend(Slot slot, FuzzBytes& input) {
  bend(slot.data() + kHeaderBytes, kRequestBytes - kHeaderBytes, input);
  return slot;
}

std::optional<HostileDriver::Words> HostileDriver::submit(const Slot& slot) {
  std::uint32_t opcode = 0;
  std::memcpy(&opcode, slot.data() + offsetof(RequestHeader, cmd), sizeof opcode);
  machine().take_interrupt(kVectorResponse);
  copy_unwatched(guest().command_slot(), slot.data(), slot.size());
  machine().write_register(kRegRequest, 0);
  if (machine().read_register(kRegErr) != 0) return std::nullopt;
  struct {
    ResponseHeader header;
    Words words;
  } response{};
  if (!has_response(opcode)) return Words{};
  for (int turns = 0; machine().take_interrupt(kVectorResponse) == 0; ++turns) {
    if (turns == kPatience) return std::nullopt;
    machine().wait();
  }
  copy_unwatched(&response, guest().response_slot(), sizeof response);
  if (response.header.ack != (kAckFlag | opcode) || response.header.err != 0) return std::nullopt;
  last_handle_ = response.words[0];
  return response.words;
}

std::uint32_t& HostileDriver::handle_of(Kind kind, std::uint32_t place) {
  place %= places(kind);
  switch (kind) {
    case Kind::kContext: return contexts_[place]->handle;
    case Kind::kPd: return pds_[place].handle;
    case Kind::kCq: return cqs_[place]->handle;
    case Kind::kSrq: return srqs_[place]->handle;
    case Kind::kMr: return regions_[place]->handle;
    case Kind::kQp: return qps_[place]->handle;
    case Kind::kCount: break;
  }
  return last_handle_;
}

HostileDriver::Slot HostileDriver::create_request(Kind kind, std::uint32_t place) {
  switch (kind) {
    case Kind::kContext: return slot_of(guest().context_request(place == 0 ? 4 : place));
    case Kind::kPd:
      return slot_of(
          CreatePd{.header = {}, .handle = contexts_[place % kContexts]->handle, .reserved = 0});
    case Kind::kCq:
      return slot_of(
          guest().cq_request(*contexts_[place % kContexts], kCqEntries, cqs_[place]->pages()));
    case Kind::kSrq:
      return slot_of(guest().srq_request(srqs_[place]->spec(), srqs_[place]->pages()));
    case Kind::kMr: {
      FakeMr& mr = *regions_[place];
      CreateMr request =
          guest().mr_request(pds_[place % kContexts], mr.va(), mr.length(), mr.pages());
      if (place == kDmaRegion) request.flags = kMrDma;
      if (place == kDmaRegion) request.access_flags = kLocalWrite;
      if (place == kFastRegion) request.flags = kMrFastRegister;
      return slot_of(request);
    }
    case Kind::kQp: return slot_of(guest().qp_request(qps_[place]->spec(), qps_[place]->pages()));
    case Kind::kCount: break;
  }
  return {};
}

void HostileDriver::created(Kind kind, std::uint32_t place, const Words& answer) {
  alive(kind, place) = true;
  handle_of(kind, place) = answer[0];
  if (kind == Kind::kMr) {
    regions_[place]->lkey = answer[1];
    regions_[place]->rkey = answer[2];
  }
  if (kind == Kind::kQp) {
    qps_[place]->number = answer[0];
    if (machine().read_register(kRegVersion) >= 20) qps_[place]->handle = answer[1];
    qps_[place]->forget_ring_contents();
  }
}

// One of the objects that a request names becomes that of another place.
void HostileDriver::name_foreign(Kind kind, Slot& slot, std::uint32_t field, std::uint32_t place) {
  const auto put = [&slot](std::size_t at, std::uint32_t handle) {
    std::memcpy(slot.data() + at, &handle, sizeof handle);
  };
  const std::uint32_t pd = pds_[place % kContexts].handle;
  switch (kind) {
    case Kind::kContext:
    case Kind::kPd: return put(sizeof(RequestHeader), last_handle_);
    case Kind::kCq:
      return put(offsetof(CreateCq, ctx_handle), contexts_[place % kContexts]->handle);
    case Kind::kSrq: return put(offsetof(CreateSrq, pd_handle), pd);
    case Kind::kMr: return put(offsetof(CreateMr, pd_handle), pd);
    case Kind::kQp:
      if (field == 0) put(offsetof(CreateQp, pd_handle), pd);
      if (field == 1) put(offsetof(CreateQp, send_cq_handle), cqs_[place % kCqs]->handle);
      if (field == 2) put(offsetof(CreateQp, recv_cq_handle), cqs_[place % kCqs]->handle);
      if (field == 3) {
        put(offsetof(CreateQp, srq_handle), srqs_[place % kSrqs]->handle);
        put(offsetof(CreateQp, is_srq), 1);
      }
      return;
    case Kind::kCount: return;
  }
}

void HostileDriver::create(Kind kind, std::uint32_t place, FuzzBytes& input) {
  place %= places(kind);
  Slot slot = create_request(kind, place);
  const std::uint32_t foreign = input.u8();
  if (foreign >= 0xC0) name_foreign(kind, slot, foreign % 4, input.u8());
  const auto answer = submit(bend(slot, input));
  if (answer) created(kind, place, *answer);
}

void HostileDriver::ensure(Kind kind, std::uint32_t place) {
  if (alive(kind, place)) return;
  const auto answer = submit(create_request(kind, place));
  if (answer) created(kind, place, *answer);
}

void HostileDriver::prepare(std::uint32_t place) {
  const std::uint32_t context = place % kContexts;
  ensure(Kind::kContext, context);
  ensure(Kind::kPd, context);
  ensure(Kind::kCq, place);
  ensure(Kind::kCq, (place + kContexts) % kCqs);
  if (place == 6 || place == 7) ensure(Kind::kSrq, place - 6);
  ensure(Kind::kMr, place);
  ensure(Kind::kMr, context);
  ensure(Kind::kQp, place);
}

void HostileDriver::destroy(Kind kind, std::uint32_t place, FuzzBytes& input) {
  place %= places(kind);
  const std::uint32_t handle = handle_of(kind, place);
  const auto request = [handle]<typename Request>(Request) {
    return slot_of(Request{.header = {}, .handle = handle, .reserved = 0});
  };
  Slot slot{};
  switch (kind) {
    case Kind::kContext: slot = request(DestroyUc{}); break;
    case Kind::kPd: slot = request(DestroyPd{}); break;
    case Kind::kCq: slot = request(DestroyCq{}); break;
    case Kind::kSrq: slot = request(DestroySrq{}); break;
    case Kind::kMr: slot = request(DestroyMr{}); break;
    case Kind::kQp: slot = request(DestroyQp{}); break;
    case Kind::kCount: return;
  }
  if (submit(bend(slot, input))) alive(kind, place) = kind == Kind::kContext && place == 0;
  // With a context goes all that is its.
  if (kind != Kind::kContext || place == 0) return;
  for (std::size_t other = 0; other < alive_.size(); ++other) {
    for (std::uint32_t i = place; i < alive_[other].size(); i += kContexts)
      alive_[other][i] = false;
  }
  alive(Kind::kSrq, (place + kSrqs) % kContexts % kSrqs) = false;
}

}  // namespace paravane::fake
