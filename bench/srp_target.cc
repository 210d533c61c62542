#include "bench/srp_target.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "bench/question.h"
#include "testing/verbs_requests.h"
#include "wire/roce/header_at.h"
#include "wire/scsi/command.h"
#include "wire/srp/request.h"
#include "wire/srp/response.h"

namespace paravane::bench {
namespace {

namespace communication = wire::infiniband::communication;
using wire::roce::header_at;

constexpr std::uint32_t kBlockBytes = 512;
constexpr std::uint32_t kMostBlocks = 2048;  // of a command: 1 MiB
constexpr std::uint64_t kIuBytes = 1024;     // a place
constexpr std::uint32_t kReceives = 64;
constexpr std::uint32_t kAnswers = 128;
constexpr std::uint32_t kScratchBytes = 4096;  // a place
constexpr std::uint32_t kScratches = 16;
constexpr std::uint32_t kRequestLimit = 48;  // below kReceives: none of them is missing
constexpr std::uint32_t kStartingPsn = 0x56'789A;
constexpr std::uint32_t kConnectionId = 0x4711;
constexpr std::uint8_t kReads = 16;  // RDMA READs under way

fake::FakeScsiDisk::Config config_of(std::uint64_t bytes) {
  return {.block_bytes = kBlockBytes,
          .blocks = bytes / kBlockBytes,
          .is_thin = false,
          .is_write_protected = false,
          .has_write_cache = false,
          .vendor = "PARAVANE",
          .product = "bench",
          .serial = "bench-000001",
          .most_transfer_blocks = kMostBlocks,
          .most_unmap_ranges = 0};
}

// It says that it has all blocks, and has memory for one.
fake::FakeScsiDisk disk_without_memory(std::uint64_t bytes) {
  fake::FakeScsiDisk::Config config = config_of(bytes);
  config.blocks = 1;
  fake::FakeScsiDisk disk(config);
  disk.config() = config_of(bytes);
  return disk;
}

std::span<std::byte> bytes_of(fake::EngineVm& vm, const fake::EngineBuffer& buffer,
                              std::uint64_t offset, std::uint64_t length) {
  return {vm.ram().at(buffer.pages.at(offset), length), length};
}

template <typename Message>
Message answer_to(std::uint32_t id, std::uint16_t attribute) {
  Message message;
  message.header.management_class = wire::infiniband::management_class::kCommunication;
  message.header.class_version = wire::infiniband::kCommunicationVersion;
  message.header.method = wire::infiniband::method::kSend;
  message.header.transaction.set(0x7777);
  message.header.attribute.set(attribute);
  message.local_id.set(kConnectionId);
  message.remote_id.set(id);
  return message;
}

template <typename Message>
SrpTarget::Mad mad_of(const Message& message) {
  SrpTarget::Mad mad{};
  static_assert(sizeof message == sizeof mad);
  std::memcpy(mad.data(), &message, sizeof mad);
  return mad;
}

}  // namespace

SrpTarget::SrpTarget(fake::EngineVm& vm, std::uint64_t disk_bytes)
    : vm_(vm),
      disk_memory_(vm.buffer(disk_bytes, fake::kEveryRight, 0, true)),
      incoming_(vm.buffer(kReceives * kIuBytes, fake::kEveryRight, 0, true)),
      outgoing_(vm.buffer(kAnswers * kIuBytes, fake::kEveryRight, 0, true)),
      scratch_(vm.buffer(std::uint64_t{kScratches} * kScratchBytes, fake::kEveryRight, 0, true)),
      disk_(disk_without_memory(disk_bytes)),
      fakes_(*this, [this](std::span<const std::byte> iu) {
        const std::uint32_t place = place_of_answer();
        std::ranges::copy(iu, bytes_of(vm_, outgoing_, place * kIuBytes, iu.size()).begin());
        send(place, iu.size());
      }) {
  fakes_.add(0, disk_);
}

SrpTarget::~SrpTarget() {
  qp_.reset();
}

// ---- The connection ----

std::optional<SrpTarget::Mad> SrpTarget::receive(const verbs::Gid& from, const Mad& mad) {
  const auto header = wire::infiniband::part_of<wire::infiniband::MadHeader>(mad, 0);
  if (header.attribute.get() == communication::kRequest)
    return accept(from, wire::infiniband::part_of<wire::infiniband::ConnectionRequest>(mad, 0));
  if (header.attribute.get() == communication::kDisconnectRequest) {
    const auto request = wire::infiniband::part_of<wire::infiniband::DisconnectRequest>(mad, 0);
    return mad_of(answer_to<wire::infiniband::DisconnectReply>(request.local_id.get(),
                                                               communication::kDisconnectReply));
  }
  return std::nullopt;
}

SrpTarget::Mad SrpTarget::accept(const verbs::Gid& from,
                                 const wire::infiniband::ConnectionRequest& request) {
  const std::vector<std::byte> login = fakes_.log_in(request.private_data, kRequestLimit);
  begin_qp(from, request);
  auto reply =
      answer_to<wire::infiniband::ConnectionReply>(request.local_id.get(), communication::kReply);
  reply.qp.set(qp_->number() << 8);
  reply.psn.set(kStartingPsn << 8);
  reply.initiator_depth = kReads;
  reply.responder_resources = 4;
  std::ranges::copy(login, reply.private_data.begin());
  return mad_of(reply);
}

void SrpTarget::begin_qp(const verbs::Gid& peer,
                         const wire::infiniband::ConnectionRequest& request) {
  demand(qp_ == nullptr, "the initiator logs in a second time");
  auto made = vm_.adapter().create_qp({.type = verbs::QpType::kReliableConnected,
                                       .pd = vm_.pd(),
                                       .send_cq = &sent_,
                                       .receive_cq = &received_,
                                       .work = &work_});
  demand(made.has_value(), "the target has no queue pair");
  qp_ = std::move(*made);
  verbs::QpAttributes attributes = fake::default_attributes();
  attributes.receive_psn = kStartingPsn;
  attributes.send_psn = request.starting_psn();
  attributes.dest_qpn = request.local_qp();
  attributes.av.dgid = peer;
  attributes.av.hop_limit = 64;
  attributes.max_reads = kReads;
  demand(fake::bring_up(*qp_, verbs::QpState::kReadyToSend, attributes).has_value(),
         "the target's queue pair is not connected");
  for (std::uint32_t place = 0; place < kReceives; ++place) post_receive(place);
  for (std::uint32_t place = 0; place < kAnswers; ++place) free_answers_.push_back(place);
}

void SrpTarget::post_receive(std::uint64_t place) {
  work_.post_receive(fake::receive_request(place, {incoming_.sge(place * kIuBytes, kIuBytes)}));
  qp_->kick();
}

void SrpTarget::post(const verbs::SendRequest& request) {
  work_.post_send(request);
  qp_->kick();
}

// ---- What it does ----

void SrpTarget::pump() {
  while (const auto completion = sent_.take()) {
    demand(completion->status == verbs::WcStatus::kSuccess, "a request of the target failed");
    const auto place = static_cast<std::uint32_t>(completion->wr_id >> 8);
    if (static_cast<Step>(completion->wr_id & 0xFF) == Step::kSent) {
      free_answers_.push_back(place);
    } else {
      send(place, sizeof(wire::srp::Response));
    }
  }
  while (const auto completion = received_.take()) {
    demand(completion->status == verbs::WcStatus::kSuccess, "a receive of the target failed");
    take_iu(bytes_of(vm_, incoming_, completion->wr_id * kIuBytes, completion->byte_len));
    post_receive(completion->wr_id);
  }
}

void SrpTarget::take_iu(std::span<const std::byte> iu) {
  if (!move_blocks(iu)) fakes_.receive(iu);
}

bool SrpTarget::move_blocks(std::span<const std::byte> iu) {
  using wire::scsi::Operation;
  if (iu.size() < sizeof(wire::srp::Command) + sizeof(wire::srp::DirectDescriptor)) return false;
  const auto command = header_at<wire::srp::Command>(iu);
  if (command.opcode != static_cast<std::uint8_t>(wire::srp::Opcode::kCommand)) return false;
  const auto block = header_at<wire::scsi::BlocksCdb>(std::as_bytes(std::span(command.cdb)));
  const auto operation = static_cast<Operation>(block.operation);
  if (operation != Operation::kRead16 && operation != Operation::kWrite16) return false;
  const auto there = header_at<wire::srp::DirectDescriptor>(iu, sizeof command);
  const std::uint64_t blocks = disk_memory_.length / kBlockBytes;
  const std::uint64_t first = block.block.get();
  const std::uint64_t bytes = std::uint64_t{block.blocks.get()} * kBlockBytes;
  if (block.blocks.get() > kMostBlocks || first > blocks || block.blocks.get() > blocks - first ||
      there.bytes.get() != bytes || command.lun.get() != 0) {
    return false;
  }
  const std::uint32_t place = place_of_answer();
  wire::srp::Response answer;
  answer.tag = command.tag;
  answer.request_limit_delta.set(1);
  std::ranges::copy(std::as_bytes(std::span(&answer, 1)),
                    bytes_of(vm_, outgoing_, place * kIuBytes, sizeof answer).begin());
  const verbs::Sge sge = disk_memory_.sge(first * kBlockBytes, bytes);
  if (operation == Operation::kRead16) {
    auto request = fake::write_request(0, {sge}, there.address.get(), there.key.get());
    request.signaled = false;
    post(request);
    send(place, sizeof answer);
  } else {
    const std::uint64_t fetched = place << 8U | static_cast<std::uint64_t>(Step::kFetched);
    post(fake::read_request(fetched, {sge}, there.address.get(), there.key.get()));
  }
  return true;
}

std::uint32_t SrpTarget::place_of_answer() {
  demand(!free_answers_.empty(), "the target has no place for an answer");
  const std::uint32_t place = free_answers_.back();
  free_answers_.pop_back();
  return place;
}

void SrpTarget::send(std::uint32_t place, std::size_t bytes) {
  const std::uint64_t sent = place << 8U | static_cast<std::uint64_t>(Step::kSent);
  auto request = fake::send_request(sent, {outgoing_.sge(place * kIuBytes, bytes)});
  request.solicited = true;
  post(request);
}

// ---- RemoteMemory ----

// Of commands with a list, such as UNMAP, which are not sent to a unit that is not thin.
bool SrpTarget::read(std::uint64_t /*address*/, std::uint32_t /*key*/,
                     std::span<std::byte> /*to*/) {
  return false;
}

bool SrpTarget::write(std::uint64_t address, std::uint32_t key, std::span<const std::byte> from) {
  demand(from.size() <= kScratchBytes, "an answer of the fakes is too long");
  const std::uint64_t offset = std::uint64_t{next_scratch_++ % kScratches} * kScratchBytes;
  std::ranges::copy(from, bytes_of(vm_, scratch_, offset, from.size()).begin());
  auto request = fake::write_request(0, {scratch_.sge(offset, from.size())}, address, key);
  request.signaled = false;
  post(request);
  return true;
}

}  // namespace paravane::bench
