#include "transport/hca/verbs_port.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace paravane::transport_hca {
namespace {

// Marks the number of a send request. The number of a receive request is that of its buffer.
constexpr std::uint64_t kSendMark = std::uint64_t{1} << 32;
// Of a lane's: its number and its life.
constexpr std::uint64_t kLaneMark = std::uint64_t{1} << 33;
constexpr std::uint64_t number_of(std::uint32_t lane, std::uint32_t life) {
  return kLaneMark | (std::uint64_t{life} << 40) | lane;
}
// The lives that are told apart: a queue holds completions of few.
constexpr std::uint32_t kLives = 1 << 20;

// Places of a piece: 64 KiB of scattered pages, as most adapters take them.
constexpr std::uint32_t kMostPlaces = 18;

constexpr std::uint32_t kPsnMask = 0xFFFFFF;

// Only the adapter has access to the buffers.
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;

// IBTA 9.7.5.2.8: 12 is 0.64 ms, 14 is 4.096 us * 2^14 = 67 ms, of which the adapter tries seven:
// the loss of a peer is detected within half a second. Linux's rdma_rxe treats 7 retries as
// unlimited. RNR retries are unlimited, because the channel's own clocks detect a peer that takes
// nothing.
constexpr std::uint8_t kRnrTimer = 12;
constexpr std::uint8_t kTimeout = 14;
constexpr std::uint8_t kRetries = 6;
constexpr std::uint8_t kRnrRetriesWithoutEnd = 7;

// 256 is IBV_MTU_256 = 1, and so on by powers of two.
std::uint32_t bytes_of(ibv_mtu mtu) {
  return std::uint32_t{128} << static_cast<unsigned>(mtu);
}
ibv_mtu mtu_of(std::uint32_t bytes) {
  return static_cast<ibv_mtu>(std::bit_width(std::clamp(bytes, 256U, 4096U)) - 8);
}

}  // namespace

Result<std::unique_ptr<VerbsPort>> VerbsPort::create(std::shared_ptr<VerbsDevice> device) {
  std::unique_ptr<VerbsPort> port(new VerbsPort(std::move(device)));
  if (const Status made = port->make_objects(); !made) return std::unexpected(made.error());
  if (const Status made = port->make_queue_pair(); !made) return std::unexpected(made.error());
  if (const Status made = port->make_lanes(); !made) return std::unexpected(made.error());
  return port;
}

Status VerbsPort::make_objects() {
  const std::string& name = device_->name();
  buffers_ = std::make_unique<Buffer[]>(std::size_t{2} * kTrunkBuffers);
  static_assert(std::size_t{2} * kTrunkBuffers * sizeof(Buffer) == kTrunkBytes);
  region_.reset(ibv_reg_mr(device_->domain(), buffers_.get(), kTrunkBytes, kAccess));
  if (!region_) {
    const Errc code = errno == ENOMEM ? Errc::kResourceExhausted : Errc::kIo;
    return fail_by_system(code, fmt::format("{}: cannot register {} bytes", name, kTrunkBytes),
                          errno);
  }
  channel_.reset(ibv_create_comp_channel(device_->context()));
  if (!channel_) {
    return fail_by_system(Errc::kIo, fmt::format("{}: no completion channel", name), errno);
  }
  if (::fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0)
    return fail_by_system(Errc::kIo, name, errno);
  // Of a lane also those of its last life.
  constexpr int kCompletions =
      static_cast<int>(2 * kTrunkBuffers + 4 * wire::kLanes * wire::kLaneDepth);
  cq_.reset(ibv_create_cq(device_->context(), kCompletions, nullptr, channel_.get(), 0));
  if (!cq_) return fail_by_system(Errc::kIo, fmt::format("{}: no completion queue", name), errno);
  return {};
}

