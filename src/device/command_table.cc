#include "device/command_table.h"

#include "abi/commands.h"
#include "device/commands/handlers.h"

namespace paravane::device {
namespace {

constexpr CommandRow kRows[] = {
    {"QUERY_PORT", sizeof(abi::QueryPortCommand), Reply::kAck, query_port, nullptr},
    {"QUERY_PKEY", sizeof(abi::QueryPkeyCommand), Reply::kAck, query_pkey, nullptr},
    {"CREATE_PD", sizeof(abi::HandleCommand), Reply::kAck, create_pd, undo_create_pd},
    {"DESTROY_PD", sizeof(abi::HandleCommand), Reply::kNone, destroy_pd, nullptr},
    {"CREATE_MR", sizeof(abi::CreateMrCommand), Reply::kAck, create_mr, undo_create_mr},
    {"DESTROY_MR", sizeof(abi::HandleCommand), Reply::kNone, destroy_mr, nullptr},
    {"CREATE_CQ", sizeof(abi::CreateCqCommand), Reply::kAck, create_cq, undo_create_cq},
    {"RESIZE_CQ", sizeof(abi::HandleCommand), Reply::kRefused, refuse, nullptr},
    {"DESTROY_CQ", sizeof(abi::HandleCommand), Reply::kNone, destroy_cq, nullptr},
    {"CREATE_QP", sizeof(abi::CreateQpCommand), Reply::kAck, create_qp, undo_create_qp},
    {"MODIFY_QP", sizeof(abi::ModifyQpCommand), Reply::kAckErr, modify_qp, nullptr},
    {"QUERY_QP", sizeof(abi::QueryQpCommand), Reply::kAck, query_qp, nullptr},
    {"DESTROY_QP", sizeof(abi::HandleCommand), Reply::kNone, destroy_qp, nullptr},
    {"CREATE_UC", sizeof(abi::CreateUcCommand), Reply::kAck, create_uc, undo_create_uc},
    {"DESTROY_UC", sizeof(abi::HandleCommand), Reply::kNone, destroy_uc, nullptr},
    {"CREATE_BIND", sizeof(abi::CreateBindCommand), Reply::kNone, create_bind, nullptr},
    {"DESTROY_BIND", sizeof(abi::DestroyBindCommand), Reply::kNone, destroy_bind, nullptr},
    {"CREATE_SRQ", sizeof(abi::CreateSrqCommand), Reply::kAck, create_srq, undo_create_srq},
    {"MODIFY_SRQ", sizeof(abi::ModifySrqCommand), Reply::kNone, modify_srq, nullptr},
    {"QUERY_SRQ", sizeof(abi::HandleCommand), Reply::kAck, query_srq, nullptr},
    {"DESTROY_SRQ", sizeof(abi::HandleCommand), Reply::kNone, destroy_srq, nullptr},
};
static_assert(std::size(kRows) == abi::kCommandCount);
static_assert(kRows[abi::kCreateQp].request_bytes == sizeof(abi::CreateQpCommand));
static_assert(kRows[abi::kDestroyBind].request_bytes == sizeof(abi::DestroyBindCommand));

}  // namespace

const CommandRow* find_command(std::uint32_t opcode) {
  return opcode < std::size(kRows) ? &kRows[opcode] : nullptr;
}

}  // namespace paravane::device
