// HostileDriver: commands about what there is: states, queries, GIDs.

#include <algorithm>
#include <cstring>

#include "hostile_driver.h"

namespace paravane::fake {

bool HostileDriver::connect(std::uint32_t place, const GidBytes& gid, std::uint32_t number,
                            const RcOptions& options) {
  FakeQp& qp = *qps_[place];
  guest().to_state(qp, kStateReset);
  qp.forget_ring_contents();
  return qp.spec().type == kTypeRc ? guest().connect(qp, gid, number, options)
                                   : guest().start_datagrams(qp, kQkey);
}

void HostileDriver::move(std::uint32_t place, std::uint32_t state) {
  if (!guest().to_state(*qps_[place], state)) return;
  if (state == kStateReset) qps_[place]->forget_ring_contents();
}

void HostileDriver::modify(FuzzBytes& input) {
  const std::uint32_t place = input.below(kQps);
  ModifyQp request{};
  request.qp_handle = qps_[place]->handle;
  request.attrs.qp_state = input.below(8);
  request.attrs.port_num = 1;
  request.attrs.path_mtu = 5;
  request.attrs.cur_qp_state = qps_[place]->state;
  request.attrs.dest_qp_num = qps_[input.below(kQps)]->number;
  request.attr_mask = input.u16() | std::uint32_t{input.u8()} << 16;
  submit(bend(slot_of(request), input));
}

void HostileDriver::ask(FuzzBytes& input) {
  const std::uint32_t which = input.below(8);
  const std::uint32_t place = input.u8();
  const std::uint32_t srq = srqs_[place % kSrqs]->handle;
  Slot slot{};
  switch (which) {
    case 0: slot = slot_of(QueryPort{.header = {}, .port_num = 1, .reserved = {}}); break;
    case 1:
      slot = slot_of(QueryPkey{.header = {}, .port_num = 1, .index = 0, .reserved = {}});
      break;
    case 2:
      slot =
          slot_of(QueryQp{.header = {}, .qp_handle = qps_[place % kQps]->handle, .attr_mask = ~0u});
      break;
    case 3: slot = slot_of(QuerySrq{.header = {}, .handle = srq, .reserved = 0}); break;
    case 4: {
      ModifySrq limit{};
      limit.srq_handle = srq;
      limit.attr_mask = kMaskSrqLimit;
      limit.srq_limit = place / 8;
      slot = slot_of(limit);
      break;
    }
    case 5:
      slot = slot_of(ResizeCq{.header = {}, .cq_handle = cqs_[place % kCqs]->handle, .cqe = 128});
      break;
    default: {  // anything
      const std::uint32_t opcode = place;
      for (std::size_t at = sizeof(RequestHeader); at < 64; at += 4) {
        const std::uint32_t value = hostile_number(input);
        std::memcpy(slot.data() + at, &value, sizeof value);
      }
      std::memcpy(slot.data() + offsetof(RequestHeader, cmd), &opcode, sizeof opcode);
    }
  }
  submit(bend(slot, input));
}

void HostileDriver::bind(FuzzBytes& input, std::span<const GidBytes> gids) {
  const std::uint32_t index = input.below(20);
  const GidBytes& gid = gids[input.below(static_cast<std::uint32_t>(gids.size()))];
  if (input.below(3) == 0) {
    DestroyBind request{};
    request.index = index;
    submit(bend(slot_of(request), input));
    return;
  }
  CreateBind request{};
  request.mtu = 1024;
  request.vlan = 0xFFF;
  request.index = index;
  std::ranges::copy(gid, request.new_gid);
  request.gid_type = static_cast<std::uint8_t>(1 + input.below(2));
  submit(bend(slot_of(request), input));
}

}  // namespace paravane::fake
