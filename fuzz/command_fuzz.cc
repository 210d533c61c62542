// Commands, registers and the shared region. The input is a list of acts: valid
// requests with some of their words replaced, raw slots, register accesses,
// resets.

#include <spdlog/spdlog.h>

#include <array>

#include "command_script.h"
#include "hostile_vm.h"

namespace paravane::fake {
namespace {

class CommandFuzz {
 public:
  CommandFuzz()
      : end_(vm_.guest()),
        kernel_(vm_.guest(), {.kernel = true, .context = nullptr, .memory = {}, .queues = {}}),
        pages_(vm_.guest().ram().allocate_set(8, Layout::kScattered)),
        srq_(vm_.guest().create_srq({.pd = &end_.pd(), .max_wr = 64})) {
    shared_.pd = &end_.pd();
    shared_.send_cq = shared_.receive_cq = &end_.cq();
    shared_.srq = &srq_;
  }

  void run(FuzzBytes input) {
    for (int acts = 0; acts < 200 && !input.at_end(); ++acts) act(input);
    vm_.machine().set_bus_master(true);
    vm_.finish();
  }

 private:
  using Slot = std::array<std::byte, kRequestBytes>;

  void act(FuzzBytes& input) {
    switch (static_cast<CommandAct>(input.below(static_cast<std::uint32_t>(CommandAct::kCount)))) {
      case CommandAct::kBent: submit(bend(valid(input.u8()), input)); return;
      case CommandAct::kRaw: submit(raw(input)); return;
      case CommandAct::kControl: vm_.machine().write_register(kRegCtl, input.u8() % 5u); return;
      case CommandAct::kRegion: bend_region(input); return;
      case CommandAct::kRegister: touch_register(input); return;
      case CommandAct::kTime: vm_.pass(input.u16() % 3000u); return;
      case CommandAct::kBusMaster: vm_.machine().set_bus_master((input.u8() & 1) != 0); return;
      case CommandAct::kCount: return;
    }
  }

  template <typename Request>
  static Slot slot_of(Request request) {
    request.header.cmd = Request::kOpcode;
    Slot slot{};
    std::memcpy(slot.data(), &request, sizeof request);
    return slot;
  }

