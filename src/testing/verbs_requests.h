// Work requests and queue pair moves, as tests write them.

#pragma once

#include <cassert>
#include <cstdint>
#include <initializer_list>

#include "verbs/queue_pair.h"
#include "verbs/work_request.h"

namespace paravane::fake {

verbs::SendRequest send_request(std::uint64_t wr_id, std::initializer_list<verbs::Sge> sges);
verbs::SendRequest write_request(std::uint64_t wr_id, std::initializer_list<verbs::Sge> sges,
                                 std::uint64_t remote_addr, std::uint32_t rkey);
verbs::SendRequest read_request(std::uint64_t wr_id, std::initializer_list<verbs::Sge> sges,
                                std::uint64_t remote_addr, std::uint32_t rkey);
// The old value goes to `result`, of 8 bytes.
verbs::SendRequest add_request(std::uint64_t wr_id, verbs::Sge result, std::uint64_t remote_addr,
                               std::uint32_t rkey, std::uint64_t addend);
verbs::SendRequest swap_request(std::uint64_t wr_id, verbs::Sge result, std::uint64_t remote_addr,
                                std::uint32_t rkey, std::uint64_t compare, std::uint64_t swap);
verbs::SendRequest register_request(std::uint64_t wr_id,
                                    const verbs::FastRegistration& registration);
verbs::SendRequest invalidate_request(std::uint64_t wr_id, std::uint32_t key);
// A send that invalidates a key of the peer's.
verbs::SendRequest with_invalidate(verbs::SendRequest request, std::uint32_t key);
verbs::ReceiveRequest receive_request(std::uint64_t wr_id, std::initializer_list<verbs::Sge> sges);

// The same request with immediate data.
verbs::SendRequest with_imm(verbs::SendRequest request, verbs::Immediate imm);

// ---- Moves with the attributes that each requires ----

// Everything a connection can be told; tests change single fields.
verbs::QpAttributes default_attributes();

// The required attributes of a move; 0 if there is no such move.
verbs::QpAttrMask required_attributes(verbs::QpType type, verbs::QpState from, verbs::QpState to);

Status move(verbs::QueuePair& qp, verbs::QpState to, const verbs::QpAttributes& attributes,
            verbs::QpAttrMask extra = 0);
// Through INIT and RTR to `to`, which is INIT, RTR or RTS.
Status bring_up(verbs::QueuePair& qp, verbs::QpState to, const verbs::QpAttributes& attributes);

}  // namespace paravane::fake
