#include "testing/attached_vm.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <tuple>

#include "vfio_user/protocol.h"

namespace paravane::fake {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(1);
constexpr int kPatience = 100'000;  // looks of a guest at its interrupt
// RawVfioClient looks 200 times, and a VMM has a patience of 5 s.
constexpr int kAnswerWithinMs = 25;

bool good(const std::optional<RawVfioClient::Reply>& reply) {
  return reply.has_value() && !reply->is_error();
}

GuestOptions patient() {
  GuestOptions options;
  options.patience_turns = kPatience;
  return options;
}

}  // namespace

AttachedVm::AttachedVm(const std::filesystem::path& socket, std::uint64_t ram_bytes)
    : client_(socket, [this] { await_answer(); }),
      device_(client_),
      machine_(memory_, interrupts_, ram_bytes, [this] { wait(); }),
      guest_(machine_, patient()) {
  demand_of_daemon(client_.connected(), "the socket of the VM has no listener");
  demand_of_daemon(good(client_.negotiate()), "the daemon does not speak vfio-user");
  show_memory();
  std::array<int, 3> wires{};
  for (std::size_t i = 0; i < vectors_.size(); ++i) {
    vectors_[i] = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    wires[i] = vectors_[i].get();
  }
  demand_of_daemon(
      good(client_.set_irqs(vfio_user::SetIrqs::kDataEventfd | vfio_user::SetIrqs::kTrigger,
                            {.index = 2, .start = 0, .count = 3}, wires)),
      "the daemon does not take interrupts");
  device_.map_doorbells();
  machine_.plug(device_);
}

void AttachedVm::show_memory() {
  const UniqueFd ram = machine_.ram().duplicate_fd();
  demand_of_daemon(good(client_.dma_map(ram.get(), 0, GuestRam::kBase, machine_.ram().size())),
                   "the daemon does not take guest memory");
}

void AttachedVm::map_anew() {
  demand_of_daemon(good(client_.dma_unmap(GuestRam::kBase, machine_.ram().size())),
                   "the daemon does not give guest memory back");
  show_memory();
}

void AttachedVm::await_answer() const {
  pollfd awaited{.fd = client_.socket(), .events = POLLIN, .revents = 0};
  ::poll(&awaited, 1, kAnswerWithinMs);
}

void AttachedVm::wait() {
  sleep_until_interrupt(kBetweenLooks);
  take_interrupts();
}

void AttachedVm::sleep_until_interrupt(std::chrono::milliseconds longest) const {
  std::array<pollfd, std::tuple_size_v<decltype(vectors_)>> awaited{};
  for (std::size_t i = 0; i < awaited.size(); ++i) {
    awaited[i] = {.fd = vectors_[i].get(), .events = POLLIN, .revents = 0};
  }
  ::poll(awaited.data(), awaited.size(), static_cast<int>(longest.count()));
}

void AttachedVm::take_interrupts() {
  for (std::size_t vector = 0; vector < vectors_.size(); ++vector) {
    std::uint64_t count = 0;
    if (::read(vectors_.at(vector).get(), &count, sizeof count) == sizeof count) {
      interrupts_.signal(static_cast<std::uint16_t>(vector));
    }
  }
}

void AttachedVm::await_interrupt(std::chrono::milliseconds longest) {
  sleep_until_interrupt(longest);
  take_interrupts();
  guest_.handle_interrupts();
}

bool AttachedVm::responds() {
  QueryPort request{};
  request.port_num = 1;
  return guest_.run(request).accepted();
}

}  // namespace paravane::fake
