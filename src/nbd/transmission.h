// Transmission: the requests of the client that has opened the device, and their replies (proto.md,
// "Transmission"). Payload goes between the socket and the device's memory without a copy of ours.
//
// The client is a stranger. It has at most RequestTable::kPlaces requests and as much of the
// device's memory as the device gives; beyond that, it is not read. One that does not read its
// replies is not read either. One that stops in the middle of a request for kSilence, takes no
// whole reply in that time though its socket is full of them, or sends kMostOdd requests that a
// correct client never sends, is disconnected. The payload of replies is memory that other devices
// wait for.
//
// Owner thread only. A turn is bounded by its budget and waits for nothing.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/instant.h"
#include "guestmem/extent.h"
#include "guestmem/payload_io.h"
#include "nbd/block_device.h"
#include "nbd/client_socket.h"
#include "nbd/handshake.h"
#include "nbd/reply.h"
#include "nbd/request_table.h"
#include "nbd/served_device.h"
#include "nbd/turn_budget.h"

namespace paravane::nbd {

class Transmission final : public BlockClient {
 public:
  static constexpr std::chrono::seconds kSilence{30};
  static constexpr unsigned kMostOdd = 3;
  // Payload of a refused write that is read and dropped; with more, the connection ends. The most
  // that a client sends that was told no block sizes.
  static constexpr std::uint32_t kMostSkipped = std::uint32_t{32} << 20;

  // Both outlive us.
  Transmission(ClientSocket& socket, ServedDevice& served) : socket_(socket), served_(served) {}
  ~Transmission();
  Transmission(const Transmission&) = delete;
  Transmission& operator=(const Transmission&) = delete;

  // False: the device has another client.
  bool open();
  bool is_ready() const { return is_ready_; }
  // REQUIRES: ready.
  void begin(const Agreement& agreement, Instant now);

  void turn(Instant now, TurnBudget& budget);
  bool has_work() const;
  // When a turn is needed though nothing happens; kNever: never.
  Instant deadline() const;

  // The client has said that it disconnects, or has been told why it is.
  bool is_ending() const { return phase_ != Phase::kServing; }
  // We can be destroyed.
  bool is_over() const { return phase_ == Phase::kOver; }
  std::size_t requests() const { return table_.used(); }
  Instant last_heard() const { return heard_; }

  // ---- Of the device ----
  void on_done(std::uint64_t tag, BlockResult result, std::unique_ptr<BlockBuffer> buffer) override;
  void on_room() override { waits_for_room_ = false; }
  void on_ready() override { is_ready_ = true; }

 private:
  enum class Phase : std::uint8_t {
    kServing,
    kEnding,  // reads nothing more; requests are completed and answered
    kOver,
  };
  using Place = RequestTable::Place;
  // Payload of a write that is being read.
  struct Incoming {
    Place place;
    std::uint32_t moved;
    std::uint32_t length;
    std::unique_ptr<BlockBuffer> buffer;  // null: it is dropped
  };
  // Payload of a reply that is being sent.
  struct Outgoing {
    Place place;
    std::uint32_t moved;
    std::uint32_t length;
  };
  // Read at once when no payload is expected among them.
  static constexpr std::size_t kHeadersAtOnce = 16;
  static constexpr std::size_t kOutBytes = 4096;
  // What one call of the kernel moves at most.
  static constexpr std::uint32_t kMostPiece = std::uint32_t{256} * 1024;

  void receive(Instant now, TurnBudget& budget);
  bool receive_headers(TurnBudget& budget);
  bool receive_payload(TurnBudget& budget);
  bool skip_payload(TurnBudget& budget);
  bool can_go_on(const IoResult& result);
  bool take_header();
  bool start(const Request& request);
  void refuse(const Request& request, const Verdict& verdict);
  void take_early_payload();
  void on_payload();
  void lose_payload();
  void count(Command command);

  void send(TurnBudget& budget);
  void fill();
  bool add_piece();
  void sent(std::size_t bytes);
  void drop_replies();
  void answer(Place place);

  void end(std::string_view problem);
  void break_off(std::string_view problem);
  void check_time(Instant now);

  std::size_t in_bytes() const { return in_end_ - in_begin_; }
  std::size_t out_bytes() const { return out_end_ - out_begin_; }
  bool has_header() const { return in_bytes() >= sizeof(RequestHeader); }
  bool is_in_message() const { return incoming_ || (in_bytes() > 0 && !has_header()); }
  bool can_receive() const;
  bool can_send() const;
  bool has_output() const { return out_bytes() > 0 || outgoing_ || table_.has_replies(); }
  bool is_stuck() const { return has_output() && !socket_.may_write() && !is_deaf_; }
  bool has_ended() const;  // of one that is ending

  ClientSocket& socket_;
  ServedDevice& served_;
  bool is_open_ = false;
  bool is_ready_ = false;
  Geometry geometry_{};
  Agreement agreement_{};
  Phase phase_ = Phase::kServing;
  Instant now_{};    // of the turn
  Instant heard_{};  // the last bytes that came; once it is ending: that went
  // When a reply went last, or was there after none had been; kNever: none is there.
  Instant replied_ = kNever;
  unsigned odd_ = 0;
  RequestTable table_;

  std::array<std::byte, kHeadersAtOnce * sizeof(RequestHeader)> in_{};
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  bool expects_payload_ = false;  // the last request was a write
  bool waits_for_room_ = false;   // the first header in in_ needs memory of the device
  std::optional<Incoming> incoming_;

  std::array<std::byte, kOutBytes> out_{};
  std::size_t out_begin_ = 0;
  std::size_t out_end_ = 0;
  std::optional<Outgoing> outgoing_;  // follows what is in out_
  bool is_deaf_ = false;              // the client takes no more replies
  ExtentList piece_;                  // of this turn
};

}  // namespace paravane::nbd
