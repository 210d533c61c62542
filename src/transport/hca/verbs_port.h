// VerbsPort is a TrunkPort whose queue pair is an RDMA adapter's.
//
// Its queue pair lets the peer neither read nor write memory, and its buffers are registered for
// the adapter alone: no key leaves this host.

#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <memory>
#include <string>

#include "base/result.h"
#include "transport/hca/trunk_device.h"
#include "transport/hca/verbs_device.h"

namespace paravane::transport_hca {

class VerbsPort final : public FreshTrunkPort {
 public:
  // Registers 4 MiB. Errors: kResourceExhausted: too little locked memory; kIo.
  static Result<std::unique_ptr<VerbsPort>> create(std::shared_ptr<VerbsDevice> device);

  // ---- FreshTrunkPort ----
  TrunkAddress address() const override;
  // Resolves the peer in the kernel, which may take a second.
  Status connect(const TrunkAddress& peer) override;

  // ---- TrunkPort ----
  std::span<std::byte, kTrunkBufferBytes> send_buffer(std::uint32_t buffer) override;
  std::span<const std::byte, kTrunkBufferBytes> receive_buffer(std::uint32_t buffer) const override;
  bool post_receive(std::uint32_t buffer) override;
  bool post_send(std::uint32_t buffer, std::uint32_t bytes, std::uint32_t immediate) override;
  std::optional<TrunkCompletion> next() override;
  bool arm() override;
  bool take_event() override;
  int fd() const override { return channel_->fd; }
  bool connect_lane(const LaneNumbers& numbers) override;
  void close_lane(std::uint32_t lane) override;
  std::size_t most_places() const override { return most_places_; }
  bool post_lane_receive(std::uint32_t lane, std::span<const LanePlace> places) override;
  bool post_lane_send(std::uint32_t lane, std::span<const LanePlace> places,
                      std::uint32_t immediate) override;
  std::string problem() const override;

 private:
  template <auto Close>
  struct Closer {
    void operator()(auto* object) const { Close(object); }
  };

  // So that no page is locked beside theirs.
  struct alignas(kTrunkBufferBytes) Buffer {
    std::array<std::byte, kTrunkBufferBytes> bytes;
  };

  explicit VerbsPort(std::shared_ptr<VerbsDevice> device) : device_(std::move(device)) {}
  Status make_objects();
  Status make_queue_pair();
  Status make_lanes();
  int prepare(ibv_qp* qp) const;
  int join(ibv_qp* qp, std::uint32_t peer_qpn, std::uint32_t own_psn, std::uint32_t peer_psn) const;
  std::optional<TrunkCompletion> completion_of_lane(const ibv_wc& completion) const;
  bool note(const char* what, int error);
  std::byte* at(std::uint32_t buffer) const;

  // In the order in which they are made.
  std::shared_ptr<VerbsDevice> device_;
  std::unique_ptr<Buffer[]> buffers_;  // receive buffers, then send buffers
  std::unique_ptr<ibv_mr, Closer<ibv_dereg_mr>> region_;
  std::unique_ptr<ibv_comp_channel, Closer<ibv_destroy_comp_channel>> channel_;
  std::unique_ptr<ibv_cq, Closer<ibv_destroy_cq>> cq_;
  std::unique_ptr<ibv_qp, Closer<ibv_destroy_qp>> qp_;
  struct Lane {
    std::unique_ptr<ibv_qp, Closer<ibv_destroy_qp>> qp{};
    std::uint32_t life = 0;  // completions of an earlier one may stand in the queue
  };
  std::array<Lane, wire::kLanes + 1> lanes_;  // from 1
  std::size_t most_places_ = 1;
  TrunkAddress peer_;
  std::uint32_t psn_ = 0;
  std::string problem_;
};

}  // namespace paravane::transport_hca
