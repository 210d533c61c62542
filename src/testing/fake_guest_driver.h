// FakeDriver: what the guest's kernel driver does below its objects: the probe
// sequence, the command channel, the two device rings and their interrupts.
//
// It does everything as the driver does it, and complains through `surprise`
// about what a driver could not survive: a stray command interrupt, a wrong
// cookie, an invalid ring index. Fields the driver leaves uninitialised are
// filled with garbage.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include "testing/fake_guest_abi.h"
#include "testing/fake_guest_commands.h"
#include "testing/fake_guest_cq.h"
#include "testing/fake_guest_machine.h"
#include "testing/fake_guest_ring.h"

namespace paravane::fake {

struct GuestOptions {
  std::uint32_t driver_version = kDriverVersion;
  std::uint32_t device_ring_pages = 4;
  int patience_turns = 5000;     // how long a command waits for its interrupt
  SurpriseFunction on_surprise;  // empty: print and abort
};

class FakeDriver {
 public:
  FakeDriver(GuestMachine& machine, GuestOptions options);
  virtual ~FakeDriver() = default;
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  // ---- Life (device spec 10.1) ----

  // The whole sequence. False: the driver would give up, as it does.
  bool probe();
  // Its steps, for tests that leave the path.
  void allocate_shared();
  void announce_shared();
  bool capabilities_fit() const;
  std::uint32_t activate();  // returns ERR
  std::uint32_t unquiesce();
  // The last acts of a removal.
  void remove();
  // Frees the shared memory without a word to the device.
  void release_shared();

  bool has_shared() const { return shared_at_ != 0; }
  SharedRegion& shared() { return machine_.ram().as<SharedRegion>(shared_at_); }
  std::uint64_t shared_address() const { return shared_at_; }
  const Capabilities& caps() const { return machine_.ram().as<SharedRegion>(shared_at_).caps; }
  PageSet& async_pages() { return async_pages_; }
  PageSet& notification_pages() { return notification_pages_; }

  // ---- Commands (device spec 2.4) ----

  template <typename Request>
  CommandOutcome<typename Request::Response> run(Request request) {
    using Response = typename Request::Response;
    request.header.cmd = Request::kOpcode;
    CommandOutcome<Response> outcome;
    outcome.opcode = Request::kOpcode;
    constexpr bool kWaits = !std::is_same_v<Response, NoResponse>;
    outcome.err = submit_bytes(std::as_bytes(std::span(&request, 1)));
    if (outcome.err == 0 && kWaits) {
      outcome.answered = await(std::as_writable_bytes(std::span(&outcome.response, 1)));
      check_cookie(outcome.accepted(), outcome.response.header.response);
    }
    return outcome;
  }

  // Writes the request, rings REQUEST and returns ERR; nothing is waited for.
  template <typename Request>
  std::uint32_t submit(Request request) {
    request.header.cmd = Request::kOpcode;
    return submit_bytes(std::as_bytes(std::span(&request, 1)));
  }
  // The same through a VMM that posts the write: what takes the device several turns has
  // not been done when this returns.
  template <typename Request>
  std::uint32_t submit_posted(Request request) {
    request.header.cmd = Request::kOpcode;
    fill_slot(std::as_bytes(std::span(&request, 1)));
    machine_.post_register(kRegRequest, 0);
    return machine_.read_register(kRegErr);
  }
  // Raw bytes of the command slot, header included.
  std::uint32_t submit_bytes(std::span<const std::byte> request);
  // Waits for vector 0, then copies the response slot.
  bool await(std::span<std::byte> response);
  std::byte* command_slot() { return machine_.ram().at(command_at_); }
  std::uint64_t response_address() const { return response_at_; }
  std::byte* response_slot() { return machine_.ram().at(response_at_); }

  // ---- Interrupts ----

  // As the driver's handlers: for each vector that fired, drains its ring.
  void handle_interrupts();
  // One element with the driver's arithmetic, whether or not a vector fired.
  std::optional<std::uint32_t> take_notification();
  std::optional<AsyncEvent> take_async_event();
  DriverRing notification_ring();
  DriverRing async_ring();

  GuestMachine& machine() { return machine_; }
  GuestRam& ram() { return machine_.ram(); }
  const GuestOptions& options() const { return options_; }
  void surprise(const char* what) { surprise_(what); }

 protected:
  virtual void on_notification(std::uint32_t cq_handle) = 0;
  virtual void on_async_event(const AsyncEvent& event) = 0;
  const SurpriseFunction& surprise_function() const { return surprise_; }

 private:
  void fill_slot(std::span<const std::byte> request);
  void check_cookie(bool accepted, std::uint64_t cookie);
  DriverRing device_ring(PageSet& pages, std::uint32_t element);
  std::byte* ring_element(PageSet& pages, std::uint32_t slot, std::uint32_t bytes);

  GuestMachine& machine_;
  GuestOptions options_;
  SurpriseFunction surprise_;
  // Remembered, not read back: what the shared region says may have been changed.
  std::uint64_t shared_at_ = 0;
  std::uint64_t command_at_ = 0;
  std::uint64_t response_at_ = 0;
  PageSet async_pages_;
  PageSet notification_pages_;
  std::uint64_t cookie_ = 0x5EED0000;
};

}  // namespace paravane::fake