  // A request that the device would accept.
  Slot valid(std::uint8_t which) {
    FakeGuest& guest = vm_.guest();
    FakeEnd& end = (which & 0x80) != 0 ? kernel_ : end_;
    QueryPort port{};
    port.port_num = 1;
    QueryPkey pkey{};
    pkey.port_num = 1;
    CreatePd pd{};
    pd.handle = end.context().handle;
    CreateBind bind{};
    bind.index = 3;
    bind.gid_type = 2;
    ModifyQp modify{};
    modify.qp_handle = end.qp().handle;
    modify.attr_mask = kMaskState | kMaskPkeyIndex | kMaskPort | kMaskAccess;
    modify.attrs.qp_state = kStateInit;
    modify.attrs.port_num = 1;
    ModifySrq limit{};
    limit.srq_handle = srq_.handle;
    limit.attr_mask = kMaskSrqLimit;
    limit.srq_limit = which / 32u;
    switch (which % 32u) {
      case 0: return slot_of(port);
      case 1: return slot_of(pkey);
      case 2: return slot_of(pd);
      case 3: return slot_of(guest.mr_request(end.pd(), 0x7000'0123, 7 * kPage, pages_));
      case 4: return slot_of(guest.cq_request(end.context(), 256, pages_));
      case 5: return slot_of(guest.qp_request(end.qp().spec(), pages_));
      case 6: return slot_of(modify);
      case 7: return slot_of(QueryQp{.header = {}, .qp_handle = end.qp().handle, .attr_mask = 1});
      case 8: return slot_of(guest.context_request(3));
      case 9: return slot_of(bind);
      case 10:
        return slot_of(DestroyBind{.header = {}, .index = 3, .dest_gid = {}, .reserved = {}});
      case 11: return slot_of(DestroyQp{.header = {}, .handle = end.qp().handle, .reserved = 0});
      case 12: return slot_of(DestroyCq{.header = {}, .handle = end.cq().handle, .reserved = 0});
      case 13: return slot_of(DestroyMr{.header = {}, .handle = last_handle_, .reserved = 0});
      case 14: return slot_of(DestroyPd{.header = {}, .handle = end.pd().handle, .reserved = 0});
      case 15: return slot_of(guest.srq_request(srq_.spec(), pages_));
      case 16: return slot_of(limit);
      case 17: return slot_of(QuerySrq{.header = {}, .handle = srq_.handle, .reserved = 0});
      case 18: return slot_of(DestroySrq{.header = {}, .handle = last_handle_, .reserved = 0});
      case 19: return slot_of(DestroySrq{.header = {}, .handle = srq_.handle, .reserved = 0});
      case 20: return slot_of(guest.qp_request(shared_, pages_));
      default:
        return slot_of(DestroyUc{.header = {}, .handle = end.context().handle, .reserved = 0});
    }
  }

  Slot bend(Slot slot, FuzzBytes& input) {
    const std::uint32_t words = input.below(5);
    for (std::uint32_t i = 0; i < words; ++i) {
      const std::uint32_t at = 16 + input.below((kRequestBytes - 16) / 4) * 4;
      const std::uint32_t kind = input.below(4);
      std::uint64_t value = kind == 0 ? last_handle_ : hostile_number(input);
      if (kind == 1) value = vm_.address(input);
      const std::size_t size = kind == 1 && at + 8 <= slot.size() ? 8 : 4;
      std::memcpy(slot.data() + at, &value, size);
    }
    return slot;
  }

  Slot raw(FuzzBytes& input) {
    Slot slot{};
    for (std::size_t at = 8; at < slot.size(); at += 4) {
      const std::uint32_t value = at == 8 ? input.u8() : input.u32();
      std::memcpy(slot.data() + at, &value, sizeof value);
    }
    return slot;
  }

  void submit(const Slot& slot) {
    FakeGuest& guest = vm_.guest();
    if (guest.submit_bytes(slot) != 0) return;
    struct {
      ResponseHeader header;
      std::uint32_t words[2];
    } response{};
    if (!guest.await(std::as_writable_bytes(std::span(&response, 1)))) return;
    if ((response.header.ack & kAckFlag) != 0) last_handle_ = response.words[0];
  }

  void bend_region(FuzzBytes& input) {
    FakeGuest& guest = vm_.guest();
    const std::uint32_t at = input.below(72 / 4) * 4;
    const std::uint64_t value = (input.u8() & 1) != 0 ? vm_.address(input) : hostile_number(input);
    std::byte* region = vm_.machine().ram().at(guest.shared_address());
    std::array<std::byte, 80> before{};
    std::memcpy(before.data(), region, before.size());
    std::memcpy(region + at, &value, at % 8 == 0 ? 8 : 4);
    guest.announce_shared();
    if ((input.u8() & 3) != 0) guest.activate();
    std::memcpy(region, before.data(), before.size());  // ours again, for the next act
  }

  void touch_register(FuzzBytes& input) {
    const std::uint64_t offset = input.u16() % 4096u;
    const std::size_t size = std::min<std::size_t>(std::size_t{1} << input.below(4), 4096 - offset);
    std::array<std::byte, 8> bytes{};
    const std::uint64_t value = input.u32();
    std::memcpy(bytes.data(), &value, bytes.size());
    vm_.machine().write_bar(1, offset, std::span(bytes).first(size));
    vm_.rig().device(0).read_bar(1, offset, std::span(bytes).first(size));
  }

  HostileVm vm_;
  FakeEnd end_;
  FakeEnd kernel_;
  PageSet pages_;
  FakeSrq& srq_;
  QpSpec shared_;
  std::uint32_t last_handle_ = 1;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::CommandFuzz fuzz;
  fuzz.run(paravane::fake::FuzzBytes(data, size));
  return 0;
}