Status VerbsPort::make_queue_pair() {
  const std::string& name = device_->name();
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq_.get();
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  init.cap.max_send_wr = init.cap.max_recv_wr = kTrunkBuffers;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  qp_.reset(ibv_create_qp(device_->domain(), &init));
  if (!qp_) return fail_by_system(Errc::kIo, fmt::format("{}: no queue pair", name), errno);
  if (const int error = prepare(qp_.get()); error != 0)
    return fail_by_system(Errc::kIo, fmt::format("{}: queue pair", name), error);
  if (::getrandom(&psn_, sizeof psn_, 0) != sizeof psn_)
    return fail_by_system(Errc::kIo, "", errno);
  psn_ &= kPsnMask;
  for (std::uint32_t buffer = 0; buffer < kTrunkBuffers; ++buffer) {
    if (!post_receive(buffer)) return fail(Errc::kIo, problem_);
  }
  return {};
}

// The peer may neither read nor write by it.
int VerbsPort::prepare(ibv_qp* qp) const {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = device_->port();
  attributes.qp_access_flags = 0;
  return ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

Status VerbsPort::make_lanes() {
  const std::string& name = device_->name();
  ibv_device_attr limits{};
  if (const int error = ibv_query_device(device_->context(), &limits); error != 0) {
    return fail_by_system(Errc::kIo, name, error);
  }
  most_places_ = std::min(kMostPlaces, static_cast<std::uint32_t>(std::max(1, limits.max_sge)));
  for (std::uint32_t number = 1; number <= wire::kLanes; ++number) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_.get();
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap.max_send_wr = init.cap.max_recv_wr = wire::kLaneDepth;
    init.cap.max_send_sge = init.cap.max_recv_sge = static_cast<std::uint32_t>(most_places_);
    lanes_.at(number).qp.reset(ibv_create_qp(device_->domain(), &init));
    if (!lanes_.at(number).qp) {
      return fail_by_system(Errc::kIo, fmt::format("{}: no queue pair for a lane", name), errno);
    }
  }
  return {};
}

TrunkAddress VerbsPort::address() const {
  TrunkAddress address{
      .qpn = qp_->qp_num,
      .psn = psn_,
      .is_infiniband = device_->attributes().link_layer == IBV_LINK_LAYER_INFINIBAND,
      .lid = device_->attributes().lid,
      .path_mtu_bytes = bytes_of(device_->attributes().active_mtu)};
  std::memcpy(address.gid.data(), device_->gid().gid.raw, address.gid.size());
  for (std::uint32_t number = 1; number <= wire::kLanes; ++number) {
    address.lane_qpns.at(number - 1) = lanes_.at(number).qp->qp_num;
  }
  return address;
}

Status VerbsPort::connect(const TrunkAddress& peer) {
  peer_ = peer;
  const int error = join(qp_.get(), peer.qpn, psn_, peer.psn);
  if (error == 0) return {};
  return fail_by_system(Errc::kIo, fmt::format("{}: cannot connect", device_->name()), error);
}

