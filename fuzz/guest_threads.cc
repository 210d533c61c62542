#include "guest_threads.h"

#include <chrono>
#include <span>

#include "testing/fake_guest_ring.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kRoles = 4;
constexpr std::uint32_t kRingEntries = 16;
constexpr int kBurst = 64;
constexpr auto kPause = std::chrono::microseconds(20);

std::uint32_t& word_of(std::byte* page, std::uint32_t index) {
  return reinterpret_cast<std::uint32_t*>(page)[index % (kPage / sizeof(std::uint32_t))];
}

template <typename T>
const T& one_of(const std::vector<T>& values, Dice& dice) {
  return values[dice.below(static_cast<std::uint32_t>(values.size()))];
}

std::uint32_t word_worth_trying(Dice& dice) {
  static constexpr std::uint32_t kWords[] = {
      0, 1, 2, 3, 5, 11, 15, 16, 17, 4095, 4096, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
  const std::uint32_t pick = dice.below(20);
  return pick < std::size(kWords) ? kWords[pick] : dice.word();
}

}  // namespace

GuestThreads::GuestThreads(std::array<HostileDriver*, 2> drivers, std::uint32_t threads,
                           std::uint64_t seed) {
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    reaches_.push_back(std::make_unique<Reach>(reach_of(*drivers[i], *drivers[1 - i])));
  }
  for (std::uint32_t i = 0; i < threads; ++i) {
    const Reach& reach = *reaches_[i % reaches_.size()];
    const std::uint32_t role = (i / 2 + static_cast<std::uint32_t>(seed)) % kRoles;
    threads_.emplace_back([this, &reach, role, dice = Dice(seed + i)] { run(reach, role, dice); });
  }
  while (started_ < threads) std::this_thread::yield();
}

GuestThreads::~GuestThreads() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
}

GuestThreads::Reach GuestThreads::reach_of(HostileDriver& driver, HostileDriver& peer) {
  Reach reach{.pages = driver.pages(),
              .command_pages = driver.command_pages(),
              .doorbells = driver.doorbells(),
              .queues = {},
              .sges = {},
              .remote = {},
              .rkeys = {}};
  for (const auto& qp : driver.qps()) {
    // The kernel's doorbells are messages, which come from the owner's thread.
    if (qp->spec().pd->context->uar.index() != 0) reach.queues.push_back({qp.get(), qp->handle});
  }
  for (std::uint32_t i = 0; i < HostileDriver::kRegions; ++i) {
    reach.sges.push_back(driver.region(i).sge(8, 3000));
    reach.remote.push_back(peer.region(i).va() + 8);
    reach.rkeys.push_back(peer.region(i).rkey);
  }
  return reach;
}

void GuestThreads::run(const Reach& reach, std::uint32_t role, Dice dice) {
  do {
    for (int i = 0; i < kBurst; ++i) {
      switch (role) {
        case 0: ring_and_index(reach, dice); break;
        case 1: write_words(reach, dice); break;
        case 2: post(reach, dice); break;
        default: change_command(reach, dice);
      }
      if (i == 0) ++started_;
      if (stop_) return;
    }
    // On a machine with few processors the worker needs one of them.
    std::this_thread::sleep_for(kPause);
  } while (!stop_);
}

void GuestThreads::ring_and_index(const Reach& reach, Dice& dice) {
  if (!reach.doorbells.empty() && dice.below(2) == 0) {
    const std::uint32_t handle = dice.below(12);
    store_word(word_of(one_of(reach.doorbells, dice), dice.below(3)), handle | dice.word() << 29);
    return;
  }
  // Header pages come first in each object's list: any page's first words may be indices.
  const std::uint32_t index =
      dice.below(16) == 0 ? word_worth_trying(dice) : dice.below(2 * kRingEntries);
  store_word(word_of(one_of(reach.pages, dice), dice.below(4)), index);
}

void GuestThreads::write_words(const Reach& reach, Dice& dice) {
  // The same word to and fro: who reads it twice shall see both.
  std::uint32_t& word = word_of(one_of(reach.pages, dice), dice.word());
  const std::uint32_t values[] = {load_word(word), word_worth_trying(dice)};
  for (std::uint32_t i = 0; i < 8; ++i) store_word(word, values[i & 1]);
}

void GuestThreads::post(const Reach& reach, Dice& dice) {
  const Queue& queue = one_of(reach.queues, dice);
  const pvrdma_sge& sge = one_of(reach.sges, dice);
  const std::uint32_t peer = dice.below(static_cast<std::uint32_t>(reach.remote.size()));
  if (queue.qp->spec().srq == nullptr && dice.below(2) == 0) {
    queue.qp->queue_receive({.wr_id = 1, .sges = {&sge, 1}});
  } else {
    static constexpr std::uint32_t kOpcodes[] = {PVRDMA_WR_SEND, PVRDMA_WR_RDMA_WRITE,
                                                 PVRDMA_WR_RDMA_READ, PVRDMA_WR_RDMA_WRITE_WITH_IMM,
                                                 PVRDMA_WR_ATOMIC_FETCH_AND_ADD};
    pvrdma_sge part = sge;
    const std::uint32_t opcode = kOpcodes[dice.below(5)];
    if (opcode == PVRDMA_WR_ATOMIC_FETCH_AND_ADD) part.length = 8;
    queue.qp->queue_send({.wr_id = 2,
                          .opcode = opcode,
                          .remote_addr = reach.remote[peer],
                          .rkey = reach.rkeys[peer],
                          .compare_add = 1,
                          .sges = {&part, 1}});
  }
  DriverRing& done = queue.qp->spec().send_cq->ring();
  std::uint32_t slot = 0;
  if (done.has_data(slot) == DriverRing::Look::kYes) done.consume();
  if (reach.doorbells.empty()) return;
  store_word(word_of(one_of(reach.doorbells, dice), kDoorbellQp / 4),
             queue.handle | kRingSend | kRingReceive);
}

void GuestThreads::change_command(const Reach& reach, Dice& dice) {
  const std::uint32_t value = word_worth_trying(dice);
  std::byte* page = one_of(reach.command_pages, dice);
  copy_unwatched(page + dice.below(kRequestBytes / 4) * 4, &value, sizeof value);
}

}  // namespace paravane::fake
