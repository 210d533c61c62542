// Runs one kind of operation COUNT times between two fake guests on one thread, for
// bench/instructions.py, which counts the instructions of the devices' turns. It measures no time.
//
// Usage: paravane_engine_work OPERATION COUNT; without arguments, it lists the operations.

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "bench/question.h"
#include "bench/roce_engines.h"
#include "testing/device_rig.h"

namespace paravane::bench {
namespace {

constexpr std::uint32_t kBatch = 32;
constexpr std::uint32_t kRing = 128;
constexpr std::uint32_t kQkey = 0x1234;
constexpr std::uint32_t kShort = 64;
constexpr std::uint32_t kLong = 65'536;
constexpr std::uint32_t kPairs = 1024;

struct Side {
  fake::FakePd* pd = nullptr;
  fake::FakeCq* cq = nullptr;
  fake::FakeMr* buffer = nullptr;
};

// Two guests with a buffer and a completion queue each.
class Guests {
 public:
  Guests() {
    for (unsigned i = 0; i < 2; ++i) {
      fake::FakeContext& process = rig_.guest(i).open_context();
      sides_[i].pd = &rig_.guest(i).create_pd(process);
      sides_[i].cq = &rig_.guest(i).create_cq(process, 4 * kPairs);
      sides_[i].buffer = &rig_.guest(i).register_memory(*sides_[i].pd, 2 * kLong);
    }
    sides_[0].buffer->fill_pattern(1);
  }

  fake::DeviceRig& rig() { return rig_; }
  Side& side(unsigned i) { return sides_[i]; }

  fake::FakeQp& create(unsigned i, std::uint8_t type = fake::kTypeRc) {
    return rig_.guest(i).create_qp({.pd = sides_[i].pd,
                                    .send_cq = sides_[i].cq,
                                    .receive_cq = sides_[i].cq,
                                    .type = type,
                                    .max_send_wr = kRing,
                                    .max_recv_wr = kRing});
  }
  std::array<fake::FakeQp*, 2> connect() {
    const std::array<fake::FakeQp*, 2> pair{&create(0), &create(1)};
    for (unsigned i = 0; i < 2; ++i) {
      demand(rig_.guest(i).connect(*pair[i], rig_.guest(1 - i).gid(), pair[1 - i]->number),
             "two queue pairs cannot be connected");
    }
    return pair;
  }

  // Turns of the worker until a side has `count` more completions.
  void await(unsigned i, std::uint32_t count) {
    for (std::uint32_t turns = 0; count > 0; ++turns) {
      demand(turns < 1000, "completions are missing");
      rig_.turn(std::chrono::microseconds(1));
      for (pvrdma_cqe done; count > 0 && sides_[i].cq->poll(done); --count) {
        demand(done.status == PVRDMA_WC_SUCCESS, "a request completed with an error");
      }
    }
  }

 private:
  fake::DeviceRig rig_;
  std::array<Side, 2> sides_;
};

// A send request with the memory of both sides filled in.
class Request {
 public:
  Request(Guests& guests, std::uint32_t opcode, std::uint32_t bytes)
      : sge_(guests.side(0).buffer->sge(0, bytes)) {
    wr_ = {.opcode = opcode,
           .remote_addr = guests.side(1).buffer->va(),
           .rkey = guests.side(1).buffer->rkey,
           .compare_add = 1,
           .sges = {&sge_, 1}};
  }
  fake::SendWr& wr() { return wr_; }