int VerbsPort::join(ibv_qp* qp, std::uint32_t peer_qpn, std::uint32_t own_psn,
                    std::uint32_t peer_psn) const {
  const TrunkAddress& peer = peer_;
  const std::uint32_t path_mtu =
      std::min(peer.path_mtu_bytes, bytes_of(device_->attributes().active_mtu));
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  ready.path_mtu = mtu_of(path_mtu);
  ready.dest_qp_num = peer_qpn & kPsnMask;
  ready.rq_psn = peer_psn & kPsnMask;
  ready.min_rnr_timer = kRnrTimer;
  ready.ah_attr.port_num = device_->port();
  ready.ah_attr.dlid = peer.lid;
  ready.ah_attr.is_global = 1;
  ready.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(device_->gid().gid_index);
  ready.ah_attr.grh.hop_limit = 64;
  ready.ah_attr.grh.traffic_class = device_->traffic_class();
  std::memcpy(ready.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
  int error = ibv_modify_qp(qp, &ready,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error == 0) {
    ibv_qp_attr sending{};
    sending.qp_state = IBV_QPS_RTS;
    sending.sq_psn = own_psn & kPsnMask;
    sending.timeout = kTimeout;
    sending.retry_cnt = kRetries;
    sending.rnr_retry = kRnrRetriesWithoutEnd;
    error = ibv_modify_qp(qp, &sending,
                          IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  }
  return error;
}

// From whatever state it was left in.
bool VerbsPort::connect_lane(const LaneNumbers& numbers) {
  Lane& lane = lanes_.at(numbers.lane);
  if (!lane.qp) return false;
  ibv_qp_attr reset{};
  reset.qp_state = IBV_QPS_RESET;
  return ibv_modify_qp(lane.qp.get(), &reset, IBV_QP_STATE) == 0 && prepare(lane.qp.get()) == 0 &&
         join(lane.qp.get(), peer_.lane_qpns.at(numbers.lane - 1), numbers.own_psn,
              numbers.peer_psn) == 0;
}

// A queue pair in RESET accesses nothing (IBTA 10.3.1). One that cannot be reset is destroyed.
void VerbsPort::close_lane(std::uint32_t number) {
  Lane& lane = lanes_.at(number);
  lane.life = (lane.life + 1) % kLives;
  if (!lane.qp) return;
  ibv_qp_attr reset{};
  reset.qp_state = IBV_QPS_RESET;
  if (ibv_modify_qp(lane.qp.get(), &reset, IBV_QP_STATE) != 0) lane.qp.reset();
}

std::byte* VerbsPort::at(std::uint32_t buffer) const {
  return buffers_[buffer].bytes.data();
}

std::span<std::byte, kTrunkBufferBytes> VerbsPort::send_buffer(std::uint32_t buffer) {
  return std::span<std::byte, kTrunkBufferBytes>(at(kTrunkBuffers + buffer), kTrunkBufferBytes);
}

std::span<const std::byte, kTrunkBufferBytes> VerbsPort::receive_buffer(
    std::uint32_t buffer) const {
  return std::span<const std::byte, kTrunkBufferBytes>(at(buffer), kTrunkBufferBytes);
}

// True: there was no error.
bool VerbsPort::note(const char* what, int error) {
  if (error == 0) return true;
  problem_ = fmt::format("{}: {}: {}", device_->name(), what, std::strerror(error));
  return false;
}

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): addresses are numbers to an adapter
bool VerbsPort::post_receive(std::uint32_t buffer) {
  ibv_sge place{.addr = reinterpret_cast<std::uintptr_t>(at(buffer)),
                .length = kTrunkBufferBytes,
                .lkey = region_->lkey};
  ibv_recv_wr request{.wr_id = buffer, .next = nullptr, .sg_list = &place, .num_sge = 1};
  ibv_recv_wr* refused = nullptr;
  return note("cannot post a receive", ibv_post_recv(qp_.get(), &request, &refused));
}

bool VerbsPort::post_send(std::uint32_t buffer, std::uint32_t bytes, std::uint32_t immediate) {
  ibv_sge place{.addr = reinterpret_cast<std::uintptr_t>(send_buffer(buffer).data()),
                .length = bytes,
                .lkey = region_->lkey};
  ibv_send_wr request{};
  request.wr_id = kSendMark | buffer;
  request.sg_list = &place;
  request.num_sge = bytes > 0 ? 1 : 0;
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = immediate;  // both ends are little-endian, as their records are
  ibv_send_wr* refused = nullptr;
  return note("cannot post a send", ibv_post_send(qp_.get(), &request, &refused));
}

namespace {

std::size_t fill(std::array<ibv_sge, kMostPlaces>& list, std::span<const LanePlace> places) {
  std::size_t count = 0;
  for (const LanePlace& place : places.first(std::min(places.size(), list.size()))) {
    list.at(count++) = {.addr = reinterpret_cast<std::uintptr_t>(place.bytes.data()),
                        .length = static_cast<std::uint32_t>(place.bytes.size()),
                        .lkey = place.key};
  }
  return count;
}

}  // namespace

bool VerbsPort::post_lane_receive(std::uint32_t number, std::span<const LanePlace> places) {
  Lane& lane = lanes_.at(number);
  std::array<ibv_sge, kMostPlaces> list;
  const std::size_t count = fill(list, places);
  ibv_recv_wr request{.wr_id = number_of(number, lane.life),
                      .next = nullptr,
                      .sg_list = list.data(),
                      .num_sge = static_cast<int>(count)};
  ibv_recv_wr* refused = nullptr;
  return lane.qp && ibv_post_recv(lane.qp.get(), &request, &refused) == 0;
}

bool VerbsPort::post_lane_send(std::uint32_t number, std::span<const LanePlace> places,
                               std::uint32_t immediate) {
  Lane& lane = lanes_.at(number);
  std::array<ibv_sge, kMostPlaces> list;
  ibv_send_wr request{};
  request.wr_id = kSendMark | number_of(number, lane.life);
  request.num_sge = static_cast<int>(fill(list, places));
  request.sg_list = list.data();
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = immediate;  // as above
  ibv_send_wr* refused = nullptr;
  return lane.qp && ibv_post_send(lane.qp.get(), &request, &refused) == 0;
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

// nullopt: of an earlier life.
std::optional<TrunkCompletion> VerbsPort::completion_of_lane(const ibv_wc& completion) const {
  const auto number = static_cast<std::uint32_t>(completion.wr_id & 0xFF);
  const auto life = static_cast<std::uint32_t>(completion.wr_id >> 40);
  if (number == 0 || number > wire::kLanes || life != lanes_.at(number).life) return std::nullopt;
  using Kind = TrunkCompletion::Kind;
  if (completion.status != IBV_WC_SUCCESS) {
    return TrunkCompletion{.kind = Kind::kLaneFailed, .buffer = number};
  }
  if ((completion.wr_id & kSendMark) != 0) {
    return TrunkCompletion{.kind = Kind::kLaneSent, .buffer = number};
  }
  return TrunkCompletion{.kind = Kind::kLaneReceived,
                         .buffer = number,
                         .bytes = completion.byte_len,
                         .immediate = completion.imm_data};
}

std::optional<TrunkCompletion> VerbsPort::next() {
  ibv_wc completion{};
  int found = ibv_poll_cq(cq_.get(), 1, &completion);
  while (found == 1 && (completion.wr_id & kLaneMark) != 0) {
    if (const auto of_lane = completion_of_lane(completion)) return of_lane;
    found = ibv_poll_cq(cq_.get(), 1, &completion);
  }
  if (found == 0) return std::nullopt;
  if (found < 0 || completion.status != IBV_WC_SUCCESS) {
    problem_ = fmt::format(
        "{}: {}", device_->name(),
        found < 0 ? "its completion queue cannot be read" : ibv_wc_status_str(completion.status));
    return TrunkCompletion{};
  }
  const auto buffer = static_cast<std::uint32_t>(completion.wr_id % kTrunkBuffers);
  if ((completion.wr_id & kSendMark) != 0) {
    return TrunkCompletion{.kind = TrunkCompletion::Kind::kSent, .buffer = buffer};
  }
  return TrunkCompletion{.kind = TrunkCompletion::Kind::kReceived,
                         .buffer = buffer,
                         .bytes = completion.byte_len,
                         .immediate = completion.imm_data};
}

bool VerbsPort::arm() {
  return note("its completion queue cannot be armed", ibv_req_notify_cq(cq_.get(), 0));
}

bool VerbsPort::take_event() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &queue, &context) != 0) return false;
  ibv_ack_cq_events(queue, 1);
  return true;
}

std::string VerbsPort::problem() const {
  return problem_;
}

}  // namespace paravane::transport_hca