 private:
  pvrdma_sge sge_;
  fake::SendWr wr_;
};

void send_in_batches(std::uint32_t opcode, std::uint32_t bytes, std::uint32_t batch,
                     std::uint64_t count) {
  Guests guests;
  fake::FakeQp& qp = *guests.connect()[0];
  Request request(guests, opcode, bytes);
  for (std::uint64_t done = 0; done < count; done += batch) {
    for (std::uint32_t i = 0; i < batch; ++i) demand(qp.queue_send(request.wr()), "no room");
    qp.ring(fake::kRingSend);
    guests.await(0, batch);
  }
}

void send_to(Guests& guests, fake::FakeQp& from, fake::FakeQp& to, const fake::SendWr& wr,
             std::uint64_t count) {
  const pvrdma_sge target = guests.side(1).buffer->sge(0, 256);
  for (std::uint64_t done = 0; done < count; done += kBatch) {
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      demand(to.queue_receive({.sges = {&target, 1}}), "no room");
    }
    for (std::uint32_t i = 0; i < kBatch; ++i) demand(from.queue_send(wr), "no room");
    from.ring(fake::kRingSend);
    guests.await(0, kBatch);
    guests.await(1, kBatch);
  }
}

void sends(std::uint64_t count) {
  Guests guests;
  const auto pair = guests.connect();
  Request request(guests, PVRDMA_WR_SEND, kShort);
  send_to(guests, *pair[0], *pair[1], request.wr(), count);
}

void datagrams(std::uint64_t count) {
  Guests guests;
  const std::array<fake::FakeQp*, 2> qps{&guests.create(0, fake::kTypeUd),
                                         &guests.create(1, fake::kTypeUd)};
  for (unsigned i = 0; i < 2; ++i) {
    demand(guests.rig().guest(i).start_datagrams(*qps[i], kQkey), "no datagrams");
  }
  Request request(guests, PVRDMA_WR_SEND, kShort);
  const pvrdma_av av =
      guests.rig().guest(0).address_vector(*guests.side(0).pd, guests.rig().guest(1).gid());
  request.wr().remote_qpn = qps[1]->number;
  request.wr().remote_qkey = kQkey;
  request.wr().av = &av;
  send_to(guests, *qps[0], *qps[1], request.wr(), count);
}

void many(std::uint64_t count) {
  Guests guests;
  std::vector<fake::FakeQp*> qps;
  for (std::uint32_t i = 0; i < kPairs; ++i) qps.push_back(guests.connect()[0]);
  Request request(guests, PVRDMA_WR_RDMA_WRITE, kShort);
  for (std::uint64_t done = 0; done < count; done += kPairs) {
    for (fake::FakeQp* qp : qps) demand(qp->post_send(request.wr()), "no room");
    guests.await(0, kPairs);
  }
}

// Looks at queue pairs that have nothing to do: a doorbell may have been for any of them.
void vain_looks(std::uint64_t count) {
  Guests guests;
  std::vector<fake::FakeQp*> qps;
  for (std::uint32_t i = 0; i < kPairs; ++i) qps.push_back(guests.connect()[0]);
  for (std::uint64_t done = 0; done < count; done += kPairs) {
    qps[0]->ring(fake::kRingSend);
    guests.rig().settle();
  }
}

void setups(std::uint64_t count) {
  Guests guests;
  const fake::FakeQp& peer = *guests.connect()[1];
  for (std::uint64_t done = 0; done < count; ++done) {
    fake::FakeQp& qp = guests.create(0);
    demand(guests.rig().guest(0).connect(qp, guests.rig().guest(1).gid(), peer.number),
           "a queue pair cannot be connected");
  }
}

// Queue pairs that end with the virtual machine.
void ends(std::uint64_t count) {
  Guests guests;
  for (std::uint64_t done = 0; done < count; ++done) guests.create(0);
  guests.rig().unplug(0);
  demand(guests.rig().run_until_idle(), "the device is never idle");
}

// Between two adapters that are native endpoints to each other.
void packets(const RoceMessages& messages, std::uint64_t count, bool cuts = false) {
  RoceEngines engines({.messages = messages, .count = count, .cuts = cuts});
  engines.run();
  engines.check();
}

struct Operation {
  std::string_view name;
  std::function<void(std::uint64_t)> run;
};

const std::array kOperations = {
    Operation{"write-64-batch",
              [](std::uint64_t n) { send_in_batches(PVRDMA_WR_RDMA_WRITE, kShort, kBatch, n); }},
    Operation{"write-64-single",
              [](std::uint64_t n) { send_in_batches(PVRDMA_WR_RDMA_WRITE, kShort, 1, n); }},
    Operation{"write-64k",
              [](std::uint64_t n) { send_in_batches(PVRDMA_WR_RDMA_WRITE, kLong, kBatch, n); }},
    Operation{"read-64-batch",
              [](std::uint64_t n) { send_in_batches(PVRDMA_WR_RDMA_READ, kShort, kBatch, n); }},
    Operation{
        "atomic",
        [](std::uint64_t n) { send_in_batches(PVRDMA_WR_ATOMIC_FETCH_AND_ADD, 8, kBatch, n); }},
    Operation{"send-64", sends},
    Operation{"datagram-64", datagrams},
    Operation{"write-64-1024-qps", many},
    Operation{"look-in-vain", vain_looks},
    Operation{"create-and-connect", setups},
    Operation{"create-and-end", ends},
    Operation{"roce-write-64", [](std::uint64_t n) { packets({.bytes = kShort}, n); }},
    Operation{"roce-write-64k", [](std::uint64_t n) { packets({.mtu = 1024}, n); }},
    Operation{"roce-write-64k-packets", [](std::uint64_t n) { packets({.mtu = 1024}, n, true); }},
    Operation{"roce-read-64k", [](std::uint64_t n) { packets({.mtu = 1024, .reads = true}, n); }},
};

int run(int count, char** words) {
  if (count == 1) {
    for (const Operation& operation : kOperations) {
      std::printf("%.*s\n", static_cast<int>(operation.name.size()), operation.name.data());
    }
    return 0;
  }
  std::uint64_t times = 0;
  demand(count == 3, "usage: paravane_engine_work OPERATION COUNT");
  const std::string_view number = words[2];
  demand(std::from_chars(number.data(), number.data() + number.size(), times).ec == std::errc(),
         "COUNT must be a number");
  for (const Operation& operation : kOperations) {
    if (operation.name != words[1]) continue;
    operation.run(times);
    return 0;
  }
  demand(false, "no such operation");
  return 1;
}

}  // namespace

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "engine work: %s\n", what);
  std::exit(1);
}

}  // namespace paravane::bench

int main(int count, char** words) {
  return paravane::bench::run(count, words);
}
